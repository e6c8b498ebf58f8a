package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// A Sibling is a job that came with the same request as another one, and for the same order.
type Sibling struct {
	Job
	// Routed is the station to which the plan sent the ticket. It differs from Station if a person moved it.
	Routed string
	// At is where it came out, or is to come out: Station, or a backup that printed for it.
	At     string
	Ticket ticket.Ticket
	// Cut says that its request has more jobs, which were not read.
	Cut bool
}

// maxSiblings limits how many jobs of a request are read. An order has dozens of them; a hostile request can
// have ten thousand.
const maxSiblings = 1000

// Siblings returns the jobs that came with the same requests and for the same orders as the given ones, which
// are included. Of each ticket it returns the job that is to bring it now:
//   - a ticket that a person moved, or reprinted because it was held or had failed, is represented by the new job;
//   - a ticket that came out and was printed again is represented by the latest copy that was not cancelled. But a
//     copy of a card on a screen is left out, whoever asked for it: its board knows its state.
//
// The ticket that a changed ticket has replaced is left out, with its copies; the changed ticket is included. So is
// left out a job that is not known, or has no request. It reads in pages, like [Queue.Jobs], and at most a thousand
// jobs of a request.
func (q *Queue) Siblings(ctx context.Context, jobs []uint64) ([]Sibling, error) {
	reader := siblingReader{lent: q.leases(), orders: map[uint64]map[orderName]bool{}, replaced: map[uint64]bool{}}
	for page := range slices.Chunk(jobs, pageSize) {
		if err := q.viewPage(ctx, func(tx *bolt.Tx) { reader.find(tx, page) }); err != nil {
			return nil, err
		}
	}

	var out []Sibling
	for i := 0; i < len(reader.requests); i++ { // the replacement of a ticket came with another request
		req := reader.requests[i]
		reader.found, reader.count = nil, 0

		next := key64(req)
		for next != nil && reader.count < maxSiblings {
			if err := q.viewPage(ctx, func(tx *bolt.Tx) { next = reader.read(tx, req, next) }); err != nil {
				return nil, err
			}
		}

		all := reader.present()
		if next != nil && len(all) > 0 {
			all[len(all)-1].Cut = true
		}

		out = append(out, all...)
	}
	return out, nil
}

// TicketsAfter calls visit with the ticket of every job after the given one, in the order of their ids, and
// returns the last id. A damaged ticket is left out. It reads in pages, like [Queue.Jobs].
func (q *Queue) TicketsAfter(ctx context.Context, job uint64, visit func(uint64, *ticket.Ticket)) (uint64, error) {
	for more := true; more; {
		err := q.viewPage(ctx, func(tx *bolt.Tx) {
			cursor, read := tx.Bucket(bucketNames[bucketJobs]).Cursor(), 0
			more = false

			for key, value := cursor.Seek(key64(job + 1)); key != nil && !more; key, value = cursor.Next() {
				job = un64(key)
				if decoded, err := decodePayload(value); err == nil {
					visit(job, &decoded)
				}
				read++
				more = read == pageSize
			}
		})

		if err != nil {
			return job, err
		}
	}
	return job, nil
}

// viewPage is one read transaction of several.
func (q *Queue) viewPage(ctx context.Context, f func(tx *bolt.Tx)) error {
	err := ctx.Err()
	if err == nil {
		err = q.view(func(tx *bolt.Tx) error { f(tx); return nil })
	}

	if err != nil {
		return fmt.Errorf("read what came with a job: %w", err)
	}
	return nil
}

// A siblingReader is the state of one call of Siblings.
type siblingReader struct {
	lent     map[uint64]entry
	requests []uint64                      // sequences of the requests, in the order of the jobs
	orders   map[uint64]map[orderName]bool // of each request: the orders that are asked for
	count    int                           // jobs of one request that were read
	found    []siblingRecord               // of the same request, by job
	replaced map[uint64]bool               // jobs whose tickets a changed one has replaced
}

// A siblingRecord is a Sibling with the state that decides whether another one represents it.
type siblingRecord struct {
	Sibling
	state jobState
}

// An orderName says to which order of a request a ticket belongs.
type orderName struct{ order, record string }

func nameOf(t *ticket.Ticket) orderName { return orderName{t.OrderInRequest(), t.Record} }

// asked says whether a ticket belongs to an order that is asked for. One without number and table belongs to
// any, unless both have ids of their own: a service may send them with the first record only, and a record that
// nobody can read has none.
func (r *siblingReader) asked(req uint64, n orderName) bool {
	for o := range r.orders[req] {
		if o.order == n.order || (o.order == "" || n.order == "") &&
			(o.record == n.record || o.record == "" || n.record == "") {
			return true
		}
	}
	return false
}

// find notes to which requests and orders the jobs belong.
func (r *siblingReader) find(tx *bolt.Tx, jobs []uint64) {
	for _, job := range jobs {
		state, err := decodeState(tx.Bucket(bucketNames[bucketState]).Get(key64(job)))
		if err != nil || state.Req == 0 {
			continue
		}

		decoded, err := decodePayload(tx.Bucket(bucketNames[bucketJobs]).Get(key64(job)))
		if err != nil {
			continue
		}

		if r.orders[state.Req] == nil {
			r.requests = append(r.requests, state.Req)
			r.orders[state.Req] = map[orderName]bool{}
		}
		r.orders[state.Req][nameOf(&decoded)] = true
	}
}

// read reads a page of the jobs of a request. It returns the key to continue at; nil at the end.
func (r *siblingReader) read(tx *bolt.Tx, req uint64, next []byte) []byte {
	cursor := tx.Bucket(bucketNames[bucketReqJobs]).Cursor()
	n := 0

	for key, _ := cursor.Seek(next); len(key) == 16 && un64(key[:8]) == req; key, _ = cursor.Next() {
		job := un64(key[8:])
		if n++; n > pageSize {
			return key128(req, job)
		}

		r.count++
		r.add(tx, req, job)
	}
	return nil
}

// add reads one job. One whose ticket is damaged belongs to any order: nobody can say that it does not.
func (r *siblingReader) add(tx *bolt.Tx, req, job uint64) {
	raw := tx.Bucket(bucketNames[bucketState]).Get(key64(job))
	j, ok := readJob(tx, job, raw, r.lent, Filter{})
	if !ok {
		return
	}

	sibling := siblingRecord{Sibling: Sibling{Job: j, Routed: j.Station, At: j.Station}}
	sibling.state, _ = decodeState(raw) // readJob has decoded it

	decoded, err := decodePayload(tx.Bucket(bucketNames[bucketJobs]).Get(key64(job)))
	if err == nil && !r.asked(req, nameOf(&decoded)) {
		return
	}
	if err != nil {
		decoded = ticket.Ticket{Venue: j.Venue, Request: j.Request}
	}

	sibling.Ticket = decoded
	if sibling.state.ReplacedBy > job {
		r.find(tx, []uint64{sibling.state.ReplacedBy})
	}

	if sibling.state.ReplacedBy > job || r.replaced[sibling.MadeFrom] {
		r.replaced[job] = true
		return
	}

	sibling.At = cmp.Or(sibling.state.PrintedBy, sibling.At)
	r.found = append(r.found, sibling)
}

// present returns the jobs that bring the tickets of one request now.
func (r *siblingReader) present() (out []Sibling) {
	first := map[uint64]int{} // job → index in out of its representative
	for i := range r.found {
		one := &r.found[i]
		at, copied := first[one.MadeFrom]

		switch {
		case copied && out[at].State == ticket.Shown && one.Station != out[at].Station:
			// Paper beside a card.
		case !copied, out[at].State == ticket.Shown: // the copy of a card is another card
			at = len(out)
			out = append(out, one.Sibling)
		case !slices.Contains(ticket.Proofs(), out[at].State) ||
			one.State != ticket.Cancelled && one.State != ticket.Expired:
			one.Routed = out[at].Routed
			out[at] = one.Sibling
		}

		first[one.ID] = at
	}
	return out
}
