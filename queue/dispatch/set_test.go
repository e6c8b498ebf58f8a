package dispatch

import (
	"testing"
	"time"
)

func TestSetDuringAPrintFinishesTheTicketInHandThenUsesTheNewStation(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		before, after := h.printer(), h.printer()
		before.takes = time.Minute
		h.Set([]Lane{{Name: "grill", Station: before}})
		h.q.enqueue("grill", "a", "b")
		h.advance(time.Second)
		start := time.Now()
		h.Set([]Lane{{Name: "grill", Station: after}})
		wantEqual(t, time.Since(start), 0, "Set blocked")
		h.advance(30 * time.Second)
		h.wantPrinted(after)
		h.advance(time.Minute)
		h.wantPrinted(before, "a")
		h.wantPrinted(after, "b")
		h.wantEnds("grill a ack", "grill b ack")
	})
}

func TestARemovedLaneEndsAfterTheTicketInHand(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		p.takes = time.Minute
		h.q.enqueue("grill", "a", "b")
		h.advance(time.Second)
		h.Set(nil)
		wantEqual(t, len(h.Status()), 0, "a removed lane has a status")
		h.advance(time.Hour)
		h.wantPrinted(p, "a")
		h.mu.Lock()
		left := len(h.workers)
		h.mu.Unlock()
		wantEqual(t, left, 0)
	})
}

func TestAChangedLaneEndsItsPause(t *testing.T) {
	for name, dial := range map[string]time.Duration{"in the pause": 0, "in the attempt before it": time.Minute} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) {
				dead, alive := h.serveGrill(off), h.printer()
				dead.dial = dial
				h.q.enqueue("grill", "a")
				h.advance(dial / 2)
				h.Set([]Lane{{Name: "grill", Station: alive}})
				h.advance(dial / 2)
				h.wantPrinted(alive, "a")
			})
		})
	}
}

func TestAnUnchangedLaneIsNotDisturbed(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p, other := h.printer(), h.printer()
		p.setFault(off)
		l := Lane{Name: "grill", Station: p, ExpireAfter: time.Hour}
		h.Set([]Lane{l})
		h.q.enqueue("grill", "a")
		h.advance(10 * time.Minute)
		next := h.status("grill").NextTry
		n := len(p.attempts())
		h.Set([]Lane{l, {Name: "bar", Station: other}})
		h.advance(0)
		wantEqual(t, h.status("grill").NextTry, next, "the pause was cut")
		wantEqual(t, len(p.attempts()), n)
		l.ExpireAfter = 2 * time.Hour
		h.Set([]Lane{l, {Name: "bar", Station: other}})
		h.advance(0)
		wantEqual(t, len(p.attempts()), n+1, "a changed option was not taken up at once")
	})
}

func TestLanesAreEqualOnlyIfTheirStationsAre(t *testing.T) {
	p, q := &fakePrinter{}, &fakePrinter{}
	f := printFunc((&fakePrinter{}).Print)
	named := func(name string, s Station, after time.Duration) Lane {
		return Lane{Name: "grill", Station: p, Backups: []Backup{{name, s, after}}}
	}
	for _, c := range []struct {
		a, b Lane
		want bool
	}{
		{Lane{Station: p}, Lane{Station: p}, true},
		{Lane{Station: p}, Lane{Station: q}, false},
		{Lane{Station: p}, Lane{Station: p, HoldDoubt: true}, false},
		{Lane{Station: p}, Lane{Station: p, ExpireAfter: 1}, false},
		{Lane{Station: p, OnRefusal: []string{"bar"}}, Lane{Station: p}, false},
		{Lane{Station: f}, Lane{Station: f}, false},
		{Lane{}, Lane{}, true},
		{Lane{}, Lane{Station: p}, false},
		{grillLane(p, q), grillLane(p, q), true},
		{grillLane(p, q), grillLane(p), false},
		{grillLane(p, q), grillLane(p, p), false},
		{grillLane(p, q), grillLane(p, q, p), false},
		{grillLane(p, q), named("pass", q, backupAfter), false},
		{grillLane(p, q), named("bar", q, time.Minute), false},
		{grillLane(p, q), named("bar", nil, backupAfter), false},
	} {
		wantTrue(t, sameLane(c.a, c.b) == c.want && sameLane(c.b, c.a) == c.want, c)
	}
}

func TestAReloadKeepsTheStateOfStationsThatStay(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar, pass := h.printer(), h.printer(), h.printer()
		grill.setFault(off)
		h.Set([]Lane{grillLane(grill, bar)})
		h.q.enqueue("grill", "a")
		h.advance(backupAfter + time.Second)
		h.wantPrinted(bar, "a"+forGrill)

		l := grillLane(grill, pass) // another one is called bar now
		h.Set([]Lane{l})
		h.q.enqueue("grill", "b")
		h.advance(0)
		h.wantPrinted(pass, "b"+forGrill)

		h.Set([]Lane{grillLane(h.printer(), pass)}) // the own printer is another: it has not failed yet
		h.advance(0)
		wantEqual(t, h.status("grill").ActiveBackup, ActiveBackup{}, "it was not tried yet")
	})
}
