package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
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
			if n, err := q.Expire(bg, "grill", 2*time.Hour); n != want || err != nil {
				t.Fatalf("%d expired, %v; want %d", n, err, want)
			}
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
			if n, err := q.Expire(bg, "grill", time.Hour); n != 1 || err != nil {
				t.Fatalf("%d expired, %v", n, err)
			}
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
		for n := range expireAtOnce + 2 {
			q.accept(order(id(n), "grill"))
			if n == 0 {
				l := q.begin("grill")
				q.must(l.Retry(bg, "reset"))
			}
		}
		time.Sleep(2 * time.Hour)
		if n, err := q.Expire(bg, "grill", time.Hour); n != expireAtOnce+2 || err != nil {
			t.Fatalf("%d expired, %v", n, err)
		}
		last, first := q.print("grill").Ticket.Lines, q.print("grill").Ticket.Lines
		if len(first) != expireAtOnce || len(last) != 2 {
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

func TestATicketThatIsLentDoesNotExpire(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		q.orders(2, "grill")
		l := q.take("grill")
		time.Sleep(2 * time.Hour)
		if n, err := q.Expire(bg, "grill", time.Hour); n != 1 || err != nil {
			t.Errorf("%d expired, %v", n, err)
		}
		q.must(l.Begin(bg))
		q.must(l.Ack(bg, ticket.Sent, ""))
		q.wantState(1, ticket.Sent)
		q.wantState(2, ticket.Expired)
	})
}

func TestASlipThatIsReprintedIsNotExtended(t *testing.T) {
	inBubble(t, func(t *testing.T, q *testQueue) {
		expire := func(name string) {
			t.Helper()
			q.accept(order(name, "grill"))
			time.Sleep(2 * time.Hour)
			if n, err := q.Expire(bg, "grill", time.Hour); n != 1 || err != nil {
				t.Fatalf("%d expired, %v", n, err)
			}
		}
		expire("a")
		slip := q.print("grill")
		must(t, errOf(q.Reprint(bg, slip.Job, "", "lost")))
		expire("b")
		for _, reprint := range []bool{false, true} {
			if d := q.print("grill"); d.Reprint != reprint || len(d.Ticket.Lines) != 1 {
				t.Errorf("slip %+v", d)
			}
		}
		q.wantNothing("grill")
	})
}
