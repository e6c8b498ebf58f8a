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

// maxDoubt is how often a ticket may have come out before a person is asked: the first
// attempt and one marked reprint.
const maxDoubt = 2

// A Lease is a ticket lent to its station. It ends with exactly one of Ack, Retry, Return,
// Hold and Bury; until then the station is lent nothing else. That it is lent is not on
// disk: a crash before Begin leaves the ticket as if it had not been touched.
type Lease struct {
	q        *Queue
	station  string
	job, pos uint64
	was      entry // as it was lent; what an end writes is computed from this, so twice is once
	delivery ticket.Delivery

	mu         sync.Mutex // guards what follows
	begun      bool
	idempotent bool // see SetIdempotent
	ended      bool
}

// Take waits until the station's line has a ticket to lend, nobody else has borrowed from it
// and no person holds it. Its errors are ctx.Err(), ErrClosed, and reading errors.
//
// A ticket that may have come out twice already is held for a person on the way.
func (q *Queue) Take(ctx context.Context, station string) (*Lease, error) {
	if err := checkName("station", station); err != nil {
		return nil, fmt.Errorf("take: %w", err)
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l, changed, err := q.lend(station)
		if err != nil {
			return nil, err
		}
		if l == nil {
			select {
			case <-changed:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			continue
		}
		ready, err := l.fetch(ctx)
		if err != nil {
			return nil, fmt.Errorf("take from %s: %w", station, err)
		}
		if ready {
			return l, nil
		}
	}
}

// borrow lends the head of a line, in memory. If it cannot, changed says when to look again.
func (q *Queue) lend(station string) (l *Lease, changed <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, nil, ErrClosed
	}
	ln := q.lane(station)
	e, ok := ln.head()
	if !ok || q.storageErr != nil {
		return nil, ln.changed, nil
	}
	ln.lease = &Lease{q: q, station: station, job: e.job, pos: e.pos, was: e}
	return ln.lease, nil, nil
}

// fetch reads the ticket that was lent. A ticket that must not or cannot print is put out
// of the way: then ready is false, and the next one may be looked at.
func (l *Lease) fetch(ctx context.Context) (ready bool, err error) {
	if l.was.doubts >= maxDoubt {
		return false, l.Hold(ctx, "it may have come out twice already: look at the printer, then reprint or cancel it")
	}
	var raw []byte
	var s jobState
	var bad error
	err = l.q.view(func(tx *bolt.Tx) error {
		raw = slices.Clone(tx.Bucket(bucketNames[bucketJobs]).Get(key64(l.job)))
		s, bad = decodeState(tx.Bucket(bucketNames[bucketState]).Get(key64(l.job)))
		return nil
	})
	if err != nil {
		l.q.release(l)
		if l.q.failing() {
			return false, nil // the committer opens the file anew; borrow waits for that
		}
		return false, err
	}
	t, badPayload := decodePayload(raw)
	if bad = errors.Join(bad, badPayload); bad != nil {
		return false, l.failDamaged(ctx, raw, badPayload, bad)
	}
	l.delivery = ticket.Delivery{
		Job: l.job, Station: l.station, Attempt: l.was.attempts + 1,
		Ticket: t, Doubt: l.was.doubts > 0, Reprint: s.Reprint,
	}
	if s.From != "" && s.From != s.Station {
		l.delivery.For, l.delivery.Down = s.From, "screen"
	}
	return true, nil
}

// Delivery is the ticket and how to mark it.
func (l *Lease) Delivery() ticket.Delivery { return l.delivery }

// Waited is the running time since the ticket joined its first line.
func (l *Lease) Waited() time.Duration { return since(l.q.clock.running(), l.was.enqueued) }

// Begin makes it durable that the ticket may come out. The station calls it when it is ready
// and before the first ticket byte, and sends none unless Begin returned nil.
//
// A crash before its commit: not one byte went out, and the next attempt is unmarked. A crash
// after it: the next attempt carries the banner, whether a byte went out or not. When Begin
// fails nobody knows which it is on disk, but the end of the lease puts it right.
func (l *Lease) Begin(ctx context.Context) error {
	l.mu.Lock()
	begun, ended := l.begun, l.ended
	doubts := l.doubtsAfter(l.was.doubts)
	l.mu.Unlock()
	if ended {
		return fmt.Errorf("begin job %d: %w: its lease is over", l.job, ErrConflict)
	}
	if begun {
		return nil
	}
	err := l.q.do(ctx, doubt, 256, func(b *batch) error {
		s, err := b.state(l.job)
		if err != nil {
			return err
		}
		if s.State != ticket.Pending || !l.q.lent(l) {
			return fmt.Errorf("%w: it is %s", ErrConflict, s.State)
		}
		s.Doubts = doubts
		b.setState(l.job, s)
		return nil
	})
	if err != nil {
		return fmt.Errorf("begin job %d: %w", l.job, err)
	}
	l.mu.Lock()
	l.begun = true
	l.mu.Unlock()
	return nil
}

// Untouched takes a Begin back: the station knows that no ticket byte left this machine.
// Nothing is written until the lease ends; a crash before that leaves the doubt, and so a
// banner too many.
func (l *Lease) Untouched() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = false
}

// SetIdempotent says, before Begin, whether the station knows a ticket again that it was given before and
// never brings it out twice. All its attempts then count as one doubt, so none of them has the
// ticket held for a person; anywhere else the ticket is in doubt.
func (l *Lease) SetIdempotent(is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idempotent = is
}

// raised is how many doubts there are after this attempt's. l.mu is held, or the lease has ended.
func (l *Lease) doubtsAfter(doubts int) int {
	if l.idempotent {
		return max(doubts, 1)
	}
	return doubts + 1
}

// drop forgets a lease that has ended. It needs Queue.mu.
func (q *Queue) drop(l *Lease) {
	if ln := q.lane(l.station); ln.lease == l {
		ln.lease = nil
		ln.notify()
	}
}

func (q *Queue) release(l *Lease) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(l)
}

func (q *Queue) lent(l *Lease) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lane(l.station).lease == l
}

func (q *Queue) failing() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.storageErr != nil
}
