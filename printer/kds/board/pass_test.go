package board

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestAPassShowsWhichStationsAreDone(t *testing.T) {
	p := newPassHarness(t)
	put(t, p.hot, numbered(18, 1), numbered(19, 2))
	put(t, p.cold, numbered(18, 3))
	do(t, p.hot, press(p.hot, ItemDone, 1, 0))
	do(t, p.cold, press(p.cold, Bump, 3, 0))
	p.wantParts(t, "#18 hot=open/1 cold=done", "#19 hot=open/2")
	do(t, p.hot, press(p.hot, Bump, 1, 0))
	p.wantParts(t, "#18 ready hot=done cold=done", "#19 hot=open/2")
	stale := p.press(Bump, 19)
	do(t, p.hot, press(p.hot, ItemDone, 2, 1))
	p.wants(t, stale, Conflict)
	first := p.press(Bump, 18)
	p.wants(t, first, Done)
	p.wants(t, first, Done) // delivered twice
	p.wants(t, p.press(Bump, 18), Gone)
	p.wants(t, p.press(Bump, 19), Done)
	if got := jobs(p.hot); got != "2 | 1" {
		t.Errorf("what the pass sent out left the station's board: %q", got)
	}
	p.start(t)
	if s := p.x.Snapshot(); len(s.Orders) != 0 || len(s.Recall) != 2 {
		t.Errorf("after a restart %q, %q", partLines(s.Orders), partLines(s.Recall))
	}
	p.wants(t, p.press(Undo, 19), Done)
	p.wants(t, p.press(Recall, 18), Done)
	p.wantParts(t, "#18 ready hot=done cold=done", "#19 hot=open/1")
	if _, err := p.x.Do(t.Context(), Command{ID: "x", Do: ItemDone, Order: "y"}); !errors.Is(err, ErrCommand) {
		t.Errorf("an item at the pass: %v", err)
	}
}

// barJob is the part of order 18 at a printer.
func barJob(state ticket.State) Sibling {
	d := numbered(18, 50)
	d.Ticket.Lines = []ticket.Line{{Quantity: "2", Name: "Beer"}}
	s := Sibling{Job: 50, Station: "bar", At: "bar", Kind: Paper, State: state, Ticket: d.Ticket}
	if !state.Open() {
		s.Ended = d.Ticket.Received.Add(time.Minute)
	}
	return s
}

func TestAnOrderIsReadyOnlyWhenEveryPartIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t)
		p.siblings = []Sibling{barJob(ticket.Pending)}
		p.start(t)
		defer func() { p.x.Close() }()
		put(t, p.hot, numbered(18, 1))
		do(t, p.hot, press(p.hot, Bump, 1, 0))
		if p.find(18, Open).Ready {
			t.Error("it is ready before the queue was asked")
		}
		for _, c := range []struct{ state, want, text string }{
			{"pending", "#18 hot=done bar=wait", "bar: waiting to print"},
			{"held", "#18 hot=done bar=held", "bar: HELD – call somebody: no paper"},
			{"buried", "#18 hot=done bar=held", "bar: FAILED – call somebody: no paper"},
			{"printing", "#18 hot=done bar=wait", "bar: coming out"},
			{"confirmed", "#18 hot=done bar=out", "bar: on paper, confirmed 21:51, cannot know when it is made"},
		} {
			s := barJob(ticket.State(c.state))
			s.Why = "no paper"
			p.set(s)
			p.wantParts(t, c.want)
			if got := p.find(18, Open).Parts[1].Text; got != c.text {
				t.Errorf("%s: %q, want %q", c.state, got, c.text)
			}
			if c := p.press(Tick, 18); s.State != ticket.Confirmed {
				c.Part = "bar"
				p.wants(t, c, Conflict)
			}
		}
		if n := p.askedIn(6 * finalInterval); n != 6 {
			t.Errorf("the queue was asked %d times for what is final", n)
		}
		tick := p.press(Tick, 18)
		tick.Part = "bar"
		for range 2 { // delivered twice
			p.wants(t, tick, Done)
			p.wantParts(t, "#18 ready hot=done bar=made")
		}
		p.start(t)
		time.Sleep(time.Second)
		p.wantParts(t, "#18 ready hot=done bar=made")
		again := p.press(Tick, 18)
		again.Part = "bar"
		p.wants(t, again, Already)
		untick := p.press(Untick, 18)
		untick.Part = "bar"
		p.wants(t, untick, Done)
		p.wantParts(t, "#18 hot=done bar=out")
		untick.Part, untick.ID = "cellar", "none"
		p.wants(t, untick, Gone)

		// What comes later to the same station must be ticked, too.
		tick = p.press(Tick, 18)
		tick.Part = "bar"
		p.wants(t, tick, Done)
		more := barJob(ticket.Sent)
		more.Job = 51
		put(t, p.cold, numbered(18, 3)) // asks the queue again
		p.set(barJob(ticket.Confirmed), more)
		p.wantParts(t, "#18 hot=done cold=open/2 bar=out")
		do(t, p.cold, press(p.cold, Bump, 3, 0))
		p.set(barJob(ticket.Cancelled))
		put(t, p.cold, numbered(18, 4))
		do(t, p.cold, press(p.cold, Bump, 4, 0))
		synctest.Wait()
		p.wantParts(t, "#18 ready hot=done cold=done bar=gone")
		got := p.find(18, Open).Parts
		if got[0].Text != "hot ✓ "+got[0].Clock || got[2].Text != "bar: cancelled by a person" {
			t.Errorf("%+v", got)
		}
	})
}

func TestAPassTicksAnExpiredPartByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t)
		p.siblings = []Sibling{barJob(ticket.Expired)}
		p.start(t)
		defer func() { p.x.Close() }()
		put(t, p.hot, numbered(18, 1))
		do(t, p.hot, press(p.hot, Bump, 1, 0))
		p.set(barJob(ticket.Expired))
		p.wantParts(t, "#18 hot=done bar=expired")
		if got := p.find(18, Open).Parts[1].Text; got != "bar: expired, not printed: call somebody" {
			t.Error(got)
		}
		waiting := barJob(ticket.Pending)
		waiting.Job = 60
		p.set(barJob(ticket.Expired), waiting)
		p.wantParts(t, "#18 hot=done bar=expired")
		tick := p.press(Tick, 18)
		tick.Part = "bar"
		p.wants(t, tick, Done)
		p.wantParts(t, "#18 hot=done bar=wait")
		p.set(barJob(ticket.Expired))
		p.wantParts(t, "#18 ready hot=done bar=made")
		if got := p.find(18, Open).Parts[1].Text; got != "bar: expired, not printed" {
			t.Error(got)
		}

		// A copy of it, and one more that a person holds.
		again, held := barJob(ticket.Confirmed), barJob(ticket.Held)
		again.Job, held.Job = 51, 52
		p.set(barJob(ticket.Expired), again, held)
		p.wantParts(t, "#18 hot=done bar=held")
		held.State = ticket.Pending
		p.set(barJob(ticket.Expired), again, held)
		p.wantParts(t, "#18 hot=done bar=wait")
		held.State = ticket.Sent
		p.set(barJob(ticket.Expired), again, held)
		p.wantParts(t, "#18 hot=done bar=out")
		tick = p.press(Tick, 18)
		tick.Part = "bar"
		p.wants(t, tick, Done)
		p.wantParts(t, "#18 ready hot=done bar=made")
	})
}

func TestAPassAsksTheQueueAtAMeasuredPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t)
		onBoard := Sibling{Job: 1, Station: "hot", State: ticket.Shown, Card: &Ticket{State: Open}}
		elsewhere := Sibling{Job: 2, Station: "wall", State: ticket.Shown, Card: &Ticket{State: Open}}
		p.siblings = []Sibling{onBoard}
		p.start(t)
		defer func() { p.x.Close() }()
		put(t, p.hot, numbered(18, 1))
		for name, c := range map[string]struct {
			list []Sibling
			err  error
			want int
		}{
			"a card of its own boards": {[]Sibling{onBoard}, nil, 6},
			"a card of another board":  {[]Sibling{onBoard, elsewhere}, nil, 60},
			"nothing can be read":      {nil, errors.New("no disk"), 60},
		} {
			p.mu.Lock()
			p.askError = c.err
			p.mu.Unlock()
			p.set(c.list...)
			if got := p.askedIn(time.Minute); got != c.want {
				t.Errorf("%s: it was asked %d times in a minute, want %d", name, got, c.want)
			}
		}
	})
}

func TestAPassSeesWhatComesLaterToAPrinter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t)
		p.siblings = []Sibling{barJob(ticket.Confirmed)}
		p.start(t)
		defer func() { p.x.Close() }()
		put(t, p.hot, numbered(18, 1))
		do(t, p.hot, press(p.hot, Bump, 1, 0))
		p.set(p.siblings...)
		tick := p.press(Tick, 18)
		tick.Part = "bar"
		p.wants(t, tick, Done)
		p.wantParts(t, "#18 ready hot=done bar=made")

		void := barJob(ticket.Sent) // which needs no tick
		void.Job, void.Ticket.Lines = 51, []ticket.Line{{Quantity: "1", Name: "Beer", Void: true}}
		p.set(p.siblings[0], void)
		p.wantParts(t, "#18 ready hot=done bar=made")
		if got := p.find(18, Open).Parts[1].Lines; strings.Join(got, ", ") != "2 Beer, VOID 1 Beer" {
			t.Errorf("%q", got)
		}
		reprint := barJob(ticket.Pending)
		reprint.Job = 53
		p.set(reprint)
		p.wantParts(t, "#18 hot=done bar=wait")
	})
}

func TestWhatADarkScreenSentToPaperIsAPartOfTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t)
		salad := numbered(18, 3)
		p.siblings = []Sibling{{Job: 3, Station: "cold", At: "grill", Kind: Paper, State: ticket.Printing,
			Ticket: salad.Ticket}}
		p.start(t)
		defer func() { p.x.Close() }()
		put(t, p.hot, numbered(18, 1))
		if err := p.cold.ComesOut(t.Context(), salad, "grill"); err != nil {
			t.Fatal(err)
		}
		do(t, p.hot, press(p.hot, Bump, 1, 0))
		p.set(p.siblings...)
		p.wantParts(t, "#18 hot=done cold=wait")
		p.siblings[0].State = ticket.Confirmed
		p.set(p.siblings...)
		p.wantParts(t, "#18 hot=done cold=out")
		if got := p.find(18, Open).Parts[1]; got.Says ||
			!strings.HasPrefix(got.Text, "cold: on paper at grill, confirmed") {
			t.Errorf("%+v", got)
		}
		do(t, p.cold, press(p.cold, Leave, 3, 0))
		p.wantParts(t, "#18 hot=done cold=out")
		p.start(t)
		p.set(p.siblings...)
		p.wantParts(t, "#18 hot=done cold=out")

		// A card that was shown before the screen went dark.
		put(t, p.cold, numbered(19, 4))
		if err := p.cold.MarkPaper(t.Context(), 4, "grill"); err != nil {
			t.Fatal(err)
		}
		p.set()
		p.wantParts(t, "#18 hot=done cold=out", "#19 cold=out")
	})
}

func TestAVoidIsSeenAtThePass(t *testing.T) {
	p := newPassHarness(t)
	put(t, p.hot, of18(1, "2 Fish"), of18(2, "1 Pie"))
	put(t, p.cold, of18(3, "1 Salad"))
	put(t, p.hot, void18(4, "2 Fish"))
	do(t, p.hot, press(p.hot, AckVoid, 1, 0))
	o := p.find(18, Open)
	if len(o.Voids) != 1 || !o.Voids[0].Acked || !o.Tickets[0].Items[0].Void {
		t.Errorf("%+v", o)
	}
	p.wantParts(t, "#18 hot=open/1 cold=open/1")
	p.wants(t, p.press(Bump, 18), Done)
	put(t, p.cold, void18(5, "1 Salad"))
	if o := p.find(18, Open); o == nil || o.Voids[0].BumpedAt == 0 || len(o.Tickets) != 1 ||
		!o.Tickets[0].Items[0].Void {
		t.Errorf("after it was sent out: %+v", o)
	}
}

func TestATicketAfterItsOrderWasSentOutIsANewOrder(t *testing.T) {
	p := newPassHarness(t)
	put(t, p.hot, numbered(18, 1))
	p.wants(t, p.press(Bump, 18), Done)
	late := numbered(18, 2)
	late.Ticket.Request = "later"
	put(t, p.hot, late)
	if o := p.find(18, Open); o == nil || len(o.Tickets) != 1 || !o.Tickets[0].Added || o.Of == nil {
		t.Errorf("order %+v", o)
	}
	if o := p.find(18, Bumped); o == nil || len(o.Tickets) != 1 {
		t.Errorf("order %+v", o)
	}
}

func TestABoardKeepsTheCardsThatThePassNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t)
		defer func() { p.x.Close() }()
		for i := range 5 { // two can be recalled
			put(t, p.hot, numbered(i, uint64(i+1)))
			do(t, p.hot, press(p.hot, Bump, uint64(i+1), 0))
		}
		time.Sleep(3 * time.Hour)
		put(t, p.hot, numbered(9, 9))
		p.start(t)
		if got := partLines(p.x.Snapshot().Orders); len(got) != 6 {
			t.Errorf("the pass has %q", got)
		}
		if got := jobs(p.hot); got != "9 |" {
			t.Errorf("the station has %q", got)
		}
		for i := range 5 {
			p.wants(t, p.press(Bump, i), Done)
		}
		time.Sleep(2 * time.Hour)
		put(t, p.hot, numbered(10, 10))
		if n := len(p.hot.cards); n != 2 {
			t.Errorf("%d cards are kept", n)
		}
		time.Sleep(49 * time.Hour)
		p.wants(t, p.press(Bump, 10), Done)
		if n := len(p.stores["sent"].Keys()); n != 1 {
			t.Errorf("%d sendings are kept", n)
		}
	})
}

func TestWhatNobodyCouldReadAndWhatExpiredIsNotCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t)
		raw := barJob(ticket.Confirmed)
		raw.Ticket.Lines, raw.Ticket.Raw = nil, `{"a":1}`
		p.siblings = []Sibling{raw}
		p.start(t)
		defer func() { p.x.Close() }()
		put(t, p.hot, numbered(18, 1))
		do(t, p.hot, press(p.hot, Bump, 1, 0))
		p.set(p.siblings...)
		p.wantParts(t, "#18 hot=done bar=out")
		whole := raw
		whole.Ticket.Void = true // a cancellation of the whole order
		p.siblings = []Sibling{whole}
		p.start(t)
		p.set(p.siblings...)
		p.wantParts(t, "#18 ready hot=done bar=gone")
		// Moved to a ticket that is not known.
		for _, s := range []ticket.State{ticket.Expired, ticket.Moved} {
			p.set(barJob(s))
			p.wantParts(t, "#18 hot=done bar=expired")
		}
	})
}

func TestAnOrderOfWhichNothingIsWantedIsNotReady(t *testing.T) {
	p := newPassHarness(t)
	put(t, p.hot, of18(1, "2 Fish"), void18(2, "2 Fish"))
	p.wantParts(t, "#18 hot=gone")
	do(t, p.hot, press(p.hot, AckVoid, 1, 0))
	do(t, p.hot, press(p.hot, Bump, 1, 0))
	p.wantParts(t, "#18 hot=gone")
	p.wants(t, p.press(Bump, 18), Done)
	put(t, p.cold, void18(3, "2 Fish"))
	p.wantParts(t, "#18")
}
