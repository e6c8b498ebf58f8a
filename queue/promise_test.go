package queue

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestATicketIsLentInOrderAndAccountedFor(t *testing.T) {
	k := start(t)
	for n := range 3 {
		if got, want := k.accept(order(id(n), "grill", "bar")), (ticket.Receipt{Jobs: 2}); got != want {
			t.Fatalf("receipt %+v, want %+v", got, want)
		}
	}
	k.again()
	for n := range 3 {
		d := k.print("grill")
		if d.Ticket.Request != id(n) || d.Doubt || d.Attempt != 1 {
			t.Errorf("delivery %d: %+v", n, d)
		}
	}
	k.nothing("grill")
	s := k.line("bar")
	if s.Pending != 3 || s.Books.Put != 3 {
		t.Errorf("bar: %+v", s)
	}
	k.again()
	k.nothing("grill")
}

func TestARetryNeverPrintsTwice(t *testing.T) {
	k := start(t)
	r := order("a", "grill")
	k.accept(r)
	before := k.disk.commits()
	for range 3 {
		if got := k.accept(r); got != (ticket.Receipt{Duplicate: true}) {
			t.Fatalf("receipt %+v", got)
		}
	}
	if n := k.disk.commits() - before; n != 0 {
		t.Errorf("duplicates cost %d commits", n)
	}
	k.again()
	if got := k.accept(r); got != (ticket.Receipt{Duplicate: true}) {
		t.Fatalf("receipt after a restart %+v", got)
	}
	k.print("grill")
	k.nothing("grill")
}

func TestManyArrivalsOfOneRequestMakeOneJob(t *testing.T) {
	k := start(t)
	var first atomic.Int32
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			got, err := k.Accept(t.Context(), order(id(n%5), "grill"))
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
	if s := k.line("grill"); s.Pending != 5 {
		t.Errorf("%d jobs wait, want 5", s.Pending)
	}
}

func TestWhatIsVoidNowIsPrintedOnce(t *testing.T) {
	k := start(t)
	r := order("a", "grill")
	k.accept(r)
	if got, want := k.accept(cancelled(r)), (ticket.Receipt{Duplicate: true, Conflict: true, Jobs: 1}); got != want {
		t.Fatalf("receipt %+v, want %+v", got, want)
	}
	if got, want := k.accept(cancelled(r)), (ticket.Receipt{Duplicate: true}); got != want {
		t.Fatalf("receipt of its retry %+v, want %+v", got, want)
	}
	third := cancelled(r)
	third.Digest[0]++
	if got, want := k.accept(third), (ticket.Receipt{Duplicate: true, Conflict: true}); got != want {
		t.Fatalf("receipt of a third content %+v, want %+v", got, want)
	}
	k.again()
	if got := k.accept(cancelled(r)); got != (ticket.Receipt{Duplicate: true}) {
		t.Fatalf("receipt after a restart %+v", got)
	}
	if d := k.print("grill"); d.Ticket.Kind != ticket.Order {
		t.Errorf("first %+v", d)
	}
	if d := k.print("grill"); d.Ticket.Kind != ticket.Correction || !d.Ticket.Lines[0].Void {
		t.Errorf("second %+v", d)
	}
	k.nothing("grill")
}

func TestACancelledRequestThatComesBackAliveOrdersNothing(t *testing.T) {
	k := start(t)
	r := order("a", "grill")
	k.accept(cancelled(r))
	if got, want := k.accept(r), (ticket.Receipt{Duplicate: true, Conflict: true}); got != want {
		t.Fatalf("receipt %+v, want %+v", got, want)
	}
	k.print("grill")
	k.nothing("grill")
}

func TestAFullBacklogStillAnswersDuplicates(t *testing.T) {
	k := start(t, func(o *Options) { o.MaxBacklog = 3 })
	k.accept(order("a", "grill", "bar"))
	k.refused(order("b", "grill", "bar"), ErrBacklogFull)
	k.known(order("a", "grill", "bar"))
	k.accept(order("c", "grill"))
	k.print("grill")
	k.accept(order("d", "grill"))
}

func TestTheBodyIsKeptAsItCame(t *testing.T) {
	k := start(t)
	r := order("a", "grill")
	r.Body = []byte("{\xff not even JSON \x00")
	k.accept(r)
	k.again()
	jobs := k.jobs(Filter{})
	_, got, body, err := k.Job(t.Context(), jobs[0].ID)
	if err != nil || !bytes.Equal(body, r.Body) || got.Number != "a" {
		t.Errorf("body %q, ticket %+v, err %v", body, got, err)
	}
}

func TestARequestWithoutTicketsIsRefused(t *testing.T) {
	k := start(t)
	if _, err := k.Accept(t.Context(), order("a")); err == nil {
		t.Error("it was taken")
	}
}

func TestAnEndedContextStoresNothing(t *testing.T) {
	k := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, errOf(k.Accept(ctx, order("a", "grill"))), context.Canceled)
	if n := len(k.jobs(Filter{})); n != 0 {
		t.Errorf("%d jobs", n)
	}
}

func TestAClosedQueueSaysSo(t *testing.T) {
	k := start(t)
	q := k.Queue
	k.stop()
	wantErr(t, errOf(q.Accept(t.Context(), order("a", "grill"))), ErrClosed)
	wantErr(t, errOf(q.Take(t.Context(), "grill")), ErrClosed)
	wantErr(t, q.Ready(), ErrClosed)
}

// The receiver waits for Accept itself: that it returns is the service's answer in time.
func TestAHungDiskKeepsNobodyLongerThanItsTimeAndSaysHowLong(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.accept(order("before", "grill"))
		resume := k.disk.hang()
		for i, id := range []string{"a", "b"} { // the one that is being written, and one that waits for it
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			wantErr(t, errOf(k.Accept(ctx, order(id, "grill"))), context.DeadlineExceeded)
			cancel()
			if w := k.Waiting(); w != time.Duration(i+1)*4*time.Second { // which is also how long they were kept
				t.Errorf("%s: waiting %s", id, w)
			}
		}
		gone, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for n := range maxAccepts {
			wg.Go(func() { _, _ = k.Accept(gone, order(id(n), "grill")) })
		}
		synctest.Wait()
		k.refused(order("c", "grill"), ErrBusy)
		leave()
		wg.Wait()
		resume()
		synctest.Wait()
		// The one that was being written was committed after all, once; its retry is a duplicate. The
		// other one was given up before.
		k.known(order("a", "grill"))
		if got := k.accept(order("b", "grill")); got.Duplicate {
			t.Errorf("receipt %+v", got)
		}
		if w := k.Waiting(); w != 0 {
			t.Errorf("idle, but %s waiting", w)
		}
		if s := k.line("grill"); s.Pending != 3 {
			t.Errorf("%d jobs wait, want 3", s.Pending)
		}
	})
}

func TestArrivalsInOneTransactionKnowEachOther(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		resume := k.disk.hang()
		go k.accept(order("first", "grill"))
		synctest.Wait()
		var got [3]ticket.Receipt
		var wg sync.WaitGroup
		for n, r := range []ticket.Request{order("a", "grill"), order("a", "grill"), cancelled(order("a", "grill"))} {
			wg.Go(func() { got[n] = k.accept(r) })
			synctest.Wait() // so that they queue up in this order
		}
		resume()
		wg.Wait()
		want := [3]ticket.Receipt{{Jobs: 1}, {Duplicate: true}, {Duplicate: true, Conflict: true, Jobs: 1}}
		if got != want {
			t.Errorf("receipts %+v, want %+v", got, want)
		}
		if s := k.line("grill"); s.Pending != 3 {
			t.Errorf("%d jobs wait, want 3", s.Pending)
		}
	})
}

func TestATicketIsNotLentWhileItIsBeingCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.accept(order("a", "grill"))
		k.accept(order("b", "grill"))
		resume := k.disk.hang()
		done := make(chan error)
		go func() { done <- k.Cancel(bg, 1, "guest left") }()
		synctest.Wait()
		k.nothing("grill")
		resume()
		k.must(<-done)
		k.prints("grill", "b")
	})
}
