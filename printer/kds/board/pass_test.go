package board

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
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
	wantJobs(t, p.hot, "2 | 1")
	p.start(t)
	s := p.x.Snapshot()
	assert.True(t, len(s.Orders) == 0 && len(s.Recall) == 2, partLines(s.Orders), partLines(s.Recall))
	p.wants(t, p.press(Undo, 19), Done)
	p.wants(t, p.press(Recall, 18), Done)
	p.wantParts(t, "#18 ready hot=done cold=done", "#19 hot=open/1")
	_, err := p.x.Do(t.Context(), Command{ID: "x", Do: ItemDone, Order: "y"})
	assert.True(t, errors.Is(err, ErrCommand), err)
}

func TestAPassAsksTheQueueAtAMeasuredPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t)
		onBoard := Sibling{Job: 1, Routed: "hot", State: ticket.Shown, Card: &Ticket{State: Open}}
		elsewhere := Sibling{Job: 2, Routed: "wall", State: ticket.Shown, Card: &Ticket{State: Open}}
		p.siblings = []Sibling{onBoard}
		p.start(t)
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
			assert.Equal(t, p.askedIn(time.Minute), c.want, name)
		}
	})
}

func TestAPassSeesWhatComesLaterToAPrinter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t, barJob(50, ticket.Confirmed))
		p.doneAtHot(t)
		p.set(p.siblings...)
		p.tick(t, Tick, "bar", Done)
		p.wantParts(t, "#18 ready hot=done bar=ticked")

		void := barJob(51, ticket.Sent) // which needs no tick
		void.Ticket.Lines, void.Ticket.Request = []ticket.Line{{Quantity: "1", Name: "Beer", Void: true}}, "void"
		p.set(p.siblings[0], void)
		p.wantParts(t, "#18 ready hot=done bar=ticked")
		assert.Equal(t, linesOf(p.find(18, Open).Parts[1]), "1 Beer")
		p.set(barJob(53, ticket.Pending)) // a reprint
		p.wantParts(t, "#18 hot=done bar=wait")
	})
}

func TestAVoidIsSeenAtThePass(t *testing.T) {
	p := newPassHarness(t)
	put(t, p.hot, of18(1, "2 Fish"), of18(2, "1 Pie"))
	put(t, p.cold, of18(3, "1 Salad"))
	put(t, p.hot, void18(4, "2 Fish"))
	do(t, p.hot, press(p.hot, AckVoid, 1, 0))
	o := p.find(18, Open)
	assert.True(t, len(o.Voids) == 1 && o.Voids[0].AckedAt != 0, o)
	p.wantParts(t, "#18 hot=open/1 cold=open/1")
	p.wants(t, p.press(Bump, 18), Done)
	put(t, p.cold, void18(5, "1 Salad"))
	o = p.find(18, Open)
	assert.True(t, o != nil && o.Voids[0].BumpedClock != "" && len(o.Tickets) == 1, o)
}

func TestATicketAfterItsOrderWasSentOutIsANewOrder(t *testing.T) {
	p := newPassHarness(t)
	put(t, p.hot, numbered(18, 1))
	p.wants(t, p.press(Bump, 18), Done)
	late := numbered(18, 2)
	late.Ticket.Request = "later"
	put(t, p.hot, late)
	o := p.find(18, Open)
	assert.True(t, o != nil && len(o.Tickets) == 1 && o.Tickets[0].Added && o.BumpedClock != "", o)
	o = p.find(18, Bumped)
	assert.True(t, o != nil && len(o.Tickets) == 1, o)
}

func TestABoardKeepsTheCardsThatThePassNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPassHarness(t)
		for i := range 5 { // two can be recalled
			put(t, p.hot, numbered(i, uint64(i+1)))
			do(t, p.hot, press(p.hot, Bump, uint64(i+1), 0))
		}
		time.Sleep(3 * time.Hour)
		put(t, p.hot, numbered(9, 9))
		p.start(t)
		got := partLines(p.x.Snapshot().Orders)
		assert.Equal(t, len(got), 6, got)
		wantJobs(t, p.hot, "9 |")
		for i := range 5 {
			p.wants(t, p.press(Bump, i), Done)
		}
		time.Sleep(2 * time.Hour)
		put(t, p.hot, numbered(10, 10))
		assert.Equal(t, len(p.hot.cards), 2)
		time.Sleep(49 * time.Hour)
		p.wants(t, p.press(Bump, 10), Done)
		assert.Equal(t, len(p.stores["sent"].Keys()), 1)
	})
}

func TestAnOrderOfWhichNothingIsWantedLeavesThePassOnceThatIsAcknowledged(t *testing.T) {
	p := newPassHarness(t)
	put(t, p.hot, of18(1, "2 Fish"))
	p.wantParts(t, "#18 hot=open/1")
	put(t, p.hot, changed18(1, 2))
	p.wantParts(t, "#18 cancelled hot=gone")
	do(t, p.hot, press(p.hot, AckVoid, 2, 0))
	p.wantParts(t)
	do(t, p.hot, press(p.hot, Bump, 2, 0))
	p.wantParts(t)
	put(t, p.cold, of18(3, "1 Salad")) // the guests order something else
	p.wantParts(t, "#18 hot=gone cold=open/1")
	p.wants(t, p.press(Bump, 18), Done)
	put(t, p.cold, void18(4, "1 Salad"))
	p.wantParts(t, "#18 cancelled cold=gone")
	p.wants(t, p.press(Bump, 18), Done)
}

func TestAnOrderWhoseFirstTicketWasReplacedStaysOneOrder(t *testing.T) {
	p := newPassHarness(t)
	first, second := of18(1, "1 Fish"), of18(2, "1 Pie")
	changed := of18(3, "2 Fish")
	changed.Ticket.Request, changed.Ticket.Record = first.Ticket.Request, first.Ticket.Record
	changed.Ticket.Changed = &ticket.Change{Order: "#18"}
	changed.Ticket.Received = first.Ticket.Received.Add(time.Minute)
	for _, d := range []*ticket.Delivery{&first, &second, &changed} {
		d.Ticket.Check, d.Ticket.Table = "", ""
	}
	put(t, p.hot, first, second)
	p.wantParts(t, "#18 hot=open/2")
	do(t, p.hot, press(p.hot, Bump, 1, 0))
	put(t, p.hot, changed)
	p.wantParts(t, "#18 hot=open/1")
}
