package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// The doubt is the one fact that decides which ticket a cook sees after a crash. It is counted up on the
// disk by Begin, before the first byte, and taken back only by a settlement that knows better. [Lease].initial is
// the entry before the lease, so a settlement writes the same whatever Begin has left on the disk.

// maxDoubt is how many attempts of a ticket may have come out before it is held for a person: the
// first one, and one that is marked POSSIBLE DUPLICATE. More copies would fill the rail while the
// printer is the problem.
const maxDoubt = 2

// A Lease is a ticket lent to its station. Settle ends it, once; until then the station is lent nothing else, so its
// tickets print in order.
//
// That a ticket is lent is not on disk. A crash before Begin leaves the ticket as if it had never
// been lent.
type Lease struct {
	q        *Queue
	station  string
	job, pos uint64
	// initial is its entry when it was lent. Each settlement is computed from this, so that it can be
	// stored twice with the same result.
	initial  entry
	delivery ticket.Delivery

	mu      sync.Mutex // guards the fields below
	doubts  int        // as its Begin has stored them; 0: it has not begun
	settled bool
}

// Take waits until a ticket of the station can be lent: one is pending, none is lent, and no person
// holds the station. Its errors are ctx.Err(), ErrClosed and read errors, among them ErrDamaged.
//
// A ticket that may have come out twice is not lent but held for a person; Take then goes on with the next.
func (q *Queue) Take(ctx context.Context, station string) (*Lease, error) {
	if err := checkName("station", station); err != nil {
		return nil, fmt.Errorf("take: %w", err)
	}

	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		lease, changed, err := q.lend(station)
		if err != nil {
			return nil, err
		}

		if lease == nil {
			select {
			case <-changed:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			continue
		}

		ready, err := lease.fetch(ctx)
		if err != nil {
			return nil, fmt.Errorf("take from %s: %w", station, err)
		}
		if ready {
			return lease, nil
		}
	}
}

// lend lends the head of a lane, in memory. If it cannot, changed is closed when the caller should
// try again. While storage fails nothing is lent, because Begin could not be stored.
func (q *Queue) lend(station string) (l *Lease, changed <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if q.closed {
		return nil, nil, ErrClosed
	}

	ln := q.lane(station)
	next, ok := ln.head()
	if !ok || q.storageErr != nil {
		return nil, ln.changed, nil
	}

	ln.lease = &Lease{q: q, station: station, job: next.job, pos: next.pos, initial: next}
	return ln.lease, nil, nil
}

// fetch reads the ticket that was lent. ready is false if it must not or cannot be printed: it is
// then out of the way, and the next one can be lent. It reads without the committer, so a slow
// commit does not delay the next ticket's preparation.
func (l *Lease) fetch(ctx context.Context) (ready bool, err error) {
	if l.initial.doubts >= maxDoubt {
		return false, l.Settle(ctx, Settlement{End: Hold,
			Reason: "it may have come out twice already: look at the printer, then reprint or cancel it"})
	}

	var s jobState
	var payload ticket.Ticket
	var bad, badPayload error

	err = l.q.view(func(tx *bolt.Tx) error {
		s, bad = stateIn(tx, l.job)
		payload, badPayload = ticketIn(tx, l.job)
		return nil
	})
	if err != nil {
		if l.q.abandon(l) {
			return false, nil // the committer is reopening the file; lend waits for that
		}
		return false, err
	}

	if bad == nil && badPayload != nil && !errors.Is(badPayload, errChecksum) {
		return false, l.Settle(ctx, Settlement{End: Hold,
			Reason: "this version cannot read its ticket: install the newer one that has stored it"})
	}

	if bad = errors.Join(bad, badPayload); bad != nil {
		l.q.abandon(l)
		return false, l.q.foundDamage(fmt.Sprintf("job %d", l.job), bad)
	}

	payload.NameMore(l.job)
	l.delivery = ticket.Delivery{
		Job: l.job, Station: l.station, Attempt: l.initial.attempts + 1,
		Ticket: payload, Doubt: l.initial.doubts > 0, Reprint: s.Reprint,
	}

	if s.DarkScreen != "" && s.DarkScreen != s.Station {
		l.delivery.For, l.delivery.Down = s.DarkScreen, "screen"
	}
	if l.delivery.RefusedBy = s.RefusedBy; len(s.RefusedBy) > 0 && l.delivery.For == "" {
		l.delivery.For = s.RefusedBy[0]
	}

	return true, nil
}

// Delivery is the ticket, and how it must be marked.
func (l *Lease) Delivery() ticket.Delivery { return l.delivery }

// Waited is the running time since the ticket was enqueued first. A job that was moved keeps its
// age.
func (l *Lease) Waited() time.Duration {
	return l.q.clock.running() - time.Duration(l.initial.enqueued)
}

// Begin makes durable that the ticket may come out from now on. The station calls it when the
// printer is ready, before the first ticket byte, and sends no ticket byte unless Begin returned
// nil.
//
// idempotent says that the station recognizes a ticket that it was given before and never shows it twice, as a screen
// does. All its attempts then count as one doubt, so they never have the ticket held for a person. For every other
// station the ticket stays in doubt.
//
// A crash before its commit: no byte was sent, and the next attempt is not marked. A crash after
// it: the next attempt is marked POSSIBLE DUPLICATE, whether or not a byte was sent. If Begin
// returns an error it is unknown which of the two is on disk; the settlement corrects that.
func (l *Lease) Begin(ctx context.Context, idempotent bool) error {
	doubts := l.initial.doubts + 1 // not of the stored state: a Begin that failed may be on the disk already
	if idempotent {
		doubts = max(l.initial.doubts, 1)
	}

	err := l.q.do(ctx, opBegin, smallOp, func(b *batch) error {
		state, err := b.state(l.job)
		if err != nil {
			return err
		}

		l.mu.Lock()
		defer l.mu.Unlock()
		if l.settled { // a station that was too slow calls it after its lease has ended
			return fmt.Errorf("%w: its lease is over, it is %s", ErrConflict, state.State)
		}

		state.Doubts = doubts
		b.setState(l.job, state)
		return nil
	})

	if err != nil {
		return fmt.Errorf("begin job %d: %w", l.job, err)
	}

	l.mu.Lock()
	l.doubts = doubts
	l.mu.Unlock()
	return nil
}

// clearLease makes the lane free for the next lease. It needs Queue.mu.
func (q *Queue) clearLease(l *Lease) {
	if ln := q.lane(l.station); ln.lease == l {
		ln.lease = nil
		ln.notify()
	}
}

// abandon ends a lease that was never handed out, and says whether the committer is waiting to reopen the file.
func (q *Queue) abandon(l *Lease) (failing bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.clearLease(l)
	return q.storageErr != nil
}

// Settle settles the lease, in one transaction of state, lane and books. A crash before its commit leaves the ticket
// pending, and in doubt if it had begun: it prints again, marked. A crash after it leaves the ticket settled.
//
// While storage fails the committer keeps trying. If ctx ends first, Settle returns, but the committer
// still tries.
func (l *Lease) Settle(ctx context.Context, how Settlement) error {
	var invalid error
	switch {
	case how.End == Move:
		invalid = checkName("station", how.To)
	case how.End == Ack && !slices.Contains(ticket.Proofs(), how.Proof):
		invalid = fmt.Errorf("%q is not a proof", how.Proof)
	}
	if invalid != nil {
		return fmt.Errorf("%s job %d: %w", how.End, l.job, invalid)
	}

	l.mu.Lock()
	if l.settled {
		l.mu.Unlock()
		return fmt.Errorf("%s job %d: %w: its lease is over", how.End, l.job, ErrConflict)
	}

	l.settled = true // before the commit: whatever becomes of that, the station must not end it again
	doubts := l.doubts
	l.mu.Unlock()

	if how.Untouched {
		doubts = 0
	}

	err := l.q.do(ctx, opSettle, smallOp, func(b *batch) error {
		b.afterCommit(func() { l.q.clearLease(l) }) // only then the lane may lend the next ticket

		state, err := b.state(l.job)
		switch {
		case errors.Is(err, ErrDamaged):
			return err // the restart restores the file from its copy, where the ticket is in doubt
		case err != nil, state.State != ticket.Pending:
			// Nothing to write: this settlement is on the disk already, from a commit that reported an
			// error. If err is ErrNotFound, it was pruned since.
			return nil
		}

		l.end(b, state, how, doubts)
		return nil
	})

	return wrap(err, "%s job %d", how.End, l.job)
}

// end writes a settlement. It is computed from the entry when the ticket was lent, with the doubts of this attempt if
// it has begun; 0: it has not, or it was untouched. So a Begin that failed but is on the disk is taken back, and a
// settlement that failed but is on the disk can be written again.
func (l *Lease) end(b *batch, s jobState, how Settlement, doubts int) {
	begun := doubts > 0
	s.Attempts, s.Doubts = l.initial.attempts, l.initial.doubts
	if how.End != Return && (how.End != Hold || begun) { // see [End] for which attempts count
		s.Attempts++
	}
	if begun && how.End != Ack { // which resolves it
		s.Doubts = doubts
	}
	s.Why = how.Reason

	switch how.End {
	case Ack:
		s.PrintedBy = how.Backup
		if how.Backup != "" {
			s.Why = "came out of " + how.Backup
		}
		b.finish(l.job, s, how.Proof, s.Why)
	case Retry, Return:
		if s.Doubts < maxDoubt { // it keeps its position, so the next ticket does not overtake it
			b.setState(l.job, s)
			return
		}
		s.Why = "it may have come out twice: " + s.Why
		fallthrough
	case Hold: // out of the way of the others, for a person
		s.State = ticket.Held
		b.setState(l.job, s)
		b.storeJobOutcome(l.job, s, string(ticket.Held))
	case Fail:
		b.finish(l.job, s, ticket.Failed, s.Why)
	case Move:
		moved := s
		moved.RefusedBy = append(slices.Clone(s.RefusedBy), how.RefusedBy)
		payload, err := b.payload(l.job) // as stored: the other station names its own job in the notes
		if err != nil {                  // it could be read when it was lent
			payload = b.encodeTicket(l.delivery.Ticket)
		}
		b.moveTo(l.job, s, moved, how.To, payload, s.Why)
	}
}
