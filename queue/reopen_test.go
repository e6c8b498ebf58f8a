package queue

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/queuetest"
	"ticketrail/queue/store"
	"ticketrail/queue/ticket"
)

func TestAStorageFailureIsLoggedWhenItBeginsWhenItsCauseChangesAndWhenItEnds(t *testing.T) {
	var log queuetest.Log
	inBubble(t, func(t *testing.T, q *testQueue) {
		want := func(n int, line string) {
			t.Helper()
			synctest.Wait()
			wantEqual(t, strings.Count(log.String(), line), n, line, &log)
		}
		for failure := range 2 {
			for range 10 {
				q.disk.willEnd(fails, fails)
			}
			wantErr(t, q.KV("x").Put(bg, "k", nil), ErrStorageFailed)
			time.Sleep(2 * time.Minute) // seven attempts: after 0, 1, 2, 4, 8, 16, 30 and 30 s
			want(failure+1, "commit failed; new requests are refused")
			want(failure, "storage works again")
			q.disk.clear()
			q.waitForStorage()
			want(failure+1, "storage works again")
		}
		q.disk.willEnd(noSpace, fails)
		wantErr(t, q.KV("x").Put(bg, "k", nil), ErrStorageFull)
		want(1, "disk is full; new requests are refused")
		want(0, "cannot remove the reserve file") // there is none
		q.waitForStorage()
	}, logTo(&log))
}

func TestAReopenIsTriedAtOnceAndThenLessAndLessOften(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		for range 2 { // a success starts it again
			before := q.disk.commits()
			for range 20 {
				q.disk.willEnd(fails)
			}
			wantErr(t, q.KV("x").Put(bg, "k", nil), ErrStorageFailed)
			var at []int
			for second := range 130 {
				synctest.Wait()
				if n := q.disk.commits(); n > before {
					before = n
					at = append(at, second)
				}
				time.Sleep(time.Second)
			}
			want := []int{0, 1, 3, 7, 15, 31, 61, 91, 121}
			wantTrue(t, slices.Equal(at, want), at, want)
			q.disk.clear()
			q.waitForStorage()
			q.must(q.KV("x").Put(bg, "k", nil))
		}
	})
}

func TestNothingIsReadBeforeItIsKnownToBeOnTheDisk(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.disk.willEnd(failsButPersist, fails)
		q.wantRefused(order("a", "grill"), ErrStorageFailed)
		synctest.Wait()
		resume := q.disk.hang(0)
		time.Sleep(2 * time.Second) // the second probe commit hangs
		jobs, err := q.Jobs(bg, Filter{})
		wantTrue(t, errors.Is(err, ErrStorageFailed), jobs, err)
		wantEqual(t, q.station("grill").Pending, 0)
		resume()
		q.waitForStorage()
		q.printAll("grill", "a")
	})
}

func TestADiskThatIsFullWhenTheFileIsReopenedTakesTheReserve(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		reserved := func() bool { _, err := os.Stat(store.ReservePath(q.o.Path)); return err == nil }
		q.disk.willEnd(fails, noSpace, fails)
		wantErr(t, q.KV("x").Put(bg, "k", nil), ErrStorageFailed)
		synctest.Wait()
		err := q.Ready()
		wantTrue(t, errors.Is(err, ErrStorageFull) && !reserved(), err, reserved())
		time.Sleep(time.Minute)
		err = q.Ready()
		wantTrue(t, err == nil && reserved(), err, reserved())
	}, func(o *Options) { o.Reserve = 1 << 20 })
}

// TestATicketWhoseEndPersistedIsNotCountedTwiceUntilItIsAnswered: its end is on the disk, but its caller has no
// answer yet.
func TestATicketWhoseEndPersistedIsNotCountedTwiceUntilItIsAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.orders(1, "grill", "bar")
		grill, bar := q.begin("grill"), q.begin("bar")
		q.disk.willEnd(failsButPersist, fails)
		ended := make(chan error, 2)
		go func() { ended <- grill.Ack(bg, ticket.Sent, "") }()
		synctest.Wait()
		go func() { ended <- bar.Ack(bg, ticket.Sent, "") }()
		synctest.Wait()
		resume := q.disk.hang(1) // after the probe commit: the end of bar
		time.Sleep(time.Minute)
		s := q.station("grill")
		wantTrue(t, s.Pending == 0 && s.Printing == 0, s)
		s = q.station("bar")
		wantTrue(t, s.Pending == 0 && s.Printing == 1, s)
		resume()
		q.must(errors.Join(<-ended, <-ended))
		q.wantNothing("grill")
	})
}
