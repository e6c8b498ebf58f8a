package board

import (
	"time"

	"ticketrail/queue/ticket"
)

// A Sibling is a job of the same order as a card, at any station of the kitchen: it came with the request of the card,
// or with a later request of its check. A pass derives from it the state of the parts of an order that no board has.
type Sibling struct {
	Job    uint64
	Routed string // the station to which the plan sent the ticket
	At     string // the station at which it came out, or is to come out; a backup differs from Routed
	// Kind is the kind of At.
	Kind  SiblingKind
	State ticket.State
	Why   string    // of a held or failed job: the cause
	Ended time.Time // when it reached an end state; zero: it is open
	// RequestHasMore says that its request has more jobs, which are not known.
	RequestHasMore bool
	// Ticket is the job's ticket, as it was routed.
	Ticket ticket.Ticket
	// Card is its card on a board that the pass does not have, see [Board.Card]; nil: it has none.
	Card *Ticket
}

// SiblingKind is the kind of station of a [Sibling].
type SiblingKind string

const (
	Paper   SiblingKind = "paper"   // a printer
	Display SiblingKind = "display" // a third-party kitchen display
	OnBoard SiblingKind = "screen"  // a kitchen screen
)

// Siblings returns the jobs of the orders of the given ones, with these, also from later requests of their checks, in
// the order of [queue.Siblings]. It leaves out stations that the pass leaves out, and a job that it does not know any
// more. It may block for as long as a read of the database takes, and is called by one goroutine at a time.
type Siblings func(jobs []uint64) ([]Sibling, error)

// Card returns how far the card of a job is, also up to 48 hours after it left the board: its state and its
// items. It is nil if the board does not know the job, or the ticket came out elsewhere.
func (b *Board) Card(job uint64) (*Ticket, error) {
	card, err := b.stored(job)
	if err != nil || card == nil || card.rec.State == Elsewhere {
		return nil, err
	}
	// It is the only card of its order here, so that it has one ticket.
	whole := new(assembler).assemble(&group{members: []member{{entry: card, state: card.rec.State}}}, nil)
	return &whole.orders[0].Tickets[0], nil
}
