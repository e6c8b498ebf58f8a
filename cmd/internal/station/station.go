// Package station builds the kitchen's stations from the configuration: printers, screens,
// third-party kitchen displays and logs. It gives their queues to the dispatcher and reports their state.
//
// The rest of the daemon uses the active stations as one value, [Set]. Inside it a station is one small
// interface, [Station]. Printers (paper*.go) and screens (screen*.go) share devices and boards; a station that shares
// nothing, such as a third-party display or a log, is an entry in plain.go. A new kind needs a list in the
// configuration with a place in config.Config's Stations, and an entry in plain.go or a line in [Set.Build].
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
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// A reload replaces the active stations as one value: [Set.Build] makes the next [Built] beside the
// active one and may fail; [Set.Swap] makes it active and returns no error. Readers (listings, metrics,
// pages) load the pointer once and see one configuration, never half of two.

// A Station is one configured place where tickets are printed or shown: the part that builds, watches and describes a
// [dispatch.Station], which prints. A [finding.Station] is its state in a listing. It is safe for concurrent use.
type Station interface {
	// Lane says how the dispatcher serves the station's queue, without the backups. A station that a
	// reload keeps returns an equal value, so that the dispatcher does not disturb its queue.
	Lane() dispatch.Lane
	// AddState adds the state that only the station itself knows to a listing.
	AddState(*finding.Station)
	// Runner is the loop that runs in the background while a station with it is active; several may have the same.
	Runner() Runner
	// WrapBackup returns backup as the dispatcher must call it for this station, and equal values for equal stations,
	// for the same reason as Lane.
	WrapBackup(backup dispatch.Station) dispatch.Station
	// Conditions are those that it can be in, for the metrics.
	Conditions() []string
	// EndPause ends a pause that the station itself makes, because a person has repaired it. False: it makes none.
	EndPause() bool
}

// common is for stations that have no conditions and make no pauses, and do not wrap their backup.
type common struct{}

func (common) WrapBackup(backup dispatch.Station) dispatch.Station { return backup }
func (common) Conditions() []string                                { return nil }
func (common) EndPause() bool                                      { return false }

// A Runner runs until its context ends. It is compared with ==.
type Runner interface{ Run(context.Context) }

// Options are the parts that a [Set] is made of. All fields except Dialer and Dial are required.
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
	// Manage answers the requests of the page for managers; see [kds.ServerOptions].
	Manage func(w http.ResponseWriter, r *http.Request, who string)
	// Zone is the time zone of the clock on the screens.
	Zone func(*config.Config) *time.Location
	// Record returns the record of a ticket as the service sent it; nil if it cannot be read.
	Record func(context.Context, ticket.Delivery) json.RawMessage
}

// A Set holds the active stations. Build and Swap must not be called at the same time; the other
// methods are safe for concurrent use.
type Set struct {
	o       Options
	papers  *papers               // the shared parts of the printers
	screens *screens              // the shared parts of the screens
	running map[Runner]func()     // of the active stations; each ends its Runner and waits for that
	active  atomic.Pointer[Built] // never nil: without stations before the first Swap

	mu     sync.Mutex // makes Close wait for a running Swap
	closed bool       // Swap does nothing any more
}

// Built are the stations of one configuration, before or after [Set.Swap] makes them active. After
// that it does not change, so it is read without a lock.
type Built struct {
	Warnings []string // problems that do not keep the configuration from being applied

	conf     *config.Config
	stations map[string]Station // by name; with the screens of the pass, which have no queue
	devices  map[string]*device // by address: two stations at one printer share its device
	drawer   *raster.Drawer     // draws the letters that a printer's code pages lack

	failedPasses map[string]error // screens of the pass that could not be opened
}

// New opens the state that the kinds store in the queue's file, such as boards and pairings. There
// are no stations before the first [Set.Swap].
func New(o Options) (*Set, error) {
	set := &Set{o: o, running: map[Runner]func(){}}
	set.active.Store(&Built{conf: &config.Config{}})
	var err error
	if set.screens, err = openScreens(set); err != nil {
		return nil, err
	}

	set.papers = newPapers(set)
	o.Registry.MustRegister(collector{set})
	return set, nil
}

// Build builds the stations of conf. If it fails, the active stations are unchanged. The port of the pages and the
// record of a new screen may then stay behind, which does no harm: without pages the port only answers that there is
// no screen.
func (s *Set) Build(conf *config.Config) (*Built, error) {
	next := &Built{conf: conf, stations: map[string]Station{}, devices: map[string]*device{},
		failedPasses: map[string]error{}}
	// Each adds the stations of its sections. It keeps the stations whose configuration has not changed, and does not
	// touch the active ones.
	for _, build := range []func(next, prev *Built) error{s.papers.build, s.screens.build, s.buildPlains} {
		if err := build(next, s.active.Load()); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// Swap makes next the active stations. Connections and ports of the old stations are closed before
// the new ones are served: many printers accept only one connection. It returns no error: a screen of
// the pass that cannot be opened is left out, and [Set.Findings] says so. It waits for no ticket: one in hand
// is finished on its old station, and the lock of the printer keeps the next one from starting beside
// it. After Close it does nothing.
func (s *Set) Swap(next *Built) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}

	s.stop(next)
	s.screens.swap(next)
	// Before the lanes change: a listing that is made from now on finds the new stations.
	s.active.Store(next)
	s.o.Dispatcher.Set(next.lanes())
	for name, st := range next.stations {
		if r := st.Runner(); s.running[r] == nil {
			s.running[r] = startLoop(r.Run)
		}
		if st.EndPause() { // the operator may have repaired it
			s.o.Dispatcher.Kick(name)
		}
	}
	s.screens.show(next)
}

// stop ends the loops that no station of next has: together, because each may wait for a poll to end.
func (s *Set) stop(next *Built) {
	wanted := map[Runner]bool{}
	for _, st := range next.stations {
		wanted[st.Runner()] = true
	}

	var stopping sync.WaitGroup
	for r, stop := range s.running {
		if !wanted[r] {
			stopping.Go(stop)
			delete(s.running, r)
		}
	}
	stopping.Wait()
}

// Close ends everything that the stations share. The dispatcher must have stopped. A reload may be
// running: Close waits for it, and a later one is ignored.
func (s *Set) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.stop(&Built{})
	s.papers.search.Close()
	s.screens.close()
	return nil
}

// backups are the stations that print for a station, in order: its backup, the backup's backup, and
// so on. The times add up, because each station waits its own hold_for before its backup takes over.
// The configuration check has excluded circles.
func (b *Built) backups(name string) (out []dispatch.Backup) {
	var after time.Duration // since the first failure of the lane's own station
	for {
		next, holdFor := b.conf.BackupOf(name)
		st := b.stations[next]
		if st == nil {
			return out
		}
		after += holdFor
		out = append(out, dispatch.Backup{Name: next, Station: st.Lane().Station, After: after})
		name = next
	}
}

// lanes says how the dispatcher serves each station's queue, with its backups. Only configured
// stations have a lane. Orphans have none, so their tickets wait.
func (b *Built) lanes() (out []dispatch.Lane) {
	for _, name := range b.conf.Stations() {
		st := b.stations[name]
		lane := st.Lane()
		for _, backup := range b.backups(name) {
			backup.Station = st.WrapBackup(backup.Station)
			lane.Backups = append(lane.Backups, backup)
			lane.OnRefusal = append(lane.OnRefusal, backup.Name)
		}

		if f := b.conf.Fallback; f != name && !slices.Contains(lane.OnRefusal, f) {
			lane.OnRefusal = append(lane.OnRefusal, f)
		}
		out = append(out, lane)
	}

	return out
}

// List is the state of each active station without its queue: the results of its attempts, and the station's own
// report. It is in the order of the dispatcher, by name. It asks no station,
// so a dead printer does not delay it.
func (s *Set) List() (out []finding.Station) {
	active := s.active.Load()
	for _, d := range s.o.Dispatcher.Status() {
		listed := finding.Station{
			Name: d.Name, Known: d.Known, Up: d.Up, Error: d.Err, NotReady: d.NotReady, Attempt: d.Attempt,
			ActiveBackup: d.ActiveBackup.Name, Since: d.Since, NextTry: d.NextTry,
		}
		if st := active.stations[d.Name]; st != nil {
			st.AddState(&listed)
		}
		out = append(out, listed)
	}

	return out
}

// Kick ends the pause of a station: a person has repaired it, so it is tried now.
func (s *Set) Kick(name string) {
	if st := s.active.Load().stations[name]; st != nil {
		st.EndPause()
	}
	s.o.Dispatcher.Kick(name)
}

// Probe has a printer asked anew for its capability: see [printer.Device.Probe].
func (s *Set) Probe(ctx context.Context, name string) (now finding.DeviceStatus, err error) {
	st, isPrinter := s.active.Load().stations[name].(*paper)
	if !isPrinter {
		return now, admin.Refuse(admin.Conflict, "%s is not a printer", name)
	}

	now, err = st.device.Probe(ctx)
	if ctx.Err() != nil {
		err = fmt.Errorf("%s was not asked in time: it prints, or answers slowly; try again", name)
	}
	if err != nil {
		err = admin.Refuse(admin.Conflict, "%v", err)
	}
	return now, err
}

// startLoop runs f in a goroutine. The returned function ends its context and waits until f has
// returned. The wait matters: the resources of the loop are closed next.
func startLoop(f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var g sync.WaitGroup
	g.Go(func() { f(ctx) })
	return func() { cancel(); g.Wait() }
}
