package board

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

func TestAPartOnPaperIsWhatItsVoidsLeave(t *testing.T) {
	void := func(of func(*ticket.Ticket), lines ...ticket.Line) Sibling {
		s := barJob(60, ticket.Confirmed)
		s.Ticket.Request, s.Ticket.Void, s.Ticket.Lines = "void", true, nil
		for _, l := range lines {
			l.Void = true
			s.Ticket.Lines = append(s.Ticket.Lines, l)
		}
		if of != nil {
			of(&s.Ticket)
		}
		return s
	}
	beer := func(quantity string) ticket.Line { return ticket.Line{Quantity: quantity, Name: "Beer"} }
	withID := func(quantity, name, id string) ticket.Line {
		return ticket.Line{Quantity: quantity, Name: name, ID: id}
	}
	named := barJob(50, ticket.Confirmed)
	named.Ticket.Lines = []ticket.Line{withID("2", "Beer", "a"), withID("2", "Beer", "b"), withID("1", "Gin", "c")}
	in := func(s Sibling, state ticket.State) Sibling {
		s.State = state
		return s
	}
	again := func(s Sibling) Sibling {
		s.Job, s.Ticket.Request = 61, "void again"
		return s
	}
	other := in(barJob(51, ticket.Pending), ticket.Confirmed)
	other.Ticket.Lines = []ticket.Line{beer("half a"), {Quantity: "1", Name: "Gin"}}
	checked := barJob(50, ticket.Confirmed) // the ticket at hot names no check, so that both may belong to it
	checked.Ticket.Check = "one"
	raw := barJob(50, ticket.Confirmed)
	raw.Ticket.Lines, raw.Ticket.Raw = nil, `{"a":1}`
	whole := raw
	whole.Ticket.Void = true
	cut := barJob(50, ticket.Held)
	cut.RequestHasMore = true
	nameless := barJob(50, ticket.Confirmed)
	nameless.Ticket.Lines = []ticket.Line{{Quantity: "1"}}

	huge := void(nil, beer("2"))
	for range maxNetted {
		huge.Ticket.Lines = append(huge.Ticket.Lines, ticket.Line{Depth: 1, Quantity: "1", Name: "ice"})
		huge.Ticket.Lines = append(huge.Ticket.Lines, ticket.Line{Depth: 1, Quantity: "1", Name: "ice", Void: true})
	}

	for name, c := range map[string]struct {
		jobs        []Sibling
		want, lines string
	}{
		"the line of its id, whatever its name": {[]Sibling{named, void(nil, withID("2", "Lager", "b"), beer("1"))},
			"bar=out", "1 Beer, 1 Gin"},
		"an id that no line has": {[]Sibling{named, void(nil, withID("1", "Beer", "x"))}, "bar=out",
			"1 Beer, 2 Beer, 1 Gin"},
		"more than the line of its id": {[]Sibling{named, void(nil, withID("3", "Beer", "b"))}, "bar=out",
			"2 Beer, 1 Gin, VOID 1 Beer"},
		"the line of its id again": {[]Sibling{named, void(nil, withID("2", "Beer", "b")),
			again(void(nil, withID("2", "Beer", "b")))}, "bar=out", "2 Beer, 1 Gin, VOID 2 Beer"},
		"a part of it": {[]Sibling{void(nil, beer("1"))}, "bar=out", "1 Beer"},
		"a fraction":   {[]Sibling{void(nil, beer("0.5"))}, "bar=out", "1.5 Beer"},
		"all of it":    {[]Sibling{void(nil, beer("2"))}, "ready bar=gone", ""},
		"in two lines": {[]Sibling{void(nil, beer("1"), beer("1"))}, "ready bar=gone", ""},
		"too much":     {[]Sibling{void(nil, beer("3"))}, "ready bar=gone", "VOID 1 Beer"},
		"what waits to print": {[]Sibling{barJob(50, ticket.Pending), void(nil, beer("2"))},
			"ready bar=gone", ""},
		"what is held": {[]Sibling{barJob(50, ticket.Held), void(nil, beer("2"))},
			"ready bar=gone", ""},
		"a request of which not all is known": {[]Sibling{cut, void(nil, beer("2"))}, "bar=held", ""},
		"a void that has not come out": {[]Sibling{in(void(nil, beer("2")), ticket.Held)},
			"bar=held", ""},
		"a void that a person cancelled": {[]Sibling{in(void(nil, beer("2")), ticket.Cancelled)},
			"bar=out", "2 Beer, VOID 2 Beer"},
		"another name": {[]Sibling{void(nil, ticket.Line{Quantity: "2", Name: "Ale"})},
			"bar=out", "2 Beer, VOID 2 Ale"},
		"no name": {[]Sibling{nameless, void(nil, ticket.Line{Quantity: "1"})},
			"bar=out", "1 ???, VOID 1 ???"},
		"a text":       {[]Sibling{other, void(nil, beer("half a"))}, "bar=out", "1 Gin"},
		"another text": {[]Sibling{void(nil, beer("one"))}, "bar=out", "2 Beer, VOID one Beer"},
		"nothing":      {[]Sibling{void(nil, beer("0"))}, "bar=out", "2 Beer, VOID 0 Beer"},
		"no line":      {[]Sibling{void(nil)}, "bar=out", "2 Beer, VOID all of it"},
		"more than is compared": {[]Sibling{huge}, "bar=out",
			"2 Beer, VOID 2 Beer" + strings.Repeat(", VOID 1 ice", maxNetted)},
		"a modifier": {[]Sibling{void(nil, ticket.Line{Depth: 1, Quantity: "2", Name: "Beer"})},
			"bar=out", "2 Beer, VOID 2 Beer"},
		"its own request": {[]Sibling{void(func(t *ticket.Ticket) { t.Request = "request-18" }, beer("1"))},
			"bar=out", "2 Beer, VOID 1 Beer"},
		"what came later": {[]Sibling{void(func(t *ticket.Ticket) { t.Received = t.Received.Add(-time.Second) },
			beer("1"))}, "bar=out", "2 Beer, VOID 1 Beer"},
		"expired":                              {[]Sibling{barJob(50, ticket.Expired)}, "bar=expired", "2 Beer"},
		"moved, to a ticket that is not known": {[]Sibling{barJob(50, ticket.Moved)}, "bar=expired", "2 Beer"},
		"what nobody could read":               {[]Sibling{raw}, "bar=out", ""},
		"a cancellation of the whole order":    {[]Sibling{whole}, "ready bar=gone", "VOID all of it"},
		"its check": {[]Sibling{checked, void(func(t *ticket.Ticket) { t.Check = "one" }, beer("2"))},
			"ready bar=gone", ""},
		"another check": {[]Sibling{checked, void(func(t *ticket.Ticket) { t.Check = "two" }, beer("2"))},
			"bar=out", "2 Beer, VOID 2 Beer"},
		"of two, what nobody waits for": {[]Sibling{barJob(49, ticket.Confirmed), barJob(50, ticket.Cancelled),
			void(nil, beer("2"))}, "bar=out", "2 Beer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				jobs := c.jobs
				if len(jobs) == 1 && jobs[0].Job == 60 {
					jobs = append([]Sibling{barJob(50, ticket.Confirmed)}, jobs...)
				}
				p := newPassHarness(t, jobs...)
				p.doneAtHot(t)
				p.set(jobs...)
				head, bar, _ := strings.Cut(" "+c.want, " bar=")
				p.wantParts(t, "#18"+head+" hot=done bar="+bar)
				assert.Equal(t, linesOf(p.find(18, Open).Parts[1]), c.lines)
			})
		})
	}
}

func TestAPartOnAScreenIsWhatItsVoidsLeave(t *testing.T) {
	p := newPassHarness(t)
	put(t, p.hot, of18(1, "2 Fish", "1 Pie"))
	put(t, p.cold, of18(2, "1 Fish"), void18(3, "2 Fish"))
	p.wantParts(t, "#18 hot=open/2 cold=gone") // a void names a dish of its own station
	assert.Equal(t, linesOf(p.find(18, Open).Parts[1]), "VOID 1 Fish")
	put(t, p.hot, void18(4, "2 Fish"))
	p.wantParts(t, "#18 hot=open/1 cold=gone")
	do(t, p.hot, press(p.hot, ItemDone, 1, 1))
	p.wantParts(t, "#18 hot=open cold=gone")
	put(t, p.hot, of18(5, "1 Pie"), void18(6, "1 Pie")) // of two, it takes the one that is made
	p.wantParts(t, "#18 hot=open/1 cold=gone")
	put(t, p.hot, void18(7, "1 Pie"))
	p.wantParts(t, "#18 cancelled hot=gone cold=gone")
}

func TestACopyOfAVoidCancelsNoOtherDish(t *testing.T) {
	p := newPassHarness(t)
	void := void18(2, "1 Fish")
	put(t, p.hot, of18(1, "1 Fish", "1 Fish"), void)
	p.wantParts(t, "#18 hot=open/1")
	void.Job, void.Reprint = 3, true
	put(t, p.hot, void)
	p.wantParts(t, "#18 hot=open/1")
}

func TestWhatAVoidLeavesOfAPartIsTickedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		void := barJob(52, ticket.Confirmed)
		void.Ticket.Request, void.Ticket.Void = "void", true
		void.Ticket.Lines = []ticket.Line{{Quantity: "2", Name: "Beer", Void: true}}
		list := []Sibling{barJob(50, ticket.Confirmed), barJob(51, ticket.Confirmed), void}
		p := newPassHarness(t, list...)
		p.doneAtHot(t)
		p.set(list...)
		p.wantParts(t, "#18 hot=done bar=out")
		p.tick(t, Tick, "bar", Done)
		p.wantParts(t, "#18 ready hot=done bar=ticked")
		p.start(t)
		p.set(list...)
		p.wantParts(t, "#18 ready hot=done bar=ticked")
	})
}
