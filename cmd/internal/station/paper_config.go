package station

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer"
	"ticketrail/printer/escpos"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

// How a section of the configuration becomes a printer. The check command and the running daemon
// use the same functions, so what the check accepts can be built. Below them are the checks that
// compare printers with each other, and the status query of `check --online`.

// printerProfile is the profile of a printer, with the overrides of the configuration.
// printers[].confirm comes last: it is the operator's word about this one printer, whatever its
// model can do.
func printerProfile(c config.Printer) (profile.Profile, error) {
	p, ok := profile.Lookup(c.Profile)
	if !ok {
		return profile.Profile{}, profile.Unknown(c.Profile)
	}
	p, err := p.Override(c.Override)
	if err != nil {
		return profile.Profile{}, fmt.Errorf("override: %w", err)
	}
	if c.Confirm != "" {
		p.Confirm = profile.Confirm(c.Confirm)
	}
	return p, nil
}

// withVenueIfSeveral returns c without the venue in its header if conf has only one: it would say
// the same on each ticket.
func withVenueIfSeveral(c config.Printer, conf *config.Config) config.Printer {
	if len(conf.Venues) < 2 {
		c.Layout.Header = slices.DeleteFunc(slices.Clone(c.Layout.Header), func(f string) bool { return f == "venue" })
	}
	return c
}

// layoutOptions are the layout settings of a printer, without those that depend on its profile.
func layoutOptions(c config.Printer) layout.Options {
	l := c.Layout
	return layout.Options{
		Columns: c.Columns, Printer: c.Name, QR: c.QR,
		NameSize: layout.Size(l.NameSize), ModifierSize: layout.Size(l.ModifierSize),
		NumberSize: layout.Size(l.NumberSize), TableSize: layout.Size(l.TableSize),
		Header: l.Header, Footer: l.Footer,
		UpperCase: l.UpperCase, BlankLines: l.BlankLines, TopMargin: l.TopMargin, NoAlsoAt: !l.AlsoAt,
	}
}

// newDrawer opens the fonts of a configuration, or those installed on the box. A font that cannot
// be read is only a warning: tickets print with the others. A kitchen whose fonts are missing
// prints the letters that the printer has and replaces the others; it must not stop.
func newDrawer(conf *config.Config) (d *raster.Drawer, warnings []string) {
	fonts := conf.Fonts
	if len(fonts) == 0 {
		fonts = raster.Installed()
	}
	d, err := raster.New(raster.Options{Fonts: fonts})
	for _, line := range errorLines(err) {
		warnings = append(warnings, "fonts: "+line)
	}
	return d, warnings
}

// errorLines are the errors that err joins, each on one line.
func errorLines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

// FontWarnings are the problems with the fonts of a configuration; tickets print without those
// fonts.
func FontWarnings(conf *config.Config) []string {
	_, warnings := newDrawer(conf)
	return warnings
}

// LayoutOptions are the layout settings of a station's tickets as text, with the letters that its
// printer has. For a screen or a third-party display they are those of the default printer.
// `inspect` uses it to show a ticket as the paper will: with the same width, and with a replacement
// where the printer has no letter.
func LayoutOptions(conf *config.Config, station string) (layout.Options, error) {
	drawer, _ := newDrawer(conf)
	return layoutOptionsOf(conf, drawer, station)
}

// Layout are the [LayoutOptions] of the active configuration.
func (s *Set) Layout(station string) (layout.Options, error) {
	active := s.active.Load()
	return layoutOptionsOf(active.conf, active.drawer, station)
}

func layoutOptionsOf(conf *config.Config, drawer *raster.Drawer, station string) (layout.Options, error) {
	p := config.DefaultPrinter()
	for _, q := range conf.Printers {
		if q.Name == station {
			p = q
		}
	}
	o := layoutOptions(withVenueIfSeveral(p, conf))
	m, err := printerProfile(p)
	if o.Columns == 0 {
		o.Columns = m.Columns
	}
	o.Printer, o.Alarms = station, layout.NewAlarms(conf.Ticket.Alarms)
	o.MaxSize, o.Framed = m.Sizing.Max(), !m.Invert
	o.Printable = func(s string) string { return escpos.Printable(s, escpos.Options{Profile: m, Drawer: drawer}) }
	return o, err
}

// paperProblems are the mistakes in the printers' addresses and profiles. Each problem
// has the path of its key, from which config finds the line in the file. All are returned, not only
// the first: an operator corrects the file once.
func paperProblems(conf *config.Config) (out []config.Problem) {
	for i, c := range conf.Printers {
		add := func(key string, err error) {
			out = append(out, config.Problem{Path: fmt.Sprintf("printers[%d].%s", i, key), Msg: err.Error()})
		}
		if p, ok := profile.Lookup(c.Profile); !ok {
			add("profile", fmt.Errorf("%w%s", profile.Unknown(c.Profile),
				config.DidYouMean(c.Profile, profile.Names())))
		} else if _, err := p.Override(c.Override); err != nil {
			for _, line := range errorLines(err) {
				key, msg, found := strings.Cut(line, ": ")
				if found {
					add("override."+key, errors.New(msg))
				} else {
					add("override", errors.New(line))
				}
			}
		}
		// Only parses: it does not connect.
		if _, err := transport.Open(c.Address); err != nil {
			add("address", err)
		}
	}
	return slices.Concat(out, macProblems(conf), sharedDevices(conf))
}

// sharedDevices are the mistakes and warnings about stations that share a printer. The printer has
// one connection, so their connection settings must be equal. To share a printer is allowed and
// only a warning: a bar may print its two routes on one roll. To share it by mistake sends the
// tickets of one station to the other end of the kitchen.
func sharedDevices(conf *config.Config) (out []config.Problem) {
	add := func(warning bool, i int, key, format string, args ...any) {
		out = append(out, config.Problem{
			Path: fmt.Sprintf("printers[%d].%s", i, key), Msg: fmt.Sprintf(format, args...), Warning: warning,
		})
	}
	firsts, devices := map[string]int{}, map[string]string{}
	for i, c := range conf.Printers {
		at := transport.CanonicalAddress(c.Address)
		devices[c.Name] = at
		if at == "file://"+filepath.Clean(conf.Storage.Path) { // tickets would overwrite the database
			add(false, i, "address", "is also storage.path; a printer cannot print there")
		}
		first, ok := firsts[at]
		if !ok {
			firsts[at] = i
			continue
		}
		add(true, i, "address", "is also the address of printers[%d]: both stations print on one printer", first)
		other := conf.Printers[first]
		mine, err := printerProfile(c)
		its, err2 := printerProfile(other)
		if err != nil || err2 != nil { // it is in paperProblems already
			continue
		}
		theirs := deviceSettings(other, its)
		for k, s := range deviceSettings(c, mine) {
			if s.value != theirs[k].value {
				add(false, i, s.key, "is %v, and %v in printers[%d], which is the same printer; "+
					"set the same value in both",
					cmp.Or(s.shown, s.value), cmp.Or(theirs[k].shown, theirs[k].value), first)
			}
		}
	}
	for i, c := range conf.Printers {
		// Such a backup fails together with its station, and the operator believes that the tickets
		// are safe.
		if at, ok := devices[c.Backup]; ok && at == devices[c.Name] {
			add(true, i, "backup", "is the same printer under another name, which is no backup")
		}
	}
	return out
}

const (
	connectTimeout = 5 * time.Second // for a connection to a printer
	// queryTimeout is for the status of a station. Probing the capability of a printer, which the
	// first connection does, may take this long.
	queryTimeout = 15 * time.Second
)

// askPrinters asks each printer for its status. A printer that several stations share is asked
// once, because it may accept only one connection. It asks the printers directly, because it must
// also work before the daemon runs. If the daemon is printing, a printer that serves one client
// does not answer here until that ticket is done.
func askPrinters(ctx context.Context, conf *config.Config) (out findings) {
	answers := map[string]*printerAnswer{}
	var asking sync.WaitGroup
	for _, c := range conf.Printers {
		if at := transport.CanonicalAddress(c.Address); answers[at] == nil {
			a := &printerAnswer{}
			answers[at] = a
			asking.Go(func() { a.ask(ctx, c) })
		}
	}
	asking.Wait()
	for _, c := range conf.Printers {
		switch a := answers[transport.CanonicalAddress(c.Address)]; {
		case a.foreign != "":
			out.add(admin.Fail, "printer", c.Name, fmt.Sprintf("%s is no printer: %s answers there; "+
				"to fix: correct the address; the printer's self-test page shows it", c.Address, a.foreign))
		case a.err != nil:
			out.add(admin.Fail, "printer", c.Name, layout.Clean(a.err.Error()))
		case !a.status.Fine():
			out.add(admin.Fail, "printer", c.Name, fmt.Sprintf("%s: %s; to fix: %s",
				c.Address, strings.ReplaceAll(a.status.State, "_", " "), a.status.Advice))
		default:
			verb := "answers"
			if a.status.State == printer.Silent || a.status.State == printer.Unknown {
				verb = "is reachable"
			}
			out.add(admin.OK, "printer", c.Name, fmt.Sprintf("%s %s%s", c.Address, verb, a.details()))
			if a.unchecked {
				out.add(admin.Warn, "printer", c.Name, "mac is of no use: this box does not see the MAC "+
					"address at "+c.Address+", which is behind a router, on this box or IPv6; to fix: remove mac")
			}
		}
	}
	return out
}

// A printerAnswer is the result of asking a printer: its status, or why it did not answer.
type printerAnswer struct {
	status  printer.Status
	foreign string // what answers and is no printer
	// unchecked: the MAC address of what answers is not known.
	unchecked bool
	err       error
}

// ask queries one printer. It sends no ticket byte, so nothing comes out.
func (a *printerAnswer) ask(ctx context.Context, c config.Printer) {
	m, err := printerProfile(c)
	if err != nil {
		a.err = err
		return
	}
	d, _, err := openOnce(c)
	if c.MAC != "" {
		defer func() {
			at, neighbours := knownPrinter(c).Addresses(ctx), transport.Neighbours()
			a.unchecked = !slices.ContainsFunc(at, func(ip netip.Addr) bool { return neighbours[ip] != "" })
		}()
	}
	switch {
	case err != nil:
		a.err = err
		return
	case m.Confirm == profile.NoConfirm: // the configuration forbids status queries
		id, err := identify(ctx, d, false)
		a.status.State, a.foreign, a.err = printer.Unknown, id.Program, err
		return
	}
	if isNetwork(c) {
		// First, because most letters look like a status byte, and because a device waits long for a printer that
		// answers nothing.
		id, err := identify(ctx, d, true)
		a.foreign, a.err = id.Program, err
		if err != nil || !id.Printer {
			a.status.State = printer.Silent
			return
		}
	}
	a.status = query(ctx, c.Name, d, m.Confirm)
	if a.status.State == printer.Unreachable {
		a.err = errors.New(a.status.Err)
	}
}

// openPrinter returns the Dialer for c, which is also the Follower if c has a MAC address.
func openPrinter(c config.Printer, s *transport.Search) (transport.Dialer, *transport.Follower, error) {
	if c.MAC == "" {
		d, err := transport.Open(c.Address)
		return d, nil, err
	}
	f, err := transport.Follow(knownPrinter(c), s)
	return f, f, err
}

// openOnce is for a printer that is asked once: it is not looked for.
func openOnce(c config.Printer) (transport.Dialer, *transport.Follower, error) {
	s := transport.NewSearch(func() []transport.Known { return nil }, slog.New(slog.DiscardHandler))
	s.Close()
	return openPrinter(c, s)
}

func knownPrinter(c config.Printer) transport.Known {
	return transport.Known{Name: c.Name, Address: c.Address, MAC: string(c.MAC)}
}

func knownPrinters(conf *config.Config) (out []transport.Known) {
	for _, c := range conf.Printers {
		out = append(out, knownPrinter(c))
	}
	return out
}

// macProblems are the MAC addresses that cannot be those of the printers.
func macProblems(conf *config.Config) (out []config.Problem) {
	host := func(c config.Printer) string {
		host, _, _ := net.SplitHostPort(strings.TrimPrefix(transport.CanonicalAddress(c.Address), "tcp://"))
		return host
	}
	firsts := map[config.MAC]int{}
	for i, c := range conf.Printers {
		msg := ""
		switch first, ok := firsts[c.MAC]; {
		case c.MAC == "":
		case !isNetwork(c):
			msg = "is only for a printer on the network (tcp://); remove it"
		case !ok:
			firsts[c.MAC] = i
		case host(c) != host(conf.Printers[first]): // a print server has several ports
			msg = fmt.Sprintf("%s is also that of printers[%d], which has another address; "+
				"every printer has a MAC address of its own", c.MAC, first)
		}
		if msg != "" {
			out = append(out, config.Problem{Path: fmt.Sprintf("printers[%d].mac", i), Msg: msg})
		}
	}
	return out
}

func isNetwork(c config.Printer) bool {
	return strings.HasPrefix(transport.CanonicalAddress(c.Address), "tcp://")
}

// Query is the status of the printer at d, and the best result that a ticket can have there. It sends no ticket
// byte.
func Query(ctx context.Context, d transport.Dialer) printer.Status {
	return query(ctx, "printer", d, profile.Auto)
}

func query(ctx context.Context, name string, d transport.Dialer, by profile.Confirm) printer.Status {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return printer.NewDevice(printer.DeviceOptions{
		Name: name, Dialer: d, Confirm: by, ConnectTimeout: connectTimeout, Linger: -1,
	}).Ask(ctx)
}

// details is what an answer tells beyond that the printer answered.
func (a *printerAnswer) details() string {
	var parts []string
	if a.status.State == printer.Ready {
		parts = append(parts, "ready")
	}
	switch {
	case a.status.State == printer.Silent:
		parts = append(parts, "it answers no status query: tickets will be sent, never confirmed, "+
			"unless another program prints there now and keeps it busy")
	case a.status.Capability == string(ticket.Sent): // the bytes were taken; no more can be known
		parts = append(parts, "it cannot say whether a ticket was printed")
	case a.status.Capability != "":
		parts = append(parts, "best proof "+a.status.Capability)
	}
	if a.status.Advice != "" {
		parts = append(parts, a.status.Advice)
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, "; ")
}

// identify is [printer.Identify] with a limit for the connection.
func identify(ctx context.Context, d transport.Dialer, ask bool) (printer.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return printer.Identify(ctx, d, ask)
}

// PrintTest prints a test ticket at once, past the queue: for a box whose daemon does not run yet.
func PrintTest(ctx context.Context, conf *config.Config, name string) (ticket.Proof, error) {
	at := slices.IndexFunc(conf.Printers, func(p config.Printer) bool { return p.Name == name })
	if at < 0 {
		return "", fmt.Errorf("%s is no printer", name)
	}
	c := withVenueIfSeveral(conf.Printers[at], conf)
	m, err := printerProfile(c)
	if err != nil {
		return "", err
	}
	d, _, err := openOnce(c)
	if err != nil {
		return "", err
	}
	device := printer.NewDevice(printer.DeviceOptions{
		Name: c.Name, Dialer: d, Confirm: m.Confirm, ConnectTimeout: connectTimeout, Linger: -1,
	})
	defer device.Retire()
	drawer, _ := newDrawer(conf)
	paper := printer.NewPaper(printer.Options{
		Name: c.Name, Device: device, Profile: m, Columns: c.Columns, Layout: layoutOptions(c), Drawer: drawer,
	})
	return paper.Print(ctx, ticket.Delivery{Station: name, Attempt: 1, Ticket: ticket.Ticket{
		Kind: ticket.Test, Number: "TEST", Zone: conf.Venues[0].Timezone, Received: time.Now(),
	}}, func(context.Context) error { return nil })
}
