package queue

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

func TestDoubtIsOnDiskExactlyWhenBegunAndUnfinished(t *testing.T) {
	tests := []struct {
		name     string
		attempt  func(l *Lease) error
		attempts int
		doubt    bool
	}{
		{"taken, then a crash", func(*Lease) error { return nil }, 0, false},
		{"begun, then a crash", func(l *Lease) error { return l.Begin(bg) }, 0, true},
		{"refused", func(l *Lease) error { return l.Retry(bg, "connection refused") }, 1, false},
		{"begun and broken", func(l *Lease) error { return errors.Join(l.Begin(bg), l.Retry(bg, "reset")) }, 1, true},
		{"no paper", func(l *Lease) error { return l.Return(bg, "no paper") }, 0, false},
		{"begun and shut down", func(l *Lease) error {
			return errors.Join(l.Begin(bg), l.Return(bg, "stopping"))
		}, 0, true},
		{"begun, and taken back", func(l *Lease) error {
			must(t, l.Begin(bg))
			l.Untouched()
			return l.Retry(bg, "not connected")
		}, 1, false},
		{"begun, taken back, then a crash", func(l *Lease) error {
			must(t, l.Begin(bg))
			l.Untouched()
			return nil
		}, 0, true},
		{"begun twice", func(l *Lease) error {
			return errors.Join(l.Begin(bg), l.Begin(bg), l.Retry(bg, "reset"))
		}, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := start(t)
			q.accept(order("a", "grill"))
			q.must(tt.attempt(q.take("grill")))
			q.restart()
			d := q.take("grill").Delivery()
			if d.Doubt != tt.doubt || d.Attempt != tt.attempts+1 {
				t.Errorf("next attempt %d, doubt %v; want %d, %v", d.Attempt, d.Doubt, tt.attempts+1, tt.doubt)
			}
		})
	}
}

func TestALeaseEndsOnce(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	returned := q.take("grill")
	q.must(returned.Return(bg, "stop"))
	wantErr(t, returned.Begin(bg), ErrConflict)
	l := q.begin("grill")
	q.must(l.Ack(bg, ticket.Sent, "bar"))
	wantErr(t, l.Retry(bg, "again"), ErrConflict)
	wantErr(t, l.Begin(bg), ErrConflict)
	j := q.job(l.Delivery().Job)
	if j.State != ticket.Sent || j.Attempts != 1 || j.Reason != "came out of bar" || j.FinishedAt == nil || j.Doubt {
		t.Errorf("job %+v", j)
	}
}

func TestAnEndThatCannotBeStoredDoesNotEndTheLease(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	l := q.take("grill")
	if err := l.Ack(bg, ticket.Pending, ""); err == nil {
		t.Error("pending was taken for a proof")
	}
	if err := l.Move(bg, "", "grill", "refused"); err == nil {
		t.Error("it was moved to a station without a name")
	}
	q.must(l.Fail(bg, "no such printer model"))
	if s := q.station("grill"); s.Books.Outcomes[ticket.Failed] != 1 {
		t.Errorf("grill %+v", s)
	}
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
	if d := q.print("bar"); d.Job != ids[0] || d.Ticket.Request != "b" {
		t.Errorf("moved %+v", d)
	}
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
	if want := []uint64{5, 6, 7}; !slices.Equal(moved, want) || err != nil {
		t.Errorf("moved as %d, %v; want %d", moved, err, want)
	}
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
	if _, err := q.Move(bg, ids, "bar"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("err %v", err)
	}
}

func TestAnOrphanIsListedUntilItHasNoOpenJob(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	q.must(q.take("grill").Hold(bg, "look"))
	if all := q.Stations(); len(all) != 1 || all[0].Configured || all[0].Held != 1 {
		t.Errorf("stations %+v", all)
	}
	q.must(q.Cancel(bg, 1, "seen"))
	if all := q.Stations(); len(all) != 0 {
		t.Errorf("stations %+v", all)
	}
}

func TestStationsAreListedByNameAlsoAfterAFailedCommit(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		want := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		q.SetStations(want)
		q.failCommit(fails, func() error { return q.KV("x").Put(bg, "k", nil) })
		var got []string
		for _, s := range q.Stations() {
			if got = append(got, s.Name); s.Oldest != 0 || !s.Configured {
				t.Errorf("nothing waits at a configured station: %+v", s)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed %q, want %q", got, want)
		}
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
		if got := q.station("grill").Oldest; got != time.Hour+time.Minute {
			t.Errorf("the oldest has waited %s", got)
		}
		if got := q.take("grill").Waited(); got != time.Minute {
			t.Errorf("the first has waited %s", got)
		}
	})
}

func TestADoubtMovesWithItsTicketAndAHeldTicketStartsToAgeAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.orders(2, "grill")
		q.must(q.begin("grill").Retry(bg, "reset"))
		must(t, errOf(q.Move(bg, []uint64{1}, "bar")))
		q.must(q.take("grill").Hold(bg, "look"))
		time.Sleep(2 * time.Hour)
		must(t, errOf(q.Move(bg, []uint64{2}, "bar")))
		if d := q.print("bar"); !d.Doubt || d.Reprint || d.Attempt != 1 {
			t.Errorf("the ticket in doubt: %+v", d)
		}
		q.wantExpired("bar", time.Hour, 0)
	})
}

func TestARefusedTicketKeepsItsMarkAndSaysWhoRefusedItUntilAPersonSendsItBack(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	q.must(q.begin("grill").Retry(bg, "broke off"))
	q.must(q.begin("grill").Move(bg, "bar", "grill", "refused"))
	if d := q.print("bar"); !d.Doubt || d.For != "grill" || !slices.Equal(d.RefusedBy, []string{"grill"}) {
		t.Errorf("%+v", d)
	}
	q.must(errOf(q.Reprint(bg, 2, ReprintOptions{Station: "grill"})))
	if d := q.print("grill"); d.For != "" || len(d.RefusedBy) > 0 {
		t.Errorf("sent back: %+v", d)
	}
}
