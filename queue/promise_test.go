package queue

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestATicketIsLentInOrderAndAccountedFor(t *testing.T) {
	q := start(t)
	for n := range 3 {
		if got, want := q.accept(order(id(n), "grill", "bar")), (ticket.Receipt{Jobs: 2}); got != want {
			t.Fatalf("receipt %+v, want %+v", got, want)
		}
	}
	q.restart()
	for n := range 3 {
		d := q.print("grill")
		if d.Ticket.Request != id(n) || d.Doubt || d.Attempt != 1 {
			t.Errorf("delivery %d: %+v", n, d)
		}
	}
	q.wantNothing("grill")
	s := q.station("bar")
	if s.Pending != 3 || s.Books.Enqueued != 3 {
		t.Errorf("bar: %+v", s)
	}
	q.restart()
	q.wantNothing("grill")
}

func TestARetryNeverPrintsTwice(t *testing.T) {
	q := start(t)
	r := order("a", "grill")
	q.accept(r)
	before := q.disk.commits()
	for range 3 {
		if got := q.accept(r); got != (ticket.Receipt{Duplicate: true}) {
			t.Fatalf("receipt %+v", got)
		}
	}
	if n := q.disk.commits() - before; n != 0 {
		t.Errorf("duplicates cost %d commits", n)
	}
	q.restart()
	if got := q.accept(r); got != (ticket.Receipt{Duplicate: true}) {
		t.Fatalf("receipt after a restart %+v", got)
	}
	q.print("grill")
	q.wantNothing("grill")
}

func TestOneRequestSentManyTimesAtOnceMakesOneJob(t *testing.T) {
	q := start(t)
	var first atomic.Int32
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			got, err := q.Accept(t.Context(), order(id(n%5), "grill"))
			if err != nil {
				t.Error(err)
			}
			if !got.Duplicate {
				first.Add(1)
			}
		})
	}
	wg.Wait()
	if n := first.Load(); n != 5 {
		t.Errorf("%d arrivals were not duplicates, want 5", n)
	}
	if s := q.station("grill"); s.Pending != 5 {
		t.Errorf("%d jobs wait, want 5", s.Pending)
	}
}

func TestWhatIsVoidNowIsPrintedOnce(t *testing.T) {
	q := start(t)
	r := order("a", "grill")
	q.accept(r)
	if got, want := q.accept(cancelled(r)), (ticket.Receipt{Duplicate: true, Conflict: true, Jobs: 1}); got != want {
		t.Fatalf("receipt %+v, want %+v", got, want)
	}
	if got, want := q.accept(cancelled(r)), (ticket.Receipt{Duplicate: true}); got != want {
		t.Fatalf("receipt of its retry %+v, want %+v", got, want)
	}
	third := cancelled(r)
	third.Digest[0]++
	if got, want := q.accept(third), (ticket.Receipt{Duplicate: true, Conflict: true}); got != want {
		t.Fatalf("receipt of a third content %+v, want %+v", got, want)
	}
	q.restart()
	if got := q.accept(cancelled(r)); got != (ticket.Receipt{Duplicate: true}) {
		t.Fatalf("receipt after a restart %+v", got)
	}
	if d := q.print("grill"); d.Ticket.Kind != ticket.Order {
		t.Errorf("first %+v", d)
	}
	if d := q.print("grill"); d.Ticket.Kind != ticket.Correction || !d.Ticket.Lines[0].Void {
		t.Errorf("second %+v", d)
	}
	q.wantNothing("grill")
}

func TestACancelledRequestThatComesAgainUncancelledIsAdded(t *testing.T) {
	q := start(t)
	r := order("a", "grill")
	q.accept(cancelled(r))
	if got, want := q.accept(r), (ticket.Receipt{Duplicate: true, Conflict: true, Jobs: 1, Added: 1}); got != want {
		t.Fatalf("receipt %+v, want %+v", got, want)
	}
	q.print("grill")
	if d := q.print("grill"); !d.Ticket.Added || len(d.Ticket.Lines) != 1 || d.Ticket.Lines[0].Void {
		t.Errorf("printed %+v", d.Ticket)
	}
	q.wantNothing("grill")
}

func TestAFullBacklogStillAnswersDuplicates(t *testing.T) {
	q := start(t, func(o *Options) { o.MaxBacklog = 3 })
	q.accept(order("a", "grill", "bar"))
	q.wantRefused(order("b", "grill", "bar"), ErrBacklogFull)
	q.wantDuplicate(order("a", "grill", "bar"))
	q.accept(order("c", "grill"))
	q.print("grill")
	q.accept(order("d", "grill"))
}

func TestRequestsOfOneTransactionTogetherKeepTheBacklogLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		resume := q.disk.hang(0)
		var all sync.WaitGroup
		all.Go(func() { _ = q.KV("x").Put(bg, "k", nil) }) // hangs, so that the requests wait behind it
		synctest.Wait()
		var refused atomic.Int32
		for n := range 5 {
			all.Go(func() {
				if _, err := q.Accept(bg, order(id(n), "grill")); errors.Is(err, ErrBacklogFull) {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		before := q.disk.commits()
		resume()
		all.Wait()
		if n := q.disk.commits() - before; n != 1 {
			t.Fatalf("%d transactions, want 1", n)
		}
		if n := q.station("grill").Pending; n != 3 || refused.Load() != 2 {
			t.Errorf("%d jobs are open and %d requests refused, want 3 and 2", n, refused.Load())
		}
	}, func(o *Options) { o.MaxBacklog = 3 })
}

func TestTheBodyIsStoredAsReceived(t *testing.T) {
	q := start(t)
	r := order("a", "grill")
	r.Body = []byte("{\xff not even JSON \x00")
	q.accept(r)
	q.restart()
	jobs := q.jobs(Filter{})
	_, got, body, err := q.Job(t.Context(), jobs[0].ID)
	if err != nil || !bytes.Equal(body, r.Body) || got.Number != "a" {
		t.Errorf("body %q, ticket %+v, err %v", body, got, err)
	}
}

func TestARequestWithoutTicketsIsRefused(t *testing.T) {
	q := start(t)
	if _, err := q.Accept(t.Context(), order("a")); err == nil {
		t.Error("it was taken")
	}
}

func TestAnEndedContextStoresNothing(t *testing.T) {
	q := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, errOf(q.Accept(ctx, order("a", "grill"))), context.Canceled)
	if n := len(q.jobs(Filter{})); n != 0 {
		t.Errorf("%d jobs", n)
	}
}

func TestAClosedQueueSaysSo(t *testing.T) {
	q := start(t)
	closed := q.Queue
	q.stop()
	wantErr(t, errOf(closed.Accept(t.Context(), order("a", "grill"))), ErrClosed)
	wantErr(t, errOf(closed.Take(t.Context(), "grill")), ErrClosed)
	wantErr(t, closed.Ready(), ErrClosed)
}

func TestTakeDoesNotWaitOnAClosedQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		waiting := q.Queue
		got := make(chan error)
		go func() { got <- errOf(waiting.Take(ctx, "grill")) }()
		synctest.Wait()
		q.stop()
		wantErr(t, <-got, ErrClosed)
	})
}

// The receiver calls Accept in the request's own goroutine: unless Accept returns, the service gets no
// answer.
func TestAcceptReturnsInTimeWhileTheDiskHangs(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("before", "grill"))
		resume := q.disk.hang(0)
		for i, id := range []string{"a", "b"} { // the first is being written, the second waits for it
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			wantErr(t, errOf(q.Accept(ctx, order(id, "grill"))), context.DeadlineExceeded)
			cancel()
			if w := q.Waiting(); w != time.Duration(i+1)*4*time.Second { // which is also when Accept returned
				t.Errorf("%s: waiting %s", id, w)
			}
		}
		gone, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for n := range 4096 {
			wg.Go(func() { _, _ = q.Accept(gone, order(id(n), "grill")) })
		}
		synctest.Wait()
		q.wantRefused(order("c", "grill"), ErrBusy)
		leave()
		wg.Wait()
		resume()
		synctest.Wait()
		// The one that was being written was committed, once, so its retry is a duplicate. The one that
		// waited was skipped, because its caller had given up.
		q.wantDuplicate(order("a", "grill"))
		if got := q.accept(order("b", "grill")); got.Duplicate {
			t.Errorf("receipt %+v", got)
		}
		if w := q.Waiting(); w != 0 {
			t.Errorf("idle, but %s waiting", w)
		}
		if s := q.station("grill"); s.Pending != 3 {
			t.Errorf("%d jobs wait, want 3", s.Pending)
		}
	})
}

func TestOnlyTheBytesThatStillWaitCountTowardsTheirLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		request := func(size int) error {
			return q.do(bg, opAccept, size, func(*batch) error { return nil })
		}
		for range 3 {
			resume := q.disk.hang(0)
			var all sync.WaitGroup
			all.Go(func() { _ = q.KV("x").Put(bg, "k", nil) }) // hangs, so that the requests wait behind it
			synctest.Wait()
			for range 2 {
				all.Go(func() { wantErr(t, request(32<<20), nil) })
			}
			synctest.Wait()
			wantErr(t, request(1), ErrBusy)
			resume()
			all.Wait()
		}
	})
}

func TestEqualRequestsInOneTransactionMakeOneJob(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		resume := q.disk.hang(0)
		go q.accept(order("first", "grill"))
		synctest.Wait()
		var got [3]ticket.Receipt
		var wg sync.WaitGroup
		for n, r := range []ticket.Request{order("a", "grill"), order("a", "grill"), cancelled(order("a", "grill"))} {
			wg.Go(func() { got[n] = q.accept(r) })
			synctest.Wait() // so that they wait in this order
		}
		resume()
		wg.Wait()
		want := [3]ticket.Receipt{{Jobs: 1}, {Duplicate: true}, {Duplicate: true, Conflict: true, Jobs: 1}}
		if got != want {
			t.Errorf("receipts %+v, want %+v", got, want)
		}
		if s := q.station("grill"); s.Pending != 3 {
			t.Errorf("%d jobs wait, want 3", s.Pending)
		}
	})
}

func TestATicketIsNotLentWhileItIsTakenFromTheQueueOrTheStationIsStopped(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(q *testQueue) error
		next []string // tickets to print then
	}{
		"cancelled": {func(q *testQueue) error { return q.Cancel(bg, 1, "guest left") }, []string{"b"}},
		"moved":     {func(q *testQueue) error { return errOf(q.Move(bg, []uint64{1}, "bar")) }, []string{"b"}},
		"all moved": {func(q *testQueue) error { return errOf(q.MoveAll(bg, "grill", "bar")) }, nil},
		"expired":   {func(q *testQueue) error { return errOf(q.Expire(bg, "grill", -time.Hour)) }, []string{""}},
		"held":      {func(q *testQueue) error { return q.HoldStation(bg, "grill", "x") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *testQueue) {
				q.accept(order("a", "grill"))
				q.accept(order("b", "grill"))
				resume := q.disk.hang(0)
				done := make(chan error)
				go func() { done <- tt.do(q) }()
				synctest.Wait()
				q.wantNothing("grill")
				resume()
				q.must(<-done)
				q.printAll("grill", tt.next...)
				q.wantNothing("grill")
			})
		})
	}
}

func TestTheNextTicketIsLentWhenTheEndOfTheLastOneIsOnTheDisk(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		q.accept(order("b", "grill"))
		l := q.begin("grill")
		resume := q.disk.hang(0)
		done := make(chan error)
		go func() { done <- l.Ack(bg, ticket.Sent, "") }()
		synctest.Wait()
		q.wantNothing("grill")
		resume()
		q.must(<-done)
		q.printAll("grill", "b")
	})
}
