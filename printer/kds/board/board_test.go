package board

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/queue/kv/kvtest"
	"ticketrail/queue/ticket"
)

func TestARecalledTicketIsBackInItsOriginalPlace(t *testing.T) {
	b := open(t, kvtest.New())
	put(t, b, order(7, "Soup"), order(3, "Burger"), order(9, "Cake"))
	wantOutcome(t, b, press(b, Bump, 3, 0), Done)
	wantOutcome(t, b, press(b, Bump, 7, 0), Done)
	if got := jobs(b); got != "9 | 7 3" {
		t.Errorf("board %q", got)
	}
	wantOutcome(t, b, press(b, Recall, 3, 0), Done)
	wantOutcome(t, b, press(b, Undo, 7, 0), Done)
	if got := jobs(b); got != "7 3 9 |" {
		t.Errorf("board %q", got)
	}
}

func TestAChangeCanBeUndoneForTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kvtest.New()
		b := open(t, s)
		put(t, b, order(1, "Burger", "Chips"))
		wantOutcome(t, b, press(b, ItemDone, 1, 1), Done)
		wantOutcome(t, b, press(b, Bump, 1, 0), Done)
		c, _ := b.Card(1)
		if c.Undo != Bump || c.UndoUntil != time.Now().Add(10*time.Second).UnixMilli() {
			t.Errorf("undo %q until %d", c.Undo, c.UndoUntil)
		}
		time.Sleep(10*time.Second - time.Millisecond)
		b = open(t, s)
		wantOutcome(t, b, press(b, Undo, 1, 0), Done)
		wantOutcome(t, b, press(b, Undo, 1, 0), TooLate) // only one step can be undone
		c, _ = b.Card(1)
		if c.State != Open || !c.Items[1].Done || c.Items[0].Done || c.Undo != "" {
			t.Errorf("card %+v", c)
		}
		wantOutcome(t, b, press(b, ItemUndone, 1, 1), Done)
		time.Sleep(10 * time.Second)
		wantOutcome(t, b, press(b, Undo, 1, 0), TooLate)
	})
}

func TestTheRecallListHoldsFiftyForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kvtest.New()
		b := open(t, s)
		for job := range uint64(60) {
			put(t, b, order(job+1, "Burger"))
			wantOutcome(t, b, press(b, Bump, job+1, 0), Done)
		}
		if n := len(b.Snapshot().Recall); n != 50 {
			t.Errorf("%d can be recalled", n)
		}
		if len(s.Keys()) != 50 {
			t.Errorf("%d are kept", len(s.Keys()))
		}
		wantOutcome(t, b, press(b, Recall, 10, 0), Gone)
		time.Sleep(time.Hour)
		if n := len(b.Snapshot().Recall); n != 0 {
			t.Errorf("after an hour %d can be recalled", n)
		}
		wantOutcome(t, b, press(b, Recall, 60, 0), Gone)
		put(t, b, order(99, "Burger"))
		if len(s.Keys()) != 1 {
			t.Errorf("after an hour %d are kept", len(s.Keys()))
		}
	})
}

func TestACancellationMustBeAcknowledgedBeforeItIsBumped(t *testing.T) {
	b := open(t, kvtest.New())
	part := order(2, "Burger", "Chips")
	part.Ticket.Lines[1].Void = true
	put(t, b, voidOrder(1, "Burger"), part, order(3, "Soup"))
	for _, job := range []uint64{1, 2} {
		if c, _ := b.Card(job); !c.MustAck || c.Acked {
			t.Errorf("card %+v", c)
		}
		wantOutcome(t, b, press(b, Bump, job, 0), Unread)
		wantOutcome(t, b, press(b, AckVoid, job, 0), Done)
		wantOutcome(t, b, press(b, AckVoid, job, 0), Already)
		if c, _ := b.Card(job); c.MustAck || !c.Acked {
			t.Errorf("card %+v", c)
		}
		wantOutcome(t, b, press(b, Bump, job, 0), Done)
	}
	wantOutcome(t, b, press(b, AckVoid, 3, 0), Already)
	wantOutcome(t, b, press(b, Bump, 3, 0), Done)
}

func TestACardOfAReprintSaysWhatWasCancelledLater(t *testing.T) {
	b := open(t, kvtest.New())
	d := order(1, "Burger")
	d.Ticket.Notes, d.Ticket.Later = []string{"nuts"}, []string{"Later for #18: VOID at 21:55 (job 13)"}
	put(t, b, d)
	if c, _ := b.Card(1); !slices.Equal(c.Notes, []string{"nuts", "Later for #18: VOID at 21:55 (job 13)"}) {
		t.Errorf("its notes are %q", c.Notes)
	}
}

func TestTwoCooksWhoPressTheSameHaveNoConflict(t *testing.T) {
	b := open(t, kvtest.New())
	put(t, b, order(1, "Burger", "Chips"))
	one, two, stale := press(b, ItemDone, 1, 0), press(b, ItemDone, 1, 0), press(b, Bump, 1, 0)
	wantOutcome(t, b, one, Done)
	wantOutcome(t, b, one, Done) // delivered twice
	wantOutcome(t, b, two, Already)
	wantOutcome(t, b, stale, Conflict) // it was pressed on an older version
	one, two = press(b, Bump, 1, 0), press(b, Bump, 1, 0)
	wantOutcome(t, b, one, Done)
	wantOutcome(t, b, two, Already)
	wantOutcome(t, b, press(b, ItemDone, 1, 1), Conflict) // it is off the board
	wantOutcome(t, b, press(b, Recall, 1, 0), Done)
	wantOutcome(t, b, two, Conflict) // a late delivery does not bump it again
	wantOutcome(t, b, press(b, ItemDone, 1, 7), Gone)
	wantOutcome(t, b, press(b, Bump, 8, 0), Gone)
	for _, bad := range []Command{{}, {ID: "a b", Do: Bump}, {ID: "x", Do: "explode"},
		{ID: strings.Repeat("x", 65), Do: Bump}} {
		if _, err := b.Do(t.Context(), bad); !errors.Is(err, ErrCommand) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestAnAddOnIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, kvtest.New())
		same := func(job uint64, change func(*ticket.Ticket)) ticket.Delivery {
			d := order(job, "Burger")
			d.Ticket.Number, d.Ticket.Table, d.Ticket.Request = "18", "B10", fmt.Sprint("request-", job)
			if change != nil {
				change(&d.Ticket)
			}
			return d
		}
		for _, c := range []struct {
			d    ticket.Delivery
			want bool
		}{
			{same(1, nil), false},
			{same(2, func(t *ticket.Ticket) { t.Request = "request-1" }), false}, // the same request
			{same(3, nil), true},
			{same(4, func(t *ticket.Ticket) { t.Venue = "another" }), false},
			{same(5, func(t *ticket.Ticket) { t.Number = "19" }), false},
			{same(6, func(t *ticket.Ticket) { t.Number = "" }), false}, // the table's first ticket without a number
			{same(7, func(t *ticket.Ticket) { t.Number, t.Table = "", "table b10" }), true},
			{same(8, func(t *ticket.Ticket) { t.Number, t.Table = "", "" }), false},
			{same(9, func(t *ticket.Ticket) { t.Kind = ticket.Slip }), false},
		} {
			put(t, b, c.d)
			if card, _ := b.Card(c.d.Job); card.AddOn != c.want {
				t.Errorf("job %d adds to an order: %v", c.d.Job, card.AddOn)
			}
		}
		for _, job := range []uint64{1, 2, 3, 6, 7} {
			wantOutcome(t, b, press(b, Bump, job, 0), Done)
		}
		put(t, b, same(10, nil), same(11, func(t *ticket.Ticket) { t.Number = "" }))
		if c, _ := b.Card(10); !c.AddOn {
			t.Error("what comes after a bumped ticket of its number adds nothing")
		}
		if c, _ := b.Card(11); c.AddOn {
			t.Error("new guests at a table add to the order of the last")
		}
	})
}

func TestATicketThatIsDeliveredAgainIsNeitherDuplicatedNorMarked(t *testing.T) {
	s := kvtest.New()
	b := open(t, s)
	put(t, b, order(1, "Burger"), order(2, "Soup"))
	wantOutcome(t, b, press(b, ItemDone, 1, 0), Done)
	again := order(1, "Burger")
	again.Attempt, again.Doubt = 2, true
	at := b.At()
	put(t, b, again)
	if c, _ := b.Card(1); c.Duplicate || !c.Items[0].Done || b.At() != at {
		t.Errorf("card %+v", c)
	}
	wantOutcome(t, b, press(b, Bump, 1, 0), Done)
	b = open(t, s)
	put(t, b, again)
	if got := jobs(b); got != "2 | 1" {
		t.Errorf("board %q", got)
	}
	again.Job = 3 // it may also be at another station
	put(t, b, again)
	if c, _ := b.Card(3); !c.Duplicate {
		t.Errorf("card %+v", c)
	}
}

func TestADeletedCardThatComesBackIsANewCard(t *testing.T) {
	b := open(t, kvtest.New())
	put(t, b, order(1, "Burger"))
	late := press(b, Bump, 1, 0)
	if err := b.Withdraw(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := jobs(b); got != "| 1" {
		t.Errorf("board %q", got)
	}
	d := order(1, "Burger")
	d.Doubt = true
	put(t, b, d)
	wantOutcome(t, b, late, Conflict)
	if c, _ := b.Card(1); c.State != Open || !c.Duplicate {
		t.Errorf("card %+v", c)
	}
}

func TestAllDayCountsWhatIsStillToBeMade(t *testing.T) {
	b := open(t, kvtest.New())
	with := func(job uint64, lines ...ticket.Line) ticket.Delivery {
		d := order(job)
		d.Ticket.Lines = lines
		return d
	}
	put(t, b,
		with(1, ticket.Line{Quantity: "2", Name: "Burger", Course: "Mains"},
			ticket.Line{Depth: 1, Quantity: "1", Name: "no onions"},
			ticket.Line{Quantity: "0.1", Name: "Cake"}, ticket.Line{Quantity: "1", Name: "Burger", Course: "Mains",
				Void: true}),
		with(2, ticket.Line{Quantity: "3", Name: "Burger", Course: "Mains"}, ticket.Line{Quantity: "0.2", Name: "Cake"},
			ticket.Line{Quantity: "some", Name: "Bread"}, ticket.Line{Quantity: "1", Name: "Burger", Course: "Mains"}),
		with(3, ticket.Line{Quantity: "1", Name: "Burger", Course: "Mains"},
			ticket.Line{Depth: 1, Quantity: "1", Name: "no onions"},
			ticket.Line{Depth: 1, Quantity: "2", Name: "extra cheese", Void: true}),
		with(4, ticket.Line{Quantity: "100", Name: "Burger", Course: "Mains"}))
	do(t, b, press(b, ItemDone, 2, 3))
	do(t, b, press(b, Bump, 4, 0))
	var got []string
	for _, c := range AllDay(b.Snapshot().Open, "") {
		got = append(got, fmt.Sprint(c.Quantity, " ", c.Name, " ", c.Modifiers, " on ", c.Cards))
	}
	want := []string{"3 Burger [no onions] on 2", "3 Burger [] on 1", "0.3 Cake [] on 2", "some Bread [] on 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if got := AllDay(b.Snapshot().Open, "Mains"); len(got) != 2 {
		t.Errorf("of one course: %+v", got)
	}
}

func TestPastEventsAreBoundedHoweverLargeATicketIs(t *testing.T) {
	b := open(t, kvtest.New())
	for job := range uint64(600) {
		put(t, b, order(job+1, "Burger"))
	}
	huge := order(1000)
	for range 10_000 {
		huge.Ticket.Lines = append(huge.Ticket.Lines, ticket.Line{Quantity: "1", Name: "Dish of a hundred letters"})
	}
	put(t, b, huge)
	for i := range 20 {
		from := b.At()
		wantOutcome(t, b, press(b, ItemDone, 1000, i), Done)
		held, most := 0, 0
		for _, e := range b.history.events {
			held += len(e.json)
			most = max(most, len(e.json))
		}
		if held > maxHistoryBytes+most {
			t.Fatalf("after %d presses %d events hold %d bytes, the largest %d", i+1, len(b.history.events), held, most)
		}
		if events, ok := b.Since(from); !ok || len(events) != 1 {
			t.Fatalf("a page that is up to date is told %d events, %v", len(events), ok)
		}
	}
}
