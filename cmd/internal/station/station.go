// Package station builds the kitchen's stations from the configuration: printers, screens,
// third-party kitchen displays and logs. It gives their queues to the dispatcher and reports their state.
//
// The rest of the daemon uses the active stations as one value, [Set]. Inside it a station is one small
// interface, [Station]. The code of each kind of station is in its own files (paper*.go, screen*.go,
// push.go, ticketlog.go). A new kind needs a section in the configuration, with its checks and a place in
// config.Config's Stations and BackupOf, files here, and an entry in [kinds].
package station

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer"
	"ticketrail/printer/layout"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// A reload replaces the active stations as one value: [Set.Build] makes the next [Built] beside the
// active one and may fail; [Set.Swap] makes it active and returns no error. Readers (listings, metrics,
// pages) load the pointer once and see one configuration, never half of two.

// A Station is one configured place where tickets are printed or shown. It is safe for concurrent use.
type Station interface {
	// Lane says how the dispatcher serves the station's queue, without the backups. A station that a
	// reload keeps returns an equal value, so that the dispatcher does not disturb its queue.
	Lane() dispatch.Lane
	// WrapBackup returns backup as the dispatcher must call it for this station. The result adds what
	// this kind of station needs on the ticket, for example "screen down". It returns equal values
	// for equal stations, for the same reason as Lane.
	WrapBackup(backup dispatch.Station) dispatch.Station
	// AddState adds the state that only the station itself knows to a listing.
	AddState(*admin.Status)
}

// A kind builds the stations of one section of the configuration and owns what they share, such as
// connections. All methods except notices are called by one goroutine at a time. The calls of one
// reload come in this order: build of all kinds, stop of all kinds, start of all kinds.
type kind interface {
	// build adds the stations of its section to next. It keeps those of prev whose configuration has
	// not changed, and does not touch the active stations.
	build(next, prev *Built) error
	// stop ends what only the old stations use. It is called before the dispatcher serves next.
	stop(next *Built)
	// start starts the background work of the stations of next. It is called after the dispatcher
	// has begun to serve them.
	start(next *Built)
	// notices are problems that the operator must see in every listing.
	notices(active *Built) []string
	// close ends everything. The dispatcher has stopped.
	close()
}

// kinds lists every kind of station. Their order is that of the lines of `check --online`.
var kinds = []struct {
	open     func(*Set) (kind, error)
	problems func(*config.Config) []config.Problem
	// For `check --online`; see [CheckOnline].
	checkOnline func(context.Context, *config.Config) OnlineReport
}{
	{openPapers, paperProblems, askPrinters},
	{openScreens, screenProblems, askScreens},
	{openPushes, pushProblems, askPushes},
	{openLogs, logProblems, askLogs},
}

// Problems are the mistakes in a configuration that only the packages behind the stations can find:
// in profiles, addresses and keys. The package config imports none of those packages, so
// it cannot check them itself.
func Problems(conf *config.Config) (out []config.Problem) {
	for _, k := range kinds {
		out = append(out, k.problems(conf)...)
	}
	return out
}

// Options are what a [Set] needs. All fields except Dialer and Dial are required.
type Options struct {
	Queue      *queue.Queue
	Dispatcher *dispatch.Dispatcher
	Registry   *prometheus.Registry
	Logger     *slog.Logger
	// Dialer opens the connection to a printer; nil is transport.Open of its address.
	Dialer func(config.Printer) (transport.Dialer, error)
	// Dial connects to a third-party kitchen display; nil is the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Listen opens the listener of the screens' pages.
	Listen func(config.Display) (net.Listener, error)
	// Manage answers what the page for managers asks for and changes; see [kds.ServerOptions].
	Manage func(w http.ResponseWriter, r *http.Request, who string)
	// Zone is the time zone of the clock on the screens; it returns nil for that of the box.
	Zone func(*config.Config) *time.Location
	// Record returns the record of a ticket as the service sent it.
	Record func(context.Context, ticket.Delivery) (json.RawMessage, error)
}

// A Set holds the active stations. Build and Swap must not be called at the same time; the other
// methods are safe for concurrent use.
type Set struct {
	o       Options
	kinds   []kind                // in the order of the list kinds
	screens *screens              // also in kinds; the control API needs its pairings
	active  atomic.Pointer[Built] // never nil: without stations before the first Swap

	mu     sync.Mutex // makes Close wait for a running Swap
	closed bool       // Swap does nothing any more
}

// Built are the stations of one configuration, before or after [Set.Swap] makes them active. It
// does not change after Build, so it is read without a lock.
type Built struct {
	Warnings []string // problems that do not keep the configuration from being applied

	conf     *config.Config
	stations map[string]Station // by name; without the screens of the pass, which have no queue
	drawer   *raster.Drawer     // draws the letters that a printer's code pages lack
	alarms   *layout.Alarms     // finds the allergies
}

// New opens the state that the kinds store in the queue's file, such as boards and pairings. There
// are no stations before the first [Set.Swap].
func New(o Options) (*Set, error) {
	s := &Set{o: o}
	s.active.Store(&Built{conf: &config.Config{}})
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

// Build builds the stations of conf. If it fails, the active stations are unchanged; the error is
// [config.Problems]. The port of the pages and the record of a new screen may then stay behind, which
// does no harm: without pages the port only answers that there is no screen.
func (s *Set) Build(conf *config.Config) (*Built, error) {
	next := &Built{conf: conf, stations: map[string]Station{}}
	for _, k := range s.kinds {
		if err := k.build(next, s.active.Load()); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// Swap makes next the active stations. Connections and ports of the old stations are closed before
// the new ones are served: many printers accept only one connection. It returns no error: a screen of
// the pass that cannot be opened is left out, and Notices says so. It waits for no ticket: one in hand
// is finished on its old station, and the lock of the printer keeps the next one from starting beside
// it. After Close it does nothing.
func (s *Set) Swap(next *Built) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for _, k := range s.kinds {
		k.stop(next)
	}
	// Before the lanes change: a listing that is made from now on finds the new stations.
	s.active.Store(next)
	s.o.Dispatcher.Set(next.lanes())
	for _, k := range s.kinds {
		k.start(next)
	}
}

// Close ends everything that the stations share. The dispatcher must have stopped. A reload may be
// running: Close waits for it, and a later one is ignored.
func (s *Set) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, k := range s.kinds {
		k.close()
	}
	return nil
}

// A backupStation prints for a station that has not been able to print for the time after.
type backupStation struct {
	name    string
	station dispatch.Station
	after   time.Duration // since the first failure of the lane's own station
}

// backups are the stations that print for a station, in order: its backup, the backup's backup, and
// so on. The times add up, because each station waits its own hold_for before its backup takes over.
// The configuration check has excluded circles.
func (b *Built) backups(name string) (out []backupStation) {
	var after time.Duration
	for {
		next, holdFor := b.conf.BackupOf(name)
		st := b.stations[next]
		if st == nil {
			return out
		}
		after += holdFor
		out = append(out, backupStation{next, st.Lane().Station, after})
		name = next
	}
}

// lanes says how the dispatcher serves each station's queue, with its backups. Only configured
// stations have a lane. Orphans have none, so their tickets wait.
func (b *Built) lanes() (out []dispatch.Lane) {
	for _, name := range b.conf.Stations() {
		st := b.stations[name]
		l := st.Lane()
		for _, backup := range b.backups(name) {
			l.Backups = append(l.Backups,
				dispatch.Backup{Name: backup.name, Station: st.WrapBackup(backup.station), After: backup.after})
			l.OnRefusal = append(l.OnRefusal, backup.name)
		}
		if f := b.conf.Fallback; f != name && !slices.Contains(l.OnRefusal, f) {
			l.OnRefusal = append(l.OnRefusal, f)
		}
		out = append(out, l)
	}
	return out
}

// List is the state of each active station: what the dispatcher knows from its attempts, and what
// the station knows of itself. It is in the order of the dispatcher, by name. It asks no station,
// so a dead printer does not delay it.
func (s *Set) List() (out []admin.Status) {
	active := s.active.Load()
	for _, d := range s.o.Dispatcher.Status() {
		l := admin.Status{
			Name: d.Name, Known: d.Known, Up: d.Up, Since: d.Since,
			Err: d.Err, Waiting: d.Waiting, Attempt: d.Attempt, NextTry: d.NextTry, ActiveBackup: d.ActiveBackup.Name,
		}
		if st := active.stations[d.Name]; st != nil {
			st.AddState(&l)
		}
		out = append(out, l)
	}
	return out
}

// Kick ends the pause of a station: a person has repaired it, so it is tried now.
func (s *Set) Kick(name string) {
	if one, ok := s.active.Load().stations[name].(*display); ok {
		one.Resume()
	}
	s.o.Dispatcher.Kick(name)
}

// Notices are problems of the stations that the operator must see in every listing.
func (s *Set) Notices() (out []string) {
	active := s.active.Load()
	for _, k := range s.kinds {
		out = append(out, k.notices(active)...)
	}
	return out
}

// pushBackup is a station that prints for a third-party display. The ticket then says FOR HOT LINE
// (screen down), as for a screen of ours (kds.Screen.WrapBackup): a cook calls both a screen. It is a
// plain value, so two of them for the same station are equal and a reload disturbs nothing.
type pushBackup struct{ dispatch.Station }

// Print prints d with the mark. d is a copy, so a later attempt on the station itself is not
// marked.
func (b pushBackup) Print(
	ctx context.Context, d ticket.Delivery, begin func(context.Context) error,
) (ticket.Proof, error) {
	if len(d.RefusedBy) == 0 { // else For is the station that refused it
		d.Down = "screen"
	}
	return b.Station.Print(ctx, d, begin)
}

// Idempotent passes on what the wrapped station is: embedding the interface hides its other
// methods, and a broken attempt at an idempotent station would put the ticket in doubt.
func (b pushBackup) Idempotent() bool {
	s, ok := b.Station.(dispatch.Idempotent)
	return ok && s.Idempotent()
}

// collector reports at scrape time which stations are held and which are printed for by a backup.
// It is computed at each scrape, so no series of a removed station stays.
type collector struct{ s *Set }

var (
	stationHeld = prometheus.NewDesc("ticketrail_station_held",
		"Whether the operator holds the station's queue (1) or it runs (0).", []string{"station"}, nil)
	stationUsesBackup = prometheus.NewDesc("ticketrail_station_stood_in_for",
		"Whether a backup prints the station's tickets now (1) or the station itself (0).", []string{"station"}, nil)
	stationUp = prometheus.NewDesc("ticketrail_station_up",
		"Whether the station works (1) or not (0), by its last attempt and by what it says of itself. "+
			"A station of which nothing is known yet has no series.", []string{"station"}, nil)
)

func (collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- stationHeld
	ch <- stationUsesBackup
	ch <- stationUp
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	for _, st := range c.s.o.Queue.Stations() {
		ch <- boolGauge(stationHeld, st.Hold != nil, st.Name)
	}
	for _, l := range c.s.List() {
		ch <- boolGauge(stationUsesBackup, l.ActiveBackup != "", l.Name)
		up, known := l.Up, l.Known
		if d := l.Device; d != nil && d.State != printer.Unknown {
			up, known = d.Fine && (l.Up || !l.Known), true
		}
		if known {
			ch <- boolGauge(stationUp, up, l.Name)
		}
	}
}

func boolGauge(desc *prometheus.Desc, value bool, labels ...string) prometheus.Metric {
	v := 0.0
	if value {
		v = 1
	}
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
}

// configProblem is an error in element i of a list of the configuration. The operator sees it as a
// problem of the configuration, with its line.
func configProblem(list string, i int, err error) error {
	return config.Problems{{Path: fmt.Sprintf("%s[%d]", list, i), Msg: err.Error()}}
}

// startLoop runs f in a goroutine. The returned function ends its context and waits until f has
// returned. The wait matters: what the loop used is closed next.
func startLoop(f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var g sync.WaitGroup
	g.Go(func() { f(ctx) })
	return func() { cancel(); g.Wait() }
}

// OnlineReport is the result of asking the stations of one kind directly, without their queue.
type OnlineReport struct {
	Findings []admin.Finding // one for each station
	Errors   []error         // problems that keep tickets from printing
}

// CheckOnline asks every station of conf for its state. Nothing is printed or shown. It needs no
// running daemon, except for the screens, whose pages are connected to it. The order of the reports
// is that of the kinds, whichever answers first.
func CheckOnline(ctx context.Context, conf *config.Config) []OnlineReport {
	out := make([]OnlineReport, len(kinds))
	var asking sync.WaitGroup
	for i, k := range kinds {
		asking.Go(func() { out[i] = k.checkOnline(ctx, conf) })
	}
	asking.Wait()
	return out
}
