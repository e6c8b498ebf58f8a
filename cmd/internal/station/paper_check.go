package station

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ticketrail/config"
	"ticketrail/printer"
	"ticketrail/printer/escpos"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
)

// model is the profile of a printer with what the configuration changes in it.
func model(c config.Printer) (profile.Profile, error) {
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

// look is how the tickets of a printer look, but for what only the printer knows. Defaults
// are left to the layout, which fits them to the paper.
func look(c config.Printer, t *templateTrouble) (layout.Options, error) {
	usual := config.DefaultPrinter().Layout
	o := layout.Options{Columns: c.Columns, Printer: c.Name, UpperCase: c.Layout.UpperCase, BlankLines: c.Layout.BlankLines, QR: c.QR}
	if c.Layout.NameSize != usual.NameSize {
		o.NameSize = layout.Size(c.Layout.NameSize)
	}
	if c.Layout.ModifierSize != usual.ModifierSize {
		o.ModifierSize = layout.Size(c.Layout.ModifierSize)
	}
	if !slices.Equal(c.Layout.Header, usual.Header) {
		o.Header = c.Layout.Header
	}
	if c.Layout.TemplateFile == "" {
		return o, nil
	}
	var err error
	if o.Template, err = layout.ParseTemplate(c.Layout.Template); err != nil {
		return layout.Options{}, err
	}
	if t != nil {
		o.OnTemplateError = t.report
	}
	return o, nil
}

// newDrawer opens the fonts of a configuration, or those installed on this box. One that
// cannot be read is worth a warning and no more: tickets print with the others.
func newDrawer(conf *config.Config) (d *raster.Drawer, warnings []string) {
	fonts := conf.Fonts
	if len(fonts) == 0 {
		fonts = raster.Installed()
	}
	d, err := raster.New(raster.Options{Fonts: fonts})
	for _, line := range lines(err) {
		warnings = append(warnings, "fonts: "+line)
	}
	return d, warnings
}

// lines are the errors that err joins, each in one line.
func lines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

// FontWarnings is what is wrong with the fonts of a configuration; tickets print without them.
func FontWarnings(conf *config.Config) []string {
	_, warnings := newDrawer(conf)
	return warnings
}

// LayoutOptions is how a ticket of a station looks as text: in the letters its printer has. A station
// that does not print looks like most printers.
func LayoutOptions(conf *config.Config, station string) (layout.Options, error) {
	p := config.DefaultPrinter()
	for _, q := range conf.Printers {
		if q.Name == station {
			p = q
		}
	}
	o, err := look(p, nil)
	if err != nil {
		return o, err
	}
	m, err := model(p)
	if o.Columns == 0 {
		o.Columns = m.Columns
	}
	drawer, _ := newDrawer(conf)
	o.Printer = station
	o.Printable = func(s string) string { return escpos.Printable(s, escpos.Options{Profile: m, Drawer: drawer}) }
	return o, err
}

// paperProblems is what is wrong with the printers' addresses, profiles and templates.
func paperProblems(conf *config.Config) (out []config.Problem) {
	for i, c := range conf.Printers {
		add := func(key string, err error) {
			out = append(out, config.Problem{Path: fmt.Sprintf("printers[%d].%s", i, key), Msg: err.Error()})
		}
		if p, ok := profile.Lookup(c.Profile); !ok {
			add("profile", profile.Unknown(c.Profile))
		} else if _, err := p.Override(c.Override); err != nil {
			for _, line := range lines(err) {
				key, msg, found := strings.Cut(line, ": ")
				if found {
					add("override."+key, errors.New(msg))
				} else {
					add("override", errors.New(line))
				}
			}
		}
		if _, err := transport.Open(c.Address); err != nil {
			add("address", err)
		}
		if _, err := look(c, nil); err != nil {
			add("layout.template_file", err)
		}
	}
	return append(out, sharedDevices(conf)...)
}

// sharedDevices is what is wrong, or odd, where several stations end at one printer. It has one
// connection, so it is talked to in one way.
func sharedDevices(conf *config.Config) (out []config.Problem) {
	add := func(warning bool, i int, key, format string, args ...any) {
		out = append(out, config.Problem{Path: fmt.Sprintf("printers[%d].%s", i, key), Msg: fmt.Sprintf(format, args...), Warning: warning})
	}
	firsts, devices := map[string]int{}, map[string]string{}
	for i, c := range conf.Printers {
		at := transport.CanonicalAddress(c.Address)
		devices[c.Name] = at
		if at == "file://"+filepath.Clean(conf.Storage.Path) { // tickets in the middle of the database end it
			add(false, i, "address", "is storage.path too; a printer cannot print there")
		}
		first, ok := firsts[at]
		if !ok {
			firsts[at] = i
			continue
		}
		add(true, i, "address", "is that of printers[%d] too: two stations take turns at one printer", first)
		other := conf.Printers[first]
		differs := func(key string, mine, its any) {
			if mine != its {
				add(false, i, key, "is %v, and %v in printers[%d], which is the same printer; say the same in both", mine, its, first)
			}
		}
		mine, err := model(c)
		its, err2 := model(other)
		if err == nil && err2 == nil {
			differs("confirm", mine.Confirm, its.Confirm)
		}
		differs("connect_timeout", c.ConnectTimeout, other.ConnectTimeout)
		differs("linger", c.Linger, other.Linger)
		differs("poll_every", c.PollEvery, other.PollEvery)
		differs("wait_for_person", c.WaitForPerson, other.WaitForPerson)
		d, _ := transport.Open(c.Address)
		d2, _ := transport.Open(other.Address)
		if d != d2 { // a serial line with other settings
			differs("address", c.Address, other.Address)
		}
	}
	for i, c := range conf.Printers {
		if at, ok := devices[c.Backup]; ok && at == devices[c.Name] {
			add(true, i, "backup", "is the same printer under another name: it stands in for nothing")
		}
	}
	return out
}

const (
	reachedWithin = 5 * time.Second // for a printer to be connected
	// askedWithin is how long it then has to say how it is: as long as finding out what it can
	// do may take.
	askedWithin = 15 * time.Second
)

// askPrinters asks each printer whether it is there and how it is; one at which several
// stations end, once.
func askPrinters(ctx context.Context, conf *config.Config) (out OnlineReport) {
	answers := map[string]*answer{}
	var asking sync.WaitGroup
	for _, c := range conf.Printers {
		if at := transport.CanonicalAddress(c.Address); answers[at] == nil {
			a := &answer{}
			answers[at] = a
			asking.Go(func() { a.ask(ctx, c) })
		}
	}
	asking.Wait()
	var missing, notReady []string
	for _, c := range conf.Printers {
		switch a := answers[transport.CanonicalAddress(c.Address)]; {
		case a.err != nil:
			missing = append(missing, c.Name)
			out.add("FAIL", "printer", c.Name, layout.Clean(a.err.Error()))
		case !a.status.Fine():
			notReady = append(notReady, c.Name)
			out.add("FAIL", "printer", c.Name, fmt.Sprintf("%s: %s: %s", c.Address, strings.ReplaceAll(a.status.State, "_", " "), a.status.Advice))
		default:
			out.add("OK", "printer", c.Name, fmt.Sprintf("%s answers%s", c.Address, a.more()))
		}
	}
	out.wrong("no answer from", missing)
	out.wrong("not ready:", notReady)
	return out
}

// add is a line about a station.
func (a *OnlineReport) add(verdict, kind, name, text string) {
	a.Lines = append(a.Lines, fmt.Sprintf("%-5s %s %s  %s", verdict, kind, name, text))
}

func (a *OnlineReport) wrong(what string, names []string) {
	if len(names) > 0 {
		a.Errors = append(a.Errors, fmt.Errorf("%s %s", what, strings.Join(names, ", ")))
	}
}

// An answer is what a printer had to say.
type answer struct {
	status printer.Status
	err    error
}

func (a *answer) ask(ctx context.Context, c config.Printer) {
	m, err := model(c)
	if err != nil {
		a.err = err
		return
	}
	d, err := transport.Open(c.Address)
	switch {
	case err != nil:
		a.err = err
		return
	case m.Confirm == profile.NoConfirm: // it is not to be asked
		a.status.State, a.err = printer.Unknown, reach(ctx, d)
		return
	}
	// One connection does it: some printers are long in noticing that one has ended.
	a.status = asked(ctx, printer.NewDevice(printer.DeviceOptions{
		Name: c.Name, Dialer: d, Confirm: m.Confirm, ConnectTimeout: reachedWithin, Linger: -1, PollEvery: time.Hour,
	}))
	if a.status.State == printer.Unreachable {
		a.err = errors.New(a.status.Err)
	}
}

// asked is the status of a device after it was asked once.
func asked(ctx context.Context, d *printer.Device) printer.Status {
	ctx, cancel := context.WithTimeout(ctx, askedWithin)
	defer cancel()
	stop := running(func(polling context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(polling, cancel)()
		d.Watch(ctx)
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if s := d.Status(); !s.Connected && (s.State != printer.Unknown || !s.Probed.IsZero()) {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	stop()
	return d.Status()
}

// more is what an answer tells beyond that it came.
func (a *answer) more() string {
	var parts []string
	if a.status.State == printer.Ready {
		parts = append(parts, "it is ready")
	}
	if a.status.Capability != "" {
		parts = append(parts, "its tickets can be known to be "+a.status.Capability)
	}
	if a.status.Advice != "" {
		parts = append(parts, a.status.Advice)
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, "; ")
}

func reach(ctx context.Context, d transport.Dialer) error {
	ctx, cancel := context.WithTimeout(ctx, reachedWithin)
	defer cancel()
	c, err := d.Dial(ctx)
	if err != nil {
		return err
	}
	return c.Close()
}
