// Package ticket is the cargo of the kitchen's queue and the words for it: what a
// ticket says, which station gets it, how a delivery ended.
//
// Everything a cook will read is decided before the request is answered and frozen
// in here; how wide the paper is and which bytes draw it is decided at each attempt,
// by the packages behind the queue. A stored ticket stays readable for ever: see
// [Marshal] for the rules.
package ticket

import (
	"encoding/json"
	"time"
)

// A Ticket is what one station gets of one print record. It is flat: lines in the
// order they print, each with its depth below the item it belongs to.
//
// All text is as the service sent it, so it is hostile: whoever shows it removes
// control characters for the medium at hand. Empty means the service did not say.
type Ticket struct {
	V    int  `json:"v"`              // format, see [Version]
	Kind Kind `json:"kind,omitempty"` // what is being printed; zero is an order

	Venue     string `json:"venue"`                // the venue's UUID, lower case
	VenueName string `json:"venue_name,omitempty"` // as configured
	Device    string `json:"device,omitempty"`     // the terminal that sent it
	Request   string `json:"request"`              // records[0].id: the id of the request
	Record    string `json:"record,omitempty"`     // this record's own id, if it has one

	Number      string   `json:"number,omitempty"` // the number people call out
	Table       string   `json:"table,omitempty"`
	Server      string   `json:"server,omitempty"`
	Type        string   `json:"type,omitempty"` // dine in, take away …
	Guests      string   `json:"guests,omitempty"`
	Destination string   `json:"destination,omitempty"` // the printer the service had in mind
	Course      string   `json:"course,omitempty"`      // of the whole record
	Notes       []string `json:"notes,omitempty"`

	// Void says that the whole record is a cancellation. Every line of it is Void too.
	Void bool `json:"void,omitempty"`
	// Refire says that the whole record is made again. Every line of it is Refire too.
	Refire bool `json:"refire,omitempty"`

	Received time.Time `json:"received"`       // when the request came in, UTC
	Zone     string    `json:"zone,omitempty"` // the venue's tz database name; empty prints UTC

	Lines []Line `json:"lines,omitempty"`
	// Raw is the record as JSON, headed UNREADABLE: nothing printable was found in it, or it has
	// a key twice and what is meant is for a person to say.
	Raw string `json:"raw,omitempty"`
}

// A Line is one item or one modifier.
type Line struct {
	Depth int `json:"d,omitempty"` // 0 for an item, 1 for its modifier, and so on
	// Quantity is the magnitude as people write it ("2", "0.5"), never negative and never empty.
	Quantity string `json:"q"`
	Name     string `json:"n"`
	// Raw says that no name was found and Name holds the item's JSON instead.
	Raw    bool     `json:"raw,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	Seat   string   `json:"seat,omitempty"`
	Course string   `json:"course,omitempty"`
	// Void says that this line is a cancellation. The children of a void line are void.
	Void   bool `json:"void,omitempty"`
	Refire bool `json:"refire,omitempty"`
	// NoRoute says that no rule wanted this line and the fallback station got it.
	NoRoute bool `json:"no_route,omitempty"`
	// Of names what this line modifies where it had to be printed without its parent.
	Of string `json:"of,omitempty"`
}

// Kind tells an order from what the daemon prints on its own account.
type Kind string

const (
	Order Kind = ""
	// Slip lists tickets that got too old to print. One line each.
	Slip Kind = "slip"
	// Correction carries only voids: they came under the id of a request already taken.
	Correction Kind = "correction"
	// Rescued is a job with a copy of an order that was on a screen which nobody could look at; the
	// ticket itself stays an order.
	Rescued Kind = "rescued"
	// Test is a person asking whether the printer prints.
	Test Kind = "test"
)

// A Draft is a ticket and the station whose line it will join.
type Draft struct {
	Station string
	Ticket  Ticket
	// Unreadable says that the record has a key twice: nobody can tell whether it is a cancellation.
	Unreadable bool
}

// A Request is one print request, planned: everything that is stored before the
// service hears 200. It is read-only once handed over.
type Request struct {
	Venue    string    // UUID, lower case
	ID       string    // records[0].id; a UUID in lower case, anything else as sent
	Device   string    // x-svc-device-id
	Received time.Time // UTC
	Body     []byte    // as received
	Digest   [32]byte  // of what makes the content the same: see the plan package
	Drafts   []Draft   // at least one, in the order they are to print
}

// A Receipt says what accepting a request did.
type Receipt struct {
	Duplicate bool // the key was known: nothing was ordered again
	Conflict  bool // the key was known and the content is new
	Jobs      int  // tickets put on the queue; of a conflict, the corrections
}

// A Delivery is one attempt to put a ticket in front of a cook.
type Delivery struct {
	Job     uint64 // the job's id; stays the same over its attempts
	Station string
	Attempt int // 1 for the first; interrupted attempts are not counted
	Ticket  Ticket
	// Doubt says that an earlier attempt may have come out: the ticket carries
	// POSSIBLE DUPLICATE. False means that no earlier attempt sent a ticket byte.
	Doubt bool
	// Reprint says that a person asked for this copy: the ticket carries REPRINT.
	Reprint bool
	// For is the station whose ticket this is, when another stands in for it or it was on a screen
	// that went dark: the ticket carries FOR GRILL (printer down). Empty: it is its own.
	For string
	// Down says what of that station fails: "printer" or "screen".
	Down string
}

// State is the state of a job. Its value is what is stored, in JSON and in metric labels; people
// see what [State.String] returns.
type State string

const (
	Pending  State = "pending"  // waits in its station's queue
	Held     State = "held"     // waits for a person to reprint or cancel it; the next ticket prints
	Printing State = "printing" // lent to its station

	// The ticket came out. They differ in how much is known about that: see [Proof].
	Confirmed State = "confirmed"
	Processed State = "processed"
	Sent      State = "sent"
	Shown     State = "shown"
	Taken     State = "taken"

	Failed    State = "buried"    // cannot be delivered; a person must reprint or cancel it
	Cancelled State = "cancelled" // by a person, or because the screen that it was copied from is back
	Expired   State = "expired"   // too old to print; listed on a slip
	Moved     State = "moved"     // by a person, to another station's queue
)

// States lists every State.
func States() []State {
	return []State{
		Pending, Held, Printing, Confirmed, Processed, Sent, Shown, Taken, Failed, Cancelled, Expired, Moved,
	}
}

// String returns the state as people see it: Failed is "failed". Its stored value is older than
// that word, and a stored value never changes.
func (s State) String() string {
	if s == Failed {
		return "failed"
	}
	return string(s)
}

// ParseState reads a state that a person or a program wrote: the stored value or the displayed one.
func ParseState(text string) (State, bool) {
	for _, s := range States() {
		if text == string(s) || text == s.String() {
			return s, true
		}
	}
	return "", false
}

// Open says that the job still owes the kitchen a ticket.
func (s State) Open() bool { return s == Pending || s == Held || s == Printing }

// Proof is a State that says how much is known about a ticket that came out. A station claims the
// most that it has seen evidence of, never more.
type Proof = State

// Proofs lists the states that a [Proof] may be.
func Proofs() []Proof { return []Proof{Confirmed, Processed, Sent, Shown, Taken} }

// Version is the format that [Marshal] writes. Fields are only ever added, with a
// zero value that means what their absence meant; a change that an older reader
// would get wrong raises Version.
const Version = 1

// Marshal encodes a ticket for storage. It sets V.
func Marshal(t Ticket) ([]byte, error) {
	t.V = Version
	return json.Marshal(t)
}
