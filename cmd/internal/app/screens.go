package app

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"ticketrail/config"
	"ticketrail/printer/kds"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// A screen is a configured screen and who stands in for it. A reload that leaves all of that
// alone keeps it, so that its pages are not disturbed.
type screen struct {
	*kds.Screen
	conf    config.Screen
	helpers []helper
	expo    *kds.Expo // nil for one with a board of its own
}

// A helper is a station that stands in for another one, once that has got nothing out for after.
type helper struct {
	name    string
	station dispatch.Station
	after   time.Duration
}

// station is what drains the line of that name; nil for none.
func (r *rules) station(name string) dispatch.Station {
	if s := r.stations[name]; s != nil {
		return s
	}
	if s := r.screens[name]; s != nil && s.expo == nil {
		return s.Screen
	}
	if p := r.pushes[name]; p != nil {
		return p.Push
	}
	return nil
}

// helpers are who stands in for a station, one after the other: its backup, its backup's, and
// so on. Each has its own patience, and the next is asked when all of those before are at
// their end. The configuration has no circles.
func (r *rules) helpers(name string) (out []helper) {
	var after time.Duration
	for {
		next, patience := r.conf.BackupOf(name)
		s := r.station(next)
		if s == nil {
			return out
		}
		after += patience
		out = append(out, helper{next, s, after})
		name = next
	}
}

// backups are the helpers as the dispatcher wants them. Each says what is down: a printer, as
// the dispatcher has it, or a screen.
func (r *rules) backups(name string) (out []dispatch.Backup) {
	for _, h := range r.helpers(name) {
		b := dispatch.Backup{Name: h.name, Station: h.station, After: h.after}
		if s := r.screens[name]; s != nil {
			b.Station = s.StandIn(h.station)
		} else if r.pushes[name] != nil {
			b.Station = forDisplay{h.station}
		}
		out = append(out, b)
	}
	return out
}

// line is how a station is served.
func (r *rules) line(name string) dispatch.Line {
	l := dispatch.Line{Name: name, Station: r.station(name), Backups: r.backups(name)}
	if s := r.stations[name]; s != nil {
		l.ExpireAfter, l.HoldDoubt = s.conf.ExpireAfter, s.conf.OnDoubt == "hold"
	} else if s := r.screens[name]; s != nil {
		l.ExpireAfter = s.conf.ExpireAfter
	} else if p := r.pushes[name]; p != nil {
		l.ExpireAfter = p.conf.ExpireAfter
	}
	return l
}

// forDisplay is a station as the backup of somebody's kitchen display: to a cook that is a screen.
type forDisplay struct{ dispatch.Station }

func (f forDisplay) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	d.Down = "screen"
	return f.Station.Print(ctx, d, begin)
}

func (f forDisplay) Idempotent() bool {
	s, ok := f.Station.(dispatch.Idempotent)
	return ok && s.Idempotent()
}

// rescuers print what was on a screen that has gone dark: the first of them that can.
type rescuers []helper

// rescueWithin is how long one is waited for until it begins, where another could.
const rescueWithin = 30 * time.Second

func (rs rescuers) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (proof ticket.Proof, err error) {
	for i, h := range rs {
		var asked bool
		if proof, asked, err = rs.try(ctx, h, d, begin, i < len(rs)-1); err == nil || asked || ticket.IsPermanent(err) || ctx.Err() != nil {
			break
		}
	}
	return proof, err
}

// Idempotent says whether all of them know a ticket again, as screens do: see [dispatch.Idempotent].
func (rs rescuers) Idempotent() bool {
	return !slices.ContainsFunc(rs, func(h helper) bool {
		i, ok := h.station.(dispatch.Idempotent)
		return !ok || !i.Idempotent()
	})
}

// try says whether the helper began, beside what came of it.
func (rescuers) try(ctx context.Context, h helper, d ticket.Delivery, begin func(context.Context) error, hurry bool) (proof ticket.Proof, asked bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := errors.New("not ready in time")
	patience := time.AfterFunc(rescueWithin, func() { cancel(late) })
	defer patience.Stop()
	if !hurry {
		patience.Stop()
	}
	proof, err = h.station.Print(ctx, d, func(ctx context.Context) error {
		if !patience.Stop() && hurry {
			return late
		}
		asked = true
		return begin(ctx)
	})
	return proof, asked, err
}

func (rs rescuers) name() string {
	var names []string
	for _, h := range rs {
		names = append(names, h.name)
	}
	return strings.Join(names, " or ")
}

// hang gives r the screens that have tickets of their own, the ones of old where nothing about
// them has changed. Those of the pass come last, with [App.openPasses].
func (a *App) hang(r, old *rules) error {
	r.screens = map[string]*screen{}
	for i, c := range r.conf.Screens {
		if _, err := a.board(a.display, c.Name); err != nil {
			return config.Problems{{Path: fmt.Sprintf("screens[%d]", i), Msg: err.Error()}}
		}
		a.display.visits.configured(c.Name)
		if !c.Expo() {
			a.hangOne(r, old, c)
		}
	}
	return a.listenDisplay(r.conf)
}

func (a *App) hangOne(r, old *rules, c config.Screen) {
	if r.screens[c.Name] != nil {
		return
	}
	// Who stands in must be there first.
	for next, _ := r.conf.BackupOf(c.Name); next != ""; next, _ = r.conf.BackupOf(next) {
		if i := slices.IndexFunc(r.conf.Screens, func(o config.Screen) bool { return o.Name == next }); i >= 0 {
			a.hangOne(r, old, r.conf.Screens[i])
		}
	}
	s := &screen{conf: c, helpers: r.helpers(c.Name)}
	if old != nil {
		if was := old.screens[c.Name]; was != nil && was.expo == nil && reflect.DeepEqual(was.conf, c) && slices.Equal(was.helpers, s.helpers) {
			r.screens[c.Name] = was
			return
		}
	}
	o := a.screenOptions(c)
	if len(s.helpers) > 0 {
		o.Backup, o.BackupName = rescuers(s.helpers), rescuers(s.helpers).name()
	}
	s.Screen = kds.NewScreen(o)
	r.screens[c.Name] = s
}

func (a *App) screenOptions(c config.Screen) kds.ScreenOptions {
	b, err := a.board(a.display, c.Name)
	if err != nil {
		panic(err) // hang has opened it
	}
	return kds.ScreenOptions{
		Name: c.Name, Title: c.Title, Board: b, HoldFor: c.HoldFor, WarnAfter: c.WarnAfter, LateAfter: c.LateAfter,
		OnLive: func() {
			a.dispatch.Kick(c.Name)
			a.display.visits.opened(c.Name)
		},
		Logger: a.log, Metrics: a.display.metrics,
	}
}

// openPasses gives r its screens of the pass. Two that see the same boards must not be open at
// once, so those of old that do not stay are closed first. One that cannot be opened, because its
// shelf cannot be read, is left out: the kitchen goes on without.
func (a *App) openPasses(r, old *rules) {
	lost := map[string]error{}
	if old == nil {
		old = &rules{}
	}
	for name, was := range old.screens {
		i := slices.IndexFunc(r.conf.Screens, func(c config.Screen) bool { return c.Name == name && c.Expo() })
		if was.expo != nil && (i < 0 || !slices.Equal(r.conf.Screens[i].Of, was.conf.Of)) {
			was.expo.Close()
		}
	}
	for _, c := range r.conf.Screens {
		if !c.Expo() {
			continue
		}
		s, err := a.openPass(c, old.screens[c.Name])
		if err != nil {
			lost[c.Name] = err
			a.log.Error("the pass cannot be shown", "station", c.Name, "err", err)
			continue
		}
		r.screens[c.Name] = s
	}
	a.display.mu.Lock()
	defer a.display.mu.Unlock()
	a.display.lost = lost
}

// openWithin is for reading what a pass has sent out.
const openWithin = 10 * time.Second

func (a *App) openPass(c config.Screen, was *screen) (*screen, error) {
	s := &screen{conf: c}
	switch {
	case was != nil && was.expo != nil && reflect.DeepEqual(was.conf, c):
		return was, nil
	case was != nil && was.expo != nil && slices.Equal(was.conf.Of, c.Of):
		s.expo = was.expo
	default:
		o := kds.ExpoOptions{Station: c.Name, Shelf: a.queue.Shelf("expo " + c.Name), Logger: a.log}
		var err error
		if o.Own, err = a.board(a.display, c.Name); err != nil { // of a time when it had tickets of its own
			return nil, err
		}
		for _, name := range c.Of {
			b, err := a.board(a.display, name)
			if err != nil {
				return nil, err
			}
			o.Of = append(o.Of, b)
		}
		ctx, cancel := context.WithTimeout(context.Background(), openWithin)
		defer cancel()
		if s.expo, err = kds.OpenExpo(ctx, o); err != nil {
			return nil, err
		}
	}
	o := a.screenOptions(c)
	o.Expo = s.expo
	s.Screen = kds.NewScreen(o)
	return s, nil
}
