package app

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/transport"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
	"ticketrail/receiver/posapi"
)

// rules is everything one configuration is made into and a reload replaces. All that can
// fail happens in making it, before anything live is touched.
type rules struct {
	conf     *config.Config
	policy   *receiver.Policy
	devices  map[string]*device  // by [config.Printer.Device]
	stations map[string]*station // of paper
	screens  map[string]*screen
	pushes   map[string]*push
	drawer   *raster.Drawer
	client   *posapi.Client // nil without a service
	warnings []string       // about what is in force all the same
}

func (a *App) compile(conf *config.Config, old *rules) (_ *rules, err error) {
	p, err := compilePlan(conf)
	if err != nil {
		return nil, err
	}
	r := &rules{
		conf: conf, policy: newPolicy(conf, p),
		devices: map[string]*device{}, stations: map[string]*station{}, warnings: conf.Warnings,
	}
	if old == nil {
		old = &rules{conf: &config.Config{}}
	}
	if old.drawer != nil && slices.Equal(old.conf.Fonts, conf.Fonts) {
		r.drawer = old.drawer // what it has drawn it need not draw again
	} else {
		var fonts []string
		r.drawer, fonts = newDrawer(conf)
		r.warnings = append(slices.Clip(r.warnings), fonts...)
	}
	if err := a.hire(r, old); err != nil {
		return nil, config.Problems{{Path: "service", Msg: err.Error()}}
	}
	defer func() {
		if err != nil {
			r.dismiss(old)
		}
	}()
	for i, c := range conf.Printers {
		if err := a.equip(r, old, c); err != nil {
			return nil, config.Problems{{Path: fmt.Sprintf("printers[%d]", i), Msg: err.Error()}}
		}
	}
	if err := a.connect(r, old); err != nil {
		return nil, err
	}
	return r, nil
}

// equip gives r the station of c and the device at its end, the ones of old where nothing
// about them has changed.
func (a *App) equip(r, old *rules, c config.Printer) error {
	prof, err := model(c)
	if err != nil {
		return err
	}
	at := c.Device()
	if r.devices[at] == nil { // the first of several stations says how it is talked to
		m := manner{c.Name, c.Address, prof.Confirm, c.Linger, c.PollEvery, c.WaitForPerson}
		if d := old.devices[at]; d != nil && d.manner == m {
			r.devices[at] = d
		} else if r.devices[at], err = a.newDevice(c, m); err != nil {
			return err
		}
	}
	s := &station{conf: c, device: r.devices[at], drawer: r.drawer}
	if was := old.stations[c.Name]; was != nil && was.device == s.device && was.drawer == s.drawer && reflect.DeepEqual(was.conf, c) {
		r.stations[c.Name] = was
		return nil
	}
	s.template = &templateTrouble{printer: c.Name, file: c.Layout.TemplateFile, log: a.log}
	looks, err := look(c, s.template)
	if err != nil {
		return err
	}
	s.paper = printer.NewPaper(printer.Options{
		Name: c.Name, Device: s.device.Device, Profile: prof, Columns: c.Columns,
		Layout: looks, Copies: c.Copies, Buzz: c.Buzzer.Times, BuzzVoid: c.Buzzer.VoidTimes, Drawer: r.drawer,
		Logger: a.log.With("component", "printer"),
	})
	r.stations[c.Name] = s
	return nil
}

// A station is a configured printer and what drives it. A reload that leaves its
// configuration alone keeps it, so that its line is not disturbed.
type station struct {
	conf     config.Printer
	device   *device
	drawer   *raster.Drawer
	template *templateTrouble
	paper    *printer.Paper
}

func (s *station) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	return s.paper.Print(ctx, d, begin)
}

// turn is the one for a device, for as long as the daemon runs: a station that a reload
// renames must wait for the ticket that its old self is printing.
func (a *App) turn(address string) printer.Turn {
	if a.turns == nil {
		a.turns = map[string]printer.Turn{}
	}
	if a.turns[address] == nil {
		a.turns[address] = printer.NewTurn()
	}
	return a.turns[address]
}

// apply puts rules in force, or changes nothing. Only the first step can fail. A request that is being planned keeps the
// rules it began with; if those name a station that is just going, its line is an orphan and is kept.
func (a *App) apply(r *rules) (orphans []string, err error) {
	r.policy.Names = a.directory
	if err := a.receiver.SetPolicy(r.policy); err != nil {
		return nil, err
	}
	a.openPasses(r, a.live.Load())
	names := r.conf.Stations()
	lines := make([]dispatch.Line, 0, len(names))
	for _, name := range names {
		lines = append(lines, r.line(name))
	}
	was := a.live.Swap(r)
	a.learn(was, r)
	a.level.Set(r.conf.Log.Slog())
	a.queue.SetStations(names)
	// First the old connections go: a printer that serves one client would not let the new ones in,
	// and they have the turn while they knock.
	a.watch.set(r.devices)
	a.dispatch.Set(lines)
	a.show(r)
	a.metrics.loaded(true)
	for _, s := range a.queue.Stations() {
		if !s.Configured && s.Pending+s.Held+s.Printing > 0 {
			orphans = append(orphans, s.Name)
			a.log.Error("a station with tickets is not in the configuration: they are kept; ticketrail jobs move --from STATION --to ANOTHER",
				"printer", s.Name, "tickets", s.Pending+s.Held+s.Printing)
		}
	}
	return orphans, nil
}

// Reload reads the configuration file again and puts the whole of it in force, or
// nothing of it. What it says is logged; the error is for whoever asked.
func (a *App) Reload(context.Context) (admin.Reloaded, error) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	if a.o.ConfigPath == "" {
		return admin.Reloaded{}, errors.New("reload: this daemon was started without a configuration file")
	}
	a.notify(reloading())
	defer func() { a.notify("READY=1\nSTATUS=" + a.statusLine()) }()
	now := a.live.Load()
	conf, err := load(a.o.ConfigPath)
	var next *rules
	var done admin.Reloaded
	if err == nil {
		next, err = a.compile(conf, now)
	}
	if err == nil {
		if err = a.hang(next, now); err == nil {
			done.Orphans, err = a.apply(next)
		}
		if err != nil {
			next.dismiss(now)
		}
	}
	if err != nil {
		a.metrics.loaded(false)
		a.log.Error("configuration not loaded: everything stays as it was", "err", strings.ReplaceAll(err.Error(), "\n", "; "))
		return admin.Reloaded{}, &admin.Error{Code: admin.BadRequest, Message: err.Error()}
	}
	done.Warnings, done.Restart = next.warnings, conf.NeedsRestart(a.booted(conf))
	for _, w := range done.Warnings {
		a.log.Warn("configuration", "hint", w)
	}
	if len(done.Restart) > 0 {
		a.log.Warn("configuration loaded, but some of it needs a restart", "keys", strings.Join(done.Restart, " "))
	} else {
		a.log.Info("configuration loaded")
	}
	return done, nil
}

// load reads the file and checks what only the packages behind the configuration know:
// profiles, addresses, expressions.
func load(path string) (*config.Config, error) { return config.Load(path, problems) }

func problems(conf *config.Config) []config.Problem {
	var out []config.Problem
	add := func(path, msg string) { out = append(out, config.Problem{Path: path, Msg: msg}) }
	for i, p := range conf.Printers {
		out = append(out, modelProblems(i, p)...)
		out = append(out, sameDevice(i, conf.Printers)...)
		if _, err := transport.Open(p.Address); err != nil {
			add(fmt.Sprintf("printers[%d].address", i), err.Error())
		}
		if _, err := look(p, nil); err != nil {
			add(fmt.Sprintf("printers[%d].layout.template_file", i), err.Error())
		}
	}
	out = append(out, displayProblems(conf)...)
	if conf.Service.Enabled() {
		if _, err := newClient(conf.Service, nil, nil, nil); err != nil {
			add("service", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	if _, err := compilePlan(conf); err != nil {
		for _, e := range flatten(err) {
			if p, ok := errors.AsType[*plan.Problem](e); ok {
				add(p.Path, oneLine(p.Msg))
			} else {
				add("routes", e.Error())
			}
		}
	}
	return out
}

// oneLine shows a mistake in an expression as what and where, and the expression; the
// arrow that points at it in a line of its own would not survive a list of problems.
func oneLine(msg string) string {
	what, snippet, ok := strings.Cut(msg, "\n")
	if !ok {
		return msg
	}
	expression, _, _ := strings.Cut(strings.TrimLeft(snippet, " |"), "\n")
	return fmt.Sprintf("%s in %s", what, expression)
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range many.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}

func unknownProfile(name string) string {
	return fmt.Sprintf("%q is no printer profile; there is %s", name, strings.Join(profile.Names(), ", "))
}

func compilePlan(conf *config.Config) (*plan.Plan, error) {
	c := plan.Config{Fallback: conf.Fallback, Fields: conf.Ticket.Fields}
	for _, r := range conf.Routes {
		c.Routes = append(c.Routes, plan.Route{Venue: r.Venue, When: r.When, To: slices.Clone(r.To), Continue: r.Continue})
	}
	return plan.Compile(c)
}

func newVenue(v config.Venue) plan.Venue {
	return plan.Venue{ID: v.ID, Name: v.Name, Zone: v.Timezone, Fallback: v.Fallback}
}

func mode(conf *config.Config) contract.Mode {
	if conf.Receiver.Schema == "strict" {
		return contract.Strict
	}
	return contract.Lenient
}
