package station

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer"
	"ticketrail/printer/escpos"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// A station that prints is a paper; the printer behind it is a device. Two stations at one address
// are two papers on one device, because the printer has one connection and one roll. Both
// outlive a reload if nothing about them changed: a new connection in the middle of the evening
// costs a ticket's time, and some printers refuse a second one for seconds.

// papers builds the stations that print: the section printers of the configuration. build reads
// only the active stations and may run while they print.
type papers struct {
	s *Set
	// locks are by [transport.CanonicalAddress]. They are never removed: a new device at an address
	// must wait for the ticket that the old one is still printing.
	locks  map[string]printer.Lock
	search *transport.Search // for printers with a MAC address
}

func newPapers(s *Set) *papers {
	known := func() []transport.Known { return knownPrinters(s.active.Load().conf) }
	return &papers{s: s, locks: map[string]printer.Lock{},
		search: transport.NewSearch(known, s.o.Logger.With("component", "printer"))}
}

// A device is one physical printer; several stations may print on it. A reload keeps the device if
// its settings did not change, and with it the open connection.
type device struct {
	// Its status is the result of the last ticket or poll, so reading it never waits for the printer.
	*printer.Device
	settings settings
	follower follower // nil without a MAC address
}

// A follower says that a printer was found at another address, and the remedy: see [transport.Follower].
type follower interface{ Moved() (text, advice string) }

// settings are the settings of a device; other ones make a new device. Stations at one printer have the same, but for
// the names.
type settings struct {
	name, profile string
	confirm       profile.Confirm
	mac           config.MAC
	dialer        transport.Dialer // a serial port may have other settings
	printer.Connection
}

// A paper is a station that prints. It is compared with the one of the next configuration: an equal
// one is kept as the same value, so that the dispatcher does not disturb its queue.
type paper struct {
	common
	conf   config.Printer // of this station only
	look   layout.Options
	queue  *queue.Queue
	device *device
	drawer *raster.Drawer // shared by all papers of a configuration
	paper  *printer.Paper
}

// build opens no connection: while the old devices still print, many printers would refuse the new
// one.
func (p *papers) build(next, prev *Built) error {
	if prev.drawer != nil && slices.Equal(prev.conf.Fonts, next.conf.Fonts) {
		next.drawer = prev.drawer // with its cache of drawn text
	} else {
		var warnings []string
		next.drawer, warnings = NewDrawer(next.conf)
		next.Warnings = append(next.Warnings, warnings...)
	}

	for _, c := range next.conf.Printers {
		if err := p.add(next, prev, c); err != nil {
			return fmt.Errorf("printer %s: %w", c.Name, err)
		}
	}

	return nil
}

// add builds the station of c and its device, or keeps the ones of prev.
func (p *papers) add(next, prev *Built, c config.Printer) error {
	model, err := c.Model()
	if err != nil {
		return err
	}

	at := transport.CanonicalAddress(c.Address)
	if next.devices[at] == nil { // stations at one printer have equal settings: the configuration was checked
		dialer, _ := transport.Open(c.Address) // only to compare; newDevice opens the one in use, and returns its error
		wanted := settings{c.Name, model.Name, model.Confirm, c.MAC, dialer, c.Connection}
		if d := prev.devices[at]; d != nil && d.settings == wanted {
			next.devices[at] = d
		} else if next.devices[at], err = p.newDevice(c, wanted); err != nil {
			return err
		}
	}

	st := &paper{conf: c, look: look(c, next.conf), queue: p.s.o.Queue, device: next.devices[at], drawer: next.drawer}
	old, ok := prev.stations[c.Name].(*paper)
	if ok && old.device == st.device && old.drawer == st.drawer && reflect.DeepEqual(old.look, st.look) &&
		reflect.DeepEqual(old.conf, c) {
		next.stations[c.Name] = old
		return nil
	}

	st.paper = printer.NewPaper(printer.Options{
		Name: c.Name, Device: st.device.Device, Profile: model, Columns: c.Columns, Layout: st.look, Copies: c.Copies,
		Buzz: c.Buzzer.Times, BuzzVoid: c.Buzzer.VoidTimes, Drawer: next.drawer,
		Logger: p.s.o.Logger.With("component", "printer"),
	})

	next.stations[c.Name] = st
	return nil
}

// newDevice makes the device of c. It does not connect. The dialer of a test connects to a virtual
// printer; everything above it is the same code.
func (p *papers) newDevice(c config.Printer, wanted settings) (*device, error) {
	dialer, err := openPrinter(c, p.search)
	if p.s.o.Dialer != nil {
		dialer, err = p.s.o.Dialer(c)
	}
	if err != nil {
		return nil, err
	}

	at := transport.CanonicalAddress(c.Address)
	if p.locks[at] == nil {
		p.locks[at] = printer.NewLock()
	}
	moves, _ := dialer.(follower)
	return &device{settings: wanted, follower: moves, Device: printer.NewDevice(printer.DeviceOptions{
		Name: c.Name, Dialer: dialer, Lock: p.locks[at], Confirm: wanted.confirm, Profile: wanted.profile,
		Connection: c.Connection,
		// By address, because stations at one address share the printer. Its capability is stored, so that a
		// restart does not probe every printer before its first ticket.
		KV: p.s.o.Queue.KV("probes"), Key: at,
		Logger: p.s.o.Logger.With("component", "printer"),
	})}, nil
}

// Run polls the printer: that finds paper out in a quiet hour, before the first order of the evening does. In the end
// it closes the connection after the current ticket. It does not wait for that ticket: the next device at the
// address shares the lock, so its first ticket waits.
func (d *device) Run(ctx context.Context) {
	d.Watch(ctx)
	d.Retire()
}

// Print prints one ticket: see [dispatch.Station]. The queue lends no ticket of a station that a person holds.
// A held station prints no ticket of another station either: somebody may be changing its roll.
func (p *paper) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	if hold := p.queue.HoldOf(p.conf.Name); hold != nil && d.For != "" {
		return "", ticket.NotReady(fmt.Errorf("%s is held: %s", p.conf.Name, hold.Reason))
	}
	return p.paper.Print(ctx, d, begin)
}

func (p *paper) Lane() dispatch.Lane {
	return dispatch.Lane{
		// p itself, not p.paper: the same value after a reload tells the dispatcher that
		// nothing changed.
		Name: p.conf.Name, Station: p, ExpireAfter: p.conf.ExpireAfter, HoldDoubt: p.conf.OnDoubt == "hold",
	}
}

func (p *paper) Runner() Runner { return p.device }

// Conditions are the conditions that a printer reports, and the states of a printer that reports nothing.
func (*paper) Conditions() []string {
	out := []string{printer.Silent, printer.Busy, printer.Hung, printer.Clearing, printer.Unreachable,
		printer.NotAPrinter}
	for _, c := range escpos.Conditions() {
		out = append(out, c.Name())
	}
	return out
}

// AddState copies the printer's own report. It asks nothing: a dead printer must not delay a listing.
func (p *paper) AddState(l *finding.Station) {
	l.Address = p.conf.Address
	l.Device = new(p.device.Status())
	if p.device.follower != nil {
		l.Device.Moved, l.MovedAdvice = p.device.follower.Moved()
	}
}
