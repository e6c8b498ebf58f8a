package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"ticketrail/queue/ticket"
)

// What people do to jobs, each in one transaction. A crash before its commit: nothing happened. A
// crash after it: it happened. Asked again, Move, Cancel and the Reprint of a held or failed job are
// refused with ErrConflict. The Reprint of a job that ended in any other way prints one
// more copy each time it is asked for.
//
// After a failed commit it is unknown which of the two is true, so none of it is repeated
// automatically: a second copy would be cooked twice. The person looks at the job and its copies,
// and then asks again if need be.

// Reprint enqueues a copy of a job at the end of a station's queue, or of its own station's if
// station is empty. It returns the id of the new job. A held or failed original is cancelled,
// because the copy replaces it.
//
// The error is ErrConflict for a job that waits or prints, and for one that another job has
// replaced already: a moved one, or one that was held or failed and has been reprinted.
func (q *Queue) Reprint(ctx context.Context, id uint64, station, reason string) (uint64, error) {
	var copied uint64
	err := q.do(ctx, opOnce, copyOp, func(b *batch) error {
		var err error
		copied, err = b.reprint(id, station, reason)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("reprint job %d: %w", id, err)
	}
	return copied, nil
}

// reprint is Reprint within its transaction. It blocks lending first, so that a held or failed
// original cannot start to print as well.
func (b *batch) reprint(id uint64, station, reason string) (uint64, error) {
	s, err := b.state(id)
	if err != nil {
		return 0, err
	}
	if station == "" {
		station = s.Station
	}
	if err := checkName("station", station); err != nil {
		return 0, err
	}
	lent := b.blockLending(s.Station)
	if err := s.checkReplaced(); err != nil {
		return 0, err
	}
	if s.State == ticket.Pending {
		if lent == id {
			return 0, fmt.Errorf("%w: it is printing; wait until it is done", ErrConflict)
		}
		return 0, fmt.Errorf("%w: it still waits to print at %s; move or cancel it instead", ErrConflict, s.Station)
	}
	payload, err := b.payload(id)
	if err != nil {
		return 0, err
	}
	n := s
	// A new job: the attempts and doubts of the original are not its own, and it starts to age now.
	n.Station, n.Reprint, n.MadeFrom, n.Attempts, n.Doubts, n.Finished = station, true, id, 0, 0, 0
	n.Enqueued, n.Why = int64(b.now), reason
	copied := b.enqueue(n, payload, false)
	b.books(station).Reprinted++
	if s.State == ticket.Held || s.State == ticket.Failed {
		b.finish(id, s, ticket.Cancelled, fmt.Sprint(reprintedAsPrefix, copied))
	}
	return copied, nil
}

// reprintedAsPrefix begins the stored reason of a job that a copy has replaced. It is read again by
// checkReplaced: never change it.
const reprintedAsPrefix = "reprinted as job "

// checkReplaced returns an error that names the other job if another one has replaced this.
func (s *jobState) checkReplaced() error {
	if s.State == ticket.Moved || s.State == ticket.Cancelled && strings.HasPrefix(s.Why, reprintedAsPrefix) {
		return fmt.Errorf("%w: it is %s: %s; look at that job", ErrConflict, s.State, s.Why)
	}
	return nil
}

// payload copies the stored ticket of a job, if it can be read. The copy is needed because bbolt's
// memory is valid only until the next write. A ticket that cannot be read is not copied: the copy
// would fail at the station, and the person would not know.
func (b *batch) payload(id uint64) ([]byte, error) {
	raw := b.bucket(bucketJobs).Get(key64(id))
	if _, err := decodePayload(raw); err != nil {
		return nil, fmt.Errorf("ticket of job %d: %w: %w", id, ErrDamaged, err)
	}
	return slices.Clone(raw), nil
}

// Move sends waiting and held jobs to the end of another station's queue, in the order given: all
// of them or, with an error, none. It returns the new jobs in the same order.
func (q *Queue) Move(ctx context.Context, ids []uint64, to string) ([]uint64, error) {
	if err := checkName("station", to); err != nil {
		return nil, fmt.Errorf("move jobs: %w", err)
	}
	if len(ids) > maxMove {
		return nil, fmt.Errorf("move jobs: %d at once, at most %d are allowed: move all of a station instead",
			len(ids), maxMove)
	}
	var moved []uint64
	err := q.do(ctx, opOnce, copyOp*len(ids), func(b *batch) error {
		moved = nil
		seen := map[uint64]bool{}
		var all []movable
		for _, id := range ids {
			if seen[id] {
				return fmt.Errorf("job %d: %w: it is named twice", id, ErrConflict)
			}
			seen[id] = true
			m, err := b.checkMovable(id, to)
			if err != nil {
				return fmt.Errorf("job %d: %w", id, err)
			}
			all = append(all, m)
		}
		// Only now, because an operation that has written must not fail.
		for _, m := range all {
			moved = append(moved, b.move(m, to))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("move to %s: %w", to, err)
	}
	return moved, nil
}

// One transaction moves at most so many jobs, because tickets wait while it commits: Move, which
// must be one transaction, and MoveAll, which takes several.
const (
	maxMove    = 1000
	moveAtOnce = 100
)

// A movable is a job that checkMovable has allowed.
type movable struct {
	id      uint64
	state   jobState
	payload []byte
}

// checkMovable returns a job, or why it cannot be moved. It blocks the lending of the job's lane, so that the
// answer stays true until the batch ends.
func (b *batch) checkMovable(id uint64, to string) (movable, error) {
	s, err := b.state(id)
	if err != nil {
		return movable{}, err
	}
	switch lent := b.blockLending(s.Station); {
	case s.checkReplaced() != nil:
		return movable{}, s.checkReplaced()
	case !s.State.Open():
		return movable{}, fmt.Errorf("%w: it is %s; reprint it there instead", ErrConflict, s.State)
	case lent == id:
		return movable{}, fmt.Errorf("%w: it is printing; hold the station and wait until it is done", ErrConflict)
	case s.Station == to:
		return movable{}, fmt.Errorf("%w: it is already in the queue of %s", ErrConflict, to)
	}
	payload, err := b.payload(id)
	return movable{id, s, payload}, err
}

// move moves a job. A doubt moves with it, for the POSSIBLE DUPLICATE
// mark. But a person who moves a held ticket wants it printed, whatever its age and doubts: it
// becomes a reprint, and is marked as one.
func (b *batch) move(m movable, to string) uint64 {
	s, n := m.state, m.state
	// At most one doubt less than maxDoubt, or the other station would hold it at once.
	n.Station, n.MadeFrom, n.Attempts, n.Doubts, n.Why = to, m.id, 0, min(s.Doubts, maxDoubt-1), ""
	if s.State == ticket.Held {
		n.Doubts, n.Reprint, n.Enqueued = 0, true, int64(b.now)
	}
	moved := b.enqueue(n, m.payload, false)
	b.books(to).MovedIn++
	b.finish(m.id, s, ticket.Moved, fmt.Sprintf("moved to %s as job %d", to, moved))
	return moved
}

// MoveAll moves all waiting and held jobs of a station to the end of another one's queue, in their
// order. The job that is printing stays, and so do damaged ones. It takes several transactions:
// after an error, or a crash, some have moved. The returned jobs are the new ones, also with an
// error.
func (q *Queue) MoveAll(ctx context.Context, from, to string) ([]uint64, error) {
	if from == to {
		return nil, fmt.Errorf("move all of %s: %w: it is the same station", from, ErrConflict)
	}
	if err := checkName("station", to); err != nil {
		return nil, fmt.Errorf("move all of %s: %w", from, err)
	}
	var all []uint64
	after := uint64(0) // positions up to this one are done
	for {
		var moved []uint64
		var last uint64
		more := false
		err := q.do(ctx, opOnce, copyOp*moveAtOnce, func(b *batch) error {
			moved, last, more = b.moveSome(from, to, after)
			return nil
		})
		if err != nil {
			return all, fmt.Errorf("move all of %s: %w", from, err)
		}
		all, after = append(all, moved...), last
		if !more {
			return all, nil
		}
	}
}

// moveSome moves the next jobs of a lane whose position is higher than after. It returns the new
// jobs, the last position it looked at, and whether there may be more. Positions are asked for
// instead of indexes, because between two transactions tickets print and arrive.
func (b *batch) moveSome(from, to string, after uint64) (moved []uint64, last uint64, more bool) {
	b.blockLending(from)
	b.q.mu.Lock()
	l := b.q.lane(from)
	var open []entry
	i, _ := l.find(after) // if the last one stayed it is looked at again, which changes nothing
	open = append(open, l.pending[i:min(len(l.pending), i+moveAtOnce)]...)
	for pos, e := range l.held {
		if pos > after {
			open = append(open, e)
		}
	}
	b.q.mu.Unlock()
	slices.SortFunc(open, func(x, y entry) int { return cmp.Compare(x.pos, y.pos) })
	// Held jobs are few, so all of them are looked at each time; those beyond the limit come again
	// with a higher after.
	if more = len(open) >= moveAtOnce; more {
		open = open[:moveAtOnce]
	}
	last = after
	for _, e := range open {
		last = e.pos
		if m, err := b.checkMovable(e.job, to); err == nil { // else it prints now, or it is damaged: it stays
			moved = append(moved, b.move(m, to))
		}
	}
	return moved, last, more
}

// Cancel ends a job that waits, is held, or has failed: it will not be printed. reason is for
// people.
func (q *Queue) Cancel(ctx context.Context, id uint64, reason string) error {
	err := q.do(ctx, opOnce, smallOp, func(b *batch) error {
		s, err := b.state(id)
		if err != nil {
			return err
		}
		lent := b.blockLending(s.Station)
		switch {
		case lent == id && s.State.Open():
			return fmt.Errorf("%w: it is printing; hold the station and wait until it is done", ErrConflict)
		case s.checkReplaced() != nil:
			return s.checkReplaced()
		case !s.State.Open() && s.State != ticket.Failed:
			return fmt.Errorf("%w: it is %s already", ErrConflict, s.State)
		}
		b.finish(id, s, ticket.Cancelled, reason)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cancel job %d: %w", id, err)
	}
	return nil
}
