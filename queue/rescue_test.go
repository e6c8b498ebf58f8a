package queue

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

func TestACardOfADarkScreenBecomesAJobOfItsBackup(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.showOnScreen(2)
		q.accept(order("c", "grill"))
		time.Sleep(time.Hour)
		first := ticket.RescueJob{Job: 4, Station: "grill", Open: true, WillPrint: true}
		if r := q.rescue(true, 1, 2); r.Sent != 2 || r.Copies[1] != first {
			t.Errorf("%+v", r)
		}
		j := q.job(4)
		if j.Kind != ticket.Rescued || j.MadeFrom != 1 || j.Request != id(0) ||
			!strings.Contains(j.Reason, "on the screen wall") {
			t.Errorf("%+v", j)
		}
		if b := q.station("grill").Books; b.Enqueued != 1 || b.Reprinted != 2 {
			t.Errorf("books %+v", b)
		}
		// Only the one that has waited here that long.
		q.wantExpired("grill", 30*time.Minute, 1)
		q.restart()
		q.print("grill")
		for _, of := range []int{0, 1} {
			d := q.print("grill")
			if d.Ticket.Request != id(of) || d.For != "wall" || d.Down != "screen" ||
				d.Doubt || d.Reprint || len(d.Ticket.Notes) != 1 {
				t.Errorf("printed %+v", d)
			}
		}
		_, _, body, err := q.Job(bg, 4)
		if len(body) == 0 || err != nil {
			t.Errorf("its request is %q, %v", body, err)
		}
	})
}

func TestAScreenThatGoesDarkAgainPrintsNothingTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.showOnScreen(4)
		q.rescue(true, 1, 2, 3, 4)
		q.print("grill")
		begun := q.take("grill")
		q.must(begun.Begin(bg))
		r := q.rescue(false, 1, 2, 3, 4)
		if r.TakenBack != 2 || !r.Copies[1].Out || r.Copies[1].Open || r.Copies[2].Out || !r.Copies[2].Open {
			t.Errorf("%+v", r)
		}
		r = q.rescue(true, 1, 2, 3, 4)
		if r.Sent != 2 || r.Copies[3].Job != 9 {
			t.Errorf("%+v", r)
		}
		q.must(begun.Ack(bg, ticket.Confirmed, ""))
		q.rescue(true, 1, 2, 3, 4)
		before := q.disk.commits()
		q.rescue(true, 1, 2, 3, 4)
		q.wantCommits(before, 0)
		time.Sleep(100 * time.Hour) // the job is pruned
		q.restart()
		time.Sleep(time.Hour)
		if _, _, _, err := q.Job(bg, 5); !errors.Is(err, ErrNotFound) {
			t.Fatalf("the copy is still there: %v", err)
		}
		if r := q.rescue(true, 1, 2, 3, 4); r.Sent != 0 || !r.Copies[1].Out || !r.Copies[2].Out {
			t.Errorf("%+v", r)
		}
		q.rescue(false, 3, 4) // of the others the card says so itself, or it is gone
		if n := q.marks(); n != 0 {
			t.Errorf("%d marks are left", n)
		}
	})
}

func TestACopyThatIsLentCanBeTakenBackUntilItBegins(t *testing.T) {
	for name, end := range map[string]func(*Lease) error{
		"begin":  func(l *Lease) error { _ = l.Return(bg, "could not begin"); return nil },
		"retry":  func(l *Lease) error { return l.Retry(bg, "refused") },
		"return": func(l *Lease) error { return l.Return(bg, "no paper") },
		"hold":   func(l *Lease) error { return l.Hold(bg, "look") },
		"fail":   func(l *Lease) error { return l.Fail(bg, "never") },
		"move":   func(l *Lease) error { return l.Move(bg, "bar", "grill", "never") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *testQueue) {
				q.showOnScreen(1)
				q.rescue(true, 1)
				l := q.take("grill")
				if r := q.rescue(false, 1); r.TakenBack != 1 {
					t.Errorf("%+v", r)
				}
				if name == "begin" {
					wantErr(t, l.Begin(bg), ErrConflict)
				}
				q.must(end(l))
				if j := q.job(2); j.State != ticket.Cancelled || j.Reason != "a page of the screen wall is open again" {
					t.Errorf("%+v", j)
				}
				q.accept(order("next", "grill"))
				q.printAll("grill", "next")
				q.wantNothing("grill")
			})
		})
	}
}

func TestACopyIsMadeAgainInTheNextDarknessUnlessItMayHaveComeOut(t *testing.T) {
	for name, tt := range map[string]struct {
		end func(q *testQueue) error
		out bool
	}{
		"expired": {func(q *testQueue) error {
			time.Sleep(2 * time.Hour)
			return errOf(q.Expire(bg, "grill", time.Hour))
		}, false},
		"cancelled":       {func(q *testQueue) error { return q.Cancel(bg, 2, "a person") }, false},
		"failed":          {func(q *testQueue) error { return q.take("grill").Fail(bg, "never") }, false},
		"failed in doubt": {func(q *testQueue) error { return q.begin("grill").Fail(bg, "broken") }, true},
		"held in doubt":   {func(q *testQueue) error { return q.begin("grill").Hold(bg, "broken") }, true},
		"moved":           {func(q *testQueue) error { return errOf(q.Move(bg, []uint64{2}, "bar")) }, true},
		"failed and reprinted": {func(q *testQueue) error {
			q.must(q.take("grill").Fail(bg, "no such letters"))
			return errOf(q.Reprint(bg, 2, ReprintOptions{Reason: "a person"}))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *testQueue) {
				q.showOnScreen(1)
				q.rescue(true, 1)
				q.must(tt.end(q))

				if r := q.rescue(true, 1); r.Sent != 0 || r.Copies[1].Out != tt.out || r.Copies[1].WillPrint {
					t.Errorf("in the same darkness: %+v", r)
				}
				if r := q.rescue(false, 1); r.TakenBack != 0 || r.Copies[1].Out != tt.out {
					t.Errorf("the screen is back: %+v", r)
				}
				if r := q.rescue(true, 1); (r.Sent == 0) != tt.out {
					t.Errorf("in the next darkness: %+v", r)
				}
			})
		})
	}
}

func TestACopyAtAStationThatDoesNotPrintIsNotWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.showOnScreen(1)
		q.rescue(true, 1)
		first := func(want bool) {
			t.Helper()
			if r := q.rescue(true, 1); r.Copies[1].WillPrint != want {
				t.Errorf("%+v", r)
			}
		}
		first(true)
		q.must(q.HoldStation(bg, "grill", "closed"))
		first(false)
		q.must(q.ResumeStation(bg, "grill"))
		q.SetStations([]string{"wall", "bar"})
		first(false)
		q.SetStations([]string{"wall", "grill", "bar"})
		first(true)
		r, err := q.Rescue(bg, "wall", "bar", cards(true, 1)) // now with another backup
		if r.Sent != 0 || r.Copies[1].WillPrint || err != nil {
			t.Errorf("%+v, %v", r, err)
		}
		moved, err := q.Move(bg, []uint64{2}, "bar")
		q.must(err)
		if r := q.rescue(false, 1); r.TakenBack != 0 || !r.Copies[1].Out { // a person moved it there
			t.Errorf("%+v", r)
		}
		if d := q.print("bar"); d.Job != moved[0] || d.For != "wall" {
			t.Errorf("printed %+v", d)
		}
		must(t, errOf(q.Reprint(bg, moved[0], ReprintOptions{Station: "wall", Reason: "a person"})))
		if d := q.print("wall"); d.For != "" {
			t.Errorf("the screen has its own ticket for %s", d.For)
		}
	})
}

func TestADamagedMarkCountsAsACopyThatMayBeOut(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.showOnScreen(1)
		q.rescue(true, 1)
		q.must(q.KV("rescued wall").Put(bg, string(key64(1)), []byte("x")))
		if r := q.rescue(true, 1); r.Sent != 0 || !r.Copies[1].Out {
			t.Errorf("%+v", r)
		}
		q.print("grill")
		q.wantNothing("grill")
	})
}

func TestACopyOfAScreensCardThatIsRefusedIsStillForThatScreen(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.showOnScreen(1)
		q.rescue(true, 1)
		q.must(q.take("grill").Move(bg, "bar", "grill", "refused"))
		q.must(q.take("bar").Move(bg, "pass", "bar", "refused"))
		d := q.print("pass")
		if d.For != "wall" || d.Down != "screen" || !slices.Equal(d.RefusedBy, []string{"grill", "bar"}) {
			t.Errorf("%+v", d)
		}
	})
}
