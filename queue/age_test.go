package queue

import (
	"math"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

func TestAnOrderThatWaitedAtARelayIsAsOldAsItIs(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) { // a fresh file, so that it is older than the running time
		q.KeepOutcomes(true)
		q.accept(aged("a", 2*time.Hour, "grill"))
		q.accept(order("b", "grill"))
		q.restart()
		q.KeepOutcomes(true)
		if got := q.station("grill").Oldest; got != 2*time.Hour {
			t.Errorf("the oldest has waited %s", got)
		}
		q.must(q.MarkLate(bg, time.Hour))
		q.wantOutcomes("1 accepted, 2 accepted, 1 late")
		l := q.take("grill")
		if got := l.Waited(); got != 2*time.Hour || l.Delivery().Ticket.Request != "a" {
			t.Errorf("%s has waited %s", l.Delivery().Ticket.Request, got)
		}
		q.must(l.Return(bg, "not begun"))
		q.wantExpired("grill", 2*time.Hour, 0)
		q.wantExpired("grill", 2*time.Hour-1, 1)
		if d := q.print("grill"); d.Ticket.Kind != ticket.Slip || d.Ticket.Lines[0].Name != "#a" {
			t.Errorf("first came %+v", d.Ticket)
		}
		q.printAll("grill", "b")
		q.wantDuplicate(aged("a", 3*time.Hour, "grill")) // its key is as old as its arrival here
	})
}

func TestAnAgeThatNoOrderCanHaveDoesNotCount(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		for station, c := range map[string]struct{ age, want time.Duration }{
			"grill": {-time.Hour, 0}, "bar": {math.MaxInt64, maxTimeOff},
		} {
			q.accept(aged(station, c.age, station))
			time.Sleep(time.Second)
			if got := q.station(station).Oldest - time.Second; got != c.want {
				t.Errorf("%s: %s", c.age, got)
			}
			q.print(station)
		}
	})
}

func TestANumberOfAnotherEveningIsAnotherOrderAlsoIfItWaitedAtARelay(t *testing.T) {
	inBubble(t, func(_ *testing.T, q *testQueue) {
		old := dinner("a", "1Fish", "grill")
		old.Age = sameCheckFor + time.Hour
		q.accept(old)
		q.print("grill")
		q.accept(dinner("b", "1Fish-", "grill"))
		q.wantCopy(1, ReprintOptions{}, "1Fish")
	})
}

// aged is an order that waited at a relay.
func aged(id string, age time.Duration, stations ...string) ticket.Request {
	r := order(id, stations...)
	r.Age = age
	return r
}
