// Package station is where tickets come out: the kitchen's printers, its screens, and the
// kitchen displays of other makers. It makes them of the configuration, hands their queues to
// the dispatcher, and says how they are.
//
// To the rest of the daemon a station is one small interface, [Station], and the stations in
// force are one value, [Set]. What is special about a kind of station is in the files of that
// kind. A new kind is a section of the configuration, one file here, and one line in [kinds].
package station

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// A Station is one configured place where tickets come out. It is safe for concurrent use.
type Station interface {
	// Lane is how the dispatcher serves the station's queue, but for the backups. A station that
	// a reload leaves alone returns an equal value, so that its queue is not disturbed.
	Lane() dispatch.Lane
	// WrapBackup is another station as it prints for this one while this one cannot. It is equal
	// for equal stations.
	WrapBackup(backup dispatch.Station) dispatch.Station
	// Show adds to a listing what the station knows of itself.
	Show(*admin.Status)
}

// A kind makes the stations of one section of the configuration, and owns what they share. Its
// methods but notices are called by one goroutine at a time.
type kind interface {
	// build adds to next the stations of its section, those of was where nothing about them has
	// changed. It changes nothing that is in force.
	build(next, was *Built) error
	// stop ends what the stations of next no longer use. They are not served yet.
	stop(next *Built)
	// start begins what the stations of next need beside being served. They are served by now.
	start(next *Built)
	// notices is what a person must know, whatever they asked about.
	notices(live *Built) []string
	// close ends everything. No station is served any more.
	close()
}

// kinds is every kind of station.
var kinds = []struct {
	open     func(*Set) (kind, error)
	problems func(*config.Config) []config.Problem
	ask      func(context.Context, *config.Config) OnlineReport
}{
	{openPapers, paperProblems, askPrinters},
	{openScreens, screenProblems, askScreens},
	{openPushes, pushProblems, askPushes},
}

// Problems is what only the packages behind the stations know to be wrong with a
// configuration: profiles, addresses, templates, keys.
func Problems(conf *config.Config) (out []config.Problem) {
	for _, k := range kinds {
		out = append(out, k.problems(conf)...)
	}
	return out
}

// Options are what a [Set] is made of. All but Dialer and Dial are required.
type Options struct {
	Queue      *queue.Queue
	Dispatcher *dispatch.Dispatcher
	Registry   *prometheus.Registry
	Logger     *slog.Logger
	// Dialer opens a printer; nil is transport.Open of its address.
	Dialer func(config.Printer) (transport.Dialer, error)
	// Dial connects to a third-party kitchen display; nil is the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Listen opens the listener of the screens' pages.
	Listen func(config.Display) (net.Listener, error)
	// Zone is where the clock on the screens' pages is; nil is where this box is.
	Zone func(*config.Config) *time.Location
	// Record is the record of a ticket as the service sent it.
	Record func(context.Context, ticket.Delivery) (json.RawMessage, error)
}

// A Set is the stations in force. Build and Swap are for one goroutine at a time; all else is
// safe for concurrent use.
type Set struct {
	o       Options
	kinds   []kind
	screens *screens // the one kind that the control API knows
	live    atomic.Pointer[Built]

	mu     sync.Mutex // makes Close wait for a Swap under way
	closed bool
}

// Built is the stations of one configuration.
type Built struct {
	Warnings []string // about what is in force all the same

	conf     *config.Config
	stations map[string]Station // that have a queue
	drawer   *raster.Drawer     // what printers print letters with that they do not have
}

// New opens what the kinds keep in the queue's file. There are no stations before [Set.Swap].
func New(o Options) (*Set, error) {
	s := &Set{o: o}
	s.live.Store(&Built{conf: &config.Config{}})
	for _, k := range kinds {
		opened, err := k.open(s)
		if err != nil {
			s.Close(context.Background())
			return nil, err
		}
		s.kinds = append(s.kinds, opened)
	}
	o.Registry.MustRegister(collector{s})
	return s, nil
}

// Build makes the stations of conf. All that can fail happens here; nothing in force changes.
// The error is [config.Problems].
func (s *Set) Build(conf *config.Config) (*Built, error) {
	next := &Built{conf: conf, stations: map[string]Station{}}
	for _, k := range s.kinds {
		if err := k.build(next, s.live.Load()); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// Swap puts next in force. What the old stations held (a connection, a port) is let go before
// the new ones are served: a printer that serves one client would not let the new ones in.
func (s *Set) Swap(next *Built) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for _, k := range s.kinds {
		k.stop(next)
	}
	s.live.Store(next)
	s.o.Dispatcher.Set(next.lanes())
	for _, k := range s.kinds {
		k.start(next)
	}
}

// Close ends what the stations share. The dispatcher must have stopped.
func (s *Set) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, k := range s.kinds {
		k.close()
	}
	return nil
}

// A helper is a station that prints for another one, once that has got nothing out for after.
type helper struct {
	name    string
	station dispatch.Station
	after   time.Duration
}

// helpers are who stands in for a station, one after the other: its backup, its backup's, and
// so on. Each has its own patience, and the next is asked when all of those before are at
// their end. The configuration has no circles.
func (b *Built) helpers(name string) (out []helper) {
	var after time.Duration
	for {
		next, patience := b.conf.BackupOf(name)
		st := b.stations[next]
		if st == nil {
			return out
		}
		after += patience
		out = append(out, helper{next, st.Lane().Station, after})
		name = next
	}
}

// lanes is how each station's queue is served.
func (b *Built) lanes() (out []dispatch.Lane) {
	for _, name := range b.conf.Stations() {
		st := b.stations[name]
		l := st.Lane()
		for _, h := range b.helpers(name) {
			l.Backups = append(l.Backups, dispatch.Backup{Name: h.name, Station: st.WrapBackup(h.station), After: h.after})
		}
		out = append(out, l)
	}
	return out
}

// List is how each station in force is: what the dispatcher learnt from its attempts, and what
// the station knows of itself.
func (s *Set) List() (out []admin.Status) {
	live := s.live.Load()
	for _, d := range s.o.Dispatcher.Status() {
		l := admin.Status{
			Name: d.Name, Known: d.Known, Up: d.Up, Since: d.Since,
			Err: d.Err, Waiting: d.Waiting, Attempt: d.Attempt, NextTry: d.NextTry, StandIn: d.StandIn.Name,
		}
		if st := live.stations[d.Name]; st != nil {
			st.Show(&l)
		}
		out = append(out, l)
	}
	return out
}

// Notices is what a person must know of the stations, whatever they asked about.
func (s *Set) Notices() (out []string) {
	live := s.live.Load()
	for _, k := range s.kinds {
		out = append(out, k.notices(live)...)
	}
	return out
}

// forScreen is a station as the backup of a screen: to a cook any display is one.
type forScreen struct{ dispatch.Station }

func (f forScreen) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	d.Down = "screen"
	return f.Station.Print(ctx, d, begin)
}

func (f forScreen) Idempotent() bool {
	s, ok := f.Station.(dispatch.Idempotent)
	return ok && s.Idempotent()
}

// collector says at scrape time which stations a person has stopped, and which are stood in for.
type collector struct{ s *Set }

var (
	stationHeld = prometheus.NewDesc("ticketrail_station_held",
		"Whether a person holds the station's queue (1) or it runs (0).", []string{"station"}, nil)
	stationStandingIn = prometheus.NewDesc("ticketrail_station_stood_in_for",
		"Whether the station's tickets come out of another one now (1) or of its own (0).", []string{"station"}, nil)
)

func (collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- stationHeld
	ch <- stationStandingIn
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	for _, st := range c.s.o.Queue.Stations() {
		ch <- prometheus.MustNewConstMetric(stationHeld, prometheus.GaugeValue, gauge(st.Hold != nil), st.Name)
	}
	for _, d := range c.s.o.Dispatcher.Status() {
		ch <- prometheus.MustNewConstMetric(stationStandingIn, prometheus.GaugeValue, gauge(d.StandIn.Name != ""), d.Name)
	}
}

// gauge is a yes or a no as a metric has it.
func gauge(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// problem is an error in one element of a list of the configuration.
func problem(list string, i int, err error) error {
	return config.Problems{{Path: fmt.Sprintf("%s[%d]", list, i), Msg: err.Error()}}
}

// running runs f until the function that it returns is called, which waits for its end.
func running(f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var g sync.WaitGroup
	g.Go(func() { f(ctx) })
	return func() { cancel(); g.Wait() }
}

// OnlineReport is what the stations of one kind answered when they were asked without being served.
type OnlineReport struct {
	Lines  []string // one for each station, as `check --online` prints it
	Errors []error  // what keeps tickets from coming out
}

// CheckOnline asks each station of conf how it is. Nothing is printed or shown. It needs no running
// daemon, but only that knows whether somebody looks at the screens.
func CheckOnline(ctx context.Context, conf *config.Config) []OnlineReport {
	out := make([]OnlineReport, len(kinds))
	var asking sync.WaitGroup
	for i, k := range kinds {
		asking.Go(func() { out[i] = k.ask(ctx, conf) })
	}
	asking.Wait()
	return out
}
