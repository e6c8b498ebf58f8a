package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ticketrail/queue/ticket"
)

// How a lease ends. Each end is one transaction: state, line and books. A crash before its commit
// leaves the ticket in the line, in doubt if it had begun; a crash after it leaves it settled.

// Ack ends the lease: the ticket is out, as far as proof says. detail is for people.
func (l *Lease) Ack(ctx context.Context, proof ticket.Proof, detail string) error {
	if !slices.Contains(ticket.Proofs(), proof) {
		return fmt.Errorf("ack job %d: %q is no proof", l.job, proof)
	}
	return l.end(ctx, "ack", func(b *batch, s jobState, _ bool) {
		s.Attempts++
		b.finish(l.job, s, proof, detail) // the doubt of this attempt is resolved, so it is not kept
	})
}

// Retry ends the lease: the attempt failed and counts, the ticket is next again. It is in
// doubt if the attempt had begun; the second doubt has it held for a person.
func (l *Lease) Retry(ctx context.Context, reason string) error {
	return l.end(ctx, "retry", func(b *batch, s jobState, begun bool) {
		s.Attempts++
		l.requeue(b, s, begun, reason)
	})
}

// Return ends the lease: it was no attempt (a shutdown, no paper), and is not counted. If it
// had begun the ticket is in doubt all the same.
func (l *Lease) Return(ctx context.Context, reason string) error {
	return l.end(ctx, "return", func(b *batch, s jobState, begun bool) { l.requeue(b, s, begun, reason) })
}

// Hold ends the lease: a person must decide about the ticket, the line goes on.
func (l *Lease) Hold(ctx context.Context, reason string) error {
	return l.end(ctx, "hold", func(b *batch, s jobState, begun bool) {
		if begun {
			s.Attempts++
			s.Doubts = l.doubtsAfter(s.Doubts)
		}
		l.hold(b, s, reason)
	})
}

// Bury ends the lease: no attempt can ever succeed.
func (l *Lease) Fail(ctx context.Context, reason string) error {
	return l.end(ctx, "bury", func(b *batch, s jobState, begun bool) {
		s.Attempts++
		if begun {
			s.Doubts = l.doubtsAfter(s.Doubts)
		}
		b.finish(l.job, s, ticket.Failed, reason)
	})
}

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
	b.afterCommit(func() { l.q.lane(s.Station).update(s.entry(l.job)) })
}

func (l *Lease) hold(b *batch, s jobState, reason string) {
	s.State, s.Why = ticket.Held, reason
	b.setState(l.job, s)
	b.afterCommit(func() { l.q.lane(s.Station).holdEntry(s.entry(l.job)) })
}

// end settles the lease. The state handed to f has attempts and doubts as they were when the
// ticket was lent: a Begin that failed but was written is thereby taken back, and an end that
// failed but was written can be done again. If storage fails, the committer tries until it
// works again; when ctx ends before, so does the waiting, but not the trying.
func (l *Lease) end(ctx context.Context, verb string, f func(b *batch, s jobState, begun bool)) error {
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return fmt.Errorf("%s job %d: %w: its lease is over", verb, l.job, ErrConflict)
	}
	l.ended = true
	begun := l.begun
	l.mu.Unlock()
	err := l.q.do(ctx, settle, 512, func(b *batch) error {
		b.afterCommit(func() { l.q.drop(l) })
		s, err := b.state(l.job)
		switch {
		case errors.Is(err, ErrDamaged), errors.Is(err, ErrNotFound) && b.hasPosition(l.job, l.pos):
			s = l.rebuilt(b, err)
		case err != nil, s.State != ticket.Pending: // this very end was written although its commit failed
			b.afterCommit(l.dropFromLane)
			return nil
		}
		s.Attempts, s.Doubts = l.was.attempts, l.was.doubts
		f(b, s, begun)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s job %d: %w", verb, l.job, err)
	}
	return nil
}

// stands says whether the file has a place in the line for a job.
func (b *batch) hasPosition(job, pos uint64) bool {
	there, _, err := decodeWaiting(b.bucket(bucketWaiting).Get(key64(pos)))
	return err == nil && there == job
}

// leave takes a ticket that does not wait any more out of its line, if it is still there: it
// would be lent again and again. It needs Queue.mu.
func (l *Lease) dropFromLane() {
	ln := l.q.lane(l.station)
	if i, ok := ln.find(l.pos); ok && ln.pending[i].job == l.job {
		ln.removeAt(i)
	}
}

// rebuilt makes a state from what the lease knows, in place of one that cannot be read.
func (l *Lease) rebuilt(b *batch, cause error) jobState {
	b.quarantine(bucketState, key64(l.job), slices.Clone(b.bucket(bucketState).Get(key64(l.job))), cause)
	return jobState{
		Station: l.station, State: ticket.Pending, Pos: l.pos, Req: b.requestOf(l.job), Enqueued: l.was.enqueued,
		Reprint: l.delivery.Reprint, Slip: l.was.slip, Received: l.delivery.Ticket.Received.UnixMilli(),
	}
}

func (l *Lease) failDamaged(ctx context.Context, raw []byte, badPayload, cause error) error {
	return l.end(ctx, "bury", func(b *batch, s jobState, _ bool) {
		if badPayload != nil {
			b.quarantine(bucketJobs, key64(l.job), raw, badPayload)
			b.del(b.bucket(bucketJobs), key64(l.job))
		}
		b.finish(l.job, s, ticket.Failed, "its stored ticket is damaged: "+cause.Error())
	})
}
