package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ticketrail/config"
	"ticketrail/printer/virtual"
)

// An accident happens to a printer and is put right some time later, or passes.
type accident struct {
	name   string
	strike func(w *wreck)
	mend   func(w *wreck)
	// loses says that what the printer has taken and not printed is gone, or may be.
	loses bool
}

// A wreck is a printer with its accidents.
type wreck struct {
	name string
	c    *cable
	till func() // lets go of the printer
	lost bool
}

func (w *wreck) p() *virtual.Printer { return w.c.now() }

func (w *wreck) foot() string { return "| " + w.name }

func nothing(*wreck) {}

// stopped is a condition that people see to.
func stopped(c virtual.Condition) accident {
	return accident{"is " + c.String(), func(w *wreck) { w.p().Set(c, true) }, func(w *wreck) { w.p().Set(c, false) }, false}
}

// trapped is an accident in the middle of a ticket.
func trapped(a accident) accident {
	do := a.strike
	a.name += " in the middle of a ticket"
	a.strike = func(w *wreck) { w.c.arm(middle, func() { do(w) }) }
	return a
}

func accidents() []accident {
	repaired := func(w *wreck) { w.p().Repair() }
	stall := accident{"stops taking bytes", func(w *wreck) { w.p().Stall() }, repaired, false}
	reset := accident{"resets", func(w *wreck) { w.p().Reset() }, nothing, true}
	cut := accident{"loses its cable", func(w *wreck) { w.c.cut(true) }, func(w *wreck) { w.c.cut(false) }, false}
	off := accident{"loses power", func(w *wreck) { w.c.power(false) }, func(w *wreck) { w.c.power(true) }, true}
	cycle := accident{"is switched off and on", func(w *wreck) { w.c.cycle() }, nothing, true}
	dead := accident{
		"meets an error it cannot leave", func(w *wreck) { w.p().Set(virtual.Unrecoverable, true) },
		func(w *wreck) { w.c.cycle() }, true,
	}
	return []accident{
		{"refuses", func(w *wreck) { _ = w.p().Refuse(true) }, func(w *wreck) { _ = w.p().Refuse(false) }, false},
		{"lets dials hang", func(w *wreck) { w.c.setHang(true) }, func(w *wreck) { w.c.setHang(false) }, false},
		{"resets whoever comes", func(w *wreck) { w.p().ResetAfter(0, -1) }, repaired, true},
		{"closes after some bytes", func(w *wreck) { w.p().CloseAfter(150, 2) }, repaired, true},
		{"serves a till", occupied, func(w *wreck) { w.till() }, false},
		{"resets in a picture", func(w *wreck) { w.c.arm(picture, w.p().Reset) }, nothing, true},
		{"resets behind the text", func(w *wreck) { w.c.arm(w.foot(), w.p().Reset) }, nothing, true},
		{"jams at the cut", func(w *wreck) { w.p().JamAtCut() }, func(w *wreck) { w.p().Set(virtual.CutterJam, false) }, false},
		{"prints slowly", func(w *wreck) { w.p().Delay(3 * time.Second) }, repaired, false},
		{"notices late that a client left", func(w *wreck) { w.p().CloseLate(20 * time.Second) }, repaired, false},
		{"echoes another program", func(w *wreck) { w.c.says(echo) }, func(w *wreck) { w.c.says(nil) }, false},
		{"hears noise", func(w *wreck) { w.c.says(noise) }, func(w *wreck) { w.c.says(nil) }, false},
		stopped(virtual.PaperOut), stopped(virtual.CoverOpen), stopped(virtual.Overheated), stopped(virtual.Offline), stopped(virtual.PaperLow),
		trapped(stopped(virtual.PaperOut)), trapped(stopped(virtual.CoverOpen)),
		stall, trapped(stall), reset, trapped(reset), cut, trapped(cut), off, trapped(off), cycle, trapped(cycle), trapped(dead),
	}
}

// occupied connects a till, which waits its turn like everybody.
func occupied(w *wreck) {
	w.till()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	conn, err := w.p().Dial(ctx)
	if err != nil {
		return
	}
	w.till = func() { _ = conn.Close(); w.till = func() {} }
}

// A plot is a kitchen and what happens in it.
type plot struct {
	stations []string
	talents  []int
	sockets  []bool
	backups  []int // -1: none
	events   []event
}

type event struct {
	after   time.Duration
	station int
	what    int // -1: an order; -2: all that is wrong with the printer is mended; else an accident
}

func (p plot) String() string {
	var b strings.Builder
	for i, s := range p.stations {
		fmt.Fprintf(&b, "%s: %s, socket %v, backup %d\n", s, talents()[p.talents[i]].name, p.sockets[i], p.backups[i])
	}
	at := time.Duration(0)
	for _, e := range p.events {
		at += e.after
		what := "an order"
		switch {
		case e.what == -2:
			what = "is mended"
		case e.what >= 0:
			what = accidents()[e.what].name
		}
		fmt.Fprintf(&b, "%8s %s: %s\n", at, p.stations[e.station], what)
	}
	return b.String()
}

func plots() *rapid.Generator[plot] {
	return rapid.Custom(func(t *rapid.T) plot {
		p := plot{stations: []string{"grill", "bar", "cold"}[:rapid.IntRange(2, 3).Draw(t, "stations")]}
		n := len(p.stations)
		for i := range n {
			p.talents = append(p.talents, rapid.IntRange(0, len(talents())-1).Draw(t, "talent"))
			p.sockets = append(p.sockets, rapid.Bool().Draw(t, "socket"))
			p.backups = append(p.backups, -1)
			if i+1 < n && rapid.Bool().Draw(t, "has a backup") {
				p.backups[i] = rapid.IntRange(i+1, n-1).Draw(t, "backup")
			}
		}
		p.events = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
			e := event{
				after:   time.Duration(rapid.SampledFrom([]int{0, 100, 900, 3000, 20000, 90000, 400000}).Draw(t, "ms")) * time.Millisecond,
				station: rapid.IntRange(0, n-1).Draw(t, "station"), what: -1,
			}
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0, 1:
				e.what = rapid.IntRange(0, len(accidents())-1).Draw(t, "accident")
			case 2:
				e.what = -2
			}
			return e
		}), 10, 60).Draw(t, "events")
		return p
	})
}

// TestWhateverHappensNoTicketIsLostNorPrintedTwiceUnmarked is the promise as a whole, kept through
// accidents nobody thought of. A failure prints the plot and the seed.
func TestWhateverHappensNoTicketIsLostNorPrintedTwiceUnmarked(t *testing.T) {
	plots := plots()
	var orders, held, waived int
	rapid.Check(t, func(rt *rapid.T) {
		p := plots.Draw(rt, "plot")
		rt.Log("\n" + p.String())
		r := p.play(t)
		orders, held, waived = orders+r.orders, held+r.held, waived+r.waived
		if len(r.broken) > 0 {
			rt.Fatalf("%s\n%s", strings.Join(r.broken, "\n"), r.strips)
		}
	})
	t.Logf("%d orders, %d held for a person, %d sent to printers that lost what they had and cannot say so", orders, held, waived)
}

// TestAPrinterThatBreaksOffTwiceInAPictureSwallowsNothing is a plot that was found by the other
// test, once in many thousands: the padding for the first break lay in a buffer at the second.
func TestAPrinterThatBreaksOffTwiceInAPictureSwallowsNothing(t *testing.T) {
	for i, who := range talents() {
		p := plot{stations: []string{"grill"}, talents: []int{i}, sockets: []bool{true}, backups: []int{-1}}
		for _, e := range []struct {
			after time.Duration
			what  string
		}{{0, "prints slowly"}, {0, "an order"}, {0, "closes after some bytes"}, {90 * time.Second, "an order"}} {
			p.events = append(p.events, event{e.after, 0, slices.IndexFunc(accidents(), func(a accident) bool { return a.name == e.what })})
		}
		if r := p.play(t); len(r.broken) > 0 {
			t.Errorf("%s: %s\n%s", who.name, strings.Join(r.broken, "\n"), r.strips)
		}
	}
}

// A result is what came of a plot.
type result struct {
	broken               []string
	strips               string
	orders, held, waived int
}

func (p plot) play(t *testing.T) (r result) {
	lay := func() map[string]*cable {
		out := map[string]*cable{}
		for i, s := range p.stations {
			who := talents()[p.talents[i]]
			who.o.Name = s
			out[s] = newCable(who.o, p.sockets[i], who.oneWay)
		}
		return out
	}
	setup := func(c *config.Config) {
		for i := range c.Printers {
			c.Printers[i].ExpireAfter = 720 * time.Hour
			if b := p.backups[i]; b >= 0 {
				c.Printers[i].Backup = p.stations[b]
			}
		}
	}
	inGalley(t, p.stations, lay, setup, func(g *galley) {
		var wrecks []*wreck
		for _, s := range p.stations {
			wrecks = append(wrecks, &wreck{name: s, c: g.cables[s], till: func() {}})
		}
		numbers := map[string][]string{}
		for _, s := range p.stations {
			numbers[s] = nil
		}
		for _, e := range p.events {
			g.pass(e.after)
			w := wrecks[e.station]
			switch {
			case e.what == -1:
				n := fmt.Sprintf("%c%d", 'A'+e.station, len(numbers[w.name])+1)
				g.order(w.name, n)
				numbers[w.name] = append(numbers[w.name], n)
				r.orders++
			case e.what == -2:
				w.mendAll()
			default:
				a := accidents()[e.what]
				w.lost = w.lost || a.loses
				a.strike(w)
			}
		}
		for _, w := range wrecks {
			w.mendAll()
		}
		g.settle(wrecks)
		lost := map[string]bool{}
		for i, w := range wrecks {
			for j := i; j >= 0; j = p.backups[j] {
				lost[w.name] = lost[w.name] || wrecks[j].lost
			}
		}
		r.broken = g.broken(numbers, lost)
		r.held, r.waived = g.held, g.waived
		for _, s := range p.stations {
			r.strips += fmt.Sprintf("%s: %s | %s\n", s, g.strip(s), g.fates(s, ""))
		}
	})
	return r
}

// mendAll puts everything right.
func (w *wreck) mendAll() {
	w.till()
	w.c.disarm()
	time.Sleep(10 * time.Millisecond) // what has been sprung happens
	for _, a := range accidents() {
		if !a.loses {
			a.mend(w)
		}
	}
	if w.p().Conditions()&virtual.Unrecoverable != 0 {
		w.c.cycle()
	}
	w.p().Repair()
	w.c.power(true)
}

// settle waits until the lines are empty. A blade may jam at a cut that comes later.
func (g *galley) settle(wrecks []*wreck) {
	for range 60 {
		g.pass(5 * time.Minute)
		open := 0
		for _, s := range g.app.queue.Stations() {
			open += s.Pending + s.Printing
		}
		for _, w := range wrecks {
			w.p().Set(virtual.CutterJam, false)
		}
		if open == 0 {
			break
		}
	}
	g.pass(time.Hour) // what a printer has, it prints
	synctest.Wait()
}
