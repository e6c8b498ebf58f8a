// Package ticket has the data that travels through the queue, and the terms for it: the lines of a ticket, which
// station gets it, and which states a job can have.
//
// Everything that a cook will read is decided before the request is answered, and fixed in a
// [Ticket]. How wide the paper is and which bytes print it is decided at each attempt, by the
// packages behind the queue, so a ticket can be moved to another printer. A stored ticket stays
// readable for ever: see [Version].
package ticket

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Ticket is the part of one print record for one station. It is flat: lines in the order in which
// they print, each with its depth below the item it belongs to.
//
// All text is as the service sent it, so it is hostile: the package that shows it removes control
// characters for its medium. Empty means that the service did not say.
type Ticket struct {
	V    int  `json:"v"`              // format, see [Version]
	Kind Kind `json:"kind,omitempty"` // empty: an order

	Venue     string `json:"venue"`                // the venue's UUID, lower case
	VenueName string `json:"venue_name,omitempty"` // as configured
	Device    string `json:"device,omitempty"`     // the terminal that sent it
	Request   string `json:"request"`              // records[0].id: the id of the request
	Record    string `json:"record,omitempty"`     // this record's own id, if it has one

	Number   string `json:"number,omitempty"` // the number that is called out
	Table    string `json:"table,omitempty"`
	Server   string `json:"server,omitempty"`
	Type     string `json:"type,omitempty"` // "Dine In", "Take Away", …
	Guests   string `json:"guests,omitempty"`
	Customer string `json:"customer,omitempty"` // whose it is
	// Promised is when it is wanted: a time as RFC 3339 has it, or a text as sent.
	Promised    string   `json:"promised,omitempty"`
	Check       string   `json:"check,omitempty"`       // id of the check, which several requests may have; not printed
	Destination string   `json:"destination,omitempty"` // the printer that the service names; the routes decide
	Course      string   `json:"course,omitempty"`      // of the whole record
	Notes       []string `json:"notes,omitempty"`
	Unread      int      `json:"unread,omitempty"` // how many of the last notes are fields that nothing reads
	More        int      `json:"more,omitempty"`   // unread fields that are not among the notes; see [Ticket.NameMore]

	// Void says that the whole record is a cancellation. Every line of it is Void too.
	Void bool `json:"void,omitempty"`
	// MayCancel is an unread field that may cancel the whole record: state: CANCELLED. Only a person can say.
	MayCancel string `json:"may_cancel,omitempty"`
	// Refire says that the whole record is made again. Every line of it is Refire too.
	Refire bool `json:"refire,omitempty"`
	// Rush says that the order is to be made before the others. It changes no order of the queue.
	Rush bool `json:"rush,omitempty"`
	// Hold says that the whole record is a dish on hold: not to be made yet. Every line of it is Hold too.
	Hold bool `json:"hold,omitempty"`

	Received time.Time `json:"received"`       // when the request came in, UTC
	Zone     string    `json:"zone,omitempty"` // the venue's tz database name; empty prints UTC

	Lines []Line `json:"lines,omitempty"`
	// AlsoAt is the other stations that got lines of the same order, by their names. Earlier versions stored them in
	// another form, under also_at.
	AlsoAt []string `json:"elsewhere,omitempty"`
	// Changed says that the ticket replaces earlier ones; nil: it replaces none.
	Changed *Change `json:"changed,omitempty"`
	// RefusedFor is why its request was refused when it came, so that it is printed late; empty: it was not.
	RefusedFor string `json:"refused_for,omitempty"`
	// Banners say at its head why this ticket is not like others. See [Ticket.Heads]. Earlier versions stored there
	// too that it is late.
	Banners []string `json:"banners,omitempty"`
	// Later is, on a reprint, the voids of the same check that came since.
	Later LaterVoids `json:"later,omitempty"`
	// IsList says that it is the list of the open orders of a dark screen: one piece of paper, also at a printer that
	// cuts the paper after each item.
	IsList bool `json:"whole,omitempty"`
	// Raw is the record as text, printed under the banner UNREADABLE: it contains nothing printable, has a key twice
	// or exceeds a limit, so that a person must interpret it.
	Raw string `json:"raw,omitempty"`
}

// OrderInRequest is equal for the tickets of a request that people take for one order: those with
// the same number, else the same table, else all. A service may send one record for each of its printers. It is a key;
// [Ticket.Order] is the name for people.
func (t *Ticket) OrderInRequest() string {
	switch {
	case t.Number != "":
		return "number " + t.Number
	case t.Table != "":
		return "table " + strings.ToLower(t.Table)
	}
	return ""
}

// AllUnrouted reports whether no route matched any of its lines. Then one banner says so, instead of the single lines.
func (t *Ticket) AllUnrouted() bool {
	return len(t.Lines) > 0 && !slices.ContainsFunc(t.Lines, func(l Line) bool { return !l.NoRoute })
}

// HasVoid says whether a ticket cancels something.
func (t *Ticket) HasVoid() bool {
	return t.Void || slices.ContainsFunc(t.Lines, func(l Line) bool { return l.Void })
}

// SameCheck says whether two tickets are of the same check or, if that is not known, have the same number or, with
// none, the same table.
func (t *Ticket) SameCheck(o *Ticket) bool {
	number := NumberLabel(t.Number)
	if t.Check != "" && o.Check != "" {
		return t.Venue == o.Venue && t.Check == o.Check
	}
	return t.Venue == o.Venue && number == NumberLabel(o.Number) &&
		(number != "" || t.Table != "" && strings.EqualFold(t.Table, o.Table))
}

// Heads are the texts that must be read before the ticket, for every station alike.
func (t *Ticket) Heads() []string {
	var heads []string
	if t.Changed != nil {
		heads = append(heads, t.Changed.head(t.Zone))
	}
	if t.RefusedFor != "" {
		at, _ := InZone(t.Received, t.Zone)
		heads = append(heads, fmt.Sprintf("LATE – refused at %s: %s", at.Format("15:04"), t.RefusedFor))
	}
	return append(heads, t.Banners...)
}

// A Change names the tickets that a ticket replaces: those that its station got before under the same request.
type Change struct {
	Order    string    `json:"order,omitempty"`   // see [Ticket.Order]
	Received time.Time `json:"received,omitzero"` // when it came; zero: not known
	Tickets  int       `json:"tickets,omitempty"` // how many tickets are replaced
	Part     int       `json:"part,omitempty"`    // the number of this ticket among those that replace them, from 1
	Parts    int       `json:"parts,omitempty"`   // how many replace them
}

// NothingListed is the only note of a ticket that replaces others by nothing. The kitchen knows it: do not change it.
const NothingListed = "Nothing is listed here any more. Ask."

func (c *Change) head(zone string) string {
	text := "CHANGED"
	if c.Parts > 1 {
		text += fmt.Sprintf(" (%d of %d)", c.Part, c.Parts)
	}

	text += " – replaces "
	switch {
	case c.Tickets > 1 && c.Order != "":
		text += fmt.Sprintf("%d tickets, %s", c.Tickets, c.Order)
	case c.Tickets > 1:
		text += fmt.Sprintf("%d tickets", c.Tickets)
	case c.Order != "":
		text += c.Order
	default:
		text += "the ticket"
	}

	if at := Clock(c.Received, zone); at != "" {
		return text + " of " + at
	}
	return text + " that came before"
}

// LaterVoids are the voids of a check that came after a ticket of it.
type LaterVoids []LaterVoid

// Texts returns the words for each on paper.
func (l LaterVoids) Texts() []string {
	texts := make([]string, len(l))
	for i, v := range l {
		texts[i] = v.text()
	}
	return texts
}

// A LaterVoid is one of them. Without a job and a text it stands for the voids that are not named.
type LaterVoid struct {
	Job   uint64 `json:"job,omitempty"`
	Clock string `json:"clock,omitempty"` // when it came
	Text  string `json:"text,omitempty"`  // all of it, as earlier versions stored it
}

func (v LaterVoid) text() string {
	switch {
	case v.Text != "":
		return v.Text
	case v.Job == 0:
		return "VOID: more jobs"
	}
	return fmt.Sprintf("VOID at %s: job %d", v.Clock, v.Job)
}

// UnmarshalJSON reads the form of earlier versions too, which was a text.
func (v *LaterVoid) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, &v.Text)
	}
	type stored LaterVoid
	return json.Unmarshal(b, (*stored)(v))
}

// PromisedAt is when it is wanted; zero if that is not said as a time.
func (t *Ticket) PromisedAt() time.Time {
	at, err := time.Parse(time.RFC3339, t.Promised)
	if err != nil {
		at, _ = time.Parse("2006-01-02T15:04:05Z0700", t.Promised) // as some services write it
	}
	return at
}

// Question is the text on a ticket for [Ticket.MayCancel] and [Line.MayCancel].
func Question(mayCancel string) string {
	if mayCancel == "" {
		return ""
	}
	return "** cancelled? " + mayCancel + " **"
}

// NameMore adds to the notes how many unread fields did not fit, and the job that lists them; 0: there is none.
func (t *Ticket) NameMore(job uint64) {
	name := func(notes *[]string, unread *int, more int) {
		if more > 0 {
			*notes = append(*notes, MoreUnread(more, job))
			*unread++
		}
	}

	name(&t.Notes, &t.Unread, t.More)

	for i := range t.Lines {
		l := &t.Lines[i]
		name(&l.Notes, &l.Unread, l.More)
	}
}

// MoreUnread is the note of [Ticket.NameMore].
func MoreUnread(more int, job uint64) string {
	if job == 0 {
		return fmt.Sprintf("and %d more", more)
	}
	return fmt.Sprintf("and %d more: job %d", more, job)
}

// A Line is one item or one modifier.
type Line struct {
	Depth int `json:"d,omitempty"` // 0 for an item, 1 for its modifier, and so on
	// ID is the point of sale's id of the item, if it is a UUID: in lower case. Any other may be one of the menu, or a
	// position in the request, and names no line of a check. A void has the id of the line that it cancels, or one of
	// its own.
	ID string `json:"id,omitempty"`
	// Quantity is the absolute value as people write it ("2", "0.5"), never empty.
	Quantity string `json:"q"`
	Name     string `json:"n"`
	// Raw says that no name was found and Name holds the item's JSON instead.
	Raw    bool     `json:"raw,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	Unread int      `json:"unread,omitempty"` // as the ticket's
	More   int      `json:"more,omitempty"`   // as the ticket's
	Seat   string   `json:"seat,omitempty"`
	Course string   `json:"course,omitempty"`
	// Void says that this line is a cancellation. The children of a void line are void.
	Void   bool `json:"void,omitempty"`
	Refire bool `json:"refire,omitempty"`
	// Hold says that this line is not to be made yet. The children of such a line are Hold too.
	Hold bool `json:"hold,omitempty"`
	// MayCancel is like [Ticket.MayCancel] for the line.
	MayCancel string `json:"may_cancel,omitempty"`
	// NoRoute says that no route matched its item, so the fallback station got it.
	NoRoute bool `json:"no_route,omitempty"`
}

// Kind is the sort of a ticket: an order, or something that the daemon prints itself.
type Kind string

const (
	Order Kind = ""
	// ExpiredList is the list of the tickets that became too old to print.
	ExpiredList Kind = "slip"
	// Test is a ticket that a person prints to see whether the printer works.
	Test Kind = "test"
)

// A Draft is a ticket, and the station for which it will be queued.
type Draft struct {
	Station string
	Ticket  Ticket
}

// A Request is one print request after planning: everything that is stored before the service gets
// its 200. The queue does not change it, and the caller must not change it until Accept has
// returned.
type Request struct {
	Venue    string    // UUID, lower case
	ID       string    // records[0].id; a UUID in lower case, anything else as sent
	Device   string    // as its header names it, by default x-svc-device-id
	Received time.Time // UTC
	Body     []byte    // as received
	Content  Digest    // of the body without the members that may differ in a retry; zero: of all bytes of it
	Drafts   []Draft   // at least one, in the order they are to print
	// Age is for how long it has waited at a relay before it came here. The difference to Received does not say
	// that: it is of two clocks. The tickets have waited for so long already, see expire_after.
	Age time.Duration
	// OnlyReportConflict says that other content under a known key does not print.
	OnlyReportConflict bool
	// PrintEvenIfReported says that the content prints although it came before as a conflict and was only reported. It
	// is set for a request that a person prints late, and for one of the copy's log.
	PrintEvenIfReported bool
}

// A Receipt is the result of accepting a request.
type Receipt struct {
	Duplicate bool // the key was known
	Conflict  bool // the key was known and the content is new
	Jobs      int  // jobs that were enqueued
}

// Version is the format that [Marshal] writes. Fields are only ever added, and their zero value
// has the meaning of their absence. A change that an older program would misread raises Version.
const Version = 1

// Marshal encodes a ticket for storage. It sets V.
func Marshal(t Ticket) ([]byte, error) {
	t.V = Version
	return json.Marshal(t)
}

// Unmarshal decodes the result of [Marshal] of this version or an older one. With an error the Ticket
// is zero.
func Unmarshal(b []byte) (Ticket, error) {
	var t Ticket
	if err := json.Unmarshal(b, &t); err != nil {
		return Ticket{}, fmt.Errorf("decode ticket: %w", err)
	}

	if t.V < 1 || t.V > Version {
		return Ticket{}, fmt.Errorf("decode ticket: format %d, this program reads 1 to %d: a newer ticketrail wrote it",
			t.V, Version)
	}
	return t, nil
}
