package station

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"ticketrail/config"
	"ticketrail/printer/escpos"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
)

// How a section of the configuration becomes a printer, and the checks that compare printers with each other. The check
// command and the running daemon use the same functions, so what the check accepts can be built.

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
