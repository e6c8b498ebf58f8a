package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

// Each durable step, once with its commit failed, once failed but persisted: afterwards
// the step asked for again has happened exactly once.

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

func TestAnAcceptThatFailedIsSafeToSendAgain(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		k.accept(order("before", "grill"))
		k.strike(end, func() error { _, err := k.Accept(bg, order("a", "grill")); return err })
		if got := k.accept(order("a", "grill")); got.Duplicate != (end == failsButPersist) {
			t.Errorf("receipt %+v", got)
		}
		for _, want := range []string{"before", "a"} {
			if d := k.print("grill"); d.Ticket.Request != want {
				t.Errorf("printed %s, want %s", d.Ticket.Request, want)
			}
		}
		k.nothing("grill")
	})
}

func TestNothingIsAnsweredYesAfterAFailureUntilACommitSucceeds(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.accept(order("a", "grill"))
		k.disk.then(fails, fails, failsButPersist, fails) // the commit, then canaries
		if _, err := k.Accept(bg, order("b", "grill")); !errors.Is(err, ErrStorageFailed) {
			t.Fatalf("err %v", err)
		}
		synctest.Wait()
		if err := k.Ready(); !errors.Is(err, ErrStorageFailed) {
			t.Errorf("ready: %v", err)
		}
		if _, err := k.Accept(bg, order("a", "grill")); !errors.Is(err, ErrStorageFailed) {
			t.Errorf("duplicate: %v", err)
		}
		k.nothing("grill")
		k.healed()
		if got := k.accept(order("a", "grill")); !got.Duplicate {
			t.Errorf("receipt %+v", got)
		}
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
				if d := k.print("grill"); d.Ticket.Request != want {
					t.Errorf("next is %s, want %s", d.Ticket.Request, want)
				}
			})
		})
	}
}

func TestAnEndGoesOnWhenNobodyWaitsForItAnyMore(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		k.accept(order("a", "grill"))
		l := k.take("grill")
		k.must(l.Begin(bg))
		k.disk.then(end, fails, fails)
		ctx, cancel := context.WithTimeout(bg, 100*time.Millisecond)
		defer cancel()
		if err := l.Ack(ctx, ticket.Sent, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("err %v", err)
		}
		k.nothing("grill")
		k.healed()
		if j := k.job(l.Delivery().Job); j.State != ticket.Sent {
			t.Errorf("job %+v", j)
		}
		k.nothing("grill")
	})
}

func TestWhatPeopleAskForHappensOnceWhenTheyLookAndAskAgain(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		persisted := end == failsButPersist
		k.accept(order("a", "grill"))
		job := k.jobs(Filter{})[0].ID

		k.strike(end, func() error { _, err := k.Move(bg, []uint64{job}, "bar"); return err })
		if _, err := k.Move(bg, []uint64{job}, "bar"); errors.Is(err, ErrConflict) != persisted {
			t.Errorf("move again: %v", err)
		}
		d := k.print("bar")

		k.strike(end, func() error { _, err := k.Reprint(bg, d.Job, "", "lost"); return err })
		if s := k.line("bar"); (s.Pending == 1) != persisted {
			t.Errorf("bar %+v", s)
		}

		// One that a person had to decide about is decided about once.
		k.accept(order("b", "pass"))
		l := k.take("pass")
		k.must(l.Hold(bg, "look"))
		k.strike(end, func() error { _, err := k.Reprint(bg, l.Delivery().Job, "", "lost"); return err })
		if _, err := k.Reprint(bg, l.Delivery().Job, "", "lost"); errors.Is(err, ErrConflict) != persisted {
			t.Errorf("reprint what is held again: %v", err)
		}
		if s := k.line("pass"); s.Pending != 1 || s.Held != 0 {
			t.Errorf("pass %+v", s)
		}

		k.strike(end, func() error { return k.HoldStation(bg, "bar", "x") })
		if s := k.line("bar"); (s.Hold != nil) != persisted {
			t.Errorf("bar %+v", s)
		}
	})
}

func TestAnExpiryThatFailedListsEachTicketOnce(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		k.accept(order("a", "grill"))
		time.Sleep(2*time.Hour + time.Second) // not with the hourly note of the clock
		k.strike(end, func() error { _, err := k.Expire(bg, "grill", time.Hour); return err })
		if _, err := k.Expire(bg, "grill", time.Hour); err != nil {
			t.Fatal(err)
		}
		if d := k.print("grill"); d.Ticket.Kind != ticket.Slip || len(d.Ticket.Lines) != 1 {
			t.Errorf("slip %+v", d)
		}
		k.nothing("grill")
	})
}

func TestAShelfHoldsWhatWasPutOnIt(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		s := k.Shelf("boards")
		k.must(s.Put(bg, "grill", []byte("old")))
		k.strike(end, func() error { return s.Put(bg, "grill", []byte("new")) })
		want := "old"
		if end == failsButPersist {
			want = "new"
		}
		if v, ok, err := s.Get("grill"); string(v) != want || !ok || err != nil {
			t.Errorf("got %q, %v, %v; want %q", v, ok, err, want)
		}
		k.strike(end, func() error { return s.Delete(bg, "grill") })
		if _, ok, err := s.Get("grill"); ok != (end == fails) || err != nil {
			t.Errorf("after delete %v, %v", ok, err)
		}
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
		if _, err := k.Accept(bg, order("b", "grill")); !errors.Is(err, ErrStorageFull) {
			t.Errorf("err %v", err)
		}
		k.healed()
		if got := k.accept(order("a", "grill")); !got.Duplicate {
			t.Errorf("receipt %+v", got)
		}
		k.accept(order("b", "grill"))
		k.print("grill")
		k.nothing("grill")
	})
}
