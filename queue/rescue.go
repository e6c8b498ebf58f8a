package queue

import (
	"context"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// A screen is dark when no page of it is open, so no cook sees its tickets. They ended as shown, so
// what the kitchen is owed is a copy of each at the screen's backup station: an ordinary job in the
// backup's queue. Besides it there is only a mark, stored under the screen's name, from the card's
// job to the copy. The mark stays until the board itself says that the card is on paper.
//
// The caller does not say what to change but what should be. So asking again changes nothing.

// Rescue makes the jobs at station to match what the board of screen from needs. A card needs a copy
// if its Ticket is not nil. Each card that needs one and has none gets one, at the end of the queue,
// in the order given. The copy of a card that needs none any more is cancelled, if it has not begun
// to come out, even if it is lent.
// A card whose own job still waits is left to that job. A card that is not in board is left alone.
//
// All of it is one transaction. A crash before its commit changed nothing; after it, all is done.
// After an error, ErrStorageFailed included, call it again.
func (q *Queue) Rescue(ctx context.Context, from, to string, board []ticket.RescueCard) (ticket.Rescue, error) {
	r := rescue{from: from, to: to}
	if err := q.do(ctx, opOnce, copyOp*len(board), func(b *batch) error { return r.apply(b, board) }); err != nil {
		return ticket.Rescue{}, fmt.Errorf("rescue what is on the screen %s: %w", from, err)
	}
	return r.done, nil
}

// A rescue is one call of Rescue.
type rescue struct {
	from, to string
	*batch
	marks *bolt.Bucket // job of a card → job and station of its copy
	done  ticket.Rescue
}

// apply compares each card with its mark and the job of its copy, and changes what does not match.
func (r *rescue) apply(b *batch, board []ticket.RescueCard) (err error) {
	r.batch, r.done.Copies = b, map[uint64]ticket.RescueJob{}
	if r.marks, err = b.bucket(bucketKV).CreateBucketIfNotExists([]byte("rescued " + r.from)); err != nil {
		b.fail(err)
		return err
	}
	named := make(map[uint64]bool, len(board)) // the cards of board, by job
	for _, c := range board {
		named[c.Job] = true
		copied, s, ok := r.findCopy(c.Job)
		switch {
		case !ok && c.Ticket != nil:
			copied, ok = r.sendCopy(c)
		case ok && c.Ticket == nil && s.State == ticket.Pending && s.Doubts == 0:
			// It may be lent to a station that is getting ready: its Begin will find it cancelled.
			b.finish(copied.Job, s, ticket.Cancelled, "a page of the screen "+r.from+" is open again")
			b.del(r.marks, key64(c.Job))
			r.done.TakenBack++
			ok = false
		case ok && c.Ticket == nil && !copied.Open && !copied.Out:
			// It ended unprinted: it expired, for example. If the screen goes dark again, that is a new case.
			b.del(r.marks, key64(c.Job))
			ok = false
		}
		if ok {
			r.done.Copies[c.Job] = copied
		}
	}
	// A mark whose card is not in board is no longer needed once its copy has ended: the card says
	// itself that it is on paper, or it cannot be recalled any more.
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

// findCopy returns the copy of a card and its state; ok is false if there is none. Out errs on the
// side of yes: a card that is marked as printed and was not is still on the board for the cook, but
// a second copy would be cooked.
func (r *rescue) findCopy(card uint64) (ticket.RescueJob, jobState, bool) {
	raw := r.marks.Get(key64(card))
	if raw == nil {
		return ticket.RescueJob{}, jobState{}, false
	}
	job, station, _ := decodeWaiting(raw) // one that is damaged is that of no job, which counts as out
	c := ticket.RescueJob{Job: job, Station: station}
	s, err := r.state(job)
	if err != nil { // the job was pruned, or it is damaged and will be failed
		c.Out = true
		return c, s, true
	}
	c.Open = s.State.Open()
	c.WillPrint = s.State == ticket.Pending && station == r.to && r.lends(station)
	// Another job replaced it, or it came out, or it ended with a copy that may have come out.
	c.Out = s.checkReplaced() != nil || slices.Contains(ticket.Proofs(), s.State) ||
		s.State != ticket.Pending && s.Doubts > 0
	return c, s, true
}

// lends says whether a station is configured and no person holds it.
func (b *batch) lends(station string) bool {
	b.q.mu.Lock()
	defer b.q.mu.Unlock()
	l := b.q.lane(station)
	return l.configured && l.stationHold == nil
}

// sendCopy enqueues a copy of a card at the backup. False: the card's own job will still come out.
func (r *rescue) sendCopy(c ticket.RescueCard) (ticket.RescueJob, bool) {
	n := jobState{
		Station: r.to, RescuedFrom: r.from, MadeFrom: c.Job, Reprint: c.Reprint, Slip: c.Ticket.Kind == ticket.Slip,
		Enqueued: int64(r.now), Received: c.Ticket.Received.UnixMilli(),
		Why: "it was on the screen " + r.from + ", and no page of it is open",
	}
	if s, err := r.state(c.Job); err == nil { // else it was pruned, and the board has the ticket
		if s.State == ticket.Pending { // it was shown, and a crash came before its Ack: it is shown again
			return ticket.RescueJob{}, false
		}
		n.Req = s.Req
	}
	job := r.enqueue(n, r.encodeTicket(*c.Ticket), false)
	r.books(r.to).Reprinted++
	r.put(r.marks, key64(c.Job), encodeWaiting(job, r.to))
	r.done.Sent++
	return ticket.RescueJob{Job: job, Station: r.to, Open: true, WillPrint: r.lends(r.to)}, true
}
