package dispatch

import (
	"context"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

func TestSetDuringAPrintFinishesTheTicketInHandThenUsesTheNewStation(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		before, after := k.printer(), k.printer()
		before.takes = time.Minute
		k.Set([]Lane{{Name: "grill", Station: before}})
		k.q.put("grill", "a", "b")
		k.pass(time.Second)
		start := time.Now()
		k.Set([]Lane{{Name: "grill", Station: after}})
		if d := time.Since(start); d > 0 {
			t.Errorf("Set blocked for %v", d)
		}
		k.pass(30 * time.Second)
		k.wantPaper(after)
		k.pass(time.Minute)
		k.wantPaper(before, "a")
		k.wantPaper(after, "b")
		k.wantEnds("grill a ack", "grill b ack")
	})
}

func TestARemovedLineEndsAfterTheTicketInHand(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill()
		p.takes = time.Minute
		k.q.put("grill", "a", "b")
		k.pass(time.Second)
		k.Set(nil)
		if s := k.Status(); len(s) != 0 {
			t.Errorf("a removed line has a status: %+v", s)
		}
		k.pass(time.Hour)
		k.wantPaper(p, "a")
		k.mu.Lock()
		left := len(k.lines)
		k.mu.Unlock()
		if left != 0 {
			t.Errorf("%d lines are left", left)
		}
	})
}

func TestALineThatIsRemovedAndSetAgainDuringAPrintIsServedByOneGoroutine(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer() // it polices that it is printed on once at a time
		p.takes = time.Minute
		k.Set([]Lane{{Name: "grill", Station: p}})
		k.q.put("grill", "a", "b")
		k.pass(time.Second)
		k.Set(nil)
		k.Set([]Lane{{Name: "grill", Station: p}})
		k.pass(time.Hour)
		k.wantPaper(p, "a", "b")
	})
}

func TestAChangeCutsAPauseShort(t *testing.T) {
	for name, dial := range map[string]time.Duration{"in the pause": 0, "in the attempt before it": time.Minute} {
		t.Run(name, func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				dead, alive := k.grill(off), k.printer()
				dead.dial = dial
				k.q.put("grill", "a")
				k.pass(dial / 2)
				k.Set([]Lane{{Name: "grill", Station: alive}})
				k.pass(dial / 2)
				k.wantPaper(alive, "a")
			})
		})
	}
}

func TestAnUnchangedLineIsNotDisturbed(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p, other := k.printer(), k.printer()
		p.now(off)
		l := Lane{Name: "grill", Station: p, ExpireAfter: time.Hour}
		k.Set([]Lane{l})
		k.q.put("grill", "a")
		k.pass(10 * time.Minute)
		next := k.status("grill").NextTry
		n := len(p.attempts())
		k.Set([]Lane{l, {Name: "bar", Station: other}})
		k.pass(0)
		if s := k.status("grill"); s.NextTry != next || len(p.attempts()) != n {
			t.Errorf("the pause was cut: next try %v, was %v", s.NextTry, next)
		}
		l.ExpireAfter = 2 * time.Hour
		k.Set([]Lane{l, {Name: "bar", Station: other}})
		k.pass(0)
		if len(p.attempts()) != n+1 {
			t.Error("a changed option was not taken up at once")
		}
	})
}

func TestLinesAreTheSameOnlyIfTheirStationsAre(t *testing.T) {
	p, q := &fakePrinter{}, &fakePrinter{}
	f := printFunc(func(context.Context, ticket.Delivery, func(context.Context) error) (ticket.Proof, error) {
		return "", nil
	})
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
		{Lane{Station: f}, Lane{Station: f}, false},
		{Lane{}, Lane{}, true},
		{Lane{}, Lane{Station: p}, false},
		{backed(p, q), backed(p, q), true},
		{backed(p, q), backed(p), false},
		{backed(p, q), backed(p, p), false},
		{backed(p, q), backed(p, q, p), false},
		{backed(p, q), named("pass", q, holdFor), false},
		{backed(p, q), named("bar", q, time.Minute), false},
		{backed(p, q), named("bar", nil, holdFor), false},
	} {
		if same(c.a, c.b) != c.want || same(c.b, c.a) != c.want {
			t.Errorf("same(%+v, %+v) is not %t", c.a, c.b, c.want)
		}
	}
}

func TestAReloadKeepsWhatIsKnownOfStationsThatStay(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar, pass := k.printer(), k.printer(), k.printer()
		grill.now(off)
		k.Set([]Lane{backed(grill, bar)})
		k.q.put("grill", "a")
		k.pass(holdFor + time.Second)
		k.wantPaper(bar, "a"+instead)

		l := backed(grill, pass) // another one is called bar now
		k.Set([]Lane{l})
		k.q.put("grill", "b")
		k.pass(0)
		k.wantPaper(pass, "b"+instead)

		k.Set([]Lane{backed(k.printer(), pass)}) // the own printer is another: it has not failed yet
		k.pass(0)
		if s := k.status("grill"); s.StandIn != (StandIn{}) {
			t.Errorf("%+v stands in for a printer that was not tried yet", s.StandIn)
		}
	})
}
