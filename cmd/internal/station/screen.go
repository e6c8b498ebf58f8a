package station

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"sync"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/config"
	"ticketrail/printer/kds"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// screens makes the stations that are pages in a browser, and the screens of the pass, which show
// what those have. It owns what they share for as long as the daemon runs: the boards, the server
// that pages come from, and who may look.
type screens struct {
	s        *Set
	log      *slog.Logger
	pairings *kds.Pairings
	metrics  *kds.Metrics
	visits   *visits
	rescuing map[*screen]func() // what ends the rescue of what is on one

	mu     sync.Mutex            // guards what follows
	boards map[string]*kds.Board // of every screen that there was since the start
	passes map[string]*screen
	lost   map[string]error // passes that could not be opened

	opened   chan struct{} // closed when there is a server
	server   *kds.Server
	listener net.Listener
	cert     *httpserver.CertReloader // nil: plain HTTP
	conf     config.Display           // as it was then
}

// openScreens opens what the queue's file has of screens. Nothing listens yet.
func openScreens(s *Set) (kind, error) {
	d := &screens{
		s: s, log: s.o.Logger, metrics: kds.NewMetrics(s.o.Registry), rescuing: map[*screen]func(){},
		boards: map[string]*kds.Board{}, passes: map[string]*screen{}, opened: make(chan struct{}),
	}
	var err error
	if d.pairings, err = kds.OpenPairings(s.o.Queue.KV("pairings"), d.log); err != nil {
		return nil, err
	}
	if d.visits, err = openVisits(s.o.Queue.KV("screens"), d.log); err != nil {
		return nil, err
	}
	// Also those that are no screens any more: somebody should know what is left on them.
	for _, name := range d.visits.stations() {
		if _, err := d.board(name); err != nil {
			return nil, err
		}
	}
	s.o.Registry.MustRegister(visitCollector{d})
	s.screens = d
	return d, nil
}

// board is the board of a screen: one value for as long as the daemon runs.
func (d *screens) board(name string) (*kds.Board, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.boards[name]; b != nil {
		return b, nil
	}
	b, err := kds.OpenBoard(kds.BoardOptions{Station: name, KV: d.s.o.Queue.KV("board " + name), Logger: d.log})
	if err != nil {
		return nil, err
	}
	d.boards[name] = b
	return b, nil
}

// A screen is a configured screen and who stands in for it. A reload that leaves all of that
// alone keeps it, so that its pages are not disturbed.
type screen struct {
	*kds.Screen
	owner  *screens
	conf   config.Screen
	backup string
	expo   *kds.Expo // nil for one with a board of its own
}

func (s *screen) Lane() dispatch.Lane {
	return dispatch.Lane{Name: s.conf.Name, Station: s.Screen, ExpireAfter: s.conf.ExpireAfter}
}

func (s *screen) WrapBackup(backup dispatch.Station) dispatch.Station { return s.Screen.WrapBackup(backup) }

// build makes the screens that have tickets of their own, and the listener of the pages as soon
// as there is a screen. Those of the pass come last, in stop.
func (d *screens) build(next, was *Built) error {
	for i, c := range next.conf.Screens {
		if _, err := d.board(c.Name); err != nil {
			return problem("screens", i, err)
		}
		d.visits.configured(c.Name)
		if !c.Expo() {
			d.add(next, was, c)
		}
	}
	return d.listen(next.conf)
}

func (d *screens) add(next, was *Built, c config.Screen) {
	s := &screen{owner: d, conf: c}
	s.backup, _ = next.conf.BackupOf(c.Name)
	if old, ok := was.stations[c.Name].(*screen); ok && reflect.DeepEqual(old.conf, c) && old.backup == s.backup {
		next.stations[c.Name] = old
		return
	}
	o := d.options(c)
	o.Backup, o.Rescuer = s.backup, d.s.o.Queue
	s.Screen = kds.NewScreen(o)
	next.stations[c.Name] = s
}

func (d *screens) options(c config.Screen) kds.ScreenOptions {
	b, err := d.board(c.Name)
	if err != nil {
		panic(err) // build has opened it
	}
	return kds.ScreenOptions{
		Name: c.Name, Title: c.Title, Board: b, HoldFor: c.HoldFor, WarnAfter: c.WarnAfter, LateAfter: c.LateAfter,
		OnLive: func() {
			d.s.o.Dispatcher.Kick(c.Name)
			d.visits.opened(c.Name)
		},
		Logger: d.log, Metrics: d.metrics,
	}
}

// stop ends the rescue of the screens that are gone before that of the ones in their place
// begins: nothing on their board may come out twice. And it swaps the screens of the pass.
func (d *screens) stop(next *Built) {
	var leaving sync.WaitGroup
	for s, stop := range d.rescuing {
		if next.stations[s.conf.Name] != s {
			leaving.Go(stop)
			delete(d.rescuing, s)
		}
	}
	leaving.Wait()
	d.openPasses(next.conf)
}

// start has the pages show the screens of next.
func (d *screens) start(next *Built) {
	var displays []kds.Display
	var all []*kds.Screen
	for _, c := range next.conf.Screens {
		s := d.screen(next, c.Name)
		if s == nil {
			continue // a pass that could not be opened
		}
		all = append(all, s.Screen)
		displays = append(displays, kds.Display{Screen: s.Screen, Keys: c.Keys, Zone: d.s.o.Zone(next.conf), Print: d.paperFor(next, c)})
		if s.expo == nil && d.rescuing[s] == nil {
			d.rescuing[s] = running(s.RunRescue)
		}
	}
	if d.server != nil {
		d.server.Set(displays)
	}
	d.metrics.Set(all)
}

// screen is the screen of that name, with tickets of its own or of the pass; nil for none.
func (d *screens) screen(b *Built, name string) *screen {
	if s, ok := b.stations[name].(*screen); ok {
		return s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passes[name]
}

// paperFor prints a card of a screen where its tickets come out while nobody looks at it; nil
// where that is no paper.
func (d *screens) paperFor(next *Built, c config.Screen) func(context.Context, uint64) error {
	if c.Expo() {
		return nil // its cards are those of other stations
	}
	for _, h := range next.helpers(c.Name) {
		if _, ok := next.stations[h.name].(*paper); ok {
			return func(ctx context.Context, job uint64) error {
				_, err := d.s.o.Queue.Reprint(ctx, job, h.name, "a cook at "+c.Name+" asked for paper")
				if errors.Is(err, queue.ErrConflict) {
					err = fmt.Errorf("%w: %w", kds.ErrInProgress, err)
				}
				return err
			}
		}
	}
	return nil
}

// openPasses makes the screens of the pass. Two that see the same boards must not be open at
// once, so those that do not stay are closed first. One that cannot be opened, because what is
// stored of it cannot be read, is left out: the kitchen goes on without.
func (d *screens) openPasses(conf *config.Config) {
	passes, lost := map[string]*screen{}, map[string]error{}
	for name, was := range d.passes {
		i := slices.IndexFunc(conf.Screens, func(c config.Screen) bool { return c.Name == name && c.Expo() })
		if i < 0 || !slices.Equal(conf.Screens[i].Of, was.conf.Of) {
			was.expo.Close()
		}
	}
	for _, c := range conf.Screens {
		if !c.Expo() {
			continue
		}
		s, err := d.openPass(c, d.passes[c.Name])
		if err != nil {
			lost[c.Name] = err
			d.log.Error("the pass cannot be shown", "station", c.Name, "err", err)
			continue
		}
		passes[c.Name] = s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.passes, d.lost = passes, lost
}

// openWithin is for reading what a pass has sent out.
const openWithin = 10 * time.Second

func (d *screens) openPass(c config.Screen, was *screen) (*screen, error) {
	s := &screen{owner: d, conf: c}
	switch {
	case was != nil && reflect.DeepEqual(was.conf, c):
		return was, nil
	case was != nil && slices.Equal(was.conf.Of, c.Of):
		s.expo = was.expo
	default:
		o := kds.ExpoOptions{Station: c.Name, KV: d.s.o.Queue.KV("expo " + c.Name), Logger: d.log}
		var err error
		if o.Own, err = d.board(c.Name); err != nil { // of a time when it had tickets of its own
			return nil, err
		}
		for _, name := range c.Of {
			b, err := d.board(name)
			if err != nil {
				return nil, err
			}
			o.Of = append(o.Of, b)
		}
		ctx, cancel := context.WithTimeout(context.Background(), openWithin)
		defer cancel()
		if s.expo, err = kds.OpenExpo(ctx, o); err != nil {
			return nil, err
		}
	}
	o := d.options(c)
	o.Expo = s.expo
	s.Screen = kds.NewScreen(o)
	return s, nil
}

func (d *screens) close() {
	d.stop(&Built{conf: &config.Config{}})
	d.visits.wait()
	if d.listener != nil { // its server may have closed it already
		_ = d.listener.Close()
	}
}

// notices is what is left on boards that no screen shows any more, and which passes are not shown.
func (d *screens) notices(live *Built) (out []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range d.visits.stations() {
		b := d.boards[name]
		_, shown := live.stations[name].(*screen)
		if b == nil || shown || d.passes[name] != nil {
			continue
		}
		if open, _ := b.Load(); open > 0 {
			out = append(out, fmt.Sprintf("the board of %s, which is no screen any more, still has %s that nobody sees: put it back, or see ticketrail jobs list --station %q",
				name, ticket.Plural(open, "ticket"), name))
		}
	}
	for _, c := range live.conf.Screens {
		if err := d.lost[c.Name]; err != nil {
			out = append(out, fmt.Sprintf("%s cannot be shown: %v", c.Name, err))
		}
	}
	return out
}

// Show says of a station what its screen knows of itself.
func (s *screen) Show(l *admin.Status) {
	v := s.owner.shown(s)
	l.Kind, l.Address, l.Pages = admin.KindScreen, v.Address, v.Live
	l.Device = &admin.Device{State: v.State, Fine: v.Live > 0, Conditions: []string{}, Ability: string(ticket.Shown)}
	if v.Since != nil {
		l.Device.Since = *v.Since
	}
	l.Device.Advice = screenAdvice(v)
	if v.Live > 0 && l.Waiting != "" {
		// What it waited for is there; the dispatcher finds out with its next ticket.
		l.Known, l.Since, l.Waiting, l.Err, l.StandIn = false, time.Time{}, "", "", ""
	}
}
