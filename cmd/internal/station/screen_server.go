package station

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/config"
	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/ticket"
)

// The pages' web server, and the control API's answers about screens. The server keeps its listener, its
// certificate and its pairings until the daemon stops; a reload only changes which screens it shows.

// listen opens the listener of the pages. It then stays open until the daemon stops. It is called while a
// configuration is built, so that a port in use refuses the reload and changes nothing. Without screens only
// the page for managers is missing then, so the kitchen works on without it.
func (d *screens) listen(conf *config.Config) error {
	if d.server != nil || conf.Display.Listen == "" {
		return nil
	}
	err := d.open(conf)
	if err != nil && len(conf.Screens) == 0 {
		d.log.Warn("the page for managers is not served", "err", err)
		return nil
	}
	return err
}

func (d *screens) open(conf *config.Config) error {
	var cert *httpserver.CertReloader
	if t := conf.Display.TLS; t.Enabled() {
		var err error
		files := httpserver.Files{Cert: t.CertFile, Key: t.KeyFile}
		if cert, err = httpserver.NewCertReloader(files, d.log.With("component", "kds"), nil); err != nil {
			return fmt.Errorf("display.tls: %w", err)
		}
	}

	listener, err := d.s.o.Listen(conf.Display)
	if err != nil {
		return err
	}
	d.listener, d.cert, d.server = listener, cert, kds.NewServer(kds.ServerOptions{
		Pairings: d.pairings, Manage: d.s.o.Manage, Logger: d.log,
	})
	d.display = conf.Display
	close(d.opened)
	return nil
}

// maxConnections is how many connections the pages of all screens may have together. Open files are
// limited, and printers and the database need some too. A page keeps one connection open for its
// stream, and a browser opens a few more.
const maxConnections = 512

// PageGrace is how long a request of a page may take when the daemon stops.
const PageGrace = 3 * time.Second

// ServeScreens serves the pages, once there is a listener, until ctx ends. The daemon calls it
// once, also without screens: a reload may add the first one.
func (s *Set) ServeScreens(ctx context.Context) error {
	pages := s.screens
	select {
	case <-pages.opened:
		return httpserver.Serve(ctx, pages.listener, pages.server.HTTPServer(),
			httpserver.Options{Cert: pages.cert, MaxConnections: maxConnections, Group: kds.Group, Grace: PageGrace})
	case <-ctx.Done():
		return nil
	}
}

// ScreensAddr is the address of the pages; nil before there is a screen. It is safe to call at any
// time: a closed channel makes the listener visible to every goroutine.
func (s *Set) ScreensAddr() net.Addr {
	select {
	case <-s.screens.opened:
		return s.screens.listener.Addr()
	default:
		return nil
	}
}

// Display is the section display that the listener of the pages was opened with; only a restart
// changes it. Before there is a listener it is now.
func (s *Set) Display(now config.Display) config.Display {
	if s.ScreensAddr() == nil {
		return now
	}
	return s.screens.display
}

// Displays are the screens, for the control API.
func (s *Set) Displays() admin.Displays { return s.screens }

// Screens is every screen and every paired browser. It reads memory only, so a listing works while
// the disk does not.
func (d *screens) Screens() admin.Screens {
	out := admin.Screens{Screens: []admin.Screen{}, Pairings: append([]admin.Pairing{}, d.pairings.List()...)}
	active := d.s.active.Load()
	for _, c := range active.conf.Screens {
		screen, opened := active.stations[c.Name].(*screen)
		if !opened {
			continue // a pass that could not be opened; Findings says why
		}

		state := d.screenState(screen)
		for _, p := range out.Pairings {
			if p.Station == c.Name {
				state.Paired++
			}
		}
		out.Screens = append(out.Screens, state)
	}

	return out
}

// screenState is the entry of a screen or a pass in a listing. Since and Oldest are absent, not
// zero, if they have no value: scripts would read a zero as the year 1.
func (d *screens) screenState(s *screen) admin.Screen {
	st := s.Status()
	state := admin.Screen{
		Name: s.conf.Name, Title: s.Options().Title, Mode: s.conf.Mode, Address: d.address(s.conf.Name),
		Live: st.Live, Since: st.DarkSince, Open: st.Open, Oldest: st.Oldest, Backup: s.backup,
	}

	if s.pass != nil { // a pass shows orders of other boards; its own board is not shown
		view := s.pass.Snapshot()
		state.Open, state.Oldest = len(view.Orders), time.Time{}
		if len(view.Orders) > 0 {
			state.Oldest = time.UnixMilli(view.Orders[0].Received)
		}
	} else {
		state.Unseen = st.Unseen
	}

	return state
}

// address is the address in a browser at which a screen is shown. A listener at all addresses has
// none to show, so the box's name is used.
func (d *screens) address(name string) string {
	addr := d.s.ScreensAddr()
	if addr == nil {
		return ""
	}

	at := url.URL{Scheme: "http", Host: addr.String(), Path: "/screen/" + name}
	if d.display.TLS.Enabled() {
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

// Timeline asks every board and pass: a ticket can have been on the board of a backup too.
func (d *screens) Timeline(job uint64) (out []admin.Moment, err error) {
	d.mu.Lock()
	boards := slices.Collect(maps.Values(d.boards))
	d.mu.Unlock()
	var all []board.Moment
	for _, b := range boards {
		moments, err := b.TimelineOfJob(job)
		if err != nil {
			return nil, err
		}
		all = append(all, moments...)
	}

	for _, st := range d.s.active.Load().stations {
		if on, ok := st.(*screen); ok && on.pass != nil {
			all = append(all, on.pass.TimelineOfJob(job)...)
		}
	}
	for _, m := range all {
		out = append(out, admin.Moment{At: time.UnixMilli(m.At).UTC(), Text: kds.Tell(m)})
	}
	return out, nil
}

// Pair allows the browser that shows code to show a screen. An empty station is the only one there
// is. The operator who types the code stands at the screen that shows it, or hears it on the phone:
// that is the proof that this browser may see the orders.
func (d *screens) Pair(ctx context.Context, code, station string, manager bool) (admin.Pairing, error) {
	conf := d.s.active.Load().conf
	switch {
	case manager && station != "":
		return admin.Pairing{}, admin.Refuse(admin.BadRequest,
			"a manager sees every screen: use either --manager or --station")
	case station == "" && !manager:
		if len(conf.Screens) != 1 {
			return admin.Pairing{}, admin.Refuse(admin.BadRequest, "no screen: name one with --station")
		}
		station = conf.Screens[0].Name
	}

	if d.s.ScreensAddr() == nil || !manager && len(conf.Screens) == 0 {
		return admin.Pairing{}, admin.Refuse(admin.NotFound, "the configuration has no screens")
	}
	return d.server.Pair(ctx, code, kds.Pairing{Station: station, Manager: manager}, "an operator")
}

// Revoke ends a pairing and closes its page. A stolen or replaced tablet loses access at once, also
// while its page is open.
func (d *screens) Revoke(ctx context.Context, id string) (admin.Pairing, error) {
	return d.pairings.Revoke(ctx, id)
}

// AddState adds the state of the screen's pages to a listing.
func (s *screen) AddState(l *finding.Station) {
	state := s.owner.screenState(s)
	l.Kind, l.Address, l.Pages = finding.KindScreen, state.Address, state.Live
	l.Device = &finding.DeviceStatus{State: "open", Fine: state.Live > 0, Conditions: []string{},
		BestProof: string(ticket.Shown)}
	if state.Live == 0 {
		l.Device.State, l.Device.Since, l.Device.Advice = nobodyLooking, state.Since, openAdvice(state.Address)
	}

	if state.Live > 0 && l.NotReady != "" {
		// The page that the dispatcher waited for is open again, but the dispatcher notices only with
		// its next ticket.
		l.Known, l.Since, l.NotReady, l.Error, l.ActiveBackup = false, time.Time{}, "", "", ""
	}
}

// nobodyLooking is the state of a screen without an open page. One page is enough: cooks then see its tickets.
const nobodyLooking = "nobody_looking"

// openAdvice is the advice about it.
func openAdvice(address string) string {
	if strings.Contains(address, "://127.0.0.1:") {
		return "open " + address + " in a browser on this box; for a screen on another machine, first set " +
			"display.listen to this box's address"
	}
	return "switch the screen on and open " + cmp.Or(address, "its page") +
		" in its browser; a new browser shows a code for ticketrail screens pair"
}
