package station

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer"
	"ticketrail/printer/escpos"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// papers makes the stations that print: the section printers of the configuration.
type papers struct {
	s       *Set
	locks   map[string]printer.Lock // by [transport.Device], for as long as the daemon runs
	polling map[*device]func()      // what ends the polling of each device in force
}

func openPapers(s *Set) (kind, error) {
	p := &papers{s: s, locks: map[string]printer.Lock{}, polling: map[*device]func(){}}
	s.o.Registry.MustRegister(conditionCollector{s})
	return p, nil
}

// A device is a physical printer, whatever number of stations ends at it. A reload that leaves
// its settings alone keeps it.
type device struct {
	*printer.Device
	settings deviceSettings
}

// deviceSettings are how one printer is talked to.
type deviceSettings struct {
	name                                      string // of the station that stands for it in the log
	address                                   string // as it is dialled
	confirm                                   profile.Confirm
	connect, linger, pollEvery, waitForPerson time.Duration
}

// A paper is a station that prints.
type paper struct {
	conf     config.Printer
	device   *device
	drawer   *raster.Drawer
	template *templateTrouble
	paper    *printer.Paper
}

func (p *papers) build(next, was *Built) error {
	if was.drawer != nil && slices.Equal(was.conf.Fonts, next.conf.Fonts) {
		next.drawer = was.drawer // what it has drawn it need not draw again
	} else {
		var warnings []string
		next.drawer, warnings = newDrawer(next.conf)
		next.Warnings = append(next.Warnings, warnings...)
	}
	devices := map[string]*device{}
	known := devicesOf(was)
	for i, c := range next.conf.Printers {
		if err := p.add(next, was, devices, known, c); err != nil {
			return problem("printers", i, err)
		}
	}
	return nil
}

// add makes the station of c and the device at its end, or keeps them.
func (p *papers) add(next, was *Built, devices, known map[string]*device, c config.Printer) error {
	prof, err := model(c)
	if err != nil {
		return err
	}
	at := transport.CanonicalAddress(c.Address)
	if devices[at] == nil { // the first of several stations says how it is talked to
		settings := deviceSettings{c.Name, c.Address, prof.Confirm, c.ConnectTimeout, c.Linger, c.PollEvery, c.WaitForPerson}
		if d := known[at]; d != nil && d.settings == settings {
			devices[at] = d
		} else if devices[at], err = p.newDevice(c, settings); err != nil {
			return err
		}
	}
	st := &paper{conf: c, device: devices[at], drawer: next.drawer}
	if old, ok := was.stations[c.Name].(*paper); ok && old.device == st.device && old.drawer == st.drawer && reflect.DeepEqual(old.conf, c) {
		next.stations[c.Name] = old
		return nil
	}
	st.template = &templateTrouble{printer: c.Name, file: c.Layout.TemplateFile, log: p.s.o.Logger}
	looks, err := look(c, st.template)
	if err != nil {
		return err
	}
	st.paper = printer.NewPaper(printer.Options{
		Name: c.Name, Device: st.device.Device, Profile: prof, Columns: c.Columns,
		Layout: looks, Copies: c.Copies, Buzz: c.Buzzer.Times, BuzzVoid: c.Buzzer.VoidTimes, Drawer: next.drawer,
		Logger: p.s.o.Logger.With("component", "printer"),
	})
	next.stations[c.Name] = st
	return nil
}

// newDevice makes what talks to the printer of c. It touches nothing yet.
func (p *papers) newDevice(c config.Printer, settings deviceSettings) (*device, error) {
	open := p.s.o.Dialer
	if open == nil {
		open = func(c config.Printer) (transport.Dialer, error) { return transport.Open(c.Address) }
	}
	d, err := open(c)
	if err != nil {
		return nil, err
	}
	at := transport.CanonicalAddress(c.Address)
	if p.locks[at] == nil {
		// A station that a reload renames must wait for the ticket that its old self is printing.
		p.locks[at] = printer.NewLock()
	}
	return &device{settings: settings, Device: printer.NewDevice(printer.DeviceOptions{
		Name: c.Name, Dialer: d, Lock: p.locks[at], Confirm: settings.confirm,
		// By address, because stations at one address share the printer. Another printer in its
		// place has its own address, or is found out.
		KV: p.s.o.Queue.KV("probes"), Key: at,
		ConnectTimeout: settings.connect,
		Linger:         cmp.Or(settings.linger, -1), // none said is none
		PollEvery:      settings.pollEvery, WaitForPerson: settings.waitForPerson,
		Logger: p.s.o.Logger.With("component", "printer"),
	})}, nil
}

// devicesOf are the printers of b by address.
func devicesOf(b *Built) map[string]*device {
	out := map[string]*device{}
	for _, st := range b.stations {
		if p, ok := st.(*paper); ok {
			out[transport.CanonicalAddress(p.conf.Address)] = p.device
		}
	}
	return out
}

// stop ends the polling of devices that are gone, and gives up their connections, after the
// ticket in hand.
func (p *papers) stop(next *Built) {
	wanted := map[*device]bool{}
	for _, d := range devicesOf(next) {
		wanted[d] = true
	}
	var leaving sync.WaitGroup // each may take its time to hang up
	for d, stop := range p.polling {
		if !wanted[d] {
			leaving.Go(func() { stop(); d.Retire() })
			delete(p.polling, d)
		}
	}
	leaving.Wait()
}

// start polls the devices that are new.
func (p *papers) start(next *Built) {
	for _, d := range devicesOf(next) {
		if p.polling[d] == nil {
			p.polling[d] = running(d.Watch)
		}
	}
}

func (p *papers) close() { p.stop(&Built{}) }

func (p *papers) notices(live *Built) (out []string) {
	for _, c := range live.conf.Printers {
		st := live.stations[c.Name].(*paper)
		if n := st.template.notice(); n != "" {
			out = append(out, n)
		}
		if st.device.Status().Foreign > 0 {
			out = append(out, fmt.Sprintf("another program prints on %s at the same time as ticketrail: tickets may come out mixed; give it a printer of its own, or send its tickets here", c.Name))
		}
	}
	return out
}

// Print prints one ticket: see [dispatch.Station].
func (p *paper) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	return p.paper.Print(ctx, d, begin)
}

func (p *paper) Lane() dispatch.Lane {
	return dispatch.Lane{Name: p.conf.Name, Station: p, ExpireAfter: p.conf.ExpireAfter, HoldDoubt: p.conf.OnDoubt == "hold"}
}

func (p *paper) WrapBackup(backup dispatch.Station) dispatch.Station { return backup }

func (p *paper) Show(l *admin.Status) {
	s := p.device.Status()
	l.Address = p.conf.Address
	l.Device = &admin.Device{State: s.State, Since: s.Since, Fine: s.Fine(), Conditions: []string{}, Ability: s.Capability, Advice: s.Advice, Error: s.Err, Foreign: s.Foreign}
	for _, r := range s.Reported {
		l.Device.Conditions = append(l.Device.Conditions, r.Condition.Name())
	}
}

// templateTrouble is what a printer's template did last that it should not have. Its tickets
// print all the same, with the built-in head and foot.
type templateTrouble struct {
	printer, file string
	log           *slog.Logger

	mu   sync.Mutex // guards said
	said string
}

func (t *templateTrouble) report(err error) {
	t.mu.Lock()
	news := t.said != err.Error()
	t.said = err.Error()
	t.mu.Unlock()
	if news {
		t.log.Warn("the template failed, the ticket has the built-in head or foot", "printer", t.printer, "file", t.file, "err", err)
	}
}

// notice is what people must know of it; empty when it has not failed.
func (t *templateTrouble) notice() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said == "" {
		return ""
	}
	return fmt.Sprintf("the template of %s fails, its tickets have the built-in head or foot: %s: %s; repair it and reload", t.printer, t.file, t.said)
}

// conditionCollector says at scrape time how the printers are.
type conditionCollector struct{ s *Set }

var stationCondition = prometheus.NewDesc("ticketrail_station_condition",
	"Whether the station's printer says this of itself, or is seen to be so (1), or not (0).", []string{"station", "condition"}, nil)

func (conditionCollector) Describe(ch chan<- *prometheus.Desc) { ch <- stationCondition }

func (c conditionCollector) Collect(ch chan<- prometheus.Metric) {
	for name, st := range c.s.live.Load().stations {
		p, ok := st.(*paper)
		if !ok {
			continue
		}
		now := p.device.Status()
		is := func(condition string, so bool) {
			ch <- prometheus.MustNewConstMetric(stationCondition, prometheus.GaugeValue, gauge(so), name, condition)
		}
		for _, one := range escpos.Conditions() {
			is(one.Name(), now.Conditions.Has(one))
		}
		// These a printer cannot say of itself.
		for _, state := range []string{printer.Silent, printer.Busy, printer.Unreachable} {
			is(state, now.State == state)
		}
	}
}
