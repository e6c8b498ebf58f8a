package queue

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestExpiredTicketsAreListedOnOneSlipInFront(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.orders(2, "grill")
		expire := func(want int) {
			t.Helper()
			time.Sleep(2 * time.Hour)
			q.wantExpired("grill", time.Hour, want)
		}
		expire(2)
		q.accept(order("c", "grill"))
		q.accept(order("d", "grill"))
		expire(0) // while a slip waits in front
		q.restart()
		l := q.take("grill")
		slip := l.Delivery()
		wantTrue(t, slip.Ticket.Kind == ticket.ExpiredList && len(slip.Ticket.Lines) == 2, slip)
		expire(0) // while it prints
		q.must(l.Ack(bg, ticket.Sent, ""))
		must(t, errOf(q.Reprint(bg, slip.Job, ReprintOptions{Reason: "lost"})))
		expire(2)
		expire(0) // a slip does not expire
		for want, reprint := range []bool{false, true} {
			d := q.print("grill")
			wantTrue(t, d.Ticket.Kind == ticket.ExpiredList && d.Reprint == reprint, want, d)
			wantEqual(t, len(d.Ticket.Lines), 2)
		}
		q.wantNothing("grill")
	})
}

func TestASlipMarksDoubtfulTicketsAndHasALimit(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		for n := range 500 + 2 {
			q.accept(order(id(n), "grill"))
			if n == 0 {
				l := q.begin("grill")
				q.must(l.Retry(bg, "reset"))
			}
		}
		time.Sleep(2 * time.Hour)
		q.wantExpired("grill", time.Hour, 500)
		for i, l := range q.print("grill").Ticket.Lines {
			wantEqual(t, strings.Contains(strings.Join(l.Notes, " "), "may have come out"), i == 0, i, l.Notes)
		}
		q.wantExpired("grill", time.Hour, 2)
		q.print("grill")
		q.wantNothing("grill")
	})
}

func TestALineOfASlipNamesTheTicketAsPeopleCallIt(t *testing.T) {
	at := time.Date(2026, 11, 20, 19, 30, 0, 0, time.UTC)
	for want, tk := range map[string]ticket.Ticket{
		"#12 · Table 4 · Dine in · Ann; 20:30, 3 lines, id r,2x Soup, VOID 1x Cake": {
			Number: "12", Table: "4", Type: "Dine in", Server: "Ann", Zone: "Europe/Berlin",
			Lines: []ticket.Line{{Quantity: "2", Name: "Soup"}, {Depth: 1, Quantity: "1", Name: "hot"},
				{Quantity: "1", Name: "Cake", Void: true}},
		},
		"job 7; 19:30 UTC, changed, 14 lines, id r," +
			strings.Repeat("1x "+strings.Repeat("é", 57)+"…, ", 12) + "2 more": {
			Changed: &ticket.Change{}, Zone: "no/zone",
			Lines: slices.Repeat([]ticket.Line{{Quantity: "1", Name: strings.Repeat("é", 58)}}, 14),
		},
		"job 7; 19:30 UTC, 0 lines, id r": {},
	} {
		tk.Received, tk.Request = at, "r"
		l := slipLine(tk, 7, false)
		wantEqual(t, l.Name+"; "+strings.Join(l.Notes, ","), want)
		wantEqual(t, l.Quantity, "1")
	}
	l := slipLine(ticket.Ticket{Void: true, Refire: true}, 7, false)
	wantTrue(t, l.Void && l.Refire, l)
}

func TestATicketThatIsCancelledInTheSameTransactionDoesNotExpire(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		zone := order("b", "grill")
		zone.Drafts[0].Ticket.VenueName, zone.Drafts[0].Ticket.Zone = "Da Mario", "Europe/Berlin"
		q.accept(order("a", "grill"))
		q.accept(zone)
		q.accept(order("c", "grill"))
		time.Sleep(2 * time.Hour)
		commit := q.gather()
		go func() { q.must(q.Cancel(bg, 1, "guest left")) }()
		synctest.Wait()
		go q.wantExpired("grill", time.Hour, 2)
		synctest.Wait()
		commit()
		q.wantState(1, ticket.Cancelled)
		slip := q.print("grill").Ticket
		wantTrue(t, slip.Venue == venue && slip.VenueName == "Da Mario" && slip.Zone == "Europe/Berlin", slip)
		wantEqual(t, len(slip.Lines), 2)
		q.accept(order("d", "grill"))
		q.printAll("grill", "d")
	})
}

func TestATicketThatIsLentDoesNotExpire(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.orders(2, "grill")
		l := q.take("grill")
		time.Sleep(2 * time.Hour)
		q.wantExpired("grill", time.Hour, 1)
		q.must(l.Begin(bg, false))
		q.must(l.Ack(bg, ticket.Sent, ""))
		q.wantState(1, ticket.Sent)
		q.wantState(2, ticket.Expired)
	})
}

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
