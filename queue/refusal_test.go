package queue

import (
	"slices"
	"testing"

	"ticketrail/queue/ticket"
)

func TestARefusedTicketSaysWhoRefusedItAtEachStationUntilAPersonSendsItBack(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	want := func(station, wantFor string, attempt int, refusedBy ...string) *Lease {
		t.Helper()
		l := q.take(station)
		d := l.Delivery()
		if d.For != wantFor || d.Down != "" || d.Attempt != attempt || !slices.Equal(d.RefusedBy, refusedBy) {
			t.Errorf("%s got %+v, want it for %q, refused by %q", station, d, wantFor, refusedBy)
		}
		if j := q.job(d.Job); !slices.Equal(j.RefusedBy, refusedBy) {
			t.Errorf("job %+v", j)
		}
		return l
	}
	l := want("grill", "", 1)
	q.must(l.Move(bg, "bar", "grill", "refused by grill: 422"))
	if j := q.job(1); j.State != ticket.Moved || j.Attempts != 1 ||
		j.Reason != "moved to bar as job 2: refused by grill: 422" {
		t.Errorf("%+v", j)
	}
	if j := q.job(2); j.MadeFrom != 1 || j.Reason != "refused by grill: 422" {
		t.Errorf("%+v", j)
	}
	q.restart()
	q.must(want("bar", "grill", 1, "grill").Move(bg, "pass", "bar", "refused by bar: 400"))
	q.must(want("pass", "grill", 1, "grill", "bar").Hold(bg, "refused by pass too"))
	_, err := q.Move(bg, []uint64{3}, "window") // by a person
	q.must(err)
	q.must(want("window", "grill", 1, "grill", "bar").Ack(bg, ticket.Sent, ""))
	q.must(errOf(q.Reprint(bg, 4, ReprintOptions{Station: "grill"})))
	q.must(want("grill", "", 1).Ack(bg, ticket.Sent, ""))
	q.checkBooks()
}

func TestARefusedTicketThatMayHaveComeOutTwiceIsStillLentWithItsMark(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	q.must(q.begin("grill").Retry(bg, "broke off"))
	q.must(q.begin("grill").Move(bg, "bar", "grill", "refused"))
	if d := q.print("bar"); !d.Doubt {
		t.Errorf("%+v", d)
	}
}

func TestACopyOfAScreensCardThatIsRefusedIsStillForThatScreen(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.showOnScreen(1)
		q.rescue(true, 1)
		q.must(q.take("grill").Move(bg, "bar", "grill", "refused"))
		if d := q.print("bar"); d.For != "wall" || d.Down != "screen" || !slices.Equal(d.RefusedBy, []string{"grill"}) {
			t.Errorf("%+v", d)
		}
	})
}

func TestATicketIsNotMovedToAStationWithoutAName(t *testing.T) {
	q := start(t)
	q.accept(order("a", "grill"))
	l := q.take("grill")
	if err := l.Move(bg, "", "grill", "refused"); err == nil {
		t.Error("it was moved")
	}
	q.must(l.Return(bg, ""))
	q.printAll("grill", "a")
}
