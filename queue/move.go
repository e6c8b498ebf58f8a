package queue

import (
	"context"
	"fmt"
	"slices"

	"ticketrail/queue/ticket"
)

// The commands of people, each in one transaction. A crash before its commit: nothing happened. A
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
	var found map[uint64]search
	err := checkName("station", to)
	switch {
	case err != nil:
	case len(versions) > 0 && len(versions) != len(ids):
		err = fmt.Errorf("%d versions of %d jobs", len(versions), len(ids))
	case len(ids) > maxMove:
		err = fmt.Errorf("%d jobs at once, at most %d are allowed: move all of a station instead", len(ids), maxMove)
	default:
		found, err = q.searchHeld(ctx, func(_ string, e entry) bool { return slices.Contains(ids, e.job) })
	}

	var moved []uint64
	if err == nil {
		err = q.do(ctx, opOnce, copyOp*len(ids), func(b *batch) error {
			all, err := b.checkAllMovable(ids, to, versions)
			for _, m := range all { // only now, because an operation that has written must not fail
				moved = append(moved, b.move(m, to, found))
			}
			return err
		})
	}

	if err != nil {
		return nil, wrap(err, "move to %s", to)
	}
	return moved, nil
}

// checkAllMovable returns jobs of which each can be moved, or none of them.
func (b *batch) checkAllMovable(ids []uint64, to string, versions []string) (all []movable, err error) {
	for i, id := range ids {
		checked, err := b.checkMovable(id, to)
		switch {
		case slices.Contains(ids[:i], id):
			err = fmt.Errorf("%w: it is named twice", ErrConflict)
		case err == nil && len(versions) > 0:
			err = checked.state.checkSeen(versions[i])
		}

		if err != nil {
			return nil, fmt.Errorf("job %d: %w", id, err)
		}
		all = append(all, checked)
	}
	return all, nil
}

// One transaction moves at most so many jobs, because tickets wait while it commits: Move, which
// must be one transaction, and MoveAll, which takes several.
const (
	maxMove    = 1000
	moveAtOnce = 30 // about 0.1 s on an SD card
)

// A movable is a job that checkMovable has allowed.
type movable struct {
	id      uint64
	state   jobState
	payload []byte
}

// checkMovable returns a job, or why it cannot be moved.
func (b *batch) checkMovable(id uint64, to string) (movable, error) {
	state, err := b.changeable(id)
	switch {
	case err != nil:
		return movable{}, err
	case !state.State.Open():
		return movable{}, fmt.Errorf("%w: it is %s; reprint it there instead", ErrConflict, state.State)
	case state.Station == to:
		return movable{}, fmt.Errorf("%w: it is already in the queue of %s", ErrConflict, to)
	}

	payload, err := b.payload(id)
	return movable{id, state, payload}, err
}

// changeable returns the state of a job, or why a person can do nothing with it now. It blocks the lending of the
// job's lane, so that the answer stays true until the batch ends.
func (b *batch) changeable(id uint64) (jobState, error) {
	state, err := b.state(id)
	if err != nil {
		return state, err
	}

	switch lent := b.blockLending(state.Station); {
	case lent == id && state.State.Open():
		err = fmt.Errorf("%w: it is printing; hold the station and wait until it is done", ErrConflict)
	case state.State == ticket.Moved || state.ReprintedAs != 0:
		err = fmt.Errorf("%w: it is %s: %s; look at that job", ErrConflict, state.State, state.Why)
	}
	return state, err
}

// move moves a job. A doubt moves with it, for the POSSIBLE DUPLICATE mark. But a person who moves a held ticket wants
// it printed, whatever its age and doubts: it becomes a reprint, is marked as one, and like one it is the latest that
// its station should have.
func (b *batch) move(m movable, to string, found map[uint64]search) uint64 {
	state, next, payload := m.state, m.state, m.payload
	if state.State == ticket.Held {
		next = state.again(b.now)
		if latest, _, err := b.present(m.id, found[m.id]); err == nil { // else it is printed as it is
			payload = latest
		}
	}

	return b.moveTo(m.id, state, next, to, payload, "")
}

// moveTo ends a job as moved, and enqueues n at the end of the queue of to instead of it. why is for people.
func (b *batch) moveTo(id uint64, s, n jobState, to string, payload []byte, why string) uint64 {
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
// order. The job that is printing stays, and so do damaged ones and new ones. It takes several
// transactions: after an error, or a crash, some have moved. The returned jobs are the new ones, also with an
// error.
func (q *Queue) MoveAll(ctx context.Context, from, to string) (all []uint64, err error) {
	found := map[uint64]search{}
	if from == to {
		err = fmt.Errorf("%w: it is the same station", ErrConflict)
	} else if err = checkName("station", to); err == nil {
		found, err = q.searchHeld(ctx, func(station string, _ entry) bool { return station == from })
	}

	for part := range slices.Chunk(q.openOf(from), moveAtOnce) {
		if err != nil {
			break
		}

		var moved []uint64
		err = q.do(ctx, opOnce, copyOp*len(part), func(b *batch) error {
			for _, e := range part {
				// Not one that has ended, prints now, or is damaged.
				if checked, err := b.checkMovable(e.job, to); err == nil {
					moved = append(moved, b.move(checked, to, found))
				}
			}
			return nil
		})
		if err == nil {
			all = append(all, moved...)
		}
	}

	return all, wrap(err, "move all of %s", from)
}

// openOf copies the pending and held jobs of a lane, in order.
func (q *Queue) openOf(station string) []entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.lane(station).jobs)
}

// Cancel ends a job that waits, is held, or has failed: it will not be printed. reason is for
// people. If a version is given, the job must still have it: see [Job].
func (q *Queue) Cancel(ctx context.Context, id uint64, reason string, version ...string) error {
	return wrap(q.do(ctx, opOnce, smallOp, func(b *batch) error {
		state, err := b.changeable(id)
		switch {
		case err != nil:
			return err
		case !state.State.Open() && state.State != ticket.Failed:
			return fmt.Errorf("%w: it is %s already", ErrConflict, state.State)
		}

		if err := state.checkSeen(version...); err != nil {
			return err
		}

		b.finish(id, state, ticket.Cancelled, reason)
		return nil
	}), "cancel job %d", id)
}
