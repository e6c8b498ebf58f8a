package app

import (
	"context"
	"errors"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/kds"
	"ticketrail/queue/ticket"
)

// screenDesk shows the screens in the control API's words.
type screenDesk struct{ a *App }

func (d screenDesk) Screens() admin.Screens {
	out := admin.Screens{Screens: []admin.Screen{}, Pairings: []admin.Pairing{}}
	r := d.a.live.Load()
	for _, p := range d.a.display.pairings.List() {
		out.Pairings = append(out.Pairings, shownPairing(p))
	}
	for _, c := range r.conf.Screens {
		s := r.screens[c.Name]
		if s == nil {
			continue // a notice says why
		}
		out.Screens = append(out.Screens, d.a.shownScreen(s))
	}
	for i := range out.Screens {
		for _, p := range out.Pairings {
			if p.Station == out.Screens[i].Name {
				out.Screens[i].Paired++
			}
		}
	}
	return out
}

func (a *App) shownScreen(s *screen) admin.Screen {
	st := s.Status()
	v := admin.Screen{
		Name: s.conf.Name, Title: s.Options().Title, Mode: s.conf.Mode, Address: a.pageAddress(s.conf.Name),
		State: a.screenState(s.conf.Name, st), Live: st.Live, Ever: a.everSetUp(s.conf.Name), Open: st.Open,
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
	if len(s.helpers) > 0 {
		v.Backup = s.helpers[0].name
	}
	return v
}

func (a *App) screenState(name string, st kds.ScreenStatus) string {
	switch {
	case st.Live > 0:
		return admin.ScreenOpen
	case a.everSetUp(name):
		return admin.ScreenDark
	}
	return admin.ScreenUnset
}

func (d screenDesk) Pair(ctx context.Context, code, station string) (admin.Pairing, error) {
	conf := d.a.live.Load().conf
	if station == "" {
		if len(conf.Screens) != 1 {
			return admin.Pairing{}, &admin.Error{Code: admin.BadRequest, Message: "which screen? name it with --station"}
		}
		station = conf.Screens[0].Name
	}
	if d.a.display.addr() == nil {
		return admin.Pairing{}, &admin.Error{Code: admin.NotFound, Message: "the configuration has no screens"}
	}
	p, err := d.a.display.server.Pair(ctx, code, station)
	if err != nil {
		return admin.Pairing{}, screenTrouble(err)
	}
	return shownPairing(p), nil
}

func (d screenDesk) Revoke(ctx context.Context, id string) (admin.Pairing, error) {
	p, err := d.a.display.pairings.Revoke(ctx, id)
	if err != nil {
		return admin.Pairing{}, screenTrouble(err)
	}
	return shownPairing(p), nil
}

// screenTrouble gives what the screens refuse its meaning in the control API.
func screenTrouble(err error) error {
	switch {
	case errors.Is(err, kds.ErrNoCode), errors.Is(err, kds.ErrNoPairing), errors.Is(err, kds.ErrNoScreen):
		return &admin.Error{Code: admin.NotFound, Message: err.Error()}
	case errors.Is(err, kds.ErrTooMany):
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

// addScreen says of a line what its screen knows of itself.
func (a *App) addScreen(l *admin.Line, s *screen) {
	v := a.shownScreen(s)
	l.Kind, l.Address, l.Pages = admin.KindScreen, v.Address, v.Live
	l.Device = &admin.Device{State: v.State, Fine: v.Live > 0, Conditions: []string{}, Ability: string(ticket.Shown)}
	if v.Since != nil {
		l.Device.Since = *v.Since
	}
	l.Device.Advice = screenAdvice(v)
	if v.Live > 0 && l.Waiting != "" {
		// What it waited for is there; the line finds out with its next ticket.
		l.Known, l.Since, l.Waiting, l.Err, l.StandIn = false, time.Time{}, "", "", ""
	}
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
