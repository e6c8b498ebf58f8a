package queue

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// ReprintOptions say how a ticket is printed again.
type ReprintOptions struct {
	Station string // that prints the copy; empty: the ticket's
	Reason  string // for people
	// Version, if it is not empty, is the version of the job that the person saw: a copy is made only if it still is.
	Version string
}

// A Reprinted is the result of [Queue.Reprint].
type Reprinted struct {
	Job    uint64            // the copy
	Latest uint64            // the job that has replaced the ticket, whose copy it is; 0: none has
	Later  ticket.LaterVoids // the voids of the same check that came since
}

// Reprint enqueues a copy of a job at the end of a station's queue. A held or failed original is
// cancelled, because the copy replaces it.
//
// A ticket that was replaced is copied as its latest replacement, so that no copy orders dishes that were
// cancelled. Any other ticket is copied as it was; a later void of the same check, which may cancel it, is named in
// its head. Such a void is found if it was accepted before the copy, and its job is still in the history; if it is
// accepted later, it prints after the copy.
//
// The error is ErrConflict for a job that waits or prints, and for one that another job has
// replaced already: a moved one, or one that was held or failed and has been reprinted.
func (q *Queue) Reprint(ctx context.Context, id uint64, o ReprintOptions) (Reprinted, error) {
	// Nearly all is read before the transaction, because tickets wait while it is written.
	found, err := q.search(ctx, id)

	var done Reprinted
	if err == nil {
		err = q.do(ctx, opOnce, copyOp, func(b *batch) (err error) {
			done, err = b.reprint(id, o, found)
			return err
		})
	}

	if err != nil {
		return Reprinted{}, fmt.Errorf("reprint job %d: %w", id, err)
	}
	return done, nil
}

// reprint is Reprint within its transaction. It blocks lending first, so that a held or failed
// original cannot start to print as well.
func (b *batch) reprint(id uint64, o ReprintOptions, found search) (Reprinted, error) {
	original, err := b.copyable(id)
	if err == nil {
		err = original.checkSeen(o.Version)
	}
	if err != nil {
		return Reprinted{}, err
	}

	done, source := Reprinted{}, original
	if latest := latestOf(b.tx, id); latest != id {
		done.Latest = latest
		if source, err = b.copyable(latest); err != nil {
			return Reprinted{}, fmt.Errorf("job %d has replaced it: %w", latest, err)
		}
	}

	station := cmp.Or(o.Station, source.Station)
	if err := checkName("station", station); err != nil {
		return Reprinted{}, err
	}

	payload, later, err := b.present(id, found)
	if err != nil {
		return Reprinted{}, err
	}

	// Not the higher one of the two: a job that was moved after its ticket was replaced is newer than the replacement.
	from := cmp.Or(done.Latest, id)
	next := source.again(b.now)
	next.Station, next.MadeFrom, next.Why = station, from, o.Reason
	done.Job, done.Later = b.enqueue(next, payload, false), later
	b.books(station).Reprinted++

	b.copied(id, original, done.Job)
	if from != id {
		b.copied(from, source, done.Job)
	}

	return done, nil
}

// again is the state of a new job for the same ticket. The attempts and doubts of s are not its own, it has not come
// out of a backup, and it starts to age now.
func (s jobState) again(now time.Duration) jobState {
	return jobState{
		Station: s.Station, Req: s.Req, Enqueued: int64(now), Received: s.Received, Reprint: true,
		FromDaemon: s.FromDaemon, DarkScreen: s.DarkScreen, RefusedBy: s.RefusedBy,
	}
}

// copyable returns the state of a job, or why it cannot be copied now.
func (b *batch) copyable(id uint64) (jobState, error) {
	state, err := b.changeable(id)
	if err == nil && state.State == ticket.Pending {
		err = fmt.Errorf("%w: it still waits to print at %s; move or cancel it instead", ErrConflict, state.Station)
	}
	return state, err
}

// copied ends a held or failed job of which a copy was made, and counts the copies of any other.
func (b *batch) copied(id uint64, s jobState, by uint64) {
	if s.State == ticket.Held || s.State == ticket.Failed {
		s.ReprintedAs = by
		b.finish(id, s, ticket.Cancelled, fmt.Sprint("reprinted as job ", by))
		return
	}

	s.Copies++ // so that who saw it before sees another version
	b.setState(id, s)
}

// present returns the ticket that a copy of a job gets, and the voids that it names.
func (b *batch) present(id uint64, found search) (payload []byte, later ticket.LaterVoids, err error) {
	latest := latestOf(b.tx, id)
	if payload, err = b.payload(latest); err != nil {
		return nil, nil, err
	}

	if found.job != latest { // it was replaced since the search
		found = search{}
		found.begin(b.tx, id)
	}
	if found.next == nil { // there is nothing to search: the voids that it names already stay
		return payload, nil, nil
	}

	found.read(b.tx, math.MaxInt)        // the jobs since the search
	decoded, _ := decodePayload(payload) // payload has decoded it
	if slices.Equal(decoded.Later, found.later) {
		return payload, found.later, nil
	}
	decoded.Later = found.later
	return b.encodeTicket(decoded), found.later, nil
}

// latestOf is the job whose ticket has replaced the ticket of a job, or of one that it was made from; else the job
// itself. Damaged records end the search.
func latestOf(tx *bolt.Tx, job uint64) uint64 {
	for from := job; from != 0; {
		first, _ := stateIn(tx, from)
		latest := from
		for next := first; next.ReplacedBy > latest; next, _ = stateIn(tx, latest) {
			latest = next.ReplacedBy
		}

		if latest != from {
			return latest
		}

		if first.MadeFrom >= from {
			break
		}
		from = first.MadeFrom
	}
	return job
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
