package queue

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/slow"
	"ticketrail/queue/ticket"
)

// TestEveryOperationHappensOnceWhateverItsCommitReturns: the commit of each step fails, or fails but persists, and
// the process restarts then or later. When the caller asks again, the step has happened exactly once.
func TestEveryOperationHappensOnceWhateverItsCommitReturns(t *testing.T) {
	for _, s := range steps() {
		for name, restart := range map[string]bool{s.name: false, s.name + ", restart": true} {
			t.Run(name, func(t *testing.T) {
				pairs(t, func(t *testing.T, q *testQueue, end commitResult) {
					happened := end == failsButPersist
					s.before(q)
					q.failCommit(end, func() error { return s.do(q) })
					if restart {
						q.restart()
					}
					wantEqual(t, s.done(q), happened)
					want := s.again
					if !happened {
						want = nil
					}
					if !happened || !s.once {
						wantErr(t, s.do(q), want)
					}
					for range 2 {
						wantTrue(t, s.done(q), "it has not happened, or twice")
						q.checkMemory()
						q.restart()
					}
					s.after(q)
				})
			})
		}
	}
}

// TestMemoryMatchesTheFileAfterEveryPairOfOperations: every pair of operations in one transaction, and every result
// of its commit: the books balance, and the memory is as a restart would read it.
func TestMemoryMatchesTheFileAfterEveryPairOfOperations(t *testing.T) {
	for _, end := range []commitResult{works, fails, failsButPersist, noSpace} {
		t.Run(end.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ops := operations()
				for i, a := range ops {
					q := start(t)
					for j, b := range ops {
						if !slow.All() && (i+2*j+int(end))%5 != 0 {
							continue // with four results, most pairs come up all the same
						}
						name := fmt.Sprintf("%s, %s", a.name, b.name)
						together := []operation{a, b}
						if (i+j/2)%2 == 0 {
							c := ops[(7*i+3*j+int(end))%len(ops)]
							name += ", " + c.name
							together = append(together, c)
						}
						q.scenario(fmt.Sprint(j)).inOneTransaction(end, together...)
						q.checkBooks()
						q.checkMemory()
						wantTrue(t, !t.Failed(), name)
					}
					q.stop()
				}
			})
		})
	}
}

// A step is something that becomes durable in one transaction. Unless it says otherwise it is about
// job 1, at grill.
type step struct {
	name   string
	before func(q *testQueue)
	do     func(q *testQueue) error
	done   func(q *testQueue) bool // whether it has happened, as a person sees it
	again  error                   // the error of a second call; nil: a second call changes nothing
	once   bool                    // a second call does it twice: callers look first
	after  func(q *testQueue)
}

func steps() []step {
	grill := func(f func(s StationState) bool) func(*testQueue) bool {
		return func(q *testQueue) bool { return f(q.station("grill")) }
	}
	waiting := func(n int) func(*testQueue) bool {
		return grill(func(s StationState) bool { return s.Pending == n && s.Held == 0 })
	}
	expired := func(n uint64) func(*testQueue) bool {
		return grill(func(s StationState) bool { return s.Books.Outcomes[ticket.Expired] == n })
	}
	is := func(want ticket.State) func(*testQueue) bool {
		return func(q *testQueue) bool { return q.job(1).State == want }
	}
	prints := func(station string, check func(d ticket.Delivery) bool) func(*testQueue) {
		return func(q *testQueue) {
			d := q.print(station)
			wantTrue(q.t, check(d), d)
			q.wantNothing("grill")
			q.wantNothing(station)
		}
	}
	slip := func(lines int) func(*testQueue) {
		return prints("grill", func(d ticket.Delivery) bool {
			return d.Ticket.Kind == ticket.ExpiredList && len(d.Ticket.Lines) == lines
		})
	}
	accepted := func(q *testQueue) { q.accept(order("a", "grill")) }
	held := func(q *testQueue) { accepted(q); q.must(q.take("grill").Hold(bg, "look")) }
	failed := func(q *testQueue) { accepted(q); q.must(q.take("grill").Fail(bg, "no")) }
	printed := func(q *testQueue) { accepted(q); q.print("grill") }
	late := func(q *testQueue) {
		accepted(q)
		time.Sleep(2*time.Hour + time.Second) // not together with the hourly clock record
	}
	changed := func(d ticket.Delivery) bool { return d.Ticket.Changed != nil }
	cancel := func(q *testQueue) error { return q.Cancel(bg, 1, "not wanted") }
	void := func(q *testQueue) error { return errOf(q.Accept(bg, cancelled(order("a", "grill")))) }
	reprint := func(q *testQueue) error { return errOf(q.Reprint(bg, 1, ReprintOptions{Reason: "lost"})) }
	expire := func(q *testQueue) error { return errOf(q.Expire(bg, "grill", time.Hour)) }
	board := func(want string) func(*testQueue) bool {
		return func(q *testQueue) bool {
			v, ok, err := q.KV("boards").Get("grill")
			return err == nil && string(v) == want && ok == (want != "")
		}
	}
	put := func(v string) func(q *testQueue) error {
		return func(q *testQueue) error { return q.KV("boards").Put(bg, "grill", []byte(v)) }
	}
	nothing := func(q *testQueue) { q.wantNothing("grill") }
	kept := func(want string) func(*testQueue) bool {
		return func(q *testQueue) bool { return q.outcomes() == want }
	}
	markLate := func(q *testQueue) error { q.KeepOutcomes(true); return q.MarkLate(bg, 2*time.Minute) }
	return []step{
		{name: "accept", before: func(*testQueue) {},
			do: func(q *testQueue) error {
				q.KeepOutcomes(true)
				return errOf(q.Accept(bg, order("a", "grill")))
			},
			done:  func(q *testQueue) bool { return waiting(1)(q) && q.outcomes() == "1 accepted" },
			after: prints("grill", func(d ticket.Delivery) bool { return d.Ticket.Request == "a" && !d.Doubt })},
		{name: "void under a known key", before: printed, do: void, done: waiting(1),
			after: prints("grill", changed)},
		{name: "cancel what waits", before: accepted, do: cancel, done: is(ticket.Cancelled),
			again: ErrConflict, after: nothing},
		{name: "cancel what is held", before: held, do: cancel, done: is(ticket.Cancelled),
			again: ErrConflict, after: nothing},
		{name: "cancel what is failed", before: failed, do: cancel, done: is(ticket.Cancelled),
			again: ErrConflict, after: nothing},
		{name: "move", before: accepted, done: is(ticket.Moved), again: ErrConflict,
			do:    func(q *testQueue) error { return errOf(q.Move(bg, []uint64{1}, "bar")) },
			after: prints("bar", func(d ticket.Delivery) bool { return !d.Reprint && !d.Doubt })},
		{name: "reprint what is out", before: printed, do: reprint, done: waiting(1), once: true,
			after: prints("grill", func(d ticket.Delivery) bool { return d.Reprint })},
		{name: "reprint what was voided since", do: reprint, done: waiting(1), once: true,
			before: func(q *testQueue) { printed(q); q.must(void(q)); q.print("grill") },
			after:  prints("grill", func(d ticket.Delivery) bool { return d.Reprint && d.Ticket.Lines[0].Void })},
		{name: "reprint what is held", before: held, do: reprint, done: waiting(1), again: ErrConflict,
			after: prints("grill", func(d ticket.Delivery) bool { return d.Reprint })},
		{name: "hold a station", before: accepted,
			do:   func(q *testQueue) error { return q.HoldStation(bg, "grill", "x") },
			done: grill(func(s StationState) bool { return s.Hold != nil }), after: nothing},
		{name: "resume it", before: func(q *testQueue) { accepted(q); q.must(q.HoldStation(bg, "grill", "x")) },
			do:    func(q *testQueue) error { return q.ResumeStation(bg, "grill") },
			done:  grill(func(s StationState) bool { return s.Hold == nil }),
			after: func(q *testQueue) { q.print("grill") }},
		{name: "expire", before: late, do: expire, done: expired(1), after: slip(1)},
		{name: "print what a dark screen showed", before: func(*testQueue) {}, once: true,
			do: func(q *testQueue) error { return q.printShown() },
			done: func(q *testQueue) bool {
				v, _, err := q.KV("cards").Get("card")
				return waiting(1)(q) && err == nil && string(v) == "on paper"
			},
			after: prints("grill", func(d ticket.Delivery) bool { return d.For == "wall" && d.Down == "screen" })},
		{name: "note a late ticket", do: markLate, done: kept("1 accepted, 1 late"),
			before: func(q *testQueue) { q.KeepOutcomes(true); accepted(q); time.Sleep(3 * time.Minute) },
			after: func(q *testQueue) {
				q.must(q.begin("grill").Retry(bg, "off"))
				q.must(markLate(q))
				q.wantOutcomes("1 accepted, 1 late")
				q.print("grill")
				q.must(reprint(q)) // the copy is as old as itself
				time.Sleep(3 * time.Minute)
				q.must(markLate(q))
				q.wantOutcomes("1 accepted, 1 late, 1 sent, 2 accepted, 2 late")
			}},
		{name: "forget outcomes", before: func(q *testQueue) { q.KeepOutcomes(true); printed(q) },
			do: func(q *testQueue) error { return q.ForgetOutcomes(bg, 1) }, done: kept("1 sent"), after: nothing},
		{name: "put into a KV", before: func(q *testQueue) { q.must(put("old")(q)) },
			do: put("new"), done: board("new"), after: nothing},
		{name: "delete from it", before: func(q *testQueue) { q.must(put("old")(q)) }, after: nothing,
			do: func(q *testQueue) error { return q.KV("boards").Delete(bg, "grill") }, done: board("")},
	}
}

// A scenario is two stations for the operations below. Of one, three tickets are pending and the
// first of them is lent. The other has one held ticket.
type scenario struct {
	*testQueue
	name  string
	from  string
	to    string
	jobs  []uint64 // the three, then the held one
	lease *Lease
}

type operation struct {
	name string
	do   func(s *scenario) error
}

func operations() []operation {
	lease := func(f func(l *Lease) error) func(*scenario) error {
		return func(s *scenario) error { return f(s.lease) }
	}
	cancel := func(n int) func(*scenario) error {
		return func(s *scenario) error { return s.Cancel(bg, s.jobs[n], "") }
	}
	move := func(n ...int) func(*scenario) error {
		return func(s *scenario) error {
			var ids []uint64
			for _, i := range n {
				ids = append(ids, s.jobs[i])
			}
			_, err := s.Move(bg, ids, s.to)
			return err
		}
	}
	return []operation{
		{"accept", func(s *scenario) error { _, err := s.Accept(bg, order("new "+s.name, s.from, s.to)); return err }},
		{"void", func(s *scenario) error {
			return errOf(s.Accept(bg, cancelled(order(s.name, s.from, s.to))))
		}},
		{"begin", lease(func(l *Lease) error { return l.Begin(bg, false) })},
		{"ack", lease(func(l *Lease) error { return l.Ack(bg, ticket.Sent, "") })},
		{"retry", lease(func(l *Lease) error { return l.Retry(bg, "") })},
		{"hold", lease(func(l *Lease) error { return l.Hold(bg, "") })},
		{"fail", lease(func(l *Lease) error { return l.Fail(bg, "") })},
		{"refuse", func(s *scenario) error { return s.lease.Move(bg, s.to, s.from, "") }},
		{"cancel the lent one", cancel(0)},
		{"cancel the second", cancel(1)},
		{"cancel the held one", cancel(3)},
		{"move the lent one", move(0)},
		{"move two", move(1, 2)},
		{"move all", func(s *scenario) error { _, err := s.MoveAll(bg, s.from, s.to); return err }},
		{"move all back", func(s *scenario) error { _, err := s.MoveAll(bg, s.to, s.from); return err }},
		{"reprint the held one", func(s *scenario) error {
			return errOf(s.Reprint(bg, s.jobs[3], ReprintOptions{Station: s.to}))
		}},
		{"expire", func(s *scenario) error { _, err := s.Expire(bg, s.from, time.Hour); return err }},
		{"hold the station", func(s *scenario) error { return s.HoldStation(bg, s.from, "") }},
		{"resume it", func(s *scenario) error { return s.ResumeStation(bg, s.from) }},
	}
}

func (q *testQueue) scenario(name string) *scenario {
	s := &scenario{testQueue: q, name: name, from: "grill " + name, to: "bar " + name}
	q.accept(order(name, s.from, s.from, s.from, s.to))
	held := q.take(s.to)
	q.must(held.Hold(bg, "look"))
	last := held.Delivery().Job
	s.jobs = []uint64{last - 3, last - 2, last - 1, last}
	q.clock.base.Add(int64(2 * time.Hour)) // so that there is something to expire
	s.lease = q.take(s.from)
	return s
}

// inOneTransaction does operations in one transaction, in their order; its commit ends so.
func (s *scenario) inOneTransaction(end commitResult, ops ...operation) {
	commit := s.gather()
	for _, o := range ops {
		go func() { _ = o.do(s) }() // many of them conflict
		synctest.Wait()
	}
	s.disk.willEnd(works, end)
	commit()
	s.waitForStorage()
	s.disk.clear()
	_ = s.lease.Return(bg, "the end") // if it has not ended
	s.must(s.KV("x").Put(bg, "k", nil))
}
