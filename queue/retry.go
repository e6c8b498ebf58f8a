package queue

import (
	"context"
	"fmt"
	"slices"

	"ticketrail/queue/ticket"
)

// How a lease is settled whose ticket did not come out, or may not have: see lease.go for its crashes.

// Retry settles the lease: the attempt failed and counts, and the ticket is next again. If it had
// begun it is in doubt, and held for a person if that is the second doubt.
func (l *Lease) Retry(ctx context.Context, reason string) error {
	return l.settle(ctx, "retry", func(b *batch, s jobState, _ bool) {
		s.Attempts++
		l.requeue(b, s, reason)
	})
}

// Return settles the lease without counting an attempt: there was a shutdown, or no paper. If it had
// begun the ticket is in doubt all the same.
func (l *Lease) Return(ctx context.Context, reason string) error {
	return l.settle(ctx, "return", func(b *batch, s jobState, _ bool) { l.requeue(b, s, reason) })
}

// Hold settles the lease: a person must decide about this ticket. The next one prints.
func (l *Lease) Hold(ctx context.Context, reason string) error {
	return l.settle(ctx, "hold", func(b *batch, s jobState, begun bool) {
		if begun {
			s.Attempts++
		}
		l.hold(b, s, reason)
	})
}

// Fail settles the lease: no attempt can ever succeed. The job stays, as failed, until a person
// cancels or reprints it.
func (l *Lease) Fail(ctx context.Context, reason string) error {
	return l.settle(ctx, "fail", func(b *batch, s jobState, _ bool) {
		s.Attempts++
		b.finish(l.job, s, ticket.Failed, reason)
	})
}

// Move settles the lease: the station refusedBy will never take this ticket, so it goes to the end of another
// one's queue, with the doubt of earlier attempts.
//
// A crash before the commit leaves the ticket here, to be refused again. A crash after it: it is there, and is
// not here any more.
func (l *Lease) Move(ctx context.Context, to, refusedBy, reason string) error {
	if err := checkName("station", to); err != nil {
		return fmt.Errorf("move job %d: %w", l.job, err)
	}
	return l.settle(ctx, "move", func(b *batch, s jobState, _ bool) {
		s.Attempts++

		moved := s
		moved.RefusedBy = append(slices.Clone(s.RefusedBy), refusedBy)
		b.moveTo(l.job, s, moved, to, b.encodeTicket(l.delivery.Ticket), reason)
	})
}

// requeue leaves the ticket in its position, or holds it if it may have come out maxDoubt times. It
// keeps its position, so the next ticket does not overtake it.
func (l *Lease) requeue(b *batch, s jobState, reason string) {
	if s.Doubts >= maxDoubt {
		l.hold(b, s, "it may have come out twice: "+reason)
		return
	}

	s.Why = reason
	b.setState(l.job, s)
}

// hold takes the ticket out of the way of the others, for a person.
func (l *Lease) hold(b *batch, s jobState, reason string) {
	s.State, s.Why = ticket.Held, reason
	b.setState(l.job, s)
	b.noteOutcome(l.job, s, string(ticket.Held))
}
