package queue

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// Everything here reads the last commit and not memory, except which job is printing now, which is only
// in memory.

// pageSize is how many jobs one read transaction of a listing reads. bbolt cannot reuse freed pages
// while a read transaction is open, so a long one makes the file grow.
const pageSize = 200

// Jobs lists jobs, newest first, as [Queue.EachPage] finds them.
func (q *Queue) Jobs(ctx context.Context, f Filter) ([]Job, error) {
	jobs := []Job{}
	err := q.EachPage(ctx, f, func(page []Job) error {
		jobs = append(jobs, page...)
		if f.Oldest && f.Limit > 0 {
			jobs = jobs[max(0, len(jobs)-f.Limit):]
		}
		return nil
	})

	return jobs, err
}

// EachPage calls yield with the jobs that f selects, newest first, as they are found: at most 200 at a time, and
// none of them again. With Filter.Oldest they are all of them, and the last of them are those wanted. The list
// is not one snapshot: a job that changes during the listing is listed as it was when its page was read. No
// transaction is open while yield runs, so it may take its time. Its error ends the list and is returned.
func (q *Queue) EachPage(ctx context.Context, f Filter, yield func(page []Job) error) error {
	next := key64(math.MaxUint64) // from the newest
	found := 0
	full := func() bool { return !f.Oldest && f.Limit > 0 && found == f.Limit }

	for next != nil && !full() {
		lent := q.leases()
		var page []Job
		err := q.viewPage(ctx, func(tx *bolt.Tx) {
			next = readPage(tx, bucketState, next, -pageSize, func(key, value []byte) bool {
				if job, ok := readJob(tx, un64(key), value, lent, f); ok {
					page = append(page, job)
					found++
				}
				return !full()
			})
		})

		if err != nil {
			return wrap(err, "list jobs")
		}

		if len(page) > 0 {
			if err := yield(page); err != nil {
				return err
			}
		}
	}
	return nil
}

// viewPage is one read transaction of several.
func (q *Queue) viewPage(ctx context.Context, f func(tx *bolt.Tx)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return q.view(func(tx *bolt.Tx) error { f(tx); return nil })
}

// eachRecord calls visit with the records of a bucket from a key on, in pages, until it returns false. from is nil:
// there are none.
func (q *Queue) eachRecord(ctx context.Context, bucket int, from []byte,
	visit func(tx *bolt.Tx, key, value []byte) bool) error {
	for from != nil {
		err := q.viewPage(ctx, func(tx *bolt.Tx) {
			from = readPage(tx, bucket, from, pageSize, func(key, value []byte) bool { return visit(tx, key, value) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readPage calls visit with up to n records of a bucket from a key on, or with up to -n from it backward, until it
// returns false. next is the key at which to continue; nil at the end. In a later transaction it may be gone.
func readPage(tx *bolt.Tx, bucket int, from []byte, n int, visit func(key, value []byte) bool) (next []byte) {
	cursor := tx.Bucket(bucketNames[bucket]).Cursor()
	key, value := cursor.Seek(from)
	step := cursor.Next
	if n < 0 {
		n, step = -n, cursor.Prev
		if key == nil {
			key, value = cursor.Last()
		} else if !bytes.Equal(key, from) {
			key, value = cursor.Prev()
		}
	}

	for ; key != nil; key, value = step() {
		if n--; n < 0 {
			return slices.Clone(key)
		}
		if !visit(key, value) {
			break
		}
	}
	return nil
}

// Job returns one job, its ticket, and the body of its request as received. The body is nil for a
// slip. If the stored ticket is damaged, the Ticket is zero.
func (q *Queue) Job(ctx context.Context, id uint64) (j Job, t ticket.Ticket, body []byte, err error) {
	lent := q.leases()
	err = q.view(func(tx *bolt.Tx) error {
		raw := tx.Bucket(bucketNames[bucketState]).Get(key64(id))
		if raw == nil {
			return ErrNotFound
		}

		state, err := decodeState(raw)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}

		j, _ = readJob(tx, id, raw, lent, Filter{})
		t, _ = ticketIn(tx, id)
		t.NameMore(id)

		if stored, err := decodeBody(tx.Bucket(bucketNames[bucketRequests]).Get(key64(state.Req))); err == nil {
			body = slices.Clone(stored)
		}
		return nil
	})

	return j, t, body, wrap(err, "job %d", id)
}

// leases returns the lent jobs: printing is not stored, only known here.
func (q *Queue) leases() map[uint64]entry {
	q.mu.Lock()
	defer q.mu.Unlock()

	lent := map[uint64]entry{}
	for _, l := range q.lanes {
		if l.lease != nil {
			lent[l.lease.job] = l.lease.initial
		}
	}
	return lent
}

// readJob makes a Job of its records; ok is false if the filter does not want it. The ticket is
// decoded last, because it is large. A job whose state is damaged is left out.
func readJob(tx *bolt.Tx, id uint64, raw []byte, lent map[uint64]entry, f Filter) (Job, bool) {
	state, err := decodeState(raw)
	if err != nil {
		return Job{}, false
	}

	job := Job{
		ID: id, Station: state.Station, State: state.State, Attempts: state.Attempts, Doubt: state.Doubts > 0,
		Reprint: state.Reprint, MadeFrom: state.MadeFrom, ReplacedBy: state.ReplacedBy, RefusedBy: state.RefusedBy,
		Reason: state.Why, PrintedBy: state.PrintedBy,
		ReceivedAt: time.UnixMilli(state.Received).UTC(), Version: state.version(),
	}
	// The list of leases is older than the page: a job that has ended since then is shown as ended.
	if leased, ok := lent[id]; ok && state.State == ticket.Pending {
		job.State, job.Doubt = ticket.Printing, leased.doubts > 0
	}

	if state.Finished != 0 {
		job.FinishedAt = new(time.UnixMilli(state.Finished).UTC())
	}

	switch {
	case len(f.States) > 0 && !slices.Contains(f.States, job.State),
		f.Station != "" && f.Station != job.Station,
		job.ReceivedAt.Before(f.Since):
		return Job{}, false
	}

	payload, _ := ticketIn(tx, id) // one that is damaged has no name
	job.Kind, job.Request, job.Record, job.Device = payload.Kind, payload.Request, payload.Record, payload.Device
	job.Venue, job.VenueName, job.Number, job.Table = payload.Venue, payload.VenueName, payload.Number, payload.Table

	for _, l := range payload.Lines {
		if l.Depth == 0 {
			job.Items++
		}
	}

	return job, f.Request == "" || f.Request == job.Request
}
