package board

import (
	"errors"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

func TestARecalledTicketIsBackInItsOriginalPlace(t *testing.T) {
	b := boardOf(t, order(7, "Soup"), order(3, "Burger"), order(9, "Cake"))
	wantOutcome(t, b, press(b, Bump, 3, 0), Done)
	wantOutcome(t, b, press(b, Bump, 7, 0), Done)
	wantJobs(t, b, "9 | 7 3")
	wantOutcome(t, b, press(b, Recall, 3, 0), Done)
	wantOutcome(t, b, press(b, Undo, 7, 0), Done)
	wantJobs(t, b, "7 3 9 |")
}

func TestATicketThatIsDeliveredAgainIsNeitherDuplicatedNorMarked(t *testing.T) {
	s := queuetest.NewStore()
	b := open(t, s)
	put(t, b, order(1, "Burger"), order(2, "Soup"))
	wantOutcome(t, b, press(b, ItemDone, 1, 0), Done)
	again := order(1, "Burger")
	again.Attempt, again.Doubt = 2, true
	at := b.At()
	put(t, b, again)
	c := card(b, 1)
	assert.True(t, !c.Duplicate && c.Items[0].Done && b.At() == at, c)
	wantOutcome(t, b, press(b, Bump, 1, 0), Done)
	b = open(t, s)
	put(t, b, again)
	wantJobs(t, b, "2 | 1")
}

func TestTwoCooksWhoPressTheSameHaveNoConflict(t *testing.T) {
	b := boardOf(t, order(1, "Burger", "Chips"))
	one, two, stale := press(b, ItemDone, 1, 0), press(b, ItemDone, 1, 0), press(b, Bump, 1, 0)
	wantOutcome(t, b, one, Done)
	wantOutcome(t, b, one, Done) // delivered twice
	wantOutcome(t, b, two, Already)
	wantOutcome(t, b, stale, Conflict) // it was pressed on an older version
	one, two = press(b, Bump, 1, 0), press(b, Bump, 1, 0)
	wantOutcome(t, b, one, Done)
	wantOutcome(t, b, two, Already)
	wantOutcome(t, b, press(b, ItemDone, 1, 1), Conflict) // it is off the board
	again := press(b, Recall, 1, 0)
	wantOutcome(t, b, press(b, Recall, 1, 0), Done)
	wantOutcome(t, b, again, Already)
	wantOutcome(t, b, two, Conflict) // a late delivery does not bump it again
	wantOutcome(t, b, press(b, ItemDone, 1, 7), Gone)
	wantOutcome(t, b, press(b, Bump, 8, 0), Gone)
	for _, bad := range []Command{{}, {ID: "a b", Do: Bump}, {ID: "x", Do: "explode"}, {ID: "x", Do: Tick},
		{ID: strings.Repeat("x", 65), Do: Bump}} {
		_, err := b.Do(t.Context(), bad)
		assert.True(t, errors.Is(err, ErrCommand), bad, err)
	}
}

func TestATicketThatCameOutElsewhereCanBeRecalled(t *testing.T) {
	s := queuetest.NewStore()
	b := open(t, s)
	put(t, b, order(1, "Burger"))
	late := press(b, Bump, 1, 0)
	for job := range uint64(3) { // 2 and 3 never had a card
		assert.NoError(t, b.ComesOut(t.Context(), order(job+1, "Burger"), "grill"))
	}
	wantJobs(t, b, "| 3 2 1")
	o := b.OrderWith(2)
	assert.True(t, o.State == Elsewhere && o.Tickets[0].Paper == "grill", o)
	b = open(t, s)
	wantOutcome(t, b, press(b, Recall, 2, 0), Done)
	k := card(b, 2)
	assert.True(t, k.Duplicate && k.Paper == "", k)
	d := order(1, "Burger") // the queue gives it here again after all
	d.Doubt = true
	put(t, b, d)
	wantOutcome(t, b, late, Conflict)
	got := jobs(b)
	assert.True(t, got == "2 1 | 3" && card(b, 1).Duplicate, got)
}

func TestPastEventsAreBoundedHoweverLargeATicketIs(t *testing.T) {
	b := open(t, queuetest.NewStore())
	huge := order(1000)
	for range 3000 {
		huge.Ticket.Lines = append(huge.Ticket.Lines, ticket.Line{Quantity: "1", Name: "Dish of a hundred letters"})
	}
	put(t, b, huge)
	for i := range 4 {
		from := b.At()
		wantOutcome(t, b, press(b, ItemDone, 1000, i), Done)
		held, most := 0, 0
		for _, e := range b.past {
			held += len(e.json)
			most = max(most, len(e.json))
		}
		assert.True(t, held <= b.most+most, i+1, len(b.past), held, most)
		events, ok := b.Since(from)
		assert.True(t, ok && len(events) == 1, len(events), ok)
	}
}
