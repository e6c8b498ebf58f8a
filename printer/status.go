package printer

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"ticketrail/printer/escpos"
)

// What a printer may be, in a word.
const (
	Unknown         = "unknown"          // not heard of since the start, or it cannot say
	Ready           = "ready"            // it said so; paper may be low
	Silent          = "silent"           // takes tickets and answers no question
	Busy            = "busy"             // it can answer and does not: another client holds it, or it hangs
	Unreachable     = "unreachable"      // no connection
	PaperOut        = "paper_out"        //
	CoverOpen       = "cover_open"       //
	CutterError     = "cutter_error"     //
	Unrecoverable   = "unrecoverable"    // until it is switched off and on
	MechanicalError = "mechanical_error" //
	Overheated      = "overheated"       // it will go on by itself
	Fault           = "fault"            // an error it does not name
	Offline         = "offline"          // and does not say why
)

// Status is how a device is, as far as is known.
type Status struct {
	State string    // one of the above
	Since time.Time // in this state
	// Conditions is all it reported when it was last heard, also what stops nothing.
	Conditions escpos.Condition
	Reported   []Reported // the same with times, in a fixed order
	Heard      time.Time  // when it last said how it is; zero: never

	// Ability is the most that can be known of a ticket: "confirmed", "processed" or "sent";
	// empty while that was not found out. Probed is when it was; zero if nobody asked.
	Capability string
	Probed     time.Time

	Advice    string // what a person can do about it; empty: nothing needs doing
	Err       string // why it cannot be reached
	Foreign   int    // how often it answered another program while we were connected
	Connected bool
}

// Reported is one condition and since when the printer reports it.
type Reported struct {
	Condition escpos.Condition
	Since     time.Time
}

// Fine says that nothing is known to keep tickets from coming out.
func (s Status) Fine() bool { return s.State == Ready || s.State == Unknown || s.State == Silent }

// Status is how the device is. It asks nobody and does not wait.
func (d *Device) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.status
	s.Reported = slices.Clone(s.Reported)
	return s
}

// see changes what is known, and says so in the log when the state is another one.
func (d *Device) update(change func(*Status)) {
	d.mu.Lock()
	was := d.status.State
	change(&d.status)
	s := &d.status
	if s.State != was {
		s.Since = time.Now()
	}
	low := s.Conditions.Has(escpos.PaperLow)
	s.Advice = advice(s.State, low)
	now, turned := *s, low != d.paperLow
	d.paperLow = low
	if now.State == was && !(turned && low) {
		d.mu.Unlock()
		return
	}
	told := d.countLogged()
	d.mu.Unlock()
	switch {
	case told == maxLogged:
		d.o.Logger.Warn("the printer says something else all the time; what it says is not logged for a while", "printer", d.o.Name)
		return
	case told > maxLogged:
		return
	}
	level, msg := slog.LevelInfo, "printer is "+stateText(now.State)
	if now.State == was {
		msg = "paper is low"
	}
	if now.Advice != "" {
		level = slog.LevelWarn
	}
	args := []any{"printer", d.o.Name, "state", now.State, "was", was}
	if now.Advice != "" {
		args = append(args, "advice", now.Advice)
	}
	if now.Err != "" {
		args = append(args, "err", now.Err)
	}
	d.o.Logger.Log(context.Background(), level, msg, args...)
}

// mostTold is how many changes in toldIn are logged. A switch at the cover that is going bad
// makes hundreds.
const (
	maxLogged = 20
	logWindow = 10 * time.Minute
)

// tell counts the changes that were logged lately. d.mu is held.
func (d *Device) countLogged() int {
	if time.Since(d.loggedSince) >= logWindow {
		d.loggedSince, d.loggedChanges = time.Now(), 0
	}
	d.loggedChanges++
	return d.loggedChanges
}

// observe notes what a printer said of itself.
func (d *Device) observe(c escpos.Condition) {
	now := time.Now()
	d.update(func(s *Status) {
		s.State, s.Heard, s.Err = state(c), now, ""
		s.Conditions = c
		var reported []Reported
		for _, one := range escpos.Conditions() {
			if !c.Has(one) {
				continue
			}
			r := Reported{one, now}
			for _, before := range s.Reported {
				if before.Condition == one {
					r = before
				}
			}
			reported = append(reported, r)
		}
		s.Reported = reported
	})
}

// becomes notes a state that the printer did not report itself; what it reported last is no
// longer known to be so.
func (d *Device) setState(state string) {
	d.update(func(s *Status) { s.State, s.Conditions, s.Reported, s.Err = state, 0, nil, "" })
}

// state is the most urgent of what is reported: what has to be done first.
func state(c escpos.Condition) string {
	for _, x := range []struct {
		c     escpos.Condition
		state string
	}{
		{escpos.Unrecoverable, Unrecoverable}, {escpos.CutterError, CutterError}, {escpos.CoverOpen, CoverOpen},
		{escpos.PaperOut, PaperOut}, {escpos.MechanicalError, MechanicalError}, {escpos.Overheated, Overheated},
		{escpos.Fault, Fault}, {escpos.Offline, Offline},
	} {
		if c.Has(x.c) {
			return x.state
		}
	}
	return Ready
}

// words is a state as it is read.
func stateText(state string) string {
	switch state {
	case PaperOut:
		return "out of paper"
	case CoverOpen:
		return "open"
	case CutterError:
		return "stopped: its cutter is stuck"
	case Unrecoverable:
		return "stopped by an error it cannot leave by itself"
	case MechanicalError:
		return "stopped by a mechanical error"
	case Overheated:
		return "too hot to go on"
	case Fault:
		return "stopped by an error"
	case Unknown:
		return "reachable again"
	}
	return state
}

// advice is what a person who looks after kitchens, not computers, can do.
func advice(state string, low bool) string {
	switch state {
	case PaperOut:
		return "put in a new roll of paper and close the cover"
	case CoverOpen:
		return "close the cover"
	case CutterError:
		return "open the cover, take out the paper at the cutter, close it; if that does not help, switch the printer off and on"
	case Unrecoverable:
		return "switch the printer off, wait ten seconds, switch it on"
	case MechanicalError:
		return "open the cover, take out jammed paper, close it"
	case Overheated:
		return "let it cool down; it goes on by itself"
	case Fault:
		return "see which of its lamps blink; switch it off and on"
	case Offline:
		return "see whether it is open, out of paper or paused; press FEED; if it prints for others all the same, set confirm: none for it"
	case Busy:
		return "see whether a till or another program keeps it to itself; if not, switch it off and on"
	case Unreachable:
		return "check its power, its cable and its address"
	case Ready, Silent, Unknown:
		if low {
			return "have a new roll of paper ready"
		}
	}
	return ""
}
