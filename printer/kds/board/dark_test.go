package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

func TestAChangedTicketThatGoesToPaperReplacesTheCard(t *testing.T) {
	b := boardOf(t, of18(1, "1 Fish"))
	assert.NoError(t, b.ComesOut(t.Context(), changed18(1, 2, "1 Pie"), "grill"))
	state, _ := b.State(1)
	assert.Equal(t, state, Replaced)
}

func TestWhatADarkScreenShowedIsOneTicketWithItsOrdersInTheirPlaces(t *testing.T) {
	s := queuetest.NewStore()
	b := open(t, s)
	first, replaced, raw := order(1, "Burger", "Chips"), of18(5, "1 Fish"), order(6)
	first.Ticket.Notes, first.Ticket.Lines[1].Notes = []string{"nuts"}, []string{"crisp"}
	first.Doubt, first.Reprint, raw.Ticket.Raw = true, true, `{"a":1}`
	first.Ticket.More, first.Ticket.Lines[0].More = 3, 2
	first.Ticket.NameMore(1)
	first.Ticket.Rush, first.Ticket.Promised = true, "2026-02-06T22:15:00+11:00"
	first.Ticket.Course, first.Ticket.Lines[1].Course = "Mains", "Sides"
	rawVoid := order(8) // its ticket could not be read
	rawVoid.Ticket.Raw, rawVoid.Ticket.Void = `{"voided":true}`, true
	put(t, b, first, order(2, "Soup"), order(3, "Tea"), replaced, raw, voided(order(7, "Cake")), rawVoid)
	for _, job := range []uint64{1, 3, 5, 6, 7, 8} { // no page ever said that it has 2
		show(t, b, job)
	}
	do(t, b, press(b, ItemDone, 1, 1))
	do(t, b, press(b, Bump, 3, 0))
	put(t, b, changed18(5, 9, "1 Pie"))

	got, n := toPaper(t, b, s)
	want := []string{
		"#1 · Table B10 · 21:49 · Wanted 22:15 · Mains: 1 Burger; RUSH; nuts; " +
			"and 3 more: job 1; POSSIBLE DUPLICATE; REPRINT; and 2 more: job 1",
		"#1 · Table B10 · 21:49 · Wanted 22:15 · Sides: 1 Chips; done on the screen; crisp",
		`#6 · Table B10 · 21:49: 1 {"a":1}; RAW`,
		"#7 · Table B10 · 21:49: 1 Cake; VOID",
		`#8 · Table B10 · 21:49: 1 {"voided":true}; VOID; RAW`,
	}
	var lines []string
	for _, l := range got.Lines {
		text := append([]string{l.Course + ": " + l.Quantity + " " + l.Name}, l.Notes...)
		if l.Void {
			text = append(text, "VOID")
		}
		if l.Raw {
			text = append(text, "RAW")
		}
		if l.More != 0 {
			text = append(text, fmt.Sprint("it would say again that ", l.More, " fields are unread"))
		}
		lines = append(lines, strings.Join(text, "; "))
	}
	if diff := cmp.Diff(want, lines); diff != "" || n != 4 || len(got.Notes) != 1 || got.Notes[0] != wasOnTheScreen ||
		!got.IsList {
		t.Errorf("%d tickets, notes %q, whole: %v, lines (-want +got):\n%s", n, got.Notes, got.IsList, diff)
	}
	backup := open(t, queuetest.NewStore())
	put(t, backup, ticket.Delivery{Job: 20, Ticket: got})
	shown := backup.OrderWith(20)
	var said []string
	for _, text := range slices.Concat(shown.Tickets[0].Notes, shown.Tickets[0].Items[0].Notes,
		shown.Tickets[0].Items[1].Notes) {
		said = append(said, text.Key+text.Text)
	}
	wantEqual(t, "a list of open orders that comes out on a screen", "open_orders: was_on_screen; rush; nuts; "+
		"and 3 more: job 1; duplicate; reprint; and 2 more: job 1; done_on_screen; crisp",
		string(shown.Kind)+shown.Number+": "+strings.Join(said, "; "))

	for _, b := range []*Board{b, open(t, s)} {
		k := card(b, 1)
		assert.True(t, k.State == Open && k.Paper == "grill" && !b.NeedPaper(), k)
		_, n := toPaper(t, b, s)
		assert.Equal(t, n, 0)
	}
}

func TestWhatIsOnPaperIsSentOnceAlsoAfterAnError(t *testing.T) {
	for _, c := range []struct{ persisted, pressed bool }{{false, false}, {true, false}, {true, true}} {
		s := queuetest.NewStore()
		b := open(t, s)
		put(t, b, order(1, "Burger", "Chips"), order(2, "Soup"))
		show(t, b, 1)
		show(t, b, 2)
		_, err := b.ToPaper(t.Context(), "grill", func(_ context.Context, _ ticket.Ticket, cards storedCards) error {
			if c.persisted {
				storeCards(s, cards)
			}
			return queuetest.ErrStorage
		})
		assert.True(t, errors.Is(err, queuetest.ErrStorage), err)
		if c.pressed {
			do(t, b, press(b, ItemDone, 1, 1))
		}
		_, n := toPaper(t, b, s)
		assert.True(t, (n == 0) == c.persisted && card(b, 1).Paper == "grill" && card(b, 2).Paper == "grill", c, n,
			card(b, 1), card(b, 2))
	}
}

func show(t testingT, b *Board, job uint64) {
	t.Helper()
	assert.NoError(t, b.MarkShown(context.Background(), job))
}

// toPaper sends the orders on the board of s to the grill.
func toPaper(t testingT, b *Board, s *queuetest.Store) (sent ticket.Ticket, n int) {
	t.Helper()
	ctx := context.Background()
	n, err := b.ToPaper(ctx, "grill", func(_ context.Context, t ticket.Ticket, cards storedCards) error {
		sent = t
		storeCards(s, cards)
		return nil
	})
	assert.NoError(t, err)
	return sent, n
}

// storedCards are values of cards by their keys.
type storedCards = map[string][]byte

func storeCards(s *queuetest.Store, cards storedCards) {
	for key, value := range cards {
		s.Set(key, string(value))
	}
}
