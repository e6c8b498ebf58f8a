package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"sync"
	"time"

	"ticketrail/config"
	"ticketrail/printer/kds"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// A display is what the daemon's screens share, for as long as it runs: the boards, the server
// that pages come from, and who may look.
type display struct {
	log      *slog.Logger
	pairings *kds.Pairings
	metrics  *kds.Metrics
	visits   *visits

	mu       sync.Mutex            // guards what follows
	boards   map[string]*kds.Board // of every screen that there was since the start
	watching map[*screen]func()    // what ends the rescue of what is on one
	pushes   map[string]*push
	lost     map[string]error // passes that could not be opened
	over     bool

	opened   chan struct{} // closed when there is a server
	server   *kds.Server
	listener net.Listener
	conf     config.Display // as it was then
}

// newDisplay opens what is on the shelves. Nothing listens yet.
func (a *App) newDisplay() (*display, error) {
	d := &display{
		log: a.log, metrics: kds.NewMetrics(a.registry),
		boards: map[string]*kds.Board{}, watching: map[*screen]func(){}, lost: map[string]error{}, opened: make(chan struct{}),
	}
	var err error
	if d.pairings, err = kds.OpenPairings(a.queue.Shelf("pairings"), a.log); err != nil {
		return nil, err
	}
	if d.visits, err = openVisits(a.queue.Shelf("screens"), a.log); err != nil {
		return nil, err
	}
	// Also those that are no screens any more: somebody should know what is left on them.
	for _, name := range d.visits.stations() {
		if _, err := a.board(d, name); err != nil {
			return nil, err
		}
	}
	a.registry.MustRegister(visitCollector{a})
	return d, nil
}

// board is the board of a screen: one value for as long as the daemon runs.
func (a *App) board(d *display, name string) (*kds.Board, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.boards[name]; b != nil {
		return b, nil
	}
	b, err := kds.OpenBoard(kds.BoardOptions{Station: name, Shelf: a.queue.Shelf("board " + name), Logger: a.log})
	if err != nil {
		return nil, err
	}
	d.boards[name] = b
	return b, nil
}

// listenDisplay opens the listener of the pages, as soon as there is a screen. It stays, for a
// reload that takes the last one away may be followed by one that brings it back.
func (a *App) listenDisplay(conf *config.Config) error {
	d := a.display
	if len(conf.Screens) == 0 || d.server != nil {
		return nil
	}
	o := kds.ServerOptions{Pairings: d.pairings, Logger: a.log}
	if t := conf.Display.TLS; t.Enabled() {
		var err error
		if o.TLS, err = kds.FileTLS(t.CertFile, t.KeyFile, a.log); err != nil {
			return fmt.Errorf("display.tls: %w", err)
		}
	}
	l := a.o.Display
	if l == nil {
		var err error
		if l, err = listenOn("display.listen", conf.Display.Listen); err != nil {
			return err
		}
	}
	d.listener, d.server = l, kds.NewServer(o)
	d.conf = conf.Display
	close(d.opened)
	return nil
}

// booted is the configuration whose restart keys are in force. Those of the display are since
// there is a listener, which a reload may have opened.
func (a *App) booted(now *config.Config) *config.Config {
	boot := *a.boot
	if boot.Display = a.display.conf; a.display.server == nil {
		boot.Display = now.Display
	}
	return &boot
}

// serve answers pages, once there is a listener, until ctx ends.
func (d *display) serve(ctx context.Context) error {
	select {
	case <-d.opened:
		return d.server.Serve(ctx, d.listener)
	case <-ctx.Done():
		return nil
	}
}

// addr is where pages are; nil before there is a screen.
func (d *display) addr() net.Addr {
	select {
	case <-d.opened:
		return d.listener.Addr()
	default:
		return nil
	}
}

// close is for a display that was never served.
func (d *display) close(ctx context.Context) error {
	if d.listener == nil {
		return nil
	}
	return closeOnce(d.listener)(ctx)
}

// show puts the screens of r in force. The rescue of a screen that goes ends before that of the
// one in its place begins: nothing on their board may come out twice.
func (a *App) show(r *rules) {
	d := a.display
	var displays []kds.Display
	var screens []*kds.Screen
	wanted := map[*screen]bool{}
	for _, c := range r.conf.Screens {
		s := r.screens[c.Name]
		if s == nil {
			continue // a pass that could not be opened
		}
		wanted[s] = true
		screens = append(screens, s.Screen)
		displays = append(displays, kds.Display{Screen: s.Screen, Keys: c.Keys, Zone: a.kitchenZone(r.conf), Print: a.paperFor(r, c)})
	}
	if d.server != nil {
		d.server.Set(displays)
	}
	d.metrics.Set(screens)

	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return
	}
	d.unwatch(wanted)
	for s := range wanted {
		if d.watching[s] == nil && !s.conf.Expo() {
			d.watching[s] = running(s.Watch)
		}
	}
	for name, p := range d.pushes {
		if r.pushes[name] != p {
			p.Close()
		}
	}
	d.pushes = r.pushes
}

// unwatch ends the rescue of the screens that are not wanted. mu is held.
func (d *display) unwatch(wanted map[*screen]bool) {
	var leaving sync.WaitGroup
	for s, stop := range d.watching {
		if !wanted[s] {
			leaving.Go(stop)
			delete(d.watching, s)
		}
	}
	leaving.Wait()
}

// end stops all of it.
func (d *display) end(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	d.unwatch(nil)
	for _, p := range d.pushes {
		p.Close()
	}
	d.visits.wait()
	return nil
}

// running runs f until the function that it returns is called, which waits for its end.
func running(f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var g sync.WaitGroup
	g.Go(func() { f(ctx) })
	return func() { cancel(); g.Wait() }
}

// kitchenZone is where the clock on the pages is: at the first venue. Nil: where this box is.
func (a *App) kitchenZone(conf *config.Config) *time.Location {
	if len(conf.Venues) == 0 {
		return nil
	}
	name := conf.Venues[0].Timezone
	if name == "" {
		name, _ = a.directory.Zone(conf.Venues[0].ID)
	}
	if name == "" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}

// paperFor prints a card of a screen where its tickets come out while nobody looks at it; nil
// where that is no paper.
func (a *App) paperFor(r *rules, c config.Screen) func(context.Context, uint64) error {
	if c.Expo() {
		return nil // its cards are those of other stations
	}
	for _, h := range r.helpers(c.Name) {
		if r.stations[h.name] != nil {
			return func(ctx context.Context, job uint64) error {
				_, err := a.queue.Reprint(ctx, job, h.name, "a cook at "+c.Name+" asked for paper")
				if errors.Is(err, queue.ErrConflict) {
					err = fmt.Errorf("%w: %w", kds.ErrNotYet, err)
				}
				return err
			}
		}
	}
	return nil
}

// pageAddress is what a person types into a browser to see a screen.
func (a *App) pageAddress(name string) string {
	d := a.display
	addr := d.addr()
	if addr == nil {
		return ""
	}
	at := url.URL{Scheme: "http", Host: addr.String(), Path: "/screen/" + name}
	if d.conf.TLS.Enabled() {
		at.Scheme = "https"
	}
	if t, ok := addr.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		at.Host = net.JoinHostPort(host, fmt.Sprint(t.Port))
	}
	return at.String()
}

// leftOnBoards is what a person must know of boards that no screen shows any more, and of passes
// that could not be opened.
func (a *App) leftOnBoards(r *rules) (out []string) {
	d := a.display
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range d.visits.stations() {
		b := d.boards[name]
		if b == nil || r.screens[name] != nil {
			continue
		}
		if open, _ := b.Load(); open > 0 {
			out = append(out, fmt.Sprintf("the board of %s, which is no screen any more, still has %s that nobody sees: put it back, or see ticketrail jobs list --station %q",
				name, ticket.Plural(open, "ticket"), name))
		}
	}
	for _, c := range r.conf.Screens {
		if err := d.lost[c.Name]; err != nil {
			out = append(out, fmt.Sprintf("%s cannot be shown: %v", c.Name, err))
		}
	}
	return out
}
