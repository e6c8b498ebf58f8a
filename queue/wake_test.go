package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestATakeThatWaitsGetsTheTicketThatItsStationMayPrintNow(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(q *testQueue)
		do     func(q *testQueue, lent *Lease) error // lent is what grill was lent before, nil for nothing
	}{
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
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *testQueue) {
				if tt.before != nil {
					tt.before(q)
				}
				lent, _, err := q.lend("grill")
				q.must(err)
				if lent != nil {
					if ready, err := lent.fetch(bg); !ready || err != nil {
						t.Fatalf("ready %t, %v", ready, err)
					}
				}
				got := make(chan *Lease)
				ctx, cancel := context.WithTimeout(bg, time.Minute)
				defer cancel()
				go func() { l, _ := q.Take(ctx, "grill"); got <- l }()
				synctest.Wait()
				q.must(tt.do(q, lent))
				q.wantTaken(got)
			})
		})
	}
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
		got := make(chan *Lease)
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		go func() { l, _ := q.Take(ctx, "grill"); got <- l }()
		synctest.Wait()
		resume()
		wantErr(t, <-done, ErrConflict)
		q.wantTaken(got)
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
		if r := q.station("grill").Books.Outcomes[ticket.Sent]; r != 1 {
			t.Errorf("%d are counted as sent", r)
		}
	})
}

// wantTaken waits for a Take, which must get the ticket of request a.
func (q *testQueue) wantTaken(got <-chan *Lease) {
	q.t.Helper()
	select {
	case l := <-got:
		if d := l.Delivery(); d.Ticket.Request != "a" {
			q.t.Errorf("taken %+v", d)
		}
	case <-time.After(time.Second):
		q.t.Error("it still waits")
		<-got
	}
}
