package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// More durable steps, each once with its commit failed and once failed but persisted: what people
// ask for, what grows, what time brings.

func TestWhatIsCancelledOverAFailureIsCancelledOnce(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		persisted := end == failsButPersist
		k.accept(order("waits", "grill"))
		k.accept(order("held", "bar"))
		held := k.take("bar")
		k.must(held.Hold(bg, "look"))
		k.accept(order("buried", "pass"))
		buried := k.take("pass")
		k.must(buried.Bury(bg, "no"))
		for _, job := range []uint64{1, held.Delivery().Job, buried.Delivery().Job} {
			k.strike(end, func() error { return k.Cancel(bg, job, "not wanted") })
			if j := k.job(job); (j.State == ticket.Cancelled) != persisted {
				t.Errorf("job %+v", j)
			}
			if err := k.Cancel(bg, job, "not wanted"); errors.Is(err, ErrConflict) != persisted || err != nil && !persisted {
				t.Errorf("cancel job %d again: %v", job, err)
			}
			k.balanced()
		}
		k.again()
		for _, station := range []string{"grill", "bar", "pass"} {
			k.nothing(station)
			if b := k.line(station).Books; b.Outcomes[ticket.Cancelled] != 1 || b.Outcomes[ticket.Buried] != 0 {
				t.Errorf("books of %s: %+v", station, b)
			}
		}
	})
}

func TestALineMovedOverAFailureIsMovedOnceAndInOrder(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		const tickets = moveAtOnce + 20 // two transactions: the second one fails
		for n := range tickets {
			k.accept(order(id(n), "grill"))
		}
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

func TestAStationResumedOverAFailureIsHeldOrNotAsTheFileSays(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		k.accept(order("a", "grill"))
		k.must(k.HoldStation(bg, "grill", "closed"))
		k.strike(end, func() error { return k.ResumeStation(bg, "grill") })
		for range 2 {
			if h := k.line("grill").Hold; (h == nil) != (end == failsButPersist) {
				t.Errorf("hold %+v", h)
			}
			k.again()
		}
		k.must(k.ResumeStation(bg, "grill"))
		k.print("grill")
	})
}

func TestASlipThatGrewOverAFailureListsEachTicketOnce(t *testing.T) {
	pairs(t, func(t *testing.T, k *kitchen, end ending) {
		expire := func() error { _, err := k.Expire(bg, "grill", time.Hour); return err }
		k.accept(order("a", "grill"))
		time.Sleep(2 * time.Hour)
		k.must(expire())
		k.accept(order("b", "grill"))
		time.Sleep(2*time.Hour + time.Second) // not with the hourly note of the clock
		k.strike(end, func() error { return expire() })
		k.must(expire())
		k.again()
		if d := k.print("grill"); d.Ticket.Kind != ticket.Slip || len(d.Ticket.Lines) != 2 {
			t.Errorf("slip %+v", d.Ticket)
		}
		k.nothing("grill")
	})
}

func TestAVoidUnderAKnownKeyOverAFailureIsToldOnce(t *testing.T) {
	for name, damage := range map[string]bool{"whole": false, "damaged": true} {
		t.Run(name, func(t *testing.T) {
			pairs(t, func(t *testing.T, k *kitchen, end ending) {
				r := order("a", "grill")
				k.accept(r)
				k.print("grill")
				if damage {
					key := keyOf(r.Venue, r.ID)
					k.stop()
					k.edit(func(tx *bolt.Tx) error {
						return tx.Bucket(bucketNames[bucketDedup]).Bucket(key64(generationOf(0))).Put(key[:], []byte("what is this"))
					})
					k.open()
				}
				k.strike(end, func() error { _, err := k.Accept(bg, cancelled(r)); return err })
				for range 2 {
					if got := k.accept(cancelled(r)); !got.Duplicate {
						t.Errorf("receipt %+v", got)
					}
				}
				if d := k.print("grill"); d.Ticket.Kind != ticket.Correction {
					t.Errorf("printed %+v", d)
				}
				k.nothing("grill")
			})
		})
	}
}

func TestAValueWhoseOwnerGaveUpWaitingIsStoredAsItWasPut(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		s := k.Shelf("boards")
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
				if got := k.accept(order("old", "grill")); !got.Duplicate {
					t.Error("the key is forgotten")
				}
				if j := k.job(1); j.State != ticket.Sent {
					t.Errorf("job %+v", j)
				}
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
