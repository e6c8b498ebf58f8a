package ticket

import "errors"

// A Delivery is one attempt to bring a ticket to a cook.
type Delivery struct {
	Job     uint64 // the same in all attempts, so that a screen recognizes a ticket
	Station string
	// Attempt is 1 for the first. An interrupted attempt is not counted, so the next one has the same
	// number, and two papers may show it.
	Attempt int
	Ticket  Ticket
	// Doubt says that an earlier attempt may have come out: the ticket is marked POSSIBLE
	// DUPLICATE. False means that no earlier attempt can have come out.
	Doubt bool
	// Reprint says that a person asked for this copy: the ticket is marked REPRINT.
	Reprint bool
	// For is the station whose ticket this is, if another one prints it: as the backup of For, marked FOR GRILL
	// (printer down); because the screen For is dark; or because For refused the ticket. Empty: the station prints its
	// own.
	For string
	// Down names the part of For that has failed: "printer" or "screen". Empty: nothing, For refused the ticket.
	Down string
	// RefusedBy are the stations that refused the ticket, so that it came here, in order: it is marked
	// REFUSED BY FRESH. The first one is also For.
	RefusedBy []string
}

// State is the state of a job. Its value is stored, and people, JSON and metric labels use the same word.
type State string

const (
	Pending  State = "pending"  // waits in its station's queue
	Held     State = "held"     // waits for a person to reprint or cancel it; the next ticket prints
	Printing State = "printing" // lent to its station

	// The ticket came out. They differ in the proof, see [Proof].
	Confirmed State = "confirmed" // the printer returned the id that was sent after the ticket
	Processed State = "processed" // the printer answered a status request that was sent after the ticket
	Sent      State = "sent"      // the connection took every byte; the printer told nothing
	Shown     State = "shown"     // a page of the screen has confirmed that it shows the ticket
	Taken     State = "taken"     // the third-party kitchen display accepted the ticket

	Failed    State = "failed"    // cannot be delivered; a person must reprint or cancel it
	Cancelled State = "cancelled" // by a person, or by a reprint
	Expired   State = "expired"   // too old to print; listed on a slip
	Moved     State = "moved"     // replaced by another job at another station
)

// States lists every State.
func States() []State {
	return []State{
		Pending, Held, Printing, Confirmed, Processed, Sent, Shown, Taken, Failed, Cancelled, Expired, Moved,
	}
}

// Open says that the job still owes the kitchen a ticket.
func (s State) Open() bool { return s == Pending || s == Held || s == Printing }

// Proof is a State that says how much is known about a ticket that came out. A station claims the
// most that it has seen evidence of, never more.
type Proof = State

// Proofs lists the states that a [Proof] may be.
func Proofs() []Proof { return []Proof{Confirmed, Processed, Sent, Shown, Taken} }

// Permanent marks an error that says that this station will never take this ticket: another station gets
// it, or a person.
func Permanent(err error) error { return markedError{err, permanent} }

// NotReady marks an error that says that the station cannot print now: it needs a person (no paper, cover open), or it
// is busy. The queue waits, and no attempt is counted.
func NotReady(err error) error { return markedError{err, notReady} }

// Untouched marks an error after begin of which it is known that the ticket has not come out: no byte of it
// left this machine, or the station has answered that it did not take it. The doubt is taken back. A station
// that cannot be sure must not use it. It does not hide a [Permanent] or [NotReady] below it: those name the
// consequence, this one the event.
func Untouched(err error) error { return markedError{err, untouched} }

// IsUntouched says whether the outermost mark on err is [Untouched].
func IsUntouched(err error) bool { return marked(err, untouched) }

// IsPermanent says whether the outermost mark on err, apart from [Untouched], is [Permanent].
func IsPermanent(err error) bool { return marked(err, permanent) }

// IsNotReady says whether the outermost mark on err, apart from [Untouched], is [NotReady].
func IsNotReady(err error) bool { return marked(err, notReady) }

// A mark is a station's knowledge about a failure that an error alone does not carry.
type mark int

const (
	permanent mark = iota
	notReady
	untouched
)

type markedError struct {
	error
	mark mark
}

func (o markedError) Unwrap() error { return o.error }

// marked looks at the outermost mark only: a station that wraps a marked error may know more.
func marked(err error, m mark) bool {
	o, ok := errors.AsType[markedError](err)
	if ok && o.mark == untouched && m != untouched {
		return marked(o.error, m)
	}
	return ok && o.mark == m
}
