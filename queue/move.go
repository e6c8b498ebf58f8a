package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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

// Move sends waiting and held jobs to the end of another station's queue, in the order given: all
// of them or, with an error, none. It returns the new jobs in the same order. If versions are given, one
// for each of ids, each job must still have its own: see [Job].
func (q *Queue) Move(ctx context.Context, ids []uint64, to string, versions ...string) ([]uint64, error) {
	if err := checkName("station", to); err != nil {
		return nil, fmt.Errorf("move jobs: %w", err)
	}
	if len(versions) > 0 && len(versions) != len(ids) {
		return nil, fmt.Errorf("move jobs: %d versions of %d jobs", len(versions), len(ids))
	}
	if len(ids) > maxMove {
		return nil, fmt.Errorf("move jobs: %d at once, at most %d are allowed: move all of a station instead",
			len(ids), maxMove)
	}
	var moved []uint64
	found, err := q.searchHeld(ctx, func(_ string, e entry) bool { return slices.Contains(ids, e.job) })
	if err != nil {
		return nil, fmt.Errorf("move to %s: %w", to, err)
	}
	err = q.do(ctx, opOnce, copyOp*len(ids), func(b *batch) error {
		seen := map[uint64]bool{}
		var all []movable
		for i, id := range ids {
			if seen[id] {
				return fmt.Errorf("job %d: %w: it is named twice", id, ErrConflict)
			}
			seen[id] = true
			m, err := b.checkMovable(id, to)
			if err == nil && len(versions) > 0 {
				err = m.state.checkSeen(versions[i])
			}
			if err != nil {
				return fmt.Errorf("job %d: %w", id, err)
			}
			all = append(all, m)
		}
		// Only now, because an operation that has written must not fail.
		for _, m := range all {
			moved = append(moved, b.move(m, to, found))
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
// becomes a reprint, is marked as one, and like one it is the latest that its station should have.
func (b *batch) move(m movable, to string, found map[uint64]search) uint64 {
	s, n, payload := m.state, m.state, m.payload
	if s.State == ticket.Held {
		n.Doubts, n.Reprint, n.Enqueued = 0, true, int64(b.now)
		if latest, _, err := b.present(m.id, found[m.id]); err == nil { // else it is printed as it is
			payload = latest
		}
	}
	return b.replace(m.id, s, n, to, payload, "")
}

// replace ends a job as moved, and enqueues n at the end of the queue of to instead of it. why is for people.
func (b *batch) replace(id uint64, s, n jobState, to string, payload []byte, why string) uint64 {
	// At most one doubt less than maxDoubt, or the other station would hold it at once.
	n.Station, n.MadeFrom, n.Attempts, n.Doubts, n.Why = to, id, 0, min(n.Doubts, maxDoubt-1), why
	moved := b.enqueue(n, payload, false)
	b.books(to).MovedIn++
	reason := fmt.Sprintf("moved to %s as job %d", to, moved)
	if why != "" {
		reason += ": " + why
	}
	b.finish(id, s, ticket.Moved, reason)
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
	found, err := q.searchHeld(ctx, func(station string, _ entry) bool { return station == from })
	if err != nil {
		return nil, fmt.Errorf("move all of %s: %w", from, err)
	}
	var all []uint64
	var after uint64 // positions up to this one are done
	for {
		var moved []uint64
		var last uint64
		more := false
		err := q.do(ctx, opOnce, copyOp*moveAtOnce, func(b *batch) error {
			moved, last, more = b.moveSome(from, to, after, found)
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
func (b *batch) moveSome(
	from, to string, after uint64, found map[uint64]search,
) (moved []uint64, last uint64, more bool) {
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
	for _, e := range open {
		last = e.pos
		if m, err := b.checkMovable(e.job, to); err == nil { // else it prints now, or it is damaged: it stays
			moved = append(moved, b.move(m, to, found))
		}
	}
	return moved, last, more
}

// Cancel ends a job that waits, is held, or has failed: it will not be printed. reason is for
// people. If a version is given, the job must still have it: see [Job].
func (q *Queue) Cancel(ctx context.Context, id uint64, reason string, version ...string) error {
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
		if err := s.checkSeen(version...); err != nil {
			return err
		}
		b.finish(id, s, ticket.Cancelled, reason)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cancel job %d: %w", id, err)
	}
	return nil
}
