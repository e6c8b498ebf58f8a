package station

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/config"
	"ticketrail/printer/kds"
	"ticketrail/printer/layout"
)

// listen opens the listener of the pages, as soon as there is a screen. It stays, for a reload
// that takes the last one away may be followed by one that brings it back.
func (d *screens) listen(conf *config.Config) error {
	if len(conf.Screens) == 0 || d.server != nil {
		return nil
	}
	var cert *httpserver.CertReloader
	if t := conf.Display.TLS; t.Enabled() {
		var err error
		if cert, err = httpserver.NewCertReloader(httpserver.Files{Cert: t.CertFile, Key: t.KeyFile}, d.log.With("component", "kds"), nil); err != nil {
			return fmt.Errorf("display.tls: %w", err)
		}
	}
	l, err := d.s.o.Listen(conf.Display)
	if err != nil {
		return err
	}
	d.listener, d.cert, d.server = l, cert, kds.NewServer(kds.ServerOptions{Pairings: d.pairings, Logger: d.log})
	d.conf = conf.Display
	close(d.opened)
	return nil
}

// maxConnections is how many connections the pages of all screens may have.
const maxConnections = 512

// ServeScreens answers the screens' pages, once there is a listener, until ctx ends.
func (s *Set) ServeScreens(ctx context.Context) error {
	d := s.screens
	select {
	case <-d.opened:
		return httpserver.Serve(ctx, kds.LimitListener(d.listener), d.server.HTTPServer(),
			httpserver.Options{Cert: d.cert, MaxConnections: maxConnections, Grace: 3 * time.Second})
	case <-ctx.Done():
		return nil
	}
}

// ScreensAddr is where pages are; nil before there is a screen.
func (s *Set) ScreensAddr() net.Addr {
	select {
	case <-s.screens.opened:
		return s.screens.listener.Addr()
	default:
		return nil
	}
}

// Display is the section of the configuration that the listener of the pages was opened with,
// which only a restart changes; that of now while there is none.
func (s *Set) Display(now config.Display) config.Display {
	if s.ScreensAddr() == nil {
		return now
	}
	return s.screens.conf
}

// Displays is the screens for the control API.
func (s *Set) Displays() admin.Displays { return s.screens }

// Screens is every screen, and who may look at them from elsewhere.
func (d *screens) Screens() admin.Screens {
	out := admin.Screens{Screens: []admin.Screen{}, Pairings: []admin.Pairing{}}
	live := d.s.live.Load()
	for _, p := range d.pairings.List() {
		out.Pairings = append(out.Pairings, shownPairing(p))
	}
	for _, c := range live.conf.Screens {
		s := d.screen(live, c.Name)
		if s == nil {
			continue // a notice says why
		}
		v := d.shown(s)
		for _, p := range out.Pairings {
			if p.Station == c.Name {
				v.Paired++
			}
		}
		out.Screens = append(out.Screens, v)
	}
	return out
}

func (d *screens) shown(s *screen) admin.Screen {
	st := s.Status()
	v := admin.Screen{
		Name: s.conf.Name, Title: s.Options().Title, Mode: s.conf.Mode, Address: d.address(s.conf.Name),
		State: admin.ScreenUnset, Live: st.Live, Ever: d.everSetUp(s.conf.Name), Open: st.Open,
	}
	switch {
	case st.Live > 0:
		v.State = admin.ScreenOpen
	case v.Ever:
		v.State = admin.ScreenDark
	}
	if s.expo != nil { // its own board is of a time before
		view := s.expo.Snapshot()
		v.Open, st.Oldest = len(view.Orders), time.Time{}
		if len(view.Orders) > 0 {
			st.Oldest = time.UnixMilli(view.Orders[0].Received)
		}
	}
	if !st.Dead.IsZero() {
		v.Since = new(st.Dead)
	}
	if !st.Oldest.IsZero() {
		v.Oldest = new(st.Oldest)
	}
	v.Backup = s.backup
	return v
}

// address is what a person types into a browser to see a screen.
func (d *screens) address(name string) string {
	addr := d.s.ScreensAddr()
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

// Pair lets the browser that shows code see a station, which may be left out where there is
// only one.
func (d *screens) Pair(ctx context.Context, code, station string) (admin.Pairing, error) {
	conf := d.s.live.Load().conf
	if station == "" {
		if len(conf.Screens) != 1 {
			return admin.Pairing{}, &admin.Error{Code: admin.BadRequest, Message: "which screen? name it with --station"}
		}
		station = conf.Screens[0].Name
	}
	if d.s.ScreensAddr() == nil {
		return admin.Pairing{}, &admin.Error{Code: admin.NotFound, Message: "the configuration has no screens"}
	}
	p, err := d.server.Pair(ctx, code, station)
	if err != nil {
		return admin.Pairing{}, screenError(err)
	}
	return shownPairing(p), nil
}

// Revoke ends a pairing, and its page.
func (d *screens) Revoke(ctx context.Context, id string) (admin.Pairing, error) {
	p, err := d.pairings.Revoke(ctx, id)
	if err != nil {
		return admin.Pairing{}, screenError(err)
	}
	return shownPairing(p), nil
}

// screenError gives what the screens refuse its meaning in the control API.
func screenError(err error) error {
	switch {
	case errors.Is(err, kds.ErrUnknownCode), errors.Is(err, kds.ErrNoPairing), errors.Is(err, kds.ErrNoScreen):
		return &admin.Error{Code: admin.NotFound, Message: err.Error()}
	case errors.Is(err, kds.ErrTooManyCodes):
		return &admin.Error{Code: admin.Busy, Message: err.Error()}
	}
	return err
}

func shownPairing(p kds.Pairing) admin.Pairing {
	v := admin.Pairing{ID: p.ID, Station: p.Station, Address: p.Address, Browser: p.Browser, Paired: p.Paired}
	if !p.Seen.IsZero() {
		v.Seen = new(p.Seen)
	}
	return v
}

// screenAdvice is what to do about a screen that nobody looks at; empty for others.
func screenAdvice(v admin.Screen) string {
	open := "open " + v.Address + " there"
	if v.Address == "" {
		open = "open its page"
	}
	switch v.State {
	case admin.ScreenOpen:
		return ""
	case admin.ScreenUnset:
		return "set the screen up: " + open + " (from another machine it shows a code: ticketrail screens pair)"
	}
	return "see why the screen is dark, or " + open
}

// screenProblems is what only the package of the screens knows of their configuration.
func screenProblems(conf *config.Config) (out []config.Problem) {
	for i, c := range conf.Screens {
		if err := kds.CheckKeys(c.Keys); err != nil {
			out = append(out, config.Problem{Path: fmt.Sprintf("screens[%d].keys", i), Msg: err.Error()})
		}
	}
	return out
}

// askScreens asks the running daemon about its screens, for only that has them.
func askScreens(ctx context.Context, conf *config.Config) (out OnlineReport) {
	if len(conf.Screens) == 0 {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, askedWithin)
	defer cancel()
	all, err := admin.NewClient(conf.Admin.Socket).Screens(ctx)
	known := map[string]admin.Screen{}
	for _, s := range all.Screens {
		known[s.Name] = s
	}
	var dark []string
	for _, c := range conf.Screens {
		switch s, ok := known[c.Name]; {
		case err != nil:
			out.add("WARN", "screen", c.Name, "whether somebody looks at it is not known: "+layout.Clean(notAsked(err)))
		case !ok:
			out.add("WARN", "screen", c.Name, "the running daemon does not have it yet: systemctl reload ticketrail")
		case s.Live > 0:
			out.add("OK", "screen", c.Name, fmt.Sprintf("%s: pages open: %d", s.Address, s.Live))
		case s.State == admin.ScreenUnset:
			dark = append(dark, c.Name)
			out.add("FAIL", "screen", c.Name, "was never open nor paired: "+screenAdvice(s))
		default:
			dark = append(dark, c.Name)
			out.add("FAIL", "screen", c.Name, fmt.Sprintf("nobody is looking since %s: %s", s.Since.Local().Format(time.DateTime), screenAdvice(s)))
		}
	}
	out.wrong("nobody is looking at", dark)
	return out
}

// notAsked is why the daemon was not asked, in few words.
func notAsked(err error) string {
	if _, ok := errors.AsType[*admin.NotRunning](err); ok {
		return "the daemon is not running"
	}
	return err.Error()
}
