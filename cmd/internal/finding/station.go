package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"ticketrail/printer"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// Kinds of stations; "" is a printer.
const (
	KindScreen  = "screen"
	KindDisplay = "kds" // a third-party kitchen display
	KindLog     = "log"
)

// A StateWord is the state of a [Station] in one word. Of several reasons not to print, it names the one that the
// operator must act on first: see [Join].
type StateWord string

const (
	Orphaned StateWord = "orphan"  // it has tickets and is not in the configuration
	OnHold   StateWord = "held"    // the operator stopped it
	Down     StateWord = "down"    // the last attempt failed, or the device reports that it cannot print
	Untried  StateWord = "unknown" // no attempt since the start says something about it
	Up       StateWord = "up"
)

// A Station is a place where tickets are printed or shown (a printer, a screen, a third-party kitchen display): its
// known state at one moment, with its queue. Scripts read its JSON, so the keys stay as they are: stand_in is the
// backup.
type Station struct {
	Name       string    `json:"name"`
	Kind       string    `json:"kind,omitempty"`    // one of the kinds; absent for a printer
	Address    string    `json:"address,omitempty"` // as configured
	State      StateWord `json:"state"`
	Since      time.Time `json:"since,omitzero"` // since when it is in this state
	Configured bool      `json:"configured"`
	Pending    int       `json:"pending"`
	Printing   int       `json:"printing"`
	Held       int       `json:"held"` // tickets that wait for the operator to decide
	// OldestSeconds is the running time since the oldest open ticket was accepted.
	OldestSeconds float64            `json:"oldest_seconds"`
	Hold          *queue.StationHold `json:"hold,omitempty"`
	NotReady      string             `json:"waiting,omitempty"` // Error, if the station reported that it is not ready
	Error         string             `json:"error,omitempty"`   // of the last attempt, if it failed
	Attempt       int                `json:"attempt,omitempty"` // number of the current ticket's attempt
	NextTry       time.Time          `json:"next_try,omitzero"`
	Device        *DeviceStatus      `json:"device,omitempty"`        // nil if it cannot be asked for its own state
	MovedAdvice   string             `json:"moved_advice,omitempty"`  // for a printer that is at another address
	ActiveBackup  string             `json:"stand_in,omitempty"`      // the backup that prints its tickets now
	StandsInFor   []string           `json:"stands_in_for,omitempty"` // stations whose tickets it prints now
	Pages         int                `json:"pages,omitempty"`         // open pages, of a screen
	Advice        string             `json:"advice,omitempty"`        // for the operator
	// Books are the durable counters of this station since its database was created.
	Books queue.Books `json:"books"`

	Known bool `json:"-"` // an attempt since the start says something about the station; else Up means nothing
	Up    bool `json:"-"` // the last attempt that says something about the station succeeded
}

// sharedFor is how long another program counts as one that prints at the same printer, after the last answer to it.
const sharedFor = time.Hour

// A DeviceStatus is the state that a printer, a screen or a third-party display reports of itself. Stations that share
// a printer have the same. Its conditions are label values of ticketrail_station_condition.
type DeviceStatus = printer.Status

// Join adds to the stations of a queue, orphans too, the knowledge of the rest of the daemon. known must have been
// read first: a reload between the two then shows a new station without a state, and never a state without its
// station.
func Join(known []Station, queues []queue.StationState, now time.Time) []Station {
	out := []Station{}
	for _, st := range queues {
		joined := Station{}
		for _, k := range known {
			if k.Name == st.Name {
				joined = k
			}
		}

		for _, k := range known {
			if k.ActiveBackup == st.Name {
				joined.StandsInFor = append(joined.StandsInFor, k.Name)
			}
		}
		joined.judge(st, now)
		out = append(out, joined)
	}

	return out
}

// judge adds the queue's knowledge of the station, and judges. The state is the first that applies, in the order in
// which the operator must act: without a configuration a hold does not matter, and while held a dead printer does not
// matter. The findings name both.
func (p *Station) judge(st queue.StationState, now time.Time) {
	p.Name, p.Configured, p.Hold, p.Books = st.Name, st.Configured, st.Hold, st.Books
	p.Pending, p.Printing, p.Held, p.OldestSeconds = st.Pending, st.Printing, st.Held, st.Oldest.Seconds()
	switch {
	case !p.Configured:
		p.State, p.Since = Orphaned, time.Time{}
	case p.Hold != nil:
		p.State, p.Since = OnHold, p.Hold.Since
	case p.Device != nil && !p.Device.Fine: // also without a ticket: the device was polled
		p.State, p.Since = Down, p.Device.Since

	// The rest is judged by the attempts, and Since is theirs. Without one the daemon has just started, or no ticket
	// has come.
	case !p.Known:
		p.State = Untried
	case !p.Up:
		p.State = Down
	default:
		p.State = Up
	}

	for _, f := range p.Findings(now) {
		p.Advice = cmp.Or(p.Advice, f.Do)
	}
}

// Fine reports whether the station prints and no ticket waits for the operator. An untried station
// counts as fine: after a start without orders nothing is known to be wrong.
func (p Station) Fine() bool { return (p.State == Up || p.State == Untried) && p.Held == 0 }

// Findings are everything that a person must do about the station, the most urgent first; none if it is fine.
func (p Station) Findings(now time.Time) (out []Finding) {
	add := func(id string, level Level, since time.Time, text, detail, do string) {
		one := New("station/"+p.Name+"/"+id, level, text, detail, do)
		one.Subject, one.Station, one.Since = p.Name, true, since
		out = append(out, one)
	}

	waits := ""
	if open := p.Pending + p.Printing; open > 0 {
		waits = "; " + ticketsWait(open)
	}

	if p.State == Orphaned {
		add("orphan", Fail, time.Time{}, "no longer in the configuration, and has "+
			ticket.Plural(p.Pending+p.Held+p.Printing, "ticket"), "", fmt.Sprintf(
			"add it again, or ticketrail jobs move --from %s --to STATION", shellQuote(p.Name)))
		return out
	}

	if p.Hold != nil {
		add("on_hold", Fail, p.Hold.Since, "held: "+p.Hold.Reason, strings.TrimPrefix(waits, "; "),
			"ticketrail printers resume "+shellQuote(p.Name))
	}

	if state, since := p.trouble(); state != "" {
		text, detail := p.why(state)
		add(state, Fail, since, text+waits, detail, p.fix())
	}

	// The two can cut each other's tickets, and the answers of the printer no longer prove which ticket came out.
	if p.Device != nil && now.Sub(p.Device.ForeignAt) < sharedFor {
		add("shared", Fail, time.Time{}, "another program prints there at the same time", "tickets may be mixed",
			"give that program a printer of its own")
	}

	if p.Held > 0 {
		add("tickets_held", Fail, time.Time{}, ticketsWait(p.Held)+" for your decision", "", fmt.Sprintf(
			"ticketrail jobs list --state held --station %s, then jobs reprint or jobs cancel", shellQuote(p.Name)))
		out[len(out)-1].Count = p.Held
	}

	// It prints, but not for long, or not as it should.
	device := p.Device
	if device == nil || !device.Fine {
		return out
	}

	if device.Advice != "" {
		state, text := "advice", "works, but not as it should"
		if slices.Contains(device.Conditions, printer.PaperLow) { // no other condition has advice
			state, text = printer.PaperLow, "paper low"
		}
		add(state, Warn, time.Time{}, text, "", device.Advice)
	}
	if device.Moved != "" {
		add("moved", Warn, time.Time{}, device.Moved, "", p.MovedAdvice)
	}

	return out
}

// trouble is why the station does not print, in one word, and since when; "" if it does, or nothing is known to be
// wrong. The report of the device comes before the result of an attempt, because it explains it.
func (p Station) trouble() (state string, since time.Time) {
	if p.Device != nil && !p.Device.Fine {
		return p.Device.State, p.Device.Since
	}
	if p.Error == "" {
		return "", since
	}

	if p.Hold == nil { // else Since is the beginning of the hold
		since = p.Since
	}
	return "down", since
}

// why is the cause of a trouble, and an error in its own words.
func (p Station) why(state string) (text, detail string) {
	text = strings.ReplaceAll(state, "_", " ")
	detail = p.Error
	if state == "down" {
		text = "does not work"
	}

	if device := p.Device; device != nil {
		if device.Err != "" { // why it cannot be reached; then it has no report
			detail = device.Err
		} else if len(device.Conditions) > 0 {
			detail = words(slices.DeleteFunc(slices.Clone(device.Conditions),
				func(c string) bool { return c == state }))
		}
		if device.Moved != "" {
			detail = strings.TrimPrefix(detail+"; "+device.Moved, "; ")
		}
	}

	return text, detail
}

// words are conditions as people read them.
func words(conditions []string) string {
	return strings.ReplaceAll(strings.Join(conditions, ", "), "_", " ")
}

// fix is the advice for a station that is down. The report of the device itself is better than a guess; without a
// report the usual causes are named.
func (p Station) fix() string {
	do := "check power, cable and address"
	switch {
	case p.Device != nil && !p.Device.Fine && p.Device.Advice != "":
		do = p.Device.Advice
	case p.Kind == KindDisplay && p.Device != nil: // it answers that it takes no tickets
		do = "repair what it answers, usually its token_file or url, then ticketrail printers resume " +
			shellQuote(p.Name)
	case p.Kind == KindDisplay:
		do = "check that it runs, that its url and ca_file are right, and that this box reaches it"
	case p.Kind == KindLog:
		do = "repair what it says; ticketrail check --online tries it again"
	case p.NotReady != "":
		do = "check the printer"
	}

	switch {
	case p.ActiveBackup != "":
		return do + "; " + p.ActiveBackup + " prints its tickets meanwhile"
	case p.Pending+p.Printing > 0:
		return do + "; waiting tickets then follow automatically"
	}

	return do
}

// shellQuote is a name as it must be typed in a shell, so that advice can be copied.
func shellQuote(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	}) {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

func ticketsWait(n int) string {
	if n == 1 {
		return "1 ticket waits"
	}
	return ticket.Plural(n, "ticket") + " wait"
}
