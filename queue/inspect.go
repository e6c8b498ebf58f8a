package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// Everything here reads the last commit and not memory, except what is printing now, which is only
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
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

// EachPage calls yield with the jobs that f selects, newest first, as they are found: at most 200 at a time, and
// none of them again. With Filter.Oldest they are all of them, and the last of them are those wanted. The list
// is not one snapshot: a job that changes meanwhile is listed as it was when its page was read. No
// transaction is open while yield runs, so it may take its time. Its error ends the list and is returned.
func (q *Queue) EachPage(ctx context.Context, f Filter, yield func(page []Job) error) error {
	var before []byte // nil: from the newest
	found := 0
	full := func() bool { return !f.Oldest && f.Limit > 0 && found == f.Limit }
	for more := true; more && !full(); {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("list jobs: %w", err)
		}
		lent := q.leases()
		var page []Job
		err := q.view(func(tx *bolt.Tx) error {
			more = false
			c := tx.Bucket(bucketNames[bucketState]).Cursor()
			k, v := c.Last()
			if before != nil {
				if next, _ := c.Seek(before); next != nil {
					k, v = c.Prev()
				} // else the last one read is gone, and so are all newer ones: continue at the end
			}
			for n := 0; k != nil && !full(); k, v = c.Prev() {
				if n++; n > pageSize {
					more = true
					return nil
				}
				before = slices.Clone(k) // where the next page continues
				if j, ok := readJob(tx, un64(k), v, lent, f); ok {
					page = append(page, j)
					found++
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("list jobs: %w", err)
		}
		if len(page) > 0 {
			if err := yield(page); err != nil {
				return err
			}
		}
	}
	return nil
}

// Job returns one job, its ticket, and the body of its request as received. The body is nil for a
// slip. If the stored ticket is damaged, the Ticket is zero.
func (q *Queue) Job(ctx context.Context, id uint64) (Job, ticket.Ticket, []byte, error) {
	var j Job
	var t ticket.Ticket
	var body []byte
	lent := q.leases()
	err := q.view(func(tx *bolt.Tx) error {
		raw := tx.Bucket(bucketNames[bucketState]).Get(key64(id))
		if raw == nil {
			return ErrNotFound
		}
		s, err := decodeState(raw)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		j, _ = readJob(tx, id, raw, lent, Filter{})
		t, _ = decodePayload(tx.Bucket(bucketNames[bucketJobs]).Get(key64(id)))
		t.NameMore(id)
		if b, err := decodeBody(tx.Bucket(bucketNames[bucketRequests]).Get(key64(s.Req))); err == nil {
			body = slices.Clone(b)
		}
		return nil
	})
	if err != nil {
		return Job{}, ticket.Ticket{}, nil, fmt.Errorf("job %d: %w", id, err)
	}
	return j, t, body, nil
}

// leases returns what is lent: printing is not stored, only known here.
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
	s, err := decodeState(raw)
	if err != nil {
		return Job{}, false
	}
	j := Job{
		ID: id, Station: s.Station, State: s.State, Attempts: s.Attempts, Doubt: s.Doubts > 0,
		Reprint: s.Reprint, MadeFrom: s.MadeFrom, ReplacedBy: s.ReplacedBy, RefusedBy: s.RefusedBy, Reason: s.Why,
		ReceivedAt: time.UnixMilli(s.Received).UTC(), Version: s.version(),
	}
	// The list of leases is older than the page: a job that has ended since then is shown as ended.
	if e, ok := lent[id]; ok && s.State == ticket.Pending {
		j.State, j.Doubt = ticket.Printing, e.doubts > 0
	}
	if s.Finished != 0 {
		j.FinishedAt = new(time.UnixMilli(s.Finished).UTC())
	}
	switch {
	case len(f.States) > 0 && !slices.Contains(f.States, j.State),
		f.Station != "" && f.Station != j.Station,
		j.ReceivedAt.Before(f.Since):
		return Job{}, false
	}
	t, _ := decodePayload(tx.Bucket(bucketNames[bucketJobs]).Get(key64(id))) // one that is damaged has no name
	j.Kind, j.Request, j.Record, j.Device = t.Kind, t.Request, t.Record, t.Device
	j.Venue, j.VenueName, j.Number, j.Table = t.Venue, t.VenueName, t.Number, t.Table
	for _, l := range t.Lines {
		if l.Depth == 0 {
			j.Items++
		}
	}
	return j, f.Request == "" || f.Request == j.Request
}
