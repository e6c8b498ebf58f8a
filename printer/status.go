package printer

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"ticketrail/printer/escpos"
)

// Status is what people see of a printer: in "ticketrail status", in the metrics and in the log. It
// never decides about a ticket; attempts read the session's conditions themselves.

// The states of a printer. Metrics and JSON show these words, so they must not change.
const (
	Unknown         = "unknown"     // no contact since the start, or connected and never asked
	Ready           = "ready"       // it reports no trouble; paper may be low
	Silent          = "silent"      // it takes tickets and answers no question
	Busy            = "busy"        // it answered in the past and does not now: it serves another client
	Hung            = "hung"        // it does not answer for longer, or answers its status and processes nothing
	Clearing        = "clearing"    // it is inside a command that another program left unfinished
	Unreachable     = "unreachable" // no connection can be made
	PaperOut        = "paper_out"
	CoverOpen       = "cover_open"
	CutterError     = "cutter_error"
	Unrecoverable   = "unrecoverable" // an error that only switching it off and on clears
	MechanicalError = "mechanical_error"
	Overheated      = "overheated" // the print head; it recovers by itself
	Fault           = "fault"      // an error; it does not report which
	Offline         = "offline"    // it prints nothing, and does not report why
)

// Status is what is known of a device.
type Status struct {
	State string    // one of the constants above
	Since time.Time // start of this state
	// Conditions is everything in its last report, including conditions that do not stop it.
	Conditions escpos.Condition
	Reported   []Reported // Conditions with times, in a fixed order
	Heard      time.Time  // of the last report; zero: never

	// Capability is the best result that a ticket can have: "confirmed", "processed" or "sent"; empty
	// while it is not known. Probed is the time of the probe; zero if there was none.
	Capability string
	Probed     time.Time
	CutOff     bool // its connections end before it can answer for a ticket

	Advice    string // what a person can do; empty: nothing needs to be done
	Err       string // why it cannot be reached
	Foreign   int    // how many answers to another program came while we were connected
	Connected bool
}

// Reported is one condition and since when it has been reported.
type Reported struct {
	Condition escpos.Condition
	Since     time.Time
}

// Fine reports whether nothing is known that stops the printing.
func (s Status) Fine() bool { return s.State == Ready || s.State == Unknown || s.State == Silent }

// Status returns what is known now. It asks the printer nothing and does not wait.
func (d *Device) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.status
	s.Reported = slices.Clone(s.Reported)
	return s
}

// update changes the status and logs a change of state. All changes go through here, so that Since,
// Advice and the log fit the state. The log line is written without mu: a slow journal must not
// delay a ticket.
func (d *Device) update(change func(*Status)) {
	d.mu.Lock()
	was := d.status.State
	change(&d.status)
	s := &d.status
	if s.State != was {
		s.Since = time.Now()
	}
	low := s.Conditions.Has(escpos.PaperLow)
	if s.Advice = d.advice(s.State, low); s.Advice == "" && s.CutOff {
		s.Advice = d.cutOffAdvice()
	}
	now, lowChanged := *s, low != d.paperLow
	d.paperLow = low
	if now.State == was && !(lowChanged && low) {
		d.mu.Unlock()
		return
	}
	changes := d.countLogged()
	d.mu.Unlock()
	switch {
	case changes == maxLogged:
		d.o.Logger.Warn("the printer's state changes all the time; further changes are not logged for a while",
			"printer", d.o.Name)
		return
	case changes > maxLogged:
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

// At most maxLogged changes are logged in logWindow. A cover switch that starts to fail causes hundreds.
const (
	maxLogged = 20
	logWindow = 10 * time.Minute
)

// countLogged counts the changes in the current window. d.mu is held.
func (d *Device) countLogged() int {
	if time.Since(d.loggedSince) >= logWindow {
		d.loggedSince, d.loggedChanges = time.Now(), 0
	}
	d.loggedChanges++
	return d.loggedChanges
}

// observe records the conditions that the printer reported. A condition keeps the time at which it
// was first reported, however often it is reported again: "out of paper since 19:12".
func (d *Device) observe(c escpos.Condition) {
	now := time.Now()
	d.update(func(s *Status) {
		s.Heard, s.Err = now, ""
		// Before the probe has ended it is not known whether it can print.
		if is := state(c); is != Ready || s.Capability != "" {
			s.State = is
		}
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

// setState records a state that the printer did not report itself. Its last report no longer applies.
func (d *Device) setState(state string) {
	d.update(func(s *Status) { s.State, s.Conditions, s.Reported, s.Err = state, 0, nil, "" })
}

// state is the most urgent reported condition: the one that a person has to clear first.
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

// stateText is a state as it stands in "the printer is …".
func stateText(state string) string {
	switch state {
	case PaperOut:
		return "out of paper"
	case CoverOpen:
		return "stopped: its cover is open"
	case CutterError:
		return "stopped: its cutter is jammed"
	case Unrecoverable:
		return "stopped by an error that only switching it off and on clears"
	case MechanicalError:
		return "stopped by a mechanical error"
	case Overheated:
		return "stopped: its print head is too hot"
	case Fault:
		return "stopped by an error"
	case Clearing:
		return "clearing what another program left"
	case Hung:
		return "hung: it does not process what it is sent"
	case Unknown: // logged only when a printer that is never asked connects after it was unreachable
		return "reachable again"
	}
	return state
}

// cutOffAdvice is for a printer whose tickets end as sent although it could prove them.
func (d *Device) cutOffAdvice() string {
	return "it prints, but its connection ends before it can answer for a ticket: raise the idle time-out of its " +
		"network interface or print server, then run: ticketrail printers probe " + d.o.Name
}

// advice is advice with the name of the station, where a command needs it.
func (d *Device) advice(state string, low bool) string {
	a := advice(state, low)
	if state == Hung {
		a += " " + d.o.Name
	}
	return a
}

// advice says what kitchen staff can do about a state. The texts go to the log, to the command line
// and into the errors of tickets. They name the first thing to try for someone who stands in front
// of the printer.
func advice(state string, low bool) string {
	switch state {
	case PaperOut:
		return "put in a new roll of paper and close the cover"
	case CoverOpen:
		return "close the cover"
	case CutterError:
		return "open the cover, take out the paper at the cutter, close it; " +
			"if that does not help, switch the printer off and on"
	case Unrecoverable:
		return "switch the printer off, wait ten seconds, switch it on"
	case MechanicalError:
		return "open the cover, take out jammed paper, close it"
	case Overheated:
		return "let it cool down; it continues by itself"
	case Fault:
		return "check which of its lamps blink; switch it off and on"
	case Offline:
		return "check whether its cover is open, its paper is out or it is paused; press FEED; " +
			"if it prints for other programs in this state, set confirm: none for it"
	case Busy:
		return "check whether a till or another program keeps a connection to it; if not, switch it off and on"
	case Hung:
		return "switch it off, wait ten seconds, switch it on; nothing was sent to it meanwhile. If it is another " +
			"printer than before, run: ticketrail printers probe"
	case Unreachable:
		return "check its power, its cable and its address"
	case Ready, Silent, Unknown, Clearing:
		if low {
			return "have a new roll of paper ready"
		}
	}
	return ""
}
