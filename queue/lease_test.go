package queue

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestDoubtIsOnDiskExactlyWhenBegunAndUnfinished(t *testing.T) {
	begin := func(l *Lease) error { return l.Begin(bg, false) }
	broken := func(l *Lease) error { return l.Retry(bg, "reset") }
	untouched := func(l *Lease) error {
		return l.Settle(bg, Settlement{End: Retry, Reason: "reset", Untouched: true})
	}
	returned := func(l *Lease) error { return l.Return(bg, "stopping") }
	type steps = []func(l *Lease) error
	type history struct {
		steps    steps
		attempts int
		doubt    bool
	}
	each(t, map[string]history{
		"taken, then a crash":   {steps{}, 0, false},
		"begun, then a crash":   {steps{begin}, 0, true},
		"refused":               {steps{broken}, 1, false},
		"begun and broken":      {steps{begin, broken}, 1, true},
		"no paper":              {steps{returned}, 0, false},
		"begun and shut down":   {steps{begin, returned}, 0, true},
		"begun, and taken back": {steps{begin, untouched}, 1, false},
		"begun twice":           {steps{begin, begin, broken}, 1, true},
	}, func(t *testing.T, q *testQueue, c history) {
		q.accept(order("a", "grill"))
		l := q.take("grill")
		for _, step := range c.steps {
			q.must(step(l))
		}
		q.restart()
		d := q.take("grill").Delivery()
		wantTrue(t, d.Doubt == c.doubt && d.Attempt == c.attempts+1, d.Attempt, d.Doubt)
	})
}

func TestALeaseEndsOnce(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	returned := q.take("grill")
	q.must(returned.Return(bg, "stop"))
	wantErr(t, returned.Begin(bg, false), ErrConflict)
	l := q.begin("grill")
	q.must(l.Ack(bg, ticket.Sent, "bar"))
	wantErr(t, l.Retry(bg, "again"), ErrConflict)
	wantErr(t, l.Begin(bg, false), ErrConflict)
	j := q.job(l.Delivery().Job)
	wantTrue(t, j.State == ticket.Sent && j.Attempts == 1 && j.FinishedAt != nil && !j.Doubt, j)
	wantEqual(t, j.Reason, "came out of bar")
}

func TestAnEndThatCannotBeStoredDoesNotEndTheLease(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	l := q.take("grill")
	err := l.Ack(bg, ticket.Pending, "")
	wantTrue(t, err != nil, "pending was taken for a proof")
	err = l.Move(bg, "", "grill", "refused")
	wantTrue(t, err != nil, "it was moved to a station without a name")
	q.must(l.Fail(bg, "no such printer model"))
	wantEqual(t, q.station("grill").Books.Outcomes[ticket.Failed], 1)
}

func TestATicketThatWasRefusedNamesOneJobForItsOtherFields(t *testing.T) {
	q := start(t)
	r := order("a", "grill")
	r.Drafts[0].Ticket.More = 3
	q.accept(r)
	q.must(q.take("grill").Move(bg, "bar", "grill", "refused"))
	d := q.take("bar").Delivery()
	wantTrue(t, slices.Equal(d.Ticket.Notes, []string{ticket.MoreUnread(3, d.Job)}), d.Ticket.Notes)
}

func TestMovesAreAllOrNothing(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	q.accept(order("b", "grill"))
	l := q.take("grill")
	b := q.jobs(Filter{Request: "b"})[0].ID
	wantErr(t, errOf(q.Move(bg, []uint64{b, l.Delivery().Job}, "bar")), ErrConflict)
	wantErr(t, errOf(q.Move(bg, []uint64{b, 999}, "bar")), ErrNotFound)
	wantErr(t, errOf(q.Move(bg, []uint64{b, b}, "bar")), ErrConflict)
	wantErr(t, errOf(q.Move(bg, []uint64{b}, "grill")), ErrConflict)
	wantErr(t, errOf(q.MoveAll(bg, "grill", "grill")), ErrConflict)
	ids, err := q.Move(bg, []uint64{b}, "bar")
	q.must(err)
	q.printAll("bar", "b")
	wantErr(t, errOf(q.Move(bg, ids, "grill")), ErrConflict) // it is out
	wantErr(t, q.Cancel(bg, ids[0], ""), ErrConflict)
	wantErr(t, q.Cancel(bg, l.Delivery().Job, ""), ErrConflict) // it prints
	q.must(l.Return(bg, "stop"))
}

func TestMoveAllLeavesWhatPrints(t *testing.T) {
	q := start(t)
	q.orders(4, "grill")
	l := q.take("grill")
	moved, err := q.MoveAll(bg, "grill", "bar")
	wantTrue(t, slices.Equal(moved, []uint64{5, 6, 7}) && err == nil, moved, err)
	q.must(l.Return(bg, "no paper"))
	q.printAll("bar", id(1), id(2), id(3))
	q.printAll("grill", id(0))
	q.accept(order("next", "grill"))
	q.printAll("grill", "next")
}

func TestAMoveOfMoreThanAThousandJobsIsRefused(t *testing.T) {
	q := start(t)
	ids := make([]uint64, 1001)
	wantErr(t, errOf(q.Move(bg, ids[:1000], "bar")), ErrNotFound) // none of them exists
	_, err := q.Move(bg, ids, "bar")
	wantTrue(t, err != nil && !errors.Is(err, ErrNotFound), err)
}

func TestAnOrphanIsListedUntilItHasNoOpenJob(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	q.must(q.take("grill").Hold(bg, "look"))
	all := q.Stations()
	wantTrue(t, len(all) == 1 && !all[0].Configured && all[0].Held == 1, all)
	q.must(q.Cancel(bg, 1, "seen"))
	wantEqual(t, len(q.Stations()), 0)
}

func TestStationsAreListedByNameAlsoAfterAFailedCommit(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		want := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		q.SetStations(want)
		q.failCommit(fails, func() error { return q.KV("x").Put(bg, "k", nil) })
		var got []string
		for _, s := range q.Stations() {
			got = append(got, s.Name)
			wantTrue(t, s.Oldest == 0 && s.Configured, s)
		}
		wantTrue(t, slices.Equal(got, want), got, want)
	})
}

func TestTheOldestJobNeedNotBeTheFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		time.Sleep(time.Hour)
		q.accept(order("a", "bar"))
		time.Sleep(time.Hour)
		q.accept(order("b", "grill"))
		time.Sleep(time.Minute)
		must(t, errOf(q.Move(bg, []uint64{1}, "grill"))) // to the end, with its age
		wantEqual(t, q.station("grill").Oldest, time.Hour+time.Minute)
		wantEqual(t, q.take("grill").Waited(), time.Minute)
	})
}

func TestAHeldTicketThatIsMovedStartsToAgeAnew(t *testing.T) {
	inBubble(t, func(_ *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		q.must(q.take("grill").Hold(bg, "look"))
		time.Sleep(2 * time.Hour)
		q.must(errOf(q.Move(bg, []uint64{1}, "bar")))
		q.wantExpired("bar", time.Hour, 0)
	})
}

func TestATakeThatWaitsGetsTheTicketThatItsStationMayPrintNow(t *testing.T) {
	type wakes struct {
		before func(q *testQueue)
		do     func(q *testQueue, lent *Lease) error // lent is the ticket that grill was lent before; nil: none
	}
	each(t, map[string]wakes{
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
	}, func(t *testing.T, q *testQueue, c wakes) {
		if c.before != nil {
			c.before(q)
		}
		lent, _, err := q.lend("grill")
		q.must(err)
		if lent != nil {
			ready, err := lent.fetch(bg)
			wantTrue(t, ready && err == nil, ready, err)
		}
		wantTaken := q.waitsAtGrill()
		q.must(c.do(q, lent))
		wantTaken()
	})
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
		wantTaken := q.waitsAtGrill()
		resume()
		wantErr(t, <-done, ErrConflict)
		wantTaken()
	})
}

func TestWhatIsOverIsForgottenWhenTheQueueStarts(t *testing.T) {
	evening := time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)
	w := &fakeClock{now: evening, synchronized: true}
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.accept(order("a", "grill"))
		q.print("grill")
		q.reboot(w, evening.Add(200*time.Hour), true)
		synctest.Wait()
		for _, bucket := range []int{bucketDedup, bucketJobs, bucketRequests, bucketFinished} {
			q.wantCount(bucket, 0)
		}
		wantEqual(t, q.station("grill").Books.Outcomes[ticket.Sent], 1)
	}, func(o *Options) { o.Clock = w })
}

// waitsAtGrill has a Take wait at the grill; the returned function waits until it gets the ticket of request a.
func (q *testQueue) waitsAtGrill() (wantTaken func()) {
	q.t.Helper()
	got := make(chan *Lease)
	go func() { got <- q.take("grill") }()
	synctest.Wait()
	return func() {
		q.t.Helper()
		asked := time.Now()
		wantEqual(q.t, (<-got).Delivery().Ticket.Request, "a")
		wantEqual(q.t, time.Since(asked), 0) // of the fake clock
	}
}
