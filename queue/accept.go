package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"ticketrail/queue/ticket"
)

// maxName bounds the names that become keys in the file.
const maxName = 1024

// Accept puts a request on the queue. It returns nil only when all of r would survive a
// power cut, or did already: then Receipt.Duplicate is set. After any error the outcome is
// unknown, and sending the same request again is safe. The errors wrap ErrBacklogFull,
// ErrStorageFull, ErrStorageFailed, ErrBusy, ErrClosed or ctx.Err().
//
// The content of r decides by its Digest. Under a known key new content orders nothing;
// what is void in it and was not before is put as corrections.
func (q *Queue) Accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return ticket.Receipt{}, fmt.Errorf("accept request %.64s: %w", r.ID, err)
	}
	a, err := q.newAcceptOp(&r)
	if err == nil {
		err = q.do(ctx, accept, a.size, a.apply)
	}
	if err != nil {
		return ticket.Receipt{}, fmt.Errorf("accept request %.64s: %w", r.ID, err)
	}
	return a.receipt, nil
}

// An arrival is a request with everything prepared that needs no transaction.
type acceptOp struct {
	q        *Queue
	r        *ticket.Request
	key      requestKey
	digest   [16]byte
	voids    []uint64
	body     []byte
	payloads [][]byte // of each draft
	size     int
	receipt  ticket.Receipt
}

func (q *Queue) newAcceptOp(r *ticket.Request) (*acceptOp, error) {
	if len(r.Drafts) == 0 {
		return nil, errors.New("it makes no tickets")
	}
	a := &acceptOp{q: q, r: r, key: keyOf(r.Venue, r.ID), digest: digest16(r.Digest), voids: ticket.Voids(r.Drafts)}
	var err error
	if a.body, err = encodeBody(r); err != nil {
		return nil, err
	}
	if a.payloads, err = encodePayloads(r.Drafts); err != nil {
		return nil, err
	}
	a.size = len(a.body)
	for _, c := range a.payloads {
		a.size += len(c) + 512
	}
	return a, nil
}

func encodePayloads(drafts []ticket.Draft) ([][]byte, error) {
	payload := make([][]byte, len(drafts))
	for i := range drafts {
		if err := checkName("station", drafts[i].Station); err != nil {
			return nil, err
		}
		j, err := ticket.Marshal(drafts[i].Ticket)
		if err != nil {
			return nil, err
		}
		payload[i] = seal(j)
	}
	return payload, nil
}

func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s: a name is missing", what)
	case !utf8.ValidString(name):
		return fmt.Errorf("%s %.32q: it is no UTF-8", what, name)
	case len(name) > maxName:
		return fmt.Errorf("%s %.32q…: %d bytes, at most %d are allowed", what, name, len(name), maxName)
	}
	return nil
}

// apply is the promise: the key and the jobs go into one transaction. A crash before its
// commit leaves neither, so the retry is new; a crash after it leaves both, so the retry
// is a duplicate.
func (a *acceptOp) apply(b *batch) error {
	a.receipt = ticket.Receipt{}
	today, raw := b.lookup(a.key)
	if raw != nil {
		return a.acceptKnown(b, today, raw)
	}
	if err := a.checkRoom(b, len(a.r.Drafts)); err != nil {
		return err
	}
	b.remember(a.key, generationOf(b.now), seen{digests: [][16]byte{a.digest}, voids: a.voids})
	a.enqueue(b, a.r.Drafts, a.payloads)
	a.receipt = ticket.Receipt{Jobs: len(a.r.Drafts)}
	return nil
}

// again answers a request whose key is known.
func (a *acceptOp) acceptKnown(b *batch, filed uint64, raw []byte) error {
	s, err := decodeSeen(raw)
	if err != nil {
		return a.acceptUnreadable(b, filed, raw, err)
	}
	if s.knows(a.digest) {
		a.receipt = ticket.Receipt{Duplicate: true}
		return nil
	}
	drafts := ticket.NewlyVoid(s.voids, a.r.Drafts)
	if err := a.checkRoom(b, len(drafts)); err != nil {
		return err
	}
	payload, err := encodePayloads(drafts)
	if err != nil {
		return err
	}
	s.add(a.digest, a.voids)
	b.remember(a.key, filed, s)
	if len(drafts) > 0 {
		a.enqueue(b, drafts, payload)
	}
	a.receipt = ticket.Receipt{Duplicate: true, Conflict: true, Jobs: len(drafts)}
	return nil
}

// unreadable: the key is there, what came under it is lost. No order of it is put, for
// printing twice is what must not happen; a void is, for a correction too many is read and put
// away, and one too few is cooked. From now on this content is the known one.
func (a *acceptOp) acceptUnreadable(b *batch, filed uint64, raw []byte, cause error) error {
	drafts := ticket.NewlyVoid(nil, a.r.Drafts)
	if len(drafts) == 0 && b.full {
		a.receipt = ticket.Receipt{Duplicate: true} // the record stays as it is until there is room
		return nil
	}
	if err := a.checkRoom(b, len(drafts)); err != nil {
		return err
	}
	payload, err := encodePayloads(drafts)
	if err != nil {
		return err
	}
	if len(drafts) > 0 {
		a.enqueue(b, drafts, payload)
	}
	a.receipt = ticket.Receipt{Duplicate: true, Jobs: len(drafts)}
	b.quarantine(bucketDedup, a.key[:], raw, cause)
	b.remember(a.key, filed, seen{digests: [][16]byte{a.digest}, voids: a.voids})
	return nil
}

// room says whether so many jobs more may be taken.
func (a *acceptOp) checkRoom(b *batch, jobs int) error {
	if b.full {
		return ErrStorageFull
	}
	if open := a.q.open + b.open; open+jobs > a.q.o.MaxBacklog {
		return fmt.Errorf("%w: %d of at most %d, and it makes %d more", ErrBacklogFull, open, a.q.o.MaxBacklog, jobs)
	}
	return nil
}

func (a *acceptOp) enqueue(b *batch, drafts []ticket.Draft, payload [][]byte) {
	req := b.sequence(bucketRequests)
	b.put(b.bucket(bucketRequests), key64(req), a.body)
	received := a.r.Received
	if received.IsZero() {
		received = b.wall
	}
	for i := range drafts {
		s := jobState{Station: drafts[i].Station, Req: req, Enqueued: int64(max(b.now, 0)), Received: received.UnixMilli()}
		b.enqueue(s, payload[i], false)
		b.books(s.Station).Enqueued++
	}
}

// since is how long ago, in running time, something was stamped; never negative, for after
// a crash a little running time may be missing.
func since(now time.Duration, stamp int64) time.Duration {
	return max(0, now-time.Duration(stamp))
}
