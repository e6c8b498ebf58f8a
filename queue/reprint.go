package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// ReprintOptions say how a ticket is printed again.
type ReprintOptions struct {
	Station string // that prints the copy; empty: that of the ticket
	Reason  string // for people
	// AsItWas prints the lines as they were when the ticket came, also those that are void since.
	AsItWas bool
	// Version, if it is not empty, is that of the job as the person saw it: a copy is made only if it still is.
	Version string
}

// A Reprinted is what Reprint has done.
type Reprinted struct {
	Job    uint64   // the copy
	Voided int      // lines that were voided since the ticket came, so that the copy has them as void
	Later  []string // what may have cancelled more of the order; the copy ends with it
}

// Reprint enqueues a copy of a job at the end of a station's queue. A held or failed original is
// cancelled, because the copy replaces it.
//
// The copy tells the present: what was voided since is void, see [ticket.Cancel]. That is found in the
// tickets that are stored, in the transaction that enqueues the copy. So a void is on the copy if it was
// accepted before it; if it is accepted later, it prints after it. A cancellation whose job is older than
// the retention of the history is not found. A copy of a copy begins with the first ticket again.
//
// The error is ErrConflict for a job that waits or prints, and for one that another job has
// replaced already: a moved one, or one that was held or failed and has been reprinted.
func (q *Queue) Reprint(ctx context.Context, id uint64, o ReprintOptions) (Reprinted, error) {
	var done Reprinted
	// Nearly all is read before the transaction, because tickets wait while it is written.
	found, err := q.search(ctx, id)
	if err == nil {
		err = q.do(ctx, opOnce, copyOp, func(b *batch) error {
			var err error
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
	s, err := b.state(id)
	if err != nil {
		return Reprinted{}, err
	}
	station := o.Station
	if station == "" {
		station = s.Station
	}
	if err := checkName("station", station); err != nil {
		return Reprinted{}, err
	}
	lent := b.blockLending(s.Station)
	if err := s.checkReplaced(); err != nil {
		return Reprinted{}, err
	}
	if s.State == ticket.Pending {
		if lent == id {
			return Reprinted{}, fmt.Errorf("%w: it is printing; wait until it is done", ErrConflict)
		}
		return Reprinted{}, fmt.Errorf("%w: it still waits to print at %s; move or cancel it instead", ErrConflict,
			s.Station)
	}
	if err := s.checkSeen(o.Version); err != nil {
		return Reprinted{}, err
	}
	payload, err := b.payload(id)
	if err != nil {
		return Reprinted{}, err
	}
	done, payload := b.present(payload, o.AsItWas, found)
	n := s
	// A new job: the attempts and doubts of the original are not its own, and it starts to age now.
	n.Station, n.Reprint, n.MadeFrom, n.Attempts, n.Doubts, n.Copies, n.Finished = station, true, id, 0, 0, 0, 0
	n.Enqueued, n.Why = int64(b.now), o.Reason
	done.Job = b.enqueue(n, payload, false)
	b.books(station).Reprinted++
	if s.State == ticket.Held || s.State == ticket.Failed {
		b.finish(id, s, ticket.Cancelled, fmt.Sprint(reprintedAsPrefix, done.Job))
	} else {
		s.Copies++ // so that who saw it before sees another version
		b.setState(id, s)
	}
	return done, nil
}

// present returns the ticket that a copy gets instead of payload, which is that of the job itself.
func (b *batch) present(payload []byte, asItWas bool, found search) (Reprinted, []byte) {
	switch {
	case found.payload == nil:
		return Reprinted{}, payload
	case asItWas:
		return Reprinted{}, found.payload
	}
	found.read(b.tx, math.MaxInt) // what has come since search
	if len(found.later) > 0 && b.forgotVoids(keyOf(found.ticket.Venue, found.ticket.Request)) {
		found.station = "" // then no line is matched
	}
	now, voided := ticket.Cancel(found.ticket, found.station, found.later)
	if voided == 0 && len(now.Later) == 0 {
		return Reprinted{}, found.payload
	}
	return Reprinted{Voided: voided, Later: now.Later}, b.encodeTicket(now)
}

// forgotVoids says whether it was once unknown what is void under a key, because its record was damaged. Voids
// that came again since were enqueued again, see acceptUnreadable.
func (b *batch) forgotVoids(k requestKey) bool {
	c := b.bucket(bucketQuarantine).Cursor()
	for at, raw := c.First(); at != nil; at, raw = c.Next() {
		var r quarantined
		if unsealJSON(raw, &r) == nil && bytes.Equal(r.Key, k[:]) {
			return true
		}
	}
	return false
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

// A search is the search for what was cancelled of an order since it came. Requests are numbered as they
// come, so it reads the jobs of all later ones, in order.
type search struct {
	payload []byte        // the ticket as it was stored first; nil if it is no order
	ticket  ticket.Ticket // the same
	station string        // to which the plan sent it; empty if that is not known any more
	came    time.Duration // running time
	next    []byte        // of bucketReqJobs: the first key that was not read
	later   []ticket.Cancellation
	added   bool // to the order, at the station
	lines   int  // of later, see maxSearchLines
}

// sameNumberFor is for how long the number of an order means the same order, if another request has it.
// Many services begin with 1 again each day.
const sameNumberFor = 12 * time.Hour

// search begins a search, and reads what is there now.
func (q *Queue) search(ctx context.Context, job uint64) (s search, err error) {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return search{}, err
		}
		err := q.view(func(tx *bolt.Tx) error {
			if s.next == nil && !s.begin(tx, job) {
				more = false
				return nil
			}
			more = s.read(tx, pageSize)
			return nil
		})
		if err != nil {
			return search{}, err
		}
	}
	return s, nil
}

// searchHeld searches for each of the held jobs that want returns true for. Jobs are held for a person, so
// they are few.
func (q *Queue) searchHeld(ctx context.Context, want func(station string, e entry) bool) (map[uint64]search, error) {
	found := map[uint64]search{}
	q.mu.Lock()
	for station, l := range q.lanes {
		for _, e := range l.held {
			if want(station, e) {
				found[e.job] = search{}
			}
		}
	}
	q.mu.Unlock()
	for job := range found {
		s, err := q.search(ctx, job)
		if err != nil {
			return nil, err
		}
		found[job] = s
	}
	return found, nil
}

// begin finds the job as which the ticket came: what was moved or reprinted was made from another. A rescued
// ticket counts as one that came, because it says more than the first, namely what was done on the screen.
// But if its card was a copy, some lines may have been made void by that, and they must not be cancelled
// again. So nothing is matched then.
//
// False: there is nothing to search, because it is no order, or it cannot be read, which its copy will
// report.
func (s *search) begin(tx *bolt.Tx, job uint64) bool {
	read := func(job uint64) (jobState, ticket.Ticket, []byte, error) {
		state, err1 := decodeState(tx.Bucket(bucketNames[bucketState]).Get(key64(job)))
		raw := tx.Bucket(bucketNames[bucketJobs]).Get(key64(job))
		t, err2 := decodePayload(raw)
		return state, t, raw, errors.Join(err1, err2)
	}
	state, t, raw, err := read(job)
	if err != nil || t.Kind != ticket.Order || state.Req == 0 {
		return false
	}
	for state.MadeFrom != 0 {
		before, beforeTicket, beforeRaw, err := read(state.MadeFrom)
		if err != nil { // its history is over: it is not known where it was to print first
			break
		}
		rescued := state.RescuedFrom != before.RescuedFrom
		if state = before; rescued {
			break
		}
		t, raw = beforeTicket, beforeRaw
	}
	if state.MadeFrom == 0 {
		s.station = state.Station
	}
	s.payload, s.ticket, s.came = slices.Clone(raw), t, time.Duration(state.Enqueued)
	s.next = key64(state.Req + 1)
	return true
}

// read reads up to n more jobs, and says whether there may be others.
func (s *search) read(tx *bolt.Tx, n int) (more bool) {
	s.later = slices.Clip(s.later) // a transaction may be built twice, from the same search
	c := tx.Bucket(bucketNames[bucketReqJobs]).Cursor()
	for k, _ := c.Seek(s.next); k != nil; k, _ = c.Next() {
		if len(k) != 16 {
			continue
		}
		if n--; n < 0 {
			return true
		}
		req, job := un64(k[:8]), un64(k[8:])
		s.next = key128(req, job+1)
		s.add(tx, req, job)
	}
	return false
}

// add adds a job if it may have cancelled something of the order.
func (s *search) add(tx *bolt.Tx, req, job uint64) {
	raw := tx.Bucket(bucketNames[bucketJobs]).Get(key64(job))
	if j, err := unseal(raw); err == nil && !mayCancel(j) {
		return
	}
	// If the state is damaged the station is unknown, and the ticket cannot be matched.
	state, err := decodeState(tx.Bucket(bucketNames[bucketState]).Get(key64(job)))
	if err == nil && state.MadeFrom != 0 { // a copy: the ticket itself came with another job
		return
	}
	t, err := decodePayload(raw)
	if err != nil { // it may have been a void
		m, _, _ := decodeBody(tx.Bucket(bucketNames[bucketRequests]).Get(key64(req)))
		t = ticket.Ticket{
			Venue: m.Venue, Request: m.ID, Raw: "its stored ticket is damaged",
			Received: time.UnixMilli(state.Received),
		}
	}
	found := ticket.Cancellation{Job: job, Arrival: req, Station: state.Station, Ticket: t}
	sameRequest := t.Venue == s.ticket.Venue && t.Request == s.ticket.Request
	s.added = s.added || t.Added && sameRequest && state.Station == s.station
	if !found.Related(&s.ticket) || !sameRequest && time.Duration(state.Enqueued)-s.came > sameNumberFor {
		return
	}
	if s.added && len(t.Lines) > 0 { // it may be of what was added, so it is not surely a correction of this
		found.Ticket.Kind = ticket.Order
	}
	if s.lines += len(t.Lines); s.lines > maxSearchLines && len(t.Lines) > 0 {
		found.Ticket = ticket.Ticket{ // not a correction, which would cancel the whole order
			Venue: t.Venue, Request: t.Request, Number: t.Number, Received: t.Received, Void: true,
		}
	}
	s.later = append(s.later, found)
}

// maxSearchLines bounds the memory of a search. What is found beyond it is only named on the copy.
const maxSearchLines = 20_000

// mayCancel says whether the JSON of a ticket has a void, cannot be read by the planner, or was added. Nearly all
// tickets are orders, and to decode them takes most of the time of a search. A quotation mark within a text is
// escaped, so a text never looks like a key.
func mayCancel(j []byte) bool {
	return slices.ContainsFunc([]string{`"void":true`, `"raw":"`, `"added":true`},
		func(s string) bool { return bytes.Contains(j, []byte(s)) })
}
