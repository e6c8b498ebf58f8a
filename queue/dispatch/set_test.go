package dispatch

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

func TestSetDuringAPrintFinishesTheTicketInHandThenUsesTheNewStation(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		before, after := k.printer(), k.printer()
		before.takes = time.Minute
		k.Set([]Line{{Name: "grill", Station: before}})
		k.q.put("grill", "a", "b")
		k.pass(time.Second)
		start := time.Now()
		k.Set([]Line{{Name: "grill", Station: after}})
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
		p := k.printer()
		p.takes = time.Minute
		k.Set([]Line{{Name: "grill", Station: p}})
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
		k.Set([]Line{{Name: "grill", Station: p}})
		k.q.put("grill", "a", "b")
		k.pass(time.Second)
		k.Set(nil)
		k.Set([]Line{{Name: "grill", Station: p}})
		k.pass(time.Hour)
		k.wantPaper(p, "a", "b")
	})
}

func TestAChangeCutsAPauseShort(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		dead, alive := k.printer(), k.printer()
		dead.now(off)
		k.Set([]Line{{Name: "grill", Station: dead}})
		k.q.put("grill", "a")
		k.pass(10 * time.Minute)
		k.Set([]Line{{Name: "grill", Station: alive}})
		k.pass(0)
		k.wantPaper(alive, "a")
	})
}

func TestAChangeDuringAFailingAttemptSavesThePause(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		dead, alive := k.printer(), k.printer()
		dead.now(off)
		dead.dial = time.Minute
		k.Set([]Line{{Name: "grill", Station: dead}})
		k.q.put("grill", "a")
		k.pass(30 * time.Second)
		k.Set([]Line{{Name: "grill", Station: alive}})
		k.pass(30 * time.Second)
		k.wantPaper(alive, "a")
	})
}

func TestAnUnchangedLineIsNotDisturbed(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p, other := k.printer(), k.printer()
		p.now(off)
		l := Line{Name: "grill", Station: p, ExpireAfter: time.Hour}
		k.Set([]Line{l})
		k.q.put("grill", "a")
		k.pass(10 * time.Minute)
		next := k.status("grill").NextTry
		n := len(p.attempts())
		k.Set([]Line{l, {Name: "bar", Station: other}})
		k.pass(0)
		if s := k.status("grill"); s.NextTry != next || len(p.attempts()) != n {
			t.Errorf("the pause was cut: next try %v, was %v", s.NextTry, next)
		}
		l.ExpireAfter = 2 * time.Hour
		k.Set([]Line{l, {Name: "bar", Station: other}})
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
	for _, c := range []struct {
		a, b Line
		want bool
	}{
		{Line{Station: p}, Line{Station: p}, true},
		{Line{Station: p}, Line{Station: q}, false},
		{Line{Station: p}, Line{Station: p, HoldDoubt: true}, false},
		{Line{Station: p}, Line{Station: p, ExpireAfter: 1}, false},
		{Line{Station: f}, Line{Station: f}, false},
		{Line{}, Line{}, true},
		{Line{}, Line{Station: p}, false},
	} {
		if got := same(c.a, c.b); got != c.want {
			t.Errorf("same(%+v, %+v) = %t", c.a, c.b, got)
		}
	}
}

// Everything at once, for the contracts that the fakes police: one lease a line, one print a
// station, one end a lease, order, nothing lost, nothing printed twice unmarked.
func TestSetKickAndStopUnderLoadLoseNothingAndBreakNoContract(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { stress(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func stress(t *testing.T, r *rand.Rand) {
	q := newFakeQueue(t)
	lineNames := []string{"grill", "bar", "pass"}
	// A fixed printer a line and two that come and go.
	printers := map[string][]*fakePrinter{}
	for _, n := range lineNames {
		for range 2 {
			printers[n] = append(printers[n], &fakePrinter{t: t, dial: 20 * time.Millisecond, takes: 200 * time.Millisecond})
		}
	}
	faults := []fault{fine, fine, fine, off, cut, noPaper, panicsMidway, noPaperMidway}
	put := 0
	for range 5 { // five runs of the daemon over one queue
		d := New(Options{Queue: From(q)})
		for range 60 {
			var lines []Line
			for _, n := range lineNames {
				p := printers[n][r.IntN(2)]
				p.mu.Lock()
				p.always = faults[r.IntN(len(faults))]
				p.mu.Unlock()
				if r.IntN(4) > 0 {
					lines = append(lines, Line{Name: n, Station: p, HoldDoubt: r.IntN(4) == 0})
				}
			}
			go d.Set(lines)
			go d.Kick(lineNames[r.IntN(3)])
			if r.IntN(2) == 0 {
				n := names(put + 1)[put]
				put++
				q.put(lineNames[r.IntN(3)], n)
			}
			time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(300))*time.Millisecond)
		go d.Stop(ctx)
		if err := d.Stop(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		go d.Set([]Line{{Name: "grill", Station: printers["grill"][0]}}) // does nothing any more
		synctest.Wait()
	}

	// A calm evening drains what is left.
	d := New(Options{Queue: From(q)})
	var lines []Line
	for _, n := range lineNames {
		for _, p := range printers[n] {
			p.now(fine)
		}
		lines = append(lines, Line{Name: n, Station: printers[n][0]})
	}
	d.Set(lines)
	time.Sleep(time.Hour)
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	q.audit(printers)
}

// audit checks at the end that every job is accounted for and came out at most once unmarked.
func (q *fakeQueue) audit(printers map[string][]*fakePrinter) {
	for name, l := range q.lines {
		copies := map[string]int{}
		for _, p := range printers[name] {
			for _, s := range p.printed() {
				copies[s]++
			}
		}
		for _, j := range l.jobs {
			if j.state != ticket.Sent && j.state != ticket.Held {
				q.t.Errorf("job %q ended as %s", j.name, j.state)
			}
			if copies[j.name] != 1 {
				q.t.Errorf("job %q came out %d times unmarked", j.name, copies[j.name])
			}
			if n := copies[j.name+" DUPLICATE"]; n > 1 {
				q.t.Errorf("job %q came out %d times marked", j.name, n)
			}
		}
	}
}
