package board

import (
	"time"

	"ticketrail/queue/ticket"
)

// A Sibling is a job that the queue made from the same request as a card, at any station of the
// kitchen. A pass tells from it what becomes of the parts of an order that no board has.
type Sibling struct {
	Job     uint64
	Station string // to which the ticket was routed
	At      string // the station at which it came out, or is to come out; a backup differs from Station
	// Kind says what At is.
	Kind  SiblingKind
	State ticket.State
	Why   string    // of a held or failed job: what is wrong
	Ended time.Time // when it reached an end state; zero: it is open
	// Ticket is what the job brings, as it was routed.
	Ticket ticket.Ticket
}

// SiblingKind says what the station of a [Sibling] is.
type SiblingKind string

const (
	Paper   SiblingKind = "paper"   // a printer
	Display SiblingKind = "display" // a third-party kitchen display
	OnBoard SiblingKind = "screen"  // a kitchen screen
)

// Siblings returns every job of the requests to which the given jobs belong, the given ones
// included, in the order of their ids. It leaves out copies of cards that a dark screen has sent to
// its backup (ticket.Rescued). A job that it does not know any more is left out, too. It may block
// for as long as a read of the database takes, and is called by one goroutine at a time.
type Siblings func(jobs []uint64) ([]Sibling, error)
