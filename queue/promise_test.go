package queue

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestARetryNeverPrintsTwice(t *testing.T) {
	q := start(t)
	r := order("a", "grill")
	q.accept(r)
	before := q.disk.commits()
	for range 3 {
		q.wantReceipt(r, ticket.Receipt{Duplicate: true})
	}
	q.wantCommits(before, 0)
	q.restart()
	q.wantReceipt(r, ticket.Receipt{Duplicate: true})
	q.print("grill")
	q.wantNothing("grill")
}

func TestRequestsOfOneTransactionTogetherKeepTheBacklogLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		commit := q.gather()
		var refused atomic.Int32
		for n := range 5 {
			go func() {
				if _, err := q.Accept(bg, order(id(n), "grill")); errors.Is(err, ErrBacklogFull) {
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		before := q.disk.commits()
		commit()
		q.wantCommits(before, 1)
		n := q.station("grill").Pending
		wantTrue(t, n == 3 && refused.Load() == 2, n, refused.Load())
	}, func(o *Options) { o.MaxBacklog = 3 })
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

// TestAcceptReturnsInTimeWhileTheDiskHangs: the receiver calls Accept in the request's own goroutine: unless Accept
// returns, the service gets no answer.
func TestAcceptReturnsInTimeWhileTheDiskHangs(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("before", "grill"))
		resume := q.disk.hang(0)
		for i, id := range []string{"a", "b"} { // the first is being written, the second waits for it
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			wantErr(t, errOf(q.Accept(ctx, order(id, "grill"))), context.DeadlineExceeded)
			cancel()
			wantEqual(t, q.Waiting(), time.Duration(i+1)*4*time.Second, id) // which is also when Accept returned
		}
		wantEqual(t, len(q.jobs(Filter{})), 1)
		resume()
		synctest.Wait()
		// The one that was being written was committed, once, so its retry is a duplicate. The one that
		// waited was skipped, because its caller had given up.
		q.wantDuplicate(order("a", "grill"))
		q.wantNew(order("b", "grill"))
		wantEqual(t, q.Waiting(), 0)
		wantEqual(t, q.station("grill").Pending, 3)
	})
}

func TestEqualRequestsInOneTransactionMakeOneJob(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		commit := q.gather()
		var got [5]ticket.Receipt
		for n, r := range []ticket.Request{
			dinner("a", "1Fish", "grill"), dinner("a", "1Fish", "grill"), dinner("a", "1Fish-", "grill"),
			dinner("a", "1Fish 1Tea", "grill"), dinner("a", "1Fish 1Tea", "grill"),
		} {
			go func() { got[n] = q.accept(r) }()
			synctest.Wait() // so that they wait in this order
		}
		commit()

		again := ticket.Receipt{Duplicate: true}
		want := [5]ticket.Receipt{{Jobs: 1}, again, oneChanged, oneChanged, again}
		wantTrue(t, got == want, got, want)
		q.printAll("grill", "a", "a changed", "a changed")
	})
}

func TestATicketIsNotLentWhileItIsTakenFromTheQueueOrTheStationIsStopped(t *testing.T) {
	type takes struct {
		do   func(q *testQueue) error
		next []string // tickets to print then
	}
	each(t, map[string]takes{
		"cancelled": {func(q *testQueue) error { return q.Cancel(bg, 1, "guest left") }, []string{"b"}},
		"moved":     {func(q *testQueue) error { return errOf(q.Move(bg, []uint64{1}, "bar")) }, []string{"b"}},
		"all moved": {func(q *testQueue) error { return errOf(q.MoveAll(bg, "grill", "bar")) }, nil},
		"expired":   {func(q *testQueue) error { return errOf(q.Expire(bg, "grill", -1)) }, []string{"slip of 2"}},
		"held":      {func(q *testQueue) error { return q.HoldStation(bg, "grill", "x") }, nil},
	}, func(_ *testing.T, q *testQueue, c takes) {
		q.accept(order("a", "grill"))
		q.accept(order("b", "grill"))
		resume := q.disk.hang(0)
		done := make(chan error)
		go func() { done <- c.do(q) }()
		synctest.Wait()
		q.wantNothing("grill")
		resume()
		q.must(<-done)
		q.printAll("grill", c.next...)
		q.wantNothing("grill")
	})
}

func TestABucketOfKeysIsDroppedWhenItsYoungestKeyIsOver(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill")) // the bucket of the first 24 hours
	drop := func(now time.Duration, want int) {
		t.Helper()
		q.must(q.do(bg, opOnce, 1, func(b *batch) error { b.dropGenerations(now, 30*time.Hour); return nil }))
		q.wantCount(bucketDedup, want)
	}
	drop(54*time.Hour-1, 1)
	drop(54*time.Hour, 0)
}

func TestARequestOfAnotherVenueIsAnotherRequest(t *testing.T) {
	q := start(t)
	for _, name := range [][2]string{{"venue", "id"}, {"other", "id"}, {"venuei", "d"}, {"venue", "i"}, {"", "id"}} {
		r := order("a", "grill")
		r.Venue, r.ID = name[0], name[1]
		q.wantNew(r)
		q.wantDuplicate(r)
	}
}

func TestTheFirstAndTheLatestContentsOfARequestAreKept(t *testing.T) {
	var list []content
	for n := range maxContents + 3 {
		list = remember(list, content{ticket.Digest{byte(n)}, ticket.Digest{1, byte(n)}})
	}
	wantEqual(t, len(list), maxContents)
	first, second, last := list[0].said[0], list[1].said[0], list[maxContents-1].said[0]
	wantTrue(t, first == 0 && second == 4 && last == maxContents+2, first, second, last)
}
