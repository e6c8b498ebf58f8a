package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"ticketrail/queue/kv"
	"ticketrail/queue/ticket"
)

// A request is prepared in the caller's goroutine, hundreds at once; only apply runs in
// the committer. An apply may run in a transaction that is then rolled back, so its receipt counts
// only with the answer.

// maxName bounds, in bytes, the names that become keys in the file. bbolt allows 32 KiB.
const maxName = kv.MaxKey

// Accept stores a request and enqueues its tickets. When it returns nil all of r survives a power
// cut: only then may the caller answer 200. Receipt.Duplicate says that the key was known.
//
// After an error the outcome is unknown, and sending the same request again is safe: the key
// decides. The error wraps ErrBacklogFull, ErrStorageFull, ErrStorageFailed, ErrBusy, ErrClosed or
// ctx.Err(). Accept returns when ctx ends, whatever the disk does.
//
// Equal content is recognized by the words of its tickets, or by its body. Of other content under a known key, each
// station whose share differs gets all of it again, as a ticket that replaces the one before.
func (q *Queue) Accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error) {
	accepting, err := newAcceptOp(&r)
	if err == nil {
		err = q.do(ctx, opAccept, accepting.size, accepting.apply)
	}
	if err != nil {
		return ticket.Receipt{}, fmt.Errorf("accept request %.64s: %w", r.ID, err)
	}
	return accepting.receipt, nil
}

// An acceptOp is a request with everything prepared that needs no transaction: the committer is one
// goroutine, and encoding in it would keep all other requests waiting.
type acceptOp struct {
	r        *ticket.Request
	key      requestKey
	content  content
	shares   []ticket.Share
	body     []byte
	payloads [][]byte      // the stored ticket of each draft
	stations []string      // of each draft
	age      time.Duration // see ageOf
	size     int
	again    *loggedRequest // the copy's log has it, and the file has lost it; nil: it is new
	jobs     []newJob       // that came of it
	receipt  ticket.Receipt
}

// newAcceptOp encodes a request, or says why it cannot be stored. Its errors are mistakes of the
// planner or of the configuration, not of the disk: a retry would fail alike.
func newAcceptOp(r *ticket.Request) (*acceptOp, error) {
	if len(r.Drafts) == 0 {
		return nil, errors.New("it contains no tickets")
	}

	accepting := &acceptOp{r: r, key: keyOf(r.Venue, r.ID), body: encodeBody(r), age: ageOf(r)}
	accepting.size = len(accepting.body)
	for i := range r.Drafts {
		draft := &r.Drafts[i]
		encoded, err := ticket.Marshal(draft.Ticket)
		if err = cmp.Or(checkName("station", draft.Station), err); err != nil { // it becomes a key
			return nil, err
		}

		payload := seal(encoded)
		accepting.stations = append(accepting.stations, draft.Station)
		accepting.payloads = append(accepting.payloads, payload)
		accepting.size += len(payload) + smallOp
	}

	accepting.shares, accepting.content.said = ticket.Shares(r.Drafts)
	accepting.content.body = cmp.Or(r.Content, ticket.DigestOf(r.Body))
	return accepting, nil
}

// checkName returns an error if name cannot be a key of the file. bbolt refuses an empty key, and a
// name that is not UTF-8 would come back changed from the JSON of a job.
func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s: a name is missing", what)
	case !utf8.ValidString(name):
		return fmt.Errorf("%s %.32q: not valid UTF-8", what, name)
	case len(name) > maxName:
		return fmt.Errorf("%s %.32q…: %d bytes, at most %d are allowed", what, name, len(name), maxName)
	}
	return nil
}

// apply keeps the promise of the 200: the key, the body and the jobs are one transaction. A crash
// before its commit leaves none of them, so the retry is new. A crash after it leaves all, so the
// retry is a duplicate and the tickets print.
func (a *acceptOp) apply(b *batch) error {
	gen, raw := b.findDedup(a.key)
	if raw == nil {
		return a.storeTickets(b, generationOf(b.now), dedupRecord{})
	}

	known, err := decodeDedup(raw)
	if err != nil {
		return b.q.foundDamage("the record of a request", err)
	}

	// The usual case. It writes nothing, so a service that repeats everything after an outage costs
	// no commit.
	a.receipt = ticket.Receipt{Duplicate: true}
	if knows(known.accepted, a.content) || !a.r.PrintEvenIfReported && knows(known.reported, a.content) {
		return nil
	}

	if !a.r.OnlyReportConflict {
		return a.storeTickets(b, gen, known)
	}

	a.receipt.Conflict = true
	if b.refusal == nil { // else it is reported once more, if it comes again
		known.reported = remember(known.reported, a.content)
		b.putDedup(a.key, gen, known)
	}

	return nil
}

// storeTickets enqueues the tickets that are not known yet, of a new request all of them, and stores the key's new
// record.
func (a *acceptOp) storeTickets(b *batch, gen uint64, known dedupRecord) error {
	made := a.changes(b, &known)

	if a.receipt.Duplicate && len(made) == 0 && b.refusal != nil {
		return nil // to remember its content needs space: later
	}
	if err := a.checkRoom(b, len(made)); err != nil {
		return err
	}

	a.enqueue(b, made, known.shares)
	known.accepted = remember(known.accepted, a.content)
	known.dropGone()
	b.putDedup(a.key, gen, known)
	a.receipt.Conflict, a.receipt.Jobs = a.receipt.Duplicate && len(made) > 0, len(made)
	return nil
}

// A newTicket is a ticket as it will be stored.
type newTicket struct {
	station  string
	payload  []byte
	replaces []uint64 // jobs

	shareIndex int // of the dedupRecord
}

// changes returns the tickets of the shares that are not as known, and updates known. Changed shares have no jobs then:
// enqueue fills them in.
func (a *acceptOp) changes(b *batch, known *dedupRecord) []newTicket {
	replaced := known.match(a.shares)
	gone := known.wantedExcept(replaced)
	received := a.received(b).UnixMilli()

	drafts := make([]newTicket, len(a.r.Drafts)) // by draft, to keep their order; one that did not change stays empty

	for i, s := range a.shares {
		index := replaced[i]
		isNew := index < 0
		if isNew {
			index = len(known.shares)
			known.shares = append(known.shares, share{order: s.Order})
		}

		was := known.shares[index]
		if !isNew && was.said == s.Said {
			continue
		}

		known.shares[index] = share{station: s.Station, order: s.Order, said: s.Said, received: received}
		for n, d := range s.Drafts {
			m := newTicket{station: s.Station, payload: a.payloads[d], shareIndex: index}
			if !isNew {
				changed := a.r.Drafts[d].Ticket
				changed.Changed = was.change(n+1, len(s.Drafts))
				m.payload, m.replaces = b.encodeTicket(changed), was.jobsOf(n, len(s.Drafts))
			}
			drafts[d] = m
		}
	}
	made := slices.DeleteFunc(drafts, func(m newTicket) bool { return m.station == "" })

	for _, index := range gone {
		was := known.shares[index]
		known.shares[index] = share{station: was.station, order: was.order, received: received}
		made = append(made, newTicket{station: was.station, shareIndex: index, replaces: was.jobs,
			payload: b.encodeTicket(a.nothingListedTicket(b, &was))})
	}

	return made
}

// nothingListedTicket is the ticket that tells a station that nothing is listed for it any more.
func (a *acceptOp) nothingListedTicket(b *batch, was *share) ticket.Ticket {
	like := &a.r.Drafts[0].Ticket
	nothing := ticket.Ticket{
		Venue: like.Venue, VenueName: like.VenueName, Zone: like.Zone, Device: like.Device, Request: like.Request,
		Received: like.Received, Notes: []string{ticket.NothingListed}, Changed: was.change(1, 1),
	}
	// If the job is too old to be known, only Changed says which order it was.
	if len(was.jobs) > 0 {
		old, _ := ticketIn(b.tx, was.jobs[0])
		nothing.Record, nothing.Number, nothing.Table, nothing.Type = old.Record, old.Number, old.Table, old.Type
		nothing.Server, nothing.Guests = old.Server, old.Guests
	}

	return nothing
}

// checkRoom refuses a request for which there is no disk space or no backlog left. It counts the
// jobs of the requests before it in the same transaction. A plain duplicate never gets here: it is
// answered 200 however full the queue is.
func (a *acceptOp) checkRoom(b *batch, jobs int) error {
	switch open := b.q.open + b.open; {
	case a.again != nil:
		return nil
	case b.refusal != nil:
		return b.refusal
	case open+jobs > b.q.o.MaxBacklog:
		return fmt.Errorf("%w: %d are open, at most %d are allowed, and this request has %d more",
			ErrBacklogFull, open, b.q.o.MaxBacklog, jobs)
	}
	return nil
}

// enqueue stores the body once and each ticket as a job at the end of its lane. Each replaced job
// stores which job replaces it, and each share its new jobs.
func (a *acceptOp) enqueue(b *batch, made []newTicket, shares []share) {
	if len(made) == 0 {
		return
	}

	req := b.sequence(bucketRequests)
	// As received, so that a person can see the service's bytes when a ticket is disputed.
	b.put(b.bucket(bucketRequests), key64(req), a.body)

	a.reuseNumbers(b, made)
	a.jobs = nil

	for _, m := range made {
		state := jobState{
			Station: m.station, Req: req,
			Enqueued: int64(b.now - a.age), Received: a.received(b).UnixMilli(),
		}

		if a.again != nil {
			state.Doubts = 1
		}

		job := b.enqueue(state, m.payload, false)
		b.books(state.Station).Enqueued++
		a.jobs = append(a.jobs, newJob{job, m.station})

		shares[m.shareIndex].jobs = append(shares[m.shareIndex].jobs, job)
		for _, old := range m.replaces {
			if state, err := b.state(old); err == nil { // one that is not known any more cannot be reprinted
				state.ReplacedBy = job
				b.setState(old, state)
			}
		}
	}
	b.newJobLines = append(b.newJobLines, copyLine{accepted: a, size: a.size})
}

// received is when the request came in.
func (a *acceptOp) received(b *batch) time.Time {
	if a.r.Received.IsZero() {
		return b.wall // the caller did not stamp it
	}
	return a.r.Received
}

// ageOf is the age of a request that waited at a relay. In a fresh file its jobs are then older than the running
// time, so that their Enqueued is negative. A server whose clock is wrong can claim any age: it is at most maxTimeOff.
func ageOf(r *ticket.Request) time.Duration { return min(max(r.Age, 0), maxTimeOff) }

// reuseNumbers gives the tickets of a request that is accepted again the numbers that they had: stations know them by
// these.
func (a *acceptOp) reuseNumbers(b *batch, made []newTicket) {
	same := func(j newJob, m newTicket) bool { return j.Station == m.station }
	if a.again != nil && slices.EqualFunc(a.again.Jobs, made, same) {
		for _, j := range a.again.Jobs {
			b.numbers = append(b.numbers, j.Job)
		}
	}
}
