package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestExpiredTicketsAreListedOnOneSlipInFront(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		for n := range 3 {
			q.accept(order(id(n), "grill"))
			time.Sleep(time.Hour)
		}
		expire := func(want int) {
			t.Helper()
			q.wantExpired("grill", 2*time.Hour, want)
		}
		expire(1)
		time.Sleep(time.Hour)
		expire(1)
		expire(0)
		q.restart()
		l := q.take("grill")
		d := l.Delivery()
		if d.Ticket.Kind != ticket.Slip || len(d.Ticket.Lines) != 2 {
			t.Fatalf("slip %+v", d)
		}
		time.Sleep(time.Hour)
		expire(1) // while the slip prints it cannot be extended
		q.must(l.Ack(bg, ticket.Sent, ""))
		if d := q.print("grill"); d.Ticket.Kind != ticket.Slip || len(d.Ticket.Lines) != 1 {
			t.Fatalf("second slip %+v", d)
		}
		time.Sleep(100 * time.Hour)
		expire(0)
		q.wantNothing("grill")
	})
}

func TestCancellingASlipThatWasExtendedIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		expire := func(name string) uint64 {
			t.Helper()
			q.accept(order(name, "grill"))
			time.Sleep(2 * time.Hour)
			q.wantExpired("grill", time.Hour, 1)
			return q.jobs(Filter{States: []ticket.State{ticket.Pending}})[0].ID
		}
		first, second := expire("a"), expire("b")
		for name, err := range map[string]error{
			"cancel": q.Cancel(bg, first, "seen, it lists only a"),
			"move":   func() error { _, err := q.Move(bg, []uint64{first}, "bar"); return err }(),
		} {
			if !errors.Is(err, ErrConflict) ||
				!strings.Contains(err.Error(), fmt.Sprintf("extended as job %d", second)) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, shorter, _, err := q.Job(bg, first); len(shorter.Lines) != 0 || err != nil {
			t.Errorf("the shorter one still has its lines: %+v, %v", shorter, err)
		}
		q.restart()
		d := q.print("grill")
		if d.Job != second || len(d.Ticket.Lines) != 2 || d.Doubt || d.Reprint {
			t.Errorf("slip %+v", d)
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
		q.wantExpired("grill", time.Hour, 500+2)
		last, first := q.print("grill").Ticket.Lines, q.print("grill").Ticket.Lines
		if len(first) != 500 || len(last) != 2 {
			t.Fatalf("slips of %d and %d lines", len(last), len(first))
		}
		for i, l := range first {
			if told := strings.Contains(strings.Join(l.Notes, " "), "may have come out"); told != (i == 0) {
				t.Errorf("line %d: %q", i, l.Notes)
			}
		}
		q.wantNothing("grill")
	})
}

func TestALineOfASlipNamesTheTicketAsPeopleCallIt(t *testing.T) {
	at := time.Date(2026, 11, 20, 19, 30, 0, 0, time.UTC)
	for want, tk := range map[string]ticket.Ticket{
		"#12 · Table 4 · Dine in · Ann; 20:30, 1 line, id r": {
			Number: "12", Table: "4", Type: "Dine in", Server: "Ann", Zone: "Europe/Berlin",
			Lines: make([]ticket.Line, 1),
		},
		"job 7; 19:30 UTC, changed, 2 lines, id r": {
			Changed: &ticket.Change{}, Zone: "no/zone", Lines: make([]ticket.Line, 2),
		},
	} {
		tk.Received, tk.Request = at, "r"
		if l := slipLine(tk, 7, false); l.Name+"; "+strings.Join(l.Notes, ",") != want || l.Quantity != "1" {
			t.Errorf("%+v, want %s", l, want)
		}
	}
	if l := slipLine(ticket.Ticket{Void: true, Refire: true}, 7, false); !l.Void || !l.Refire {
		t.Errorf("%+v", l)
	}
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
		if slip.Venue != venue || slip.VenueName != "Da Mario" || slip.Zone != "Europe/Berlin" || len(slip.Lines) != 2 {
			t.Errorf("slip %+v", slip)
		}
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
		q.must(l.Begin(bg))
		q.must(l.Ack(bg, ticket.Sent, ""))
		q.wantState(1, ticket.Sent)
		q.wantState(2, ticket.Expired)
	})
}

func TestASlipThatIsReprintedHasAllItsLinesAndIsNotExtended(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		expire := func(name string) {
			t.Helper()
			q.accept(order(name, "grill"))
			time.Sleep(2 * time.Hour)
			q.wantExpired("grill", time.Hour, 1)
		}
		expire("a")
		expire("b")
		slip := q.print("grill")
		must(t, errOf(q.Reprint(bg, slip.Job, ReprintOptions{Reason: "lost"})))
		expire("c")
		for lines, reprint := range []bool{false, true} {
			d := q.print("grill")
			if d.Ticket.Kind != ticket.Slip || d.Reprint != reprint || len(d.Ticket.Lines) != lines+1 {
				t.Errorf("slip %+v", d)
			}
		}
		q.wantNothing("grill")
	})
}
