package queue

import (
	"errors"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// A step is something that is made durable in one transaction. Line is grill and job is 1, if not
// said otherwise.
type step struct {
	name   string
	before func(k *kitchen)
	do     func(k *kitchen) error
	done   func(k *kitchen) bool // whether it has happened, as people see it
	again  error                 // of asking for it when it has happened; nil: that changes nothing
	once   bool                  // asking again is another one: who asks looks before
	after  func(k *kitchen)
}

func steps() []step {
	grill := func(f func(s StationState) bool) func(*kitchen) bool {
		return func(k *kitchen) bool { return f(k.line("grill")) }
	}
	waiting := func(n int) func(*kitchen) bool {
		return grill(func(s StationState) bool { return s.Pending == n && s.Held == 0 })
	}
	expired := func(n uint64) func(*kitchen) bool {
		return grill(func(s StationState) bool { return s.Books.Outcomes[ticket.Expired] == n })
	}
	is := func(want ticket.State) func(*kitchen) bool {
		return func(k *kitchen) bool { return k.job(1).State == want }
	}
	prints := func(station string, check func(d ticket.Delivery) bool) func(*kitchen) {
		return func(k *kitchen) {
			if d := k.print(station); !check(d) {
				k.t.Errorf("printed %+v", d)
			}
			k.nothing("grill")
			k.nothing(station)
		}
	}
	slip := func(lines int) func(*kitchen) {
		return prints("grill", func(d ticket.Delivery) bool {
			return d.Ticket.Kind == ticket.Slip && len(d.Ticket.Lines) == lines
		})
	}
	accepted := func(k *kitchen) { k.accept(order("a", "grill")) }
	held := func(k *kitchen) { accepted(k); k.must(k.take("grill").Hold(bg, "look")) }
	buried := func(k *kitchen) { accepted(k); k.must(k.take("grill").Bury(bg, "no")) }
	printed := func(k *kitchen) { accepted(k); k.print("grill") }
	late := func(k *kitchen) {
		accepted(k)
		time.Sleep(2*time.Hour + time.Second) // not with the hourly note of the clock
	}
	correction := func(d ticket.Delivery) bool { return d.Ticket.Kind == ticket.Correction }
	cancel := func(k *kitchen) error { return k.Cancel(bg, 1, "not wanted") }
	void := func(k *kitchen) error { return errOf(k.Accept(bg, cancelled(order("a", "grill")))) }
	reprint := func(k *kitchen) error { return errOf(k.Reprint(bg, 1, "", "lost")) }
	expire := func(k *kitchen) error { return errOf(k.Expire(bg, "grill", time.Hour)) }
	rescue := func(dark bool) func(k *kitchen) error {
		return func(k *kitchen) error { return errOf(k.Rescue(bg, "wall", "grill", cards(dark, 1))) }
	}
	board := func(want string) func(*kitchen) bool {
		return func(k *kitchen) bool {
			v, ok, err := k.KV("boards").Get("grill")
			return err == nil && string(v) == want && ok == (want != "")
		}
	}
	put := func(v string) func(k *kitchen) error {
		return func(k *kitchen) error { return k.KV("boards").Put(bg, "grill", []byte(v)) }
	}
	nothing := func(k *kitchen) { k.nothing("grill") }
	return []step{
		{name: "accept", before: func(*kitchen) {}, done: waiting(1),
			do:    func(k *kitchen) error { return errOf(k.Accept(bg, order("a", "grill"))) },
			after: prints("grill", func(d ticket.Delivery) bool { return d.Ticket.Request == "a" && !d.Doubt })},
		{name: "void under a known key", before: printed, do: void, done: waiting(1), after: prints("grill", correction)},
		{name: "void under a damaged key", before: func(k *kitchen) {
			printed(k)
			key := keyOf(venue, "a")
			k.edit(func(tx *bolt.Tx) error {
				return tx.Bucket(bucketNames[bucketDedup]).Bucket(key64(generationOf(0))).Put(key[:], []byte("what is this"))
			})
		}, do: void, done: waiting(1), after: prints("grill", correction)},
		{name: "cancel what waits", before: accepted, do: cancel, done: is(ticket.Cancelled), again: ErrConflict, after: nothing},
		{name: "cancel what is held", before: held, do: cancel, done: is(ticket.Cancelled), again: ErrConflict, after: nothing},
		{name: "cancel what is buried", before: buried, do: cancel, again: ErrConflict, after: nothing,
			done: grill(func(s StationState) bool {
				return s.Books.Outcomes[ticket.Cancelled] == 1 && s.Books.Outcomes[ticket.Buried] == 0
			})},
		{name: "move", before: accepted, done: is(ticket.Moved), again: ErrConflict,
			do:    func(k *kitchen) error { return errOf(k.Move(bg, []uint64{1}, "bar")) },
			after: prints("bar", func(d ticket.Delivery) bool { return !d.Reprint && !d.Doubt })},
		{name: "reprint what is out", before: printed, do: reprint, done: waiting(1), once: true,
			after: prints("grill", func(d ticket.Delivery) bool { return d.Reprint })},
		{name: "reprint what is held", before: held, do: reprint, done: waiting(1), again: ErrConflict,
			after: prints("grill", func(d ticket.Delivery) bool { return d.Reprint })},
		{name: "hold a station", before: accepted, do: func(k *kitchen) error { return k.HoldStation(bg, "grill", "x") },
			done: grill(func(s StationState) bool { return s.Hold != nil }), after: nothing},
		{name: "resume it", before: func(k *kitchen) { accepted(k); k.must(k.HoldStation(bg, "grill", "x")) },
			do:   func(k *kitchen) error { return k.ResumeStation(bg, "grill") },
			done: grill(func(s StationState) bool { return s.Hold == nil }), after: func(k *kitchen) { k.print("grill") }},
		{name: "expire", before: late, do: expire, done: expired(1), after: slip(1)},
		{name: "extend a slip", before: func(k *kitchen) {
			late(k)
			k.must(expire(k))
			k.accept(order("b", "grill"))
			time.Sleep(2 * time.Hour)
		}, do: expire, done: expired(2), after: slip(2)},
		{name: "rescue", before: func(k *kitchen) { k.shown(1) }, do: rescue(true), done: waiting(1),
			after: prints("grill", func(d ticket.Delivery) bool { return d.For == "wall" })},
		{name: "take back", before: func(k *kitchen) { k.shown(1); k.must(rescue(true)(k)) }, do: rescue(false),
			done: func(k *kitchen) bool { return waiting(0)(k) && k.marks() == 0 }, after: nothing},
		{name: "put into a KV", before: func(k *kitchen) { k.must(put("old")(k)) },
			do: put("new"), done: board("new"), after: nothing},
		{name: "delete from it", before: func(k *kitchen) { k.must(put("old")(k)) }, after: nothing,
			do: func(k *kitchen) error { return k.KV("boards").Delete(bg, "grill") }, done: board("")},
	}
}

// Each step, once with its commit failed, once failed but persisted, and then or later the program
// is started anew: asked for again, it has happened exactly once.
func TestEveryStepHappensOnceWhateverItsCommitSaid(t *testing.T) {
	for _, s := range steps() {
		for name, restart := range map[string]bool{s.name: false, s.name + ", restart": true} {
			t.Run(name, func(t *testing.T) {
				pairs(t, func(t *testing.T, k *kitchen, end ending) {
					happened := end == failsButPersist
					s.before(k)
					k.strike(end, func() error { return s.do(k) })
					if restart {
						k.again()
					}
					if s.done(k) != happened {
						t.Errorf("happened %t, want %t", !happened, happened)
					}
					want := s.again
					if !happened {
						want = nil
					}
					if !happened || !s.once {
						if err := s.do(k); !errors.Is(err, want) {
							t.Errorf("asked again: %v, want %v", err, want)
						}
					}
					for range 2 {
						if !s.done(k) {
							t.Error("it has not happened, or twice")
						}
						k.mirrored()
						k.again()
					}
					s.after(k)
				})
			})
		}
	}
}
