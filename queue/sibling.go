package queue

import (
	"cmp"
	"context"
	"errors"
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
	// RequestHasMore says that its request has more jobs, which were not read.
	RequestHasMore bool
}

// maxSiblings limits how many jobs of a request are read. An order has dozens of them; a hostile request can
// have ten thousand.
const maxSiblings = 1000

// Siblings returns the jobs that came with the same requests and for the same orders as the given ones, which are
// included. The jobs of one request are together, by their ids, but a copy has the place of its original. Of each
// ticket it returns the job that is to bring it now:
//   - a ticket that a person moved, or reprinted because it was held or had failed, is represented by the new job;
//   - a ticket that came out and was printed again is represented by the latest copy that was neither cancelled nor
//     expired;
//   - a shown ticket stays beside its copies: a copy at its own station is another card, and one at another station is
//     left out, because the board knows the state of the card.
//
// The ticket that a changed ticket has replaced is left out, with its copies; the changed ticket is included. A job
// that is not known, or has no request, is left out too. It reads in pages, like [Queue.Jobs], and at most a thousand
// jobs of a request.
func (q *Queue) Siblings(ctx context.Context, jobs []uint64) ([]Sibling, error) {
	reader := siblingReader{lent: q.leases(), orders: map[uint64]map[orderName]bool{}, replaced: map[uint64]bool{}}
	for page := range slices.Chunk(jobs, pageSize) {
		if err := q.viewPage(ctx, func(tx *bolt.Tx) { reader.find(tx, page) }); err != nil {
			return nil, wrap(err, "read the jobs of a request")
		}
	}

	var out []Sibling
	for i := 0; i < len(reader.requests); i++ { // the replacement of a ticket came with another request
		req := reader.requests[i]
		reader.found = nil

		read, cut := 0, false
		err := q.eachRecord(ctx, bucketReqJobs, key64(req), func(tx *bolt.Tx, key, _ []byte) bool {
			if len(key) != 16 || un64(key[:8]) != req {
				return false
			}
			if cut = read == maxSiblings; cut {
				return false
			}

			read++
			reader.add(tx, req, un64(key[8:]))
			return true
		})
		if err != nil {
			return nil, wrap(err, "read the jobs of a request")
		}

		all := reader.current()
		if cut && len(all) > 0 {
			all[len(all)-1].RequestHasMore = true
		}

		out = append(out, all...)
	}
	return out, nil
}

// TicketsAfter calls visit with the ticket of every job after the given one, in the order of their ids, and
// returns the last id. A damaged ticket is left out. It reads in pages, like [Queue.Jobs].
func (q *Queue) TicketsAfter(ctx context.Context, job uint64, visit func(uint64, *ticket.Ticket)) (uint64, error) {
	err := q.eachRecord(ctx, bucketJobs, key64(job+1), func(_ *bolt.Tx, key, value []byte) bool {
		job = un64(key)
		if decoded, err := decodePayload(value); err == nil {
			visit(job, &decoded)
		}
		return true
	})
	return job, wrap(err, "read tickets")
}

// A siblingReader is the state of one call of Siblings.
type siblingReader struct {
	lent     map[uint64]entry
	requests []uint64                      // sequences of the requests, in the order of the jobs
	orders   map[uint64]map[orderName]bool // of each request: the orders that are asked for

	found    []Sibling       // of the same request, by job
	replaced map[uint64]bool // jobs whose tickets a changed one has replaced
}

// An orderName says to which order of a request a ticket belongs.
type orderName struct{ order, record string }

func nameOf(t *ticket.Ticket) orderName { return orderName{t.OrderInRequest(), t.Record} }

// asked says whether a ticket belongs to an order that is asked for. One without number and table belongs to
// any, unless both have ids of their own: a service may send them with the first record only, and a record that
// cannot be read has none.
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
		state, err1 := stateIn(tx, job)
		decoded, err2 := ticketIn(tx, job)
		if errors.Join(err1, err2) != nil || state.Req == 0 {
			continue
		}

		if r.orders[state.Req] == nil {
			r.requests = append(r.requests, state.Req)
			r.orders[state.Req] = map[orderName]bool{}
		}
		r.orders[state.Req][nameOf(&decoded)] = true
	}
}

// add reads one job. One whose ticket is damaged may belong to any order.
func (r *siblingReader) add(tx *bolt.Tx, req, job uint64) {
	raw := tx.Bucket(bucketNames[bucketState]).Get(key64(job))
	j, ok := readJob(tx, job, raw, r.lent, Filter{})
	decoded, err := ticketIn(tx, job)
	if !ok || err == nil && !r.asked(req, nameOf(&decoded)) {
		return
	}

	if j.ReplacedBy > job {
		r.find(tx, []uint64{j.ReplacedBy})
	}
	if j.ReplacedBy > job || r.replaced[j.MadeFrom] {
		r.replaced[job] = true
		return
	}

	at := cmp.Or(j.PrintedBy, j.Station)
	r.found = append(r.found, Sibling{Job: j, Routed: j.Station, At: at, Ticket: decoded})
}

// current returns the jobs that bring the tickets of one request now.
func (r *siblingReader) current() (out []Sibling) {
	first := map[uint64]int{} // job → index in out of its representative
	for i := range r.found {
		one := &r.found[i]
		at, copied := first[one.MadeFrom]

		switch {
		case copied && out[at].State == ticket.Shown && one.Station != out[at].Station:
			// The paper of a card: the card stays.
		case !copied, out[at].State == ticket.Shown:
			// An original, or the copy of a card: that is another card.
			at = len(out)
			out = append(out, *one)
		case !slices.Contains(ticket.Proofs(), out[at].State) ||
			one.State != ticket.Cancelled && one.State != ticket.Expired:
			// A newer copy takes the place of the one before, unless that came out and this one was given up.
			one.Routed = out[at].Routed
			out[at] = *one
		}

		first[one.ID] = at
	}
	return out
}
