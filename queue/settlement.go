package queue

import "ticketrail/queue/ticket"

// An End is a way to settle a lease.
type End string

const (
	// Ack: the ticket came out.
	Ack End = "ack"
	// Retry: the attempt failed and counts, and the ticket is next again. If it had begun it is in doubt, and held for
	// a person if that is the second doubt.
	Retry End = "retry"
	// Return is Retry without counting an attempt: there was a shutdown, or no paper. If it had begun the ticket is in
	// doubt all the same.
	Return End = "return"
	// Hold: a person must decide about this ticket. The next one prints. It counts as an attempt if it had begun.
	Hold End = "hold"
	// Fail: no attempt can ever succeed. The job stays, as failed, until a person cancels or reprints it.
	Fail End = "fail"
	// Move: the station will never take this ticket, so it goes to the end of another one's queue, with the doubt of
	// earlier attempts. A crash before the commit leaves the ticket here, to be refused again. A crash after it: it is
	// there, and is not here any more.
	Move End = "move"
)

// A Settlement is how a lease ends.
type Settlement struct {
	End    End
	Reason string // for people; of Ack there is none
	// Untouched takes the Begin back: the station knows that the ticket has not come out. A crash before the commit
	// leaves the doubt, so a ticket may be marked that need not be.
	Untouched bool

	// Of Ack only: how it is known that the ticket came out, and the backup that printed it; empty: the job's own
	// station did.
	Proof  ticket.Proof
	Backup string

	// Of Move only: the station that refused the ticket, and the one that gets it.
	RefusedBy, To string
}
