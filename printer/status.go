package printer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/session"
	"ticketrail/printer/transport"
	"ticketrail/queue/ticket"
)

// A printer's health is for people: in "ticketrail status", in the metrics and in the log. Three states also decide
// about the next connection: [NotAPrinter] is sent no ticket, and a poll sends a hello to a printer that is [Hung], or
// is not [Ready] and has no DLE EOT.
// Whether a ticket came out is never decided here; attempts read the session's conditions themselves.

// The states of a printer. Metrics and JSON show these words, so they must not change.
const (
	Unknown         = "unknown"       // no contact since the start, or connected and never asked
	Ready           = "ready"         // it reports no trouble; paper may be low
	Silent          = "silent"        // it takes tickets and answers no question
	Busy            = "busy"          // it answered in the past and does not now: it serves another client
	Hung            = "hung"          // it does not answer for longer, or answers its status and processes nothing
	Clearing        = "clearing"      // it is inside a command that another program left unfinished
	Unreachable     = "unreachable"   // no connection can be made, or it ended while it was used
	NotAPrinter     = "not_a_printer" // HTTP, SSH, an echo or text comes from its address
	PaperOut        = "paper_out"
	CoverOpen       = "cover_open"
	CutterError     = "cutter_error"
	Unrecoverable   = "unrecoverable" // an error that only switching it off and on clears
	MechanicalError = "mechanical_error"
	Overheated      = "overheated" // the print head; it recovers by itself
	Fault           = "fault"      // an error; it does not report which
	Offline         = "offline"    // it prints nothing, and does not report why
)

// PaperLow is a condition and no state: the printer still prints.
const PaperLow = "paper_low"

// Status is the known state of a device. Scripts read its JSON, so the keys stay as they are: ability is the best
// proof.
type Status struct {
	State string    `json:"state"`          // one of the constants above; a screen has others
	Since time.Time `json:"since,omitzero"` // start of this state
	Fine  bool      `json:"fine"`           // nothing is known that stops the printing
	// Conditions are the names of everything in its last report, also of those that do not stop it.
	Conditions []string `json:"conditions"`
	// BestProof is the best result that a ticket can have: "confirmed", "processed", "sent" or "shown"; empty
	// while it is not known.
	BestProof string `json:"ability,omitempty"`
	Advice    string `json:"advice,omitempty"`  // for a person; empty: nothing needs to be done
	Err       string `json:"error,omitempty"`   // why it cannot be reached
	Moved     string `json:"moved,omitempty"`   // that it was found at another address than the configured one
	Foreign   int    `json:"foreign,omitempty"` // how many answers to another program came while we were connected
	// ForeignAt is when the last of these answers came.
	ForeignAt time.Time `json:"foreign_at,omitzero"`

	// TooFast: the answer behind its last ticket came before the paper can have moved, and proved nothing.
	TooFast bool `json:"-"`
	// Late: it answers only when it is sent something more.
	Late bool `json:"-"`

	hint string // for a person, in Unreachable
}

// StatusOf is the status of a printer that no [Device] has asked; err is why it cannot be reached, nil if it can.
func StatusOf(state string, err error) Status {
	var known health
	known.set(state, err)
	return known.get()
}

// A health is how a printer is: its last report, or why nothing is heard of it, and the advice for a person.
// Its methods are safe for concurrent use.
type health struct {
	name string

	mu     sync.Mutex // guards status
	status Status
}

func (h *health) get() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// update changes the status. All changes go through here, so that Since and Advice fit the state. It logs nothing: the
// journal has the findings.
func (h *health) update(change func(*Status)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.status.State
	change(&h.status)

	if h.status.State != was {
		h.status.Since = time.Now()
	}

	h.status.Fine = slices.Contains([]string{Ready, Unknown, Silent}, h.status.State)
	h.status.Advice = h.advice(&h.status)
}

// observe records the conditions that the printer reported.
func (h *health) observe(c escpos.Condition) {
	h.update(func(s *Status) {
		// Without a BestProof the probe has not ended: a report without trouble does not show yet that it prints.
		if is := state(c); is != Ready || s.BestProof != "" {
			s.State = is
		}
		s.Conditions = c.Names()
	})
}

// recordForeign records an answer to another program.
func (h *health) recordForeign() {
	h.update(func(s *Status) {
		s.Foreign++
		s.ForeignAt = time.Now()
	})
}

// set records a state that the printer did not report itself, and why; nil: that is not known. Its last report no
// longer applies.
func (h *health) set(state string, why error) {
	h.update(func(s *Status) {
		s.State, s.Conditions, s.Err, s.hint = state, []string{}, "", ""
		if why != nil {
			s.Err, s.hint = why.Error(), transport.Hint(why)
		}
	})
}

// recordNoAnswer records a printer that accepts connections and no longer answers: it serves a till, or
// hangs. Its tickets wait, or print at its backup.
func (h *health) recordNoAnswer() error {
	now, status := Busy, h.get()
	if status.State == Hung || status.State == Busy && time.Since(status.Since) >= session.HungAfter {
		now = Hung
	}
	h.set(now, nil)
	return ticket.NotReady(fmt.Errorf("%s does not answer, but its port is open", h.name))
}

// recordNoPrinter records that it is no printer. It stays one until it answers as a printer does.
func (h *health) recordNoPrinter(err error) error {
	h.set(NotAPrinter, err)
	return ticket.NotReady(fmt.Errorf("ask %s how it is: %w", h.name, err))
}

// recordNotReady records a reported condition that stops the printing. The queue waits, and no attempt is spent. Nil:
// none was reported.
func (h *health) recordNotReady(c escpos.Condition) error {
	if !c.Any(escpos.Blocking) {
		return nil
	}
	h.observe(c)
	return ticket.NotReady(fmt.Errorf("%s is %s", h.name, h.trouble(c)))
}

// states has the words for each state, and which condition puts a printer into it: the most urgent first,
// the one that a person has to clear first. text stands in "the printer is ..."; empty: as the state. advice is for
// kitchen staff: the first thing to try for someone who stands in front of the printer.
var states = []struct {
	state        string
	condition    escpos.Condition
	text, advice string
}{
	{Unrecoverable, escpos.Unrecoverable, "stopped by an error that only switching it off and on clears",
		"switch the printer off, wait ten seconds, switch it on"},
	{CutterError, escpos.CutterError, "stopped: its cutter is jammed",
		"open the cover, take out the paper at the cutter, close it; " +
			"if that does not help, switch the printer off and on"},
	{CoverOpen, escpos.CoverOpen, "stopped: its cover is open", "close the cover"},
	{PaperOut, escpos.PaperOut, "out of paper", "put in a new roll of paper and close the cover"},
	{MechanicalError, escpos.MechanicalError, "stopped by a mechanical error",
		"open the cover, take out jammed paper, close it"},
	{Overheated, escpos.Overheated, "stopped: its print head is too hot", "let it cool down; it continues by itself"},
	{Fault, escpos.Fault, "stopped by an error", "check which of its lamps blink; switch it off and on"},
	{Offline, escpos.Offline, "",
		"check whether its cover is open, its paper is out or it is paused; press FEED; " +
			"if it prints for other programs in this state, set confirm: none for it"},
	{Busy, 0, "", "check whether a till or another program keeps a connection to it; if not, switch it off and on"},
	{Hung, 0, "hung: it does not process what it is sent",
		"switch it off, wait ten seconds, switch it on; nothing was sent to it meanwhile. If it is another " +
			"printer than before, run: ticketrail printers probe STATION"},
	{Unreachable, 0, "", "check its power, its cable and its address"},
	{NotAPrinter, 0, "not a printer: another program answers at its address",
		"check its address and its port; most printers have port 9100"},
	{Clearing, 0, "clearing what another program left", ""},
}

// state is the most urgent reported condition.
func state(c escpos.Condition) string {
	for _, x := range states {
		if c.Any(x.condition) {
			return x.state
		}
	}
	return Ready
}

// trouble is the most urgent condition in words, and all that is reported.
func (h *health) trouble(c escpos.Condition) string {
	text, _ := h.describe(state(c))
	return fmt.Sprintf("%s (it reports: %s)", text, c)
}

// describe returns the words of a state, for the errors of tickets and the command line, and the advice on it.
func (h *health) describe(state string) (text, advice string) {
	for _, x := range states {
		if x.state == state {
			return cmp.Or(x.text, state), strings.ReplaceAll(x.advice, "STATION", h.name)
		}
	}
	return state, ""
}

// advice is for a person. A printer that prints can have advice too.
func (h *health) advice(s *Status) string {
	switch _, advice := h.describe(s.State); {
	case s.State == Unreachable && s.hint != "":
		return s.hint
	case advice != "":
		return advice
	case slices.Contains(s.Conditions, PaperLow):
		return "have a new roll of paper ready"
	case s.Late:
		return "it answers a question only with the next one, which delays its tickets; to be asked nothing, set " +
			"confirm: none"
	case s.TooFast:
		return "its answers come before a ticket can be on paper: its interface answers and not its engine, so long " +
			"tickets count as sent. If it is to be asked nothing, set confirm: none"
	}
	return ""
}
