package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ticketrail/queue/ticket"
)

// How a lease is settled. Each settlement is one transaction of state, lane and books. A crash before
// its commit leaves the ticket pending, and in doubt if it had begun: it prints again, marked. A
// crash after it leaves the ticket settled.

// Ack settles the lease: the ticket came out, and proof says how much is known about that. backup is the station that
// printed it for its own; empty: its own did.
func (l *Lease) Ack(ctx context.Context, proof ticket.Proof, backup string) error {
	if !slices.Contains(ticket.Proofs(), proof) {
		return fmt.Errorf("ack job %d: %q is not a proof", l.job, proof)
	}
	return l.settle(ctx, "ack", func(b *batch, s jobState, _ bool) {
		s.Attempts++
		s.PrintedBy = backup
		why := ""
		if backup != "" {
			why = "came out of " + backup
		}
		b.finish(l.job, s, proof, why) // without the doubt of this attempt: it is resolved
	})
}

// Retry settles the lease: the attempt failed and counts, and the ticket is next again. If it had
// begun it is in doubt, and held for a person if that is the second doubt.
func (l *Lease) Retry(ctx context.Context, reason string) error {
	return l.settle(ctx, "retry", func(b *batch, s jobState, begun bool) {
		s.Attempts++
		l.requeue(b, s, begun, reason)
	})
}

// Return settles the lease without counting an attempt: there was a shutdown, or no paper. If it had
// begun the ticket is in doubt all the same.
func (l *Lease) Return(ctx context.Context, reason string) error {
	return l.settle(ctx, "return", func(b *batch, s jobState, begun bool) { l.requeue(b, s, begun, reason) })
}

// Hold settles the lease: a person must decide about this ticket. The next one prints.
func (l *Lease) Hold(ctx context.Context, reason string) error {
	return l.settle(ctx, "hold", func(b *batch, s jobState, begun bool) {
		if begun {
			s.Attempts++
			s.Doubts = l.doubtsAfter(s.Doubts)
		}
		l.hold(b, s, reason)
	})
}

// Fail settles the lease: no attempt can ever succeed. The job stays, as failed, until a person
// cancels or reprints it.
func (l *Lease) Fail(ctx context.Context, reason string) error {
	return l.settle(ctx, "fail", func(b *batch, s jobState, begun bool) {
		s.Attempts++
		if begun {
			s.Doubts = l.doubtsAfter(s.Doubts)
		}
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
	return l.settle(ctx, "move", func(b *batch, s jobState, begun bool) {
		s.Attempts++
		if begun {
			s.Doubts = l.doubtsAfter(s.Doubts)
		}
		n := s
		n.RefusedBy = append(slices.Clone(s.RefusedBy), refusedBy)
		b.replace(l.job, s, n, to, b.encodeTicket(l.delivery.Ticket), reason)
	})
}

// requeue leaves the ticket in its position, or holds it if it may have come out maxDoubt times. It
// keeps its position, so the next ticket does not overtake it.
func (l *Lease) requeue(b *batch, s jobState, begun bool, reason string) {
	if begun {
		s.Doubts = l.doubtsAfter(s.Doubts)
	}
	if s.Doubts >= maxDoubt {
		l.hold(b, s, "it may have come out twice: "+reason)
		return
	}
	s.Why = reason
	b.setState(l.job, s)
	b.afterCommit(func() { l.q.lane(s.Station).update(s.laneEntry(l.job)) })
}

// hold takes the ticket out of the way of the others, for a person.
func (l *Lease) hold(b *batch, s jobState, reason string) {
	s.State, s.Why = ticket.Held, reason
	b.setState(l.job, s)
	b.noteOutcome(l.job, s, string(ticket.Held))
	b.afterCommit(func() { l.q.lane(s.Station).holdEntry(s.laneEntry(l.job)) })
}

// settle settles the lease. The state that f gets has the attempts and doubts of when the ticket was
// lent. So a Begin that failed but is on the disk is taken back, and a settlement that failed but is on
// the disk can be written again.
//
// While storage fails the committer keeps trying. If ctx ends first, settle returns, but the committer
// still tries.
func (l *Lease) settle(ctx context.Context, verb string, f func(b *batch, s jobState, begun bool)) error {
	l.mu.Lock()
	if l.settled {
		l.mu.Unlock()
		return fmt.Errorf("%s job %d: %w: its lease is over", verb, l.job, ErrConflict)
	}
	l.settled = true // before the commit: whatever becomes of that, the station must not end it again
	begun := l.begun
	l.mu.Unlock()
	err := l.q.do(ctx, opSettle, smallOp, func(b *batch) error {
		b.afterCommit(func() { l.q.clearLease(l) }) // only then the lane may lend the next ticket
		s, err := b.state(l.job)
		switch {
		case errors.Is(err, ErrDamaged):
			return err // the restart takes the copy, in which the ticket is in doubt
		case err != nil, s.State != ticket.Pending:
			// Nothing to write: this settlement is on the disk already, from a commit that reported an
			// error, or Rescue has cancelled the job. If err is ErrNotFound, it was pruned since.
			b.afterCommit(l.dropFromLane)
			return nil
		}
		s.Attempts, s.Doubts = l.initial.attempts, l.initial.doubts
		f(b, s, begun)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s job %d: %w", verb, l.job, err)
	}
	return nil
}

// dropFromLane removes a ticket that is not pending any more from its lane in memory, if it is
// still there: otherwise it would be lent again and again. It needs Queue.mu.
func (l *Lease) dropFromLane() {
	ln := l.q.lane(l.station)
	if i, ok := ln.find(l.pos); ok && ln.pending[i].job == l.job {
		ln.removeAt(i)
	}
}
