package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

var bg = context.Background()

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
		{"begun and shut down", func(l *Lease) error { return errors.Join(l.Begin(bg), l.Return(bg, "stopping")) }, 0, true},
		{"begun twice", func(l *Lease) error { return errors.Join(l.Begin(bg), l.Begin(bg), l.Retry(bg, "reset")) }, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := start(t)
			k.accept(order("a", "grill"))
			k.must(tt.attempt(k.take("grill")))
			k.again()
			d := k.take("grill").Delivery()
			if d.Doubt != tt.doubt || d.Attempt != tt.attempts+1 {
				t.Errorf("next attempt %d, doubt %v; want %d, %v", d.Attempt, d.Doubt, tt.attempts+1, tt.doubt)
			}
		})
	}
}

func TestASecondDoubtIsHeldAndTheLineGoesOn(t *testing.T) {
	for _, crash := range []bool{false, true} {
		k := start(t)
		k.accept(order("a", "grill"))
		k.accept(order("b", "grill"))
		for n := range 2 {
			l := k.take("grill")
			if d := l.Delivery(); d.Ticket.Request != "a" || d.Doubt != (n == 1) {
				t.Fatalf("attempt %d: %+v", n, d)
			}
			k.must(l.Begin(bg))
			if crash {
				k.again()
			} else {
				k.must(l.Retry(bg, "reset"))
			}
		}
		k.prints("grill", "b")
		held := k.jobs(Filter{States: []ticket.State{ticket.Held}})
		if len(held) != 1 || held[0].Request != "a" || held[0].Reason == "" {
			t.Errorf("held %+v", held)
		}
	}
}

func TestALeaseEndsOnce(t *testing.T) {
	k := start(t)
	k.accept(order("a", "grill"))
	l := k.take("grill")
	k.must(l.Ack(bg, ticket.Sent, "all bytes taken"))
	wantErr(t, l.Retry(bg, "again"), ErrConflict)
	wantErr(t, l.Begin(bg), ErrConflict)
	j := k.job(l.Delivery().Job)
	if j.State != ticket.Sent || j.Attempts != 1 || j.Reason != "all bytes taken" || j.FinishedAt == nil || j.Doubt {
		t.Errorf("job %+v", j)
	}
}

func TestOnlyAProofIsAcknowledged(t *testing.T) {
	k := start(t)
	k.accept(order("a", "grill"))
	l := k.take("grill")
	if err := l.Ack(bg, ticket.Pending, ""); err == nil {
		t.Error("pending was taken for a proof")
	}
	k.must(l.Bury(bg, "no such printer model"))
	if s := k.line("grill"); s.Books.Outcomes[ticket.Buried] != 1 {
		t.Errorf("grill %+v", s)
	}
}

func TestAStationIsLentOneTicketAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.accept(order("a", "grill"))
		k.accept(order("b", "grill"))
		l := k.take("grill")
		got := make(chan *Lease)
		go func() { got <- k.take("grill") }()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("two at a time")
		default:
		}
		if s := k.line("grill"); s.Printing != 1 || s.Pending != 1 {
			t.Errorf("grill %+v", s)
		}
		k.must(l.Ack(bg, ticket.Sent, ""))
		if d := (<-got).Delivery(); d.Ticket.Request != "b" {
			t.Errorf("second %+v", d)
		}
	})
}

func TestAHeldStationIsLentNothingUntilItIsResumed(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.accept(order("a", "grill"))
		k.must(k.HoldStation(bg, "grill", "cleaning"))
		k.again()
		if s := k.line("grill"); s.Hold == nil || s.Hold.Reason != "cleaning" {
			t.Fatalf("grill %+v", s)
		}
		got := make(chan *Lease)
		go func() { got <- k.take("grill") }()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("lent while held")
		default:
		}
		k.must(k.ResumeStation(bg, "grill"))
		k.must((<-got).Ack(bg, ticket.Shown, ""))
	})
}

func TestAReprintIsMarkedAndReplacesWhatWasHeld(t *testing.T) {
	k := start(t)
	k.accept(order("a", "grill"))
	l := k.take("grill")
	first := l.Delivery().Job
	wantErr(t, errOf(k.Reprint(bg, first, "", "lost")), ErrConflict)
	k.must(l.Hold(bg, "look"))
	second, err := k.Reprint(bg, first, "bar", "lost")
	k.must(err)
	if j := k.job(first); j.State != ticket.Cancelled {
		t.Errorf("original %+v", j)
	}
	d := k.print("bar")
	if d.Job != second || !d.Reprint || d.Doubt || d.Attempt != 1 {
		t.Errorf("copy %+v", d)
	}
	if third, err := k.Reprint(bg, second, "", "once more"); err != nil || k.job(second).State != ticket.Sent {
		t.Errorf("third %d, %v", third, err)
	}
	if _, _, body, err := k.Job(bg, second); err != nil || len(body) == 0 {
		t.Errorf("body %q, %v", body, err)
	}
}

func TestAnOrphansLineMovesInOrder(t *testing.T) {
	k := start(t)
	var want []string
	for n := range 250 {
		k.accept(order(id(n), "grill"))
		want = append(want, id(n))
	}
	l := k.begin("grill")
	k.must(l.Retry(bg, "reset")) // in doubt
	k.must(k.take("grill").Hold(bg, "look"))
	k.again()
	k.SetStations([]string{"bar"})
	if s := k.line("grill"); s.Configured || s.Pending != 249 || s.Held != 1 {
		t.Fatalf("grill %+v", s)
	}
	moved, err := k.MoveAll(bg, "grill", "bar")
	if err != nil || len(moved) != 250 {
		t.Fatalf("%d moved, %v", len(moved), err)
	}
	for n, w := range want {
		d := k.print("bar")
		// The first one was held: a person decides for a reprint by moving it.
		if d.Ticket.Request != w || d.Doubt || d.Reprint != (n == 0) || d.Job != moved[n] {
			t.Fatalf("ticket %d is %s (job %d, doubt %v, reprint %v), want %s", n, d.Ticket.Request, d.Job, d.Doubt, d.Reprint, w)
		}
	}
	if s := k.line("grill"); s.Name != "grill" || s.Pending+s.Held != 0 {
		t.Errorf("grill %+v", s)
	}
}

func TestMovesAreAllOrNothing(t *testing.T) {
	k := start(t)
	k.accept(order("a", "grill"))
	k.accept(order("b", "grill"))
	l := k.take("grill")
	b := k.jobs(Filter{Request: "b"})[0].ID
	for _, ids := range [][]uint64{{b, l.Delivery().Job}, {b, 999}, {b, b}} {
		if _, err := k.Move(bg, ids, "bar"); err == nil {
			t.Errorf("%v moved", ids)
		}
	}
	wantErr(t, errOf(k.Move(bg, []uint64{b}, "grill")), ErrConflict)
	ids, err := k.Move(bg, []uint64{b}, "bar")
	k.must(err)
	if d := k.print("bar"); d.Job != ids[0] || d.Ticket.Request != "b" {
		t.Errorf("moved %+v", d)
	}
	k.must(l.Return(bg, "stop"))
}

func TestJobsAreListedNewestFirstAndFiltered(t *testing.T) {
	k := start(t)
	k.orders(450, "grill")
	l := k.take("grill")
	all := k.jobs(Filter{})
	if len(all) != 450 {
		t.Fatalf("%d jobs", len(all))
	}
	for i := range len(all) - 1 {
		if all[i].ID <= all[i+1].ID {
			t.Fatalf("job %d before %d", all[i].ID, all[i+1].ID)
		}
	}
	for _, tt := range []struct {
		f    Filter
		want int
	}{
		{Filter{Limit: 7}, 7},
		{Filter{States: []ticket.State{ticket.Printing}}, 1},
		{Filter{Station: "bar"}, 0},
		{Filter{Request: id(3)}, 1},
		{Filter{Since: all[0].ReceivedAt.Add(time.Second)}, 0},
		{Filter{Since: all[0].ReceivedAt}, 450},
	} {
		if got := len(k.jobs(tt.f)); got != tt.want {
			t.Errorf("%+v: %d jobs, want %d", tt.f, got, tt.want)
		}
	}
	k.must(l.Return(bg, ""))
}
