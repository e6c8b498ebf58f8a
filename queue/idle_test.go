package queue

import (
	"testing"

	"ticketrail/queue/ticket"
)

func TestAStationIsIdleWhenTheNextTicketWouldBeLentAtOnce(t *testing.T) {
	k := start(t)
	want := func(when string, idle bool) {
		t.Helper()
		if got := k.Idle("grill"); got != idle {
			t.Errorf("%s: idle %v, want %v", when, got, idle)
		}
	}
	want("when nobody knows it", false)
	k.SetStations([]string{"grill"})
	want("at the start", true)
	k.accept(order("a", "grill"))
	want("with a ticket before it", false)
	l := k.take("grill")
	want("while one is lent", false)
	k.must(l.Ack(bg, ticket.Sent, ""))
	want("when it is out", true)
	k.must(k.HoldStation(bg, "grill", "cleaning"))
	want("while a person holds it", false)
	k.must(k.ResumeStation(bg, "grill"))
	want("when resumed", true)
}
