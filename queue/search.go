package queue

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// A search looks for voids of an order since it came. Requests are numbered as they
// come, so it reads the jobs of all later ones, in order.
type search struct {
	job    uint64 // the latest one, see latestOf; 0: there is nothing to search
	ticket ticket.Ticket
	came   time.Duration // running time
	next   []byte        // of bucketReqJobs: the first key that was not read
	later  ticket.LaterVoids
	found  int // voids, of which later names maxLater
}

const (
	// sameCheckFor is for how long the number or table of an order means the same check, if another request has it.
	// Many services begin with 1 again each day.
	sameCheckFor = 12 * time.Hour
	// maxLater bounds how much a service can make a reprint grow.
	maxLater = 8
)

// search begins a search, and reads the present jobs.
func (q *Queue) search(ctx context.Context, job uint64) (s search, err error) {
	for more := true; more && err == nil; {
		err = q.viewPage(ctx, func(tx *bolt.Tx) {
			more = (s.next != nil || s.begin(tx, job)) && s.read(tx, pageSize)
		})
	}
	return s, err
}

// searchHeld searches for each of the held jobs that want returns true for. Jobs are held for a person, so
// they are few.
func (q *Queue) searchHeld(ctx context.Context, want func(string, entry) bool) (found map[uint64]search, err error) {
	found = map[uint64]search{}

	q.mu.Lock()
	for station, l := range q.lanes {
		for _, e := range l.jobs {
			if e.held && want(station, e) {
				found[e.job] = search{}
			}
		}
	}
	q.mu.Unlock()

	for job := range found {
		if found[job], err = q.search(ctx, job); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// begin finds the ticket whose copy is asked for, and when it came: a moved or reprinted ticket was made from
// another job. False: there is nothing to search, because it is no order, or it cannot be read, which its copy will
// report.
func (s *search) begin(tx *bolt.Tx, job uint64) bool {
	s.job = latestOf(tx, job)

	state, err1 := stateIn(tx, s.job)
	shown, err2 := ticketIn(tx, s.job)
	if errors.Join(err1, err2) != nil || shown.Kind != ticket.Order || state.Req == 0 {
		return false
	}

	s.ticket, s.next = shown, key64(state.Req+1)
	for state.MadeFrom != 0 {
		before, err := stateIn(tx, state.MadeFrom)
		if err != nil { // its history is over
			break
		}
		state = before
	}

	s.came = time.Duration(state.Enqueued)
	return true
}

// read reads up to n more jobs, and says whether there may be others.
func (s *search) read(tx *bolt.Tx, n int) (more bool) {
	if s.next == nil {
		return false
	}
	s.later = slices.Clip(s.later) // a transaction may be built twice, from the same search

	next := readPage(tx, bucketReqJobs, s.next, n, func(key, _ []byte) bool {
		if len(key) == 16 {
			job := un64(key[8:])
			s.next = key128(un64(key[:8]), job+1)
			s.add(tx, job)
		}
		return true
	})
	return next != nil
}

// add adds a job if it may have cancelled something of the order. Of its own request it has not: the order that this
// request has changed has replaced the ticket.
func (s *search) add(tx *bolt.Tx, job uint64) {
	raw := tx.Bucket(bucketNames[bucketJobs]).Get(key64(job))
	if opened, err := unseal(raw); err == nil && !mayCancel(opened) {
		return
	}

	state, err1 := stateIn(tx, job)
	other, err2 := decodePayload(raw)

	switch {
	case errors.Join(err1, err2) != nil: // a person sees it as a failed job
		return
	case state.MadeFrom != 0 || state.ReplacedBy != 0: // it is, or was, the same as another one
		return
	case !other.HasVoid() || other.Request == s.ticket.Request || !other.SameCheck(&s.ticket):
		return
	case (other.Check == "" || other.Check != s.ticket.Check) && time.Duration(state.Enqueued)-s.came > sameCheckFor:
		return
	}

	switch s.found++; {
	case s.found <= maxLater:
		s.later = append(s.later, ticket.LaterVoid{Job: job, Clock: ticket.Clock(other.Received, s.ticket.Zone)})
	case s.found == maxLater+1:
		s.later = append(s.later, ticket.LaterVoid{})
	}
}

// mayCancel says whether the JSON of a ticket has a void. Nearly all tickets are orders, and to decode them takes
// most of the time of a search. A quotation mark within a text is escaped, so a text never looks like a key.
func mayCancel(j []byte) bool { return bytes.Contains(j, []byte(`"void":true`)) }
