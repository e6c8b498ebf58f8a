package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

// pairs runs f twice: for a commit that fails, and for one that fails but persists.
func pairs(t *testing.T, f func(t *testing.T, k *kitchen, end ending)) {
	for _, end := range []ending{fails, failsButPersist} {
		t.Run(end.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kitchen) { f(t, k, end) })
		})
	}
}

// healed waits until storage works again.
func (k *kitchen) healed() {
	k.t.Helper()
	for range 100 {
		synctest.Wait()
		if k.Ready() == nil {
			return
		}
		time.Sleep(time.Second)
	}
	k.t.Fatalf("storage still fails: %v", k.Ready())
}

func TestNothingIsAnsweredYesAfterAFailureUntilACommitSucceeds(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.accept(order("a", "grill"))
		k.disk.then(fails, fails, failsButPersist, fails) // the commit, then canaries
		k.refused(order("b", "grill"), ErrStorageFailed)
		synctest.Wait()
		wantErr(t, k.Ready(), ErrStorageFailed)
		k.refused(order("a", "grill"), ErrStorageFailed)
		k.nothing("grill")
		k.healed()
		k.known(order("a", "grill"))
		if got := k.accept(order("b", "grill")); got.Duplicate {
			t.Errorf("receipt %+v", got)
		}
	})
}

func TestABeginThatFailedLeavesNoDoubtBehind(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		k.accept(order("a", "grill"))
		l := k.take("grill")
		k.disk.then(end)
		if err := l.Begin(bg); !errors.Is(err, ErrStorageFailed) || l.begun {
			t.Fatalf("err %v, begun %v", err, l.begun)
		}
		k.must(l.Retry(bg, "storage"))
		k.again()
		if d := k.take("grill").Delivery(); d.Doubt || d.Attempt != 2 {
			t.Errorf("next %+v", d)
		}
	})
}

func TestACrashAfterABeginThatFailedIsInDoubtAtMost(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		k.accept(order("a", "grill"))
		k.disk.then(end)
		if err := k.take("grill").Begin(bg); err == nil {
			t.Fatal("begun")
		}
		k.healed()
		k.again()
		if d := k.take("grill").Delivery(); d.Doubt != (end == failsButPersist) {
			t.Errorf("next %+v", d)
		}
	})
}

func TestEveryEndOfALeaseSurvivesAFailedCommit(t *testing.T) {
	ends := []struct {
		name  string
		begin bool
		end   func(l *Lease) error
		want  ticket.State
		tries int
		doubt bool
	}{
		{"ack", true, func(l *Lease) error { return l.Ack(bg, ticket.Sent, "") }, ticket.Sent, 1, false},
		{"retry", false, func(l *Lease) error { return l.Retry(bg, "r") }, ticket.Pending, 1, false},
		{"retry in doubt", true, func(l *Lease) error { return l.Retry(bg, "r") }, ticket.Pending, 1, true},
		{"return", false, func(l *Lease) error { return l.Return(bg, "r") }, ticket.Pending, 0, false},
		{"return in doubt", true, func(l *Lease) error { return l.Return(bg, "r") }, ticket.Pending, 0, true},
		{"hold", true, func(l *Lease) error { return l.Hold(bg, "r") }, ticket.Held, 1, true},
		{"bury", false, func(l *Lease) error { return l.Bury(bg, "r") }, ticket.Buried, 1, false},
	}
	for _, tt := range ends {
		t.Run(tt.name, func(t *testing.T) {
			pairs(t, func(t *testing.T, k *kitchen, end ending) {
				k.accept(order("a", "grill"))
				k.accept(order("b", "grill"))
				l := k.take("grill")
				if tt.begin {
					k.must(l.Begin(bg))
				}
				k.disk.then(end, fails, works, end, fails) // the end, canaries, the end again, a canary
				k.must(tt.end(l))
				k.disk.heal() // an end that persisted the first time needs no second
				check := func() {
					t.Helper()
					j := k.job(l.Delivery().Job)
					if j.State != tt.want || j.Attempts != tt.tries || j.Doubt != tt.doubt {
						t.Errorf("job %+v", j)
					}
					k.balanced()
					if n := k.count(bucketFinished); n > 1 {
						t.Errorf("it finished %d times", n)
					}
				}
				check()
				k.again()
				check()
				want := "b"
				if tt.want == ticket.Pending {
					want = "a"
				}
				k.prints("grill", want)
			})
		})
	}
}

func TestAnEndGoesOnWhenNobodyWaitsForItAnyMore(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		k.accept(order("a", "grill"))
		l := k.begin("grill")
		k.disk.then(end, fails, fails)
		ctx, cancel := context.WithTimeout(bg, 100*time.Millisecond)
		defer cancel()
		if err := l.Ack(ctx, ticket.Sent, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("err %v", err)
		}
		k.nothing("grill")
		k.healed()
		k.is(l.Delivery().Job, ticket.Sent)
		k.nothing("grill")
	})
}

func TestAFullDiskStopsAcceptingNeverPrinting(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.accept(order("a", "grill"))
		l := k.take("grill")
		k.disk.then(noSpace)
		k.must(l.Begin(bg)) // goes on from the reserve
		k.disk.then(noSpace, noSpace)
		k.must(l.Ack(bg, ticket.Sent, ""))
		k.disk.then(noSpace)
		k.refused(order("b", "grill"), ErrStorageFull)
		k.healed()
		k.known(order("a", "grill"))
		k.accept(order("b", "grill"))
		k.print("grill")
		k.nothing("grill")
	})
}

func TestALineMovedOverAFailureIsMovedOnceAndInOrder(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		const tickets = moveAtOnce + 20 // two transactions: the second one fails
		k.orders(tickets, "grill")
		k.disk.then(works, end)
		moved, err := k.MoveAll(bg, "grill", "bar")
		if !errors.Is(err, ErrStorageFailed) || len(moved) != moveAtOnce {
			t.Fatalf("%d moved, %v", len(moved), err)
		}
		k.healed()
		moved, err = k.MoveAll(bg, "grill", "bar")
		want := tickets - moveAtOnce
		if end == failsButPersist {
			want = 0
		}
		if err != nil || len(moved) != want {
			t.Errorf("again: %d moved, %v; want %d", len(moved), err, want)
		}
		k.again()
		k.nothing("grill")
		for n := range tickets {
			if d := k.print("bar"); d.Ticket.Request != id(n) || d.Reprint || d.Doubt {
				t.Fatalf("printed %+v, want %s", d, id(n))
			}
		}
		k.nothing("bar")
	})
}

func TestAValueWhoseOwnerGaveUpWaitingIsStoredAsItWasPut(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		s := k.KV("boards")
		resume := k.disk.hang()
		go func() { _ = s.Put(bg, "first", nil) }() // hangs; the next one waits behind it
		synctest.Wait()
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		value := []byte("grill: burger")
		if err := s.Put(ctx, "second", value); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("err %v", err)
		}
		copy(value, "used for something else")
		resume()
		synctest.Wait()
		if got, ok, err := s.Get("second"); string(got) != "grill: burger" || !ok || err != nil {
			t.Errorf("stored %q, %v, %v", got, ok, err)
		}
	})
}

func TestHousekeepingThatFailsForgetsNothingEarlyAndIsMadeUpFor(t *testing.T) {
	for _, end := range []ending{fails, failsButPersist, noSpace} {
		t.Run(end.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kitchen) {
				k.accept(order("old", "grill"))
				k.print("grill")
				struck := 0
				hours := func(n int) {
					for range n {
						before := k.disk.commits()
						k.disk.then(end, works, end) // what is written next, the canary, what is written after
						time.Sleep(time.Hour + time.Minute)
						k.disk.heal()
						k.healed()
						if k.disk.commits() > before {
							struck++
						}
					}
				}
				hours(9)
				k.known(order("old", "grill"))
				k.is(1, ticket.Sent)
				hours(26) // a day of keys goes as a whole
				if got := k.accept(order("old", "grill")); got.Duplicate {
					t.Error("the key is known for ever")
				}
				if _, _, _, err := k.Job(bg, 1); !errors.Is(err, ErrNotFound) {
					t.Errorf("history is kept for ever: %v", err)
				}
				if struck < 10 {
					t.Errorf("only %d hours had something to fail", struck)
				}
			}, func(o *Options) { o.DedupRetention, o.HistoryRetention = 10*time.Hour, 10*time.Hour })
		})
	}
}

func TestWhoMakesRoomSeesWithinSecondsThatItWasEnough(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.SetStations([]string{"grill"})
		k.disk.then(noSpace)
		k.refused(order("a", "grill"), ErrStorageFull)
		if err := k.Ready(); !errors.Is(err, ErrStorageFull) {
			t.Fatalf("ready: %v", err)
		}
		time.Sleep(lookFull)
		synctest.Wait()
		if err := k.Ready(); err != nil {
			t.Errorf("%v later: %v", lookFull, err)
		}
	})
}
