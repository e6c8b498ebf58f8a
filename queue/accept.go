package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"ticketrail/queue/kv"
	"ticketrail/queue/ticket"
)

// What can be prepared is prepared in the caller's goroutine, hundreds at once; only apply runs in
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
// Equal content is recognized by r.Digest. Of other content under a known key, what is void and was not
// void before is enqueued as corrections, and what is wanted and has not printed as tickets marked Added.
func (q *Queue) Accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error) {
	a, err := q.newAcceptOp(&r)
	if err == nil {
		err = q.do(ctx, opAccept, a.size, a.apply)
	}
	if err != nil {
		return ticket.Receipt{}, fmt.Errorf("accept request %.64s: %w", r.ID, err)
	}
	return a.receipt, nil
}

// An acceptOp is a request with everything prepared that needs no transaction: the committer is one
// goroutine, and encoding in it would keep all other requests waiting.
type acceptOp struct {
	q        *Queue
	r        *ticket.Request
	key      requestKey
	digest   [16]byte
	voids    []uint64
	paper    []byte // the stored Paper of the drafts
	body     []byte
	payloads [][]byte // the stored ticket of each draft
	size     int
	receipt  ticket.Receipt
}

// newAcceptOp encodes a request, or says why it cannot be stored. Its errors are mistakes of the
// planner or of the configuration, not of the disk: a retry would fail alike.
func (q *Queue) newAcceptOp(r *ticket.Request) (*acceptOp, error) {
	if len(r.Drafts) == 0 {
		return nil, errors.New("it contains no tickets")
	}
	a := &acceptOp{q: q, r: r, key: keyOf(r.Venue, r.ID), digest: digest16(r.Digest)}
	a.body = encodeBody(r)
	var err error
	if a.payloads, err = encodePayloads(r.Drafts); err != nil {
		return nil, err
	}
	paper := ticket.PaperOf(r.Drafts)
	a.paper, a.voids = encodePaper(paper), paper.Voids(r.Drafts)
	a.size = len(a.body) + len(a.paper)
	for _, c := range a.payloads {
		a.size += len(c) + smallOp
	}
	return a, nil
}

// encodePayloads encodes the ticket of each draft. The names of stations become keys, so they are
// checked here.
func encodePayloads(drafts []ticket.Draft) ([][]byte, error) {
	payloads := make([][]byte, len(drafts))
	for i := range drafts {
		if err := checkName("station", drafts[i].Station); err != nil {
			return nil, err
		}
		j, err := ticket.Marshal(drafts[i].Ticket)
		if err != nil {
			return nil, err
		}
		payloads[i] = seal(j)
	}
	return payloads, nil
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
	if raw != nil {
		return a.acceptKnown(b, gen, raw)
	}
	if err := a.checkRoom(b, len(a.r.Drafts)); err != nil {
		return err
	}
	gen = generationOf(b.now)
	b.putDedup(a.key, gen, dedupRecord{digests: [][16]byte{a.digest}, voids: a.voids})
	b.putPaper(a.key, gen, a.paper)
	a.enqueue(b, a.r.Drafts, a.payloads)
	a.receipt = ticket.Receipt{Jobs: len(a.r.Drafts)}
	return nil
}

// acceptKnown answers a request whose key is known, stored under generation gen. A crash before
// its commit changes nothing and the retry is answered alike; after it, the retry is a plain
// duplicate.
func (a *acceptOp) acceptKnown(b *batch, gen uint64, raw []byte) error {
	s, err := decodeDedup(raw)
	if err != nil {
		return a.acceptUnreadable(b, gen, raw, err)
	}
	// The usual case. It writes nothing, so a service that repeats everything after an outage costs
	// no commit.
	if s.knows(a.digest) && !a.r.Late {
		a.receipt = ticket.Receipt{Duplicate: true}
		return nil
	}
	known := b.paper(a.key, gen)
	drafts := known.NewlyVoid(s.voids, a.r.Drafts)
	a.receipt = ticket.Receipt{Duplicate: true, Conflict: true}
	now := known.Cancelled(a.r.Drafts)
	if !a.r.ReportConflict {
		var added []ticket.Draft
		added, now = ticket.Added(known, a.r.Drafts)
		drafts = append(drafts, added...)
		a.receipt.Added = len(added)
	}
	if len(drafts) == 0 && s.knows(a.digest) {
		a.receipt = ticket.Receipt{Duplicate: true}
		return nil
	}
	if err := a.enqueueMade(b, drafts); err != nil {
		return err
	}
	s.add(a.digest, now.Voids(a.r.Drafts))
	b.putDedup(a.key, gen, s)
	b.putPaper(a.key, gen, encodePaper(now))
	a.receipt.Jobs = len(drafts)
	return nil
}

// enqueueMade enqueues drafts that were made of those of the request.
func (a *acceptOp) enqueueMade(b *batch, drafts []ticket.Draft) error {
	if err := a.checkRoom(b, len(drafts)); err != nil || len(drafts) == 0 {
		return err
	}
	var payloads [][]byte
	for i := range drafts {
		payloads = append(payloads, b.encodeTicket(drafts[i].Ticket))
	}
	a.enqueue(b, drafts, payloads)
	return nil
}

// acceptUnreadable answers a request whose key is known but whose record is damaged, so that nobody can say
// which content came under it. What has printed is stored apart, so what has not is added; if that is not
// known either, nothing is, because a retry is more likely than other content, unless a person asks for it. It
// enqueues every void, because one correction too many is read and thrown away, and one too few is cooked. The
// content of this request becomes the known one.
func (a *acceptOp) acceptUnreadable(b *batch, gen uint64, raw []byte, cause error) error {
	drafts, paper, voids := ticket.Paper{}.NewlyVoid(nil, a.r.Drafts), a.paper, a.voids
	a.receipt = ticket.Receipt{Duplicate: true}
	if known := b.paper(a.key, gen); !known.Partial || a.r.Late {
		for i := range known.Lines { // what may be a retry of an old content takes no void back
			known.Lines[i].Voided = 0
		}
		added, now := ticket.Added(known, a.r.Drafts)
		a.receipt.Conflict = len(added) > 0
		if a.r.ReportConflict {
			added, now = nil, known.Cancelled(a.r.Drafts)
		}
		drafts, paper, voids = append(drafts, added...), encodePaper(now), now.Voids(a.r.Drafts)
		a.receipt.Added = len(added)
	}
	a.receipt.Jobs = len(drafts)
	if len(drafts) == 0 && b.refusal != nil { // a duplicate is answered also when the disk is full
		return nil // repairing the record needs space: later
	}
	if err := a.enqueueMade(b, drafts); err != nil {
		return err
	}
	b.quarantine(bucketDedup, a.key[:], raw, cause)
	b.putDedup(a.key, gen, dedupRecord{digests: [][16]byte{a.digest}, voids: voids})
	b.putPaper(a.key, gen, paper)
	return nil
}

// checkRoom refuses a request for which there is no disk space or no backlog left. It counts the
// jobs of the requests before it in the same transaction. A plain duplicate never gets here: it is
// answered 200 however full the queue is.
func (a *acceptOp) checkRoom(b *batch, jobs int) error {
	if b.refusal != nil {
		return b.refusal
	}
	if open := a.q.open + b.open; open+jobs > a.q.o.MaxBacklog {
		return fmt.Errorf("%w: %d are open, at most %d are allowed, and this request has %d more",
			ErrBacklogFull, open, a.q.o.MaxBacklog, jobs)
	}
	return nil
}

// enqueue stores the body once and each ticket as a job at the end of its lane.
func (a *acceptOp) enqueue(b *batch, drafts []ticket.Draft, payloads [][]byte) {
	req := b.sequence(bucketRequests)
	// As received, so that a person can see what the service sent when a ticket is disputed.
	b.put(b.bucket(bucketRequests), key64(req), a.body)
	received := a.r.Received
	if received.IsZero() {
		received = b.wall // a request that the caller did not stamp
	}
	for i := range drafts {
		s := jobState{
			Station: drafts[i].Station, Req: req,
			Enqueued: int64(b.now - ageOf(a.r)), Received: received.UnixMilli(),
		}
		b.enqueue(s, payloads[i], false)
		b.books(s.Station).Enqueued++
	}
}

// ageOf is the age of a request that waited at a relay. In a fresh file its jobs are then older than the running
// time, so that their Enqueued is negative. A server whose clock is wrong can claim any age: more than maxTimeOff
// does not count, as of time off.
func ageOf(r *ticket.Request) time.Duration { return min(max(r.Age, 0), maxTimeOff) }
