package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestATakeThatWaitsGetsTheTicketThatItsStationMayPrintNow(t *testing.T) {
	type wakes struct {
		before func(q *testQueue)
		do     func(q *testQueue, lent *Lease) error // lent is the ticket that grill was lent before; nil: none
	}
	each(t, map[string]wakes{
		"a new request": {
			do: func(q *testQueue, _ *Lease) error { return errOf(q.Accept(bg, order("a", "grill"))) },
		},
		"a moved ticket": {
			before: func(q *testQueue) { q.accept(order("a", "bar")) },
			do:     func(q *testQueue, _ *Lease) error { return errOf(q.Move(bg, []uint64{1}, "grill")) },
		},
		"one that was returned": {
			before: func(q *testQueue) { q.accept(order("a", "grill")) },
			do:     func(_ *testQueue, lent *Lease) error { return lent.Return(bg, "no paper") },
		},
		"the one behind one that is out": {
			before: func(q *testQueue) { q.accept(order("first", "grill")); q.accept(order("a", "grill")) },
			do:     func(_ *testQueue, lent *Lease) error { return lent.Ack(bg, ticket.Sent, "") },
		},
		"the one behind a held one": {
			before: func(q *testQueue) { q.accept(order("first", "grill")); q.accept(order("a", "grill")) },
			do:     func(_ *testQueue, lent *Lease) error { return lent.Hold(bg, "look") },
		},
		"one of a station that is resumed": {
			before: func(q *testQueue) {
				q.must(q.HoldStation(bg, "grill", "closed"))
				q.accept(order("a", "grill"))
			},
			do: func(q *testQueue, _ *Lease) error { return q.ResumeStation(bg, "grill") },
		},
	}, func(t *testing.T, q *testQueue, c wakes) {
		if c.before != nil {
			c.before(q)
		}
		lent, _, err := q.lend("grill")
		q.must(err)
		if lent != nil {
			ready, err := lent.fetch(bg)
			wantTrue(t, ready && err == nil, ready, err)
		}
		wantTaken := q.waitsAtGrill()
		q.must(c.do(q, lent))
		wantTaken()
	})
}

func TestATakeThatWaitsForATransactionThatChangesNothingGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		resume := q.disk.hang(0)
		done := make(chan error)
		go func() {
			done <- q.do(bg, opOnce, 1, func(b *batch) error {
				b.blockLending("grill")
				b.put(b.bucket(bucketMeta), []byte("x"), seal()) // of another operation
				return ErrConflict
			})
		}()
		synctest.Wait()
		wantTaken := q.waitsAtGrill()
		resume()
		wantErr(t, <-done, ErrConflict)
		wantTaken()
	})
}

func TestWhatIsOverIsForgottenWhenTheQueueStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		evening := time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)
		w := &fakeClock{now: evening, synchronized: true}
		q := start(t, func(o *Options) { o.Clock = w })
		defer q.stop()
		q.accept(order("a", "grill"))
		q.print("grill")
		q.reboot(w, evening.Add(200*time.Hour), true)
		synctest.Wait()
		for _, bucket := range []int{bucketDedup, bucketJobs, bucketRequests, bucketFinished} {
			q.wantCount(bucket, 0)
		}
		wantEqual(t, q.station("grill").Books.Outcomes[ticket.Sent], 1)
	})
}

// waitsAtGrill has a Take wait at the grill; the returned function waits until it gets the ticket of request a.
func (q *testQueue) waitsAtGrill() (wantTaken func()) {
	q.t.Helper()
	got := make(chan *Lease)
	go func() { got <- q.take("grill") }()
	synctest.Wait()
	return func() {
		q.t.Helper()
		asked := time.Now()
		if d := (<-got).Delivery(); d.Ticket.Request != "a" || time.Since(asked) > 0 { // of the fake clock
			q.t.Errorf("taken %+v after %s", d, time.Since(asked))
		}
	}
}
