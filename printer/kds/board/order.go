package board

import (
	"time"

	"ticketrail/queue/ticket"
)

// A State says where a card or an order is.
type State string

const (
	Open   State = "open"   // on the board
	Bumped State = "bumped" // done; it can be recalled
	// Elsewhere: another station has begun to print or show the ticket because this screen was dark.
	// Whether that worked does not matter here. It can be recalled.
	Elsewhere State = "elsewhere"
	// Replaced: a changed ticket has taken its place. It cannot be recalled.
	Replaced State = "replaced"
)

// An Order is the unit that pages show: the tickets of one order that are together on a board, or that left it
// together. It is never changed after it was made, so it may be read without a lock for any time. The
// package documentation describes its JSON. Times are milliseconds since 1970, clocks are in the zone
// of the venue.
type Order struct {
	Key        string `json:"key"`     // opaque; an order that is off the board has another key than the open one
	Version    uint64 `json:"version"` // changes with all that a cook may press on
	State      State  `json:"state"`
	Place      uint64 `json:"place"`               // sorts the board; a recalled order gets its old place back
	Departure  uint64 `json:"departure,omitempty"` // sorts the recall list; 0 while open
	DepartedAt int64  `json:"departed_at,omitempty"`
	// Undo is the last change, as long as it can be undone: until UndoUntil.
	Undo      Verb  `json:"undo,omitempty"`
	UndoUntil int64 `json:"undo_until,omitempty"`

	Kind        ticket.Kind `json:"kind,omitempty"`   // "" is an order, or "slip", "test", "open_orders"
	Number      string      `json:"number,omitempty"` // as it is called out
	Table       string      `json:"table,omitempty"`  // as people say it
	Type        string      `json:"type,omitempty"`
	DineIn      bool        `json:"dine_in,omitempty"`
	Server      string      `json:"server,omitempty"`
	Guests      string      `json:"guests,omitempty"`
	Customer    string      `json:"customer,omitempty"`
	Venue       string      `json:"venue,omitempty"`
	Destination string      `json:"destination,omitempty"`
	Course      string      `json:"course,omitempty"`
	Requests    []string    `json:"requests,omitempty"` // the ends of their ids, short enough to read out

	Received int64    `json:"received"` // of its first ticket here, or when that came; the age counts from it
	Clock    string   `json:"clock,omitempty"`
	Rush     bool     `json:"rush,omitempty"`
	Courses  []string `json:"courses,omitempty"`
	AlsoAt   []string `json:"also_at,omitempty"` // other stations that have lines of it

	Alarms       []Alarm `json:"alarms,omitempty"`
	AlarmAckedAt int64   `json:"alarm_acked_at,omitempty"`
	MustAckVoid  bool    `json:"must_ack_void,omitempty"`
	MustAckAlarm bool    `json:"must_ack_alarm,omitempty"`
	Voids        []Band  `json:"voids,omitempty"`
	// BumpedClock is when the order that it adds to was bumped; empty if it is the whole order.
	BumpedClock string `json:"bumped_clock,omitempty"`

	Left    int      `json:"left"` // items that are still to be made
	Tickets []Ticket `json:"tickets"`

	// Ready: at the pass all of it is made; at another screen it was bumped, and not all of it was voided.
	Ready bool `json:"ready,omitempty"`
	// At the pass only. An order is Cancelled if nothing of it is wanted any more.
	Parts     []Part `json:"parts,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`

	unknown  bool     // see Unknown
	replaced []uint64 // see Replaced

	sum  uint64 // of its JSON
	refs []Ref  // the cards that a command moves
}

// A Ref names a card. Tickets of a backup can be on two boards, so the job alone is not enough.
type Ref struct {
	Station string `json:"station"`
	Job     uint64 `json:"job"`
}

// An Alarm is an allergy of an order.
type Alarm struct {
	Text string `json:"text"`
	Job  uint64 `json:"job"`
}

// A Band is the strip on an order for a ticket that cancels something, or replaces another one: it must be read.
type Band struct {
	Job     uint64   `json:"job"`
	Clock   string   `json:"clock,omitempty"`
	Changed bool     `json:"changed,omitempty"` // it replaces a ticket
	Lines   []string `json:"lines,omitempty"`   // "1 Fish"
	Whole   bool     `json:"whole,omitempty"`   // it cancels all, and names no line
	// BumpedClock is when the order, or the card that it replaces, was bumped.
	BumpedClock string `json:"bumped_clock,omitempty"`
	AckedAt     int64  `json:"acked_at,omitempty"`
}

// A Ticket is one card of an order.
type Ticket struct {
	Job     uint64 `json:"job"` // the id of the job in the queue; also the card's id
	Version uint64 `json:"version"`
	Station string `json:"station"`
	State   State  `json:"state"`
	Added   bool   `json:"added,omitempty"`   // an earlier request has begun the order
	Changed bool   `json:"changed,omitempty"` // it replaces another one
	At      int64  `json:"at"`
	Clock   string `json:"clock,omitempty"`
	Seen    int64  `json:"seen,omitempty"` // when it was first on the visible sheet

	Duplicate bool     `json:"duplicate,omitempty"` // POSSIBLE DUPLICATE
	Reprint   bool     `json:"reprint,omitempty"`   // REPRINT: an operator asked for this copy
	Refire    bool     `json:"refire,omitempty"`
	NoRoute   bool     `json:"no_route,omitempty"`   // no route matched any of its items
	For       string   `json:"for,omitempty"`        // the station whose backup this screen is
	Down      string   `json:"down,omitempty"`       // the device of that station that is down: "printer", "screen"
	RefusedBy []string `json:"refused_by,omitempty"` // the stations that refused it, so that it came here
	Paper     string   `json:"paper,omitempty"`      // the station where it came out while this screen was dark

	Notes []Text `json:"notes,omitempty"`
	Items []Item `json:"items,omitempty"`
	// Raw is the record as received, if nothing printable was found in it or it has a key twice.
	Raw string `json:"raw,omitempty"`

	bumpedClock  string
	alarmAckedAt int64
}

// A Text is a note. It may have line breaks.
type Text struct {
	// Key says that Text is a part of a sentence, which pages have in their language:
	//   - "may_cancel", "wanted"
	//   - "later_void": the job that came at Clock
	//   - "late_refused": the reason for which it was refused then
	//   - "more_unread": how many more fields the job of the ticket has
	//   - "replaces": an order, with when it came, how many tickets it was, and which of several this is
	//
	// Any other key is a whole sentence.
	Key     string `json:"key,omitempty"`
	Clock   string `json:"clock,omitempty"`
	Day     string `json:"day,omitempty"` // of a time that is "wanted", if the order came on another one: "2026-02-07"
	Tickets int    `json:"tickets,omitempty"`
	Part    int    `json:"part,omitempty"`
	Parts   int    `json:"parts,omitempty"`

	Text  string `json:"text"`
	Alarm bool   `json:"alarm,omitempty"` // it is an allergy
	Void  bool   `json:"void,omitempty"`  // something is cancelled, or may be
}

// An Item is one line of a ticket: an item (depth 0) or a modifier of the item before it.
type Item struct {
	I        int    `json:"i"` // its index on the ticket
	Depth    int    `json:"depth,omitempty"`
	Quantity string `json:"quantity"` // a decimal, or text; never empty
	Name     string `json:"name"`     // never empty
	Notes    []Text `json:"notes,omitempty"`
	Alarm    bool   `json:"alarm,omitempty"`
	Seat     string `json:"seat,omitempty"`
	Course   string `json:"course,omitempty"` // its own, else the ticket's; empty for a modifier
	Void     bool   `json:"void,omitempty"`
	Refire   bool   `json:"refire,omitempty"`
	NoRoute  bool   `json:"no_route,omitempty"`
	Raw      bool   `json:"raw,omitempty"` // Name is the item's JSON, for no name was found
	Done     bool   `json:"done,omitempty"`
	Fire     int64  `json:"fire,omitempty"`   // when it is to be begun; 0: at once, -1: when somebody says so
	Colour   string `json:"colour,omitempty"` // by rule

	id string // of its line
}

// A Part is one station's share of an order, at the pass.
type Part struct {
	Station string `json:"station"`
	Title   string `json:"title"`
	Progress
	Jobs  []uint64   `json:"jobs,omitempty"`
	Left  int        `json:"left,omitempty"`
	Lines []PartLine `json:"lines,omitempty"`
	// TickedAt is when the pass ticked it.
	TickedAt int64 `json:"ticked_at,omitempty"`

	byHand []uint64 // the ones of Jobs that are ticked by hand, or can be
}

// A PartLine is a dish of a part that is still wanted, or what is left of a void, which matches no dish. Text is
// empty for a void of the whole order.
type PartLine struct {
	Text string `json:"text,omitempty"` // "2 Beer"
	Void bool   `json:"void,omitempty"`
}

// Progress is how far a ticket of a part is.
type Progress struct {
	Kind  SiblingKind `json:"kind"`
	State PartState   `json:"state"`
	// Told is for people, who read it in their language: the state of the job, or one of the constants below.
	Told  string `json:"told"`
	At    string `json:"at,omitempty"` // the station where it came out, if it is another
	Clock string `json:"clock,omitempty"`
	Why   string `json:"why,omitempty"`  // it is held
	Void  bool   `json:"void,omitempty"` // it only cancels
}

// The values of Told for a ticket whose job's state does not say how far it is.
const (
	toldVoided = "voided" // nothing is left of it
	toldBumped = "bumped"
	toldDark   = "dark" // on paper, because its screen was dark
	toldOpen   = "open"
)

// A PartState is the state of one part of an order, as far as a pass knows.
type PartState string

const (
	PartWait    PartState = "wait"    // it has not come out yet
	PartOpen    PartState = "open"    // its screen shows it
	PartDone    PartState = "done"    // its screen has bumped it
	PartOut     PartState = "out"     // it came out, and its station cannot say when it is made
	PartTicked  PartState = "ticked"  // the pass has ticked it
	PartExpired PartState = "expired" // it was never printed, and nothing is to come
	PartHeld    PartState = "held"    // it waits for a person, or has failed
	PartGone    PartState = "gone"    // nothing is to come of it: cancelled
)

// unixMillis is a time as pages get it; 0 is none.
func unixMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
