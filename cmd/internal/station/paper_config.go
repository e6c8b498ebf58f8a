package station

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"

	"ticketrail/config"
	"ticketrail/printer/escpos"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
)

// How a section of the configuration becomes a printer.

// look is the layout of a printer's tickets. A venue in the header would say the same on each ticket if it is the only
// one.
func look(p config.Printer, conf *config.Config) layout.Options {
	options := p.Layout.Options
	options.Columns, options.Printer, options.QR, options.NoAlsoAt = p.Columns, p.Name, p.QR, !p.Layout.AlsoAt
	options.Alarms = layout.NewAlarms(conf.Ticket.Alarms)
	if len(conf.Venues) < 2 {
		options.Header = slices.DeleteFunc(slices.Clone(options.Header), func(f string) bool { return f == "venue" })
	}
	return options
}

// NewDrawer opens the fonts of a configuration, or those installed on the box. A font that cannot
// be read is only a warning: tickets print with the others. A kitchen whose fonts are missing
// prints the letters that the printer has and replaces the others; it must not stop.
func NewDrawer(conf *config.Config) (d *raster.Drawer, warnings []string) {
	fonts := conf.Fonts
	if len(fonts) == 0 {
		fonts = raster.Installed()
	}

	d, err := raster.New(fonts...)
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			warnings = append(warnings, "fonts: "+line)
		}
	}
	return d, warnings
}

// LayoutOptions are the layout settings of a station's tickets as text, with the letters that its
// printer has. For a screen or a third-party display they are the settings of the default printer.
// `inspect` uses it to show a ticket as the paper will: with the same width, and with a replacement
// where the printer has no letter.
func LayoutOptions(conf *config.Config, drawer *raster.Drawer, station string) (layout.Options, error) {
	chosen := config.DefaultPrinter()
	for _, q := range conf.Printers {
		if q.Name == station {
			chosen = q
		}
	}

	options := look(chosen, conf)
	model, err := chosen.Model()
	options.Columns, options.Printer = cmp.Or(options.Columns, model.Columns), station
	options.MaxSize, options.Framed = model.Sizing.Max(), !model.Invert
	options.Printable = func(s string) string {
		return escpos.Printable(s, escpos.Options{Profile: model, Drawer: drawer})
	}
	return options, err
}

// Layout are the [LayoutOptions] of the active configuration.
func (s *Set) Layout(station string) (layout.Options, error) {
	active := s.active.Load()
	return LayoutOptions(active.conf, active.drawer, station)
}

// openPrinter returns the Dialer for c, which is a [follower] if c has a MAC address.
func openPrinter(c config.Printer, s *transport.Search) (transport.Dialer, error) {
	if c.MAC == "" {
		return transport.Open(c.Address)
	}
	return transport.Follow(knownPrinter(c), s)
}

// openOnce is for a printer that is asked once: it is not looked for.
func openOnce(c config.Printer) (profile.Profile, transport.Dialer, error) {
	search := transport.NewSearch(func() []transport.Known { return nil }, slog.New(slog.DiscardHandler))
	search.Close()
	dialer, opening := openPrinter(c, search)
	model, err := c.Model()
	return model, dialer, cmp.Or(err, opening)
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
