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
		wantEqual(t, q.station("grill").Oldest, 2*time.Hour)
		q.must(q.MarkLate(bg, time.Hour))
		q.wantOutcomes("1 accepted, 2 accepted, 1 late")
		l := q.take("grill")
		got := l.Waited()
		wantTrue(t, got == 2*time.Hour && l.Delivery().Ticket.Request == "a", l.Delivery().Ticket.Request, got)
		q.must(l.Return(bg, "not begun"))
		q.wantExpired("grill", 2*time.Hour, 0)
		q.wantExpired("grill", 2*time.Hour-1, 1)
		q.printAll("grill", "slip of 1", "b")
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
			wantEqual(t, q.station(station).Oldest-time.Second, c.want, c.age)
			q.print(station)
		}
	})
}

// aged is an order that waited at a relay.
func aged(id string, age time.Duration, stations ...string) ticket.Request {
	r := order(id, stations...)
	r.Age = age
	return r
}
