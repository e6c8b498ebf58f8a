package queue

import (
	"context"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// A screen that nobody can look at has its tickets come out elsewhere. They have ended as shown, so
// what is owed now is a copy: an ordinary job in another station's queue. The only other state of it is a
// mark, on a shelf of the screen's, until the card says itself that it is on paper. Whoever asks
// says what should be, not what to change: asked again it changes nothing.

// Rescue makes the jobs at station to what the board of screen from needs: a copy of each card that
// wants one and has none, at the end of the queue, in the order given; and no copy of a card that
// wants none and whose copy has not begun to come out, even if it is lent. A card whose own job
// still waits is left to that; a card that is not named is left as it is.
//
// All of it is one transaction: a crash before its commit changed nothing, after it all is done. After
// an error, ErrStorageFailed above all, it is right to call it again.
func (q *Queue) Rescue(ctx context.Context, from, to string, board []ticket.Card) (ticket.Rescue, error) {
	r := rescue{from: from, to: to}
	if err := q.do(ctx, once, 4096*len(board), func(b *batch) error { return r.apply(b, board) }); err != nil {
		return ticket.Rescue{}, fmt.Errorf("rescue what is on the screen %s: %w", from, err)
	}
	return r.done, nil
}

// A rescue is one call of Rescue.
type rescue struct {
	from, to string
	*batch
	marks *bolt.Bucket // job of a card → place of its copy
	done  ticket.Rescue
}

func (r *rescue) apply(b *batch, board []ticket.Card) (err error) {
	r.batch, r.done.Copies = b, map[uint64]ticket.Copy{}
	if r.marks, err = b.bucket(bucketKV).CreateBucketIfNotExists([]byte("rescued " + r.from)); err != nil {
		b.fail(err)
		return err
	}
	named := make(map[uint64]bool, len(board))
	for _, c := range board {
		named[c.Job] = true
		copied, s, ok := r.findCopy(c.Job)
		switch {
		case !ok && c.Copy != nil:
			copied, ok = r.sendCopy(c)
		case ok && c.Copy == nil && s.State == ticket.Pending && s.Doubts == 0:
			// It may be lent, and the station at work on getting ready: its Begin finds the job cancelled.
			b.finish(copied.Job, s, ticket.Cancelled, "the screen "+r.from+" has it again")
			b.del(r.marks, key64(c.Job))
			r.done.TakenBack++
			ok = false
		case ok && c.Copy == nil && !copied.Open && !copied.Out: // expired, say: the next darkness is another
			b.del(r.marks, key64(c.Job))
			ok = false
		}
		if ok {
			r.done.Copies[c.Job] = copied
		}
	}
	// A card that is not named and whose copy has ended says itself that it is on paper, or nobody can
	// recall it any more.
	var over [][]byte
	_ = r.marks.ForEach(func(k, _ []byte) error {
		if copied, _, _ := r.findCopy(un64(k)); !named[un64(k)] && !copied.Open {
			over = append(over, slices.Clone(k))
		}
		return nil
	})
	for _, k := range over {
		b.del(r.marks, k)
	}
	return nil
}

// find is the copy of a card and where that stands.
func (r *rescue) findCopy(card uint64) (ticket.Copy, jobState, bool) {
	raw := r.marks.Get(key64(card))
	if raw == nil {
		return ticket.Copy{}, jobState{}, false
	}
	job, station, err := decodeWaiting(raw)
	if err != nil { // there was a copy, and nobody has taken it back
		return ticket.Copy{Station: r.to, Out: true}, jobState{}, true
	}
	c := ticket.Copy{Job: job, Station: station}
	s, err := r.state(job)
	if err != nil { // its history is over, or it is damaged and will be buried
		c.Out = true
		return c, s, true
	}
	c.Open = s.State.Open()
	c.First = s.State == ticket.Pending && station == r.to && r.lends(station)
	c.Out = s.replaced() != nil || slices.Contains(ticket.Proofs(), s.State) || s.State != ticket.Pending && s.Doubts > 0
	return c, s, true
}

// serves says that a station is configured and no person holds it.
func (b *batch) lends(station string) bool {
	b.q.mu.Lock()
	defer b.q.mu.Unlock()
	l := b.q.lane(station)
	return l.configured && l.hold == nil
}

// send puts a copy of a card in the backup's queue. False: the card's own job will come out.
func (r *rescue) sendCopy(c ticket.Card) (ticket.Copy, bool) {
	n := jobState{
		Station: r.to, From: r.from, Of: c.Job, Reprint: c.Reprint, Slip: c.Copy.Kind == ticket.Slip,
		Enqueued: int64(max(r.now, 0)), Received: c.Copy.Received.UnixMilli(), Why: "it was on the screen " + r.from + ", and none is open",
	}
	if s, err := r.state(c.Job); err == nil { // else its history is over; the board has the ticket
		if s.State == ticket.Pending { // shown, and a crash came before that was written down
			return ticket.Copy{}, false
		}
		n.Req = s.Req
	}
	job := r.enqueue(n, r.slipPayload(*c.Copy), false)
	r.books(r.to).Reprinted++
	r.put(r.marks, key64(c.Job), encodeWaiting(job, r.to))
	r.done.Sent++
	return ticket.Copy{Job: job, Station: r.to, Open: true, First: r.lends(r.to)}, true
}
