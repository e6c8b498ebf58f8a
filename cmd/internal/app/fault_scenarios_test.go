package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ticketrail/config"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// A disturbance happens to a printer and is repaired some time later, or ends by itself.
type disturbance struct {
	name   string
	inject func(w *disturbedPrinter)
	repair func(w *disturbedPrinter)
	loses  loss
}

// A loss is what a disturbance does to data that the printer has accepted and not printed.
type loss int

const (
	keeps       loss = iota
	loses            // at the moment of the disturbance
	keepsLosing      // until it is repaired
)

// A disturbedPrinter is a printer with its disturbances.
type disturbedPrinter struct {
	name string
	c    *cable
	// fence: it answers in order. One that does not cannot say that it waits for a logo's end.
	fence bool
	till  func()     // the till closes its connection
	mu    sync.Mutex // guards what follows
	// lostAt is when it last may have lost data. What it could not report as printed by then may be missing;
	// what came later may not.
	lostAt time.Time
	losing bool // and still does
}

func (w *disturbedPrinter) p() *virtual.Printer { return w.c.printer() }

func (w *disturbedPrinter) footText() string { return "| " + w.name }

func noRepair(*disturbedPrinter) {}

// persistent is a condition that lasts until a person repairs it.
func persistent(c virtual.Condition) disturbance {
	return disturbance{"is " + c.String(), func(w *disturbedPrinter) { w.p().Set(c, true) },
		func(w *disturbedPrinter) { w.p().Set(c, false) }, keeps}
}

// midTicket is a disturbance in the middle of a ticket.
func midTicket(a disturbance) disturbance {
	do := a.inject
	a.name += " in the middle of a ticket"
	a.inject = func(w *disturbedPrinter) { w.c.triggerAt(middle, func() { w.note(a.loses); do(w) }) }
	return a
}

// note records that data may be lost from now on.
func (w *disturbedPrinter) note(l loss) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l != keeps {
		w.lostAt, w.losing = time.Now(), w.losing || l == keepsLosing
	}
}

// lastLoss is when it last may have lost data.
func (w *disturbedPrinter) lastLoss() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lostAt
}

// logo is another program that breaks off in a picture: the printer waits for pending more bytes of it.
func logo(pending int) func(w *disturbedPrinter) {
	return func(w *disturbedPrinter) {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			conn, err := w.p().Dial(ctx)
			if err != nil {
				return
			}
			defer conn.Close()
			_ = conn.SetWriteDeadline(time.Now().Add(time.Minute)) // it waits its turn, like a till
			_, _ = conn.Write(append([]byte("\x1b@\x1dv0\x00\x48\x00"),
				slices.Concat([]byte{byte((pending + 71) / 72), byte((pending + 71) / 72 >> 8)},
					make([]byte, (pending+71)/72*72-pending))...))
		}()
	}
}

func disturbances() []disturbance {
	repaired := func(w *disturbedPrinter) { w.p().Repair() }
	stall := disturbance{"stops taking bytes", func(w *disturbedPrinter) { w.p().Stall() }, repaired, keeps}
	reset := disturbance{"resets", func(w *disturbedPrinter) { w.p().Reset() }, noRepair, loses}
	cut := disturbance{"loses its cable", func(w *disturbedPrinter) { w.c.cut(true) },
		func(w *disturbedPrinter) { w.c.cut(false) }, keeps}
	off := disturbance{"loses power", func(w *disturbedPrinter) { w.c.power(false) },
		func(w *disturbedPrinter) { w.c.power(true) }, loses}
	cycle := disturbance{"is switched off and on", func(w *disturbedPrinter) { w.c.cycle() }, noRepair, loses}
	dead := disturbance{
		"meets an error it cannot leave", func(w *disturbedPrinter) { w.p().Set(virtual.Unrecoverable, true) },
		func(w *disturbedPrinter) { w.c.cycle() }, keepsLosing,
	}
	hung := disturbance{"hangs until it is switched off and on", func(w *disturbedPrinter) { w.p().Stall() },
		func(w *disturbedPrinter) { w.c.power(false); w.p().Repair(); w.c.power(true) }, keepsLosing}
	return []disturbance{
		{"refuses", func(w *disturbedPrinter) { _ = w.p().Refuse(true) },
			func(w *disturbedPrinter) { _ = w.p().Refuse(false) }, keeps},
		{"lets dials hang", func(w *disturbedPrinter) { w.c.setHang(true) },
			func(w *disturbedPrinter) { w.c.setHang(false) }, keeps},
		{"resets whoever comes", func(w *disturbedPrinter) { w.p().ResetAfter(0, -1) }, repaired, keepsLosing},
		{"closes after some bytes", func(w *disturbedPrinter) { w.p().CloseAfter(150, 2) }, repaired, keepsLosing},
		{"serves a till", occupy, func(w *disturbedPrinter) { w.till() }, keeps},
		{"resets in a picture", func(w *disturbedPrinter) {
			w.c.triggerAt(picture, func() { w.note(loses); w.p().Reset() })
		}, noRepair, keeps},
		{"resets behind the text", func(w *disturbedPrinter) {
			w.c.triggerAt(w.footText(), func() { w.note(loses); w.p().Reset() })
		}, noRepair, keeps},
		{"was left by a program in its logo, 300 bytes before the end", logo(300), noRepair, keeps},
		{"was left by a program in its logo, 1000 bytes before the end", logo(1000), noRepair, keeps},
		{"was left by a program in its logo, 27000 bytes before the end", func(w *disturbedPrinter) {
			if w.fence {
				logo(27000)(w)
			}
		}, noRepair, keeps},
		{"jams at the cut", func(w *disturbedPrinter) { w.p().JamAtCut() },
			func(w *disturbedPrinter) { w.p().Set(virtual.CutterJam, false) }, keeps},
		{"prints slowly", func(w *disturbedPrinter) { w.p().Delay(3 * time.Second) }, repaired, keeps},
		{"notices late that a client left",
			func(w *disturbedPrinter) { w.p().CloseLate(20 * time.Second) }, repaired, keeps},
		{"echoes another program", func(w *disturbedPrinter) { w.c.corruptAnswers(echo) },
			func(w *disturbedPrinter) { w.c.corruptAnswers(nil) }, keeps},
		{"hears noise", func(w *disturbedPrinter) { w.c.corruptAnswers(noise) },
			func(w *disturbedPrinter) { w.c.corruptAnswers(nil) }, keeps},
		persistent(virtual.PaperOut), persistent(virtual.CoverOpen), persistent(virtual.Overheated),
		persistent(virtual.Offline), persistent(virtual.PaperLow),
		midTicket(persistent(virtual.PaperOut)), midTicket(persistent(virtual.CoverOpen)),
		stall, midTicket(stall), reset, midTicket(reset), cut, midTicket(cut), off, midTicket(off), cycle,
		midTicket(cycle), midTicket(dead), hung, midTicket(hung),
	}
}

// occupy connects a till, which waits like any other client.
func occupy(w *disturbedPrinter) {
	w.till()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	conn, err := w.p().Dial(ctx)
	if err != nil {
		return
	}
	w.till = func() { _ = conn.Close(); w.till = func() {} }
}

// A scenario is a set of stations and what happens to them.
type scenario struct {
	stations []string
	kinds    []int
	sockets  []bool
	backups  []int // -1: none
	events   []event
}

type event struct {
	after   time.Duration
	station int
	what    int // -1: an order; -2: the printer is repaired; else a disturbance
}

func (p scenario) String() string {
	var b strings.Builder
	for i, s := range p.stations {
		fmt.Fprintf(&b, "%s: %s, socket %v, backup %d\n", s, printerKinds()[p.kinds[i]].name, p.sockets[i],
			p.backups[i])
	}
	at := time.Duration(0)
	for _, e := range p.events {
		at += e.after
		what := "an order"
		switch {
		case e.what == -2:
			what = "is mended"
		case e.what >= 0:
			what = disturbances()[e.what].name
		}
		fmt.Fprintf(&b, "%8s %s: %s\n", at, p.stations[e.station], what)
	}
	return b.String()
}

func scenarios() *rapid.Generator[scenario] {
	return rapid.Custom(func(t *rapid.T) scenario {
		p := scenario{stations: []string{"grill", "bar", "cold"}[:rapid.IntRange(2, 3).Draw(t, "stations")]}
		n := len(p.stations)
		for i := range n {
			p.kinds = append(p.kinds, rapid.IntRange(0, len(printerKinds())-1).Draw(t, "talent"))
			p.sockets = append(p.sockets, rapid.Bool().Draw(t, "socket"))
			p.backups = append(p.backups, -1)
			if i+1 < n && rapid.Bool().Draw(t, "has a backup") {
				p.backups[i] = rapid.IntRange(i+1, n-1).Draw(t, "backup")
			}
		}
		p.events = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
			e := event{
				after: time.Millisecond * time.Duration(
					rapid.SampledFrom([]int{0, 100, 900, 3000, 20000, 90000, 400000}).Draw(t, "ms")),
				station: rapid.IntRange(0, n-1).Draw(t, "station"), what: -1,
			}
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0, 1:
				e.what = rapid.IntRange(0, len(disturbances())-1).Draw(t, "accident")
			case 2:
				e.what = -2
			}
			return e
		}), 10, 60).Draw(t, "events")
		return p
	})
}

// TestWhateverHappensNoTicketIsLostNorPrintedTwiceUnmarked checks the promises together in random
// scenarios. A failure prints the scenario and the seed.
func TestWhateverHappensNoTicketIsLostNorPrintedTwiceUnmarked(t *testing.T) {
	scenarios := scenarios()
	var orders, held, unprovable int
	rapid.Check(t, func(rt *rapid.T) {
		p := scenarios.Draw(rt, "plot")
		rt.Log("\n" + p.String())
		r := p.play(t)
		orders, held, unprovable = orders+r.orders, held+r.held, unprovable+r.unprovable
		if len(r.violations) > 0 {
			rt.Fatalf("%s\n%s", strings.Join(r.violations, "\n"), r.strips)
		}
	})
	t.Logf("%d orders, %d held, %d sent to printers that lost data and cannot report it", orders, held, unprovable)
}

// TestAPrinterThatBreaksOffTwiceInAPictureLosesNothing is a scenario that the other test
// found, once in many thousands: the padding for the first break was still in a buffer at the second.
func TestAPrinterThatBreaksOffTwiceInAPictureLosesNothing(t *testing.T) {
	for i, who := range printerKinds() {
		p := scenario{stations: []string{"grill"}, kinds: []int{i}, sockets: []bool{true}, backups: []int{-1}}
		for _, e := range []struct {
			after time.Duration
			what  string
		}{{0, "prints slowly"}, {0, "an order"}, {0, "closes after some bytes"}, {90 * time.Second, "an order"}} {
			p.events = append(p.events, event{e.after, 0, slices.IndexFunc(disturbances(), func(a disturbance) bool {
				return a.name == e.what
			})})
		}
		if r := p.play(t); len(r.violations) > 0 {
			t.Errorf("%s: %s\n%s", who.name, strings.Join(r.violations, "\n"), r.strips)
		}
	}
}

// A result is the outcome of a scenario.
type result struct {
	violations               []string
	strips                   string
	orders, held, unprovable int
}

func (p scenario) play(t *testing.T) (r result) {
	makeCables := func() map[string]*cable {
		out := map[string]*cable{}
		for i, s := range p.stations {
			who := printerKinds()[p.kinds[i]]
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
	runCabledDaemon(t, p.stations, makeCables, setup, func(g *cabledDaemon) {
		var wrecks []*disturbedPrinter
		for i, s := range p.stations {
			fence := printerKinds()[p.kinds[i]].best != ticket.Sent
			wrecks = append(wrecks, &disturbedPrinter{name: s, c: g.cables[s], fence: fence, till: func() {}})
		}
		numbers := map[string][]string{}
		for _, s := range p.stations {
			numbers[s] = nil
		}
		for _, e := range p.events {
			g.advance(e.after)
			w := wrecks[e.station]
			switch {
			case e.what == -1:
				n := fmt.Sprintf("%c%d", 'A'+e.station, len(numbers[w.name])+1)
				g.order(w.name, n)
				numbers[w.name] = append(numbers[w.name], n)
				r.orders++
			case e.what == -2:
				w.repairAll()
			default:
				a := disturbances()[e.what]
				if !strings.Contains(a.name, "in the middle") {
					w.note(a.loses)
				}
				a.inject(w)
			}
		}
		for _, w := range wrecks {
			w.repairAll()
		}
		g.waitUntilEmpty(wrecks)
		for _, w := range wrecks {
			if !w.fence && w.p().Joined() { // it was without paper, and has read all that only now
				w.note(loses)
			}
		}
		lost := map[string]time.Time{}
		for i, w := range wrecks {
			for j := i; j >= 0; j = p.backups[j] {
				if at := wrecks[j].lastLoss(); at.After(lost[w.name]) {
					lost[w.name] = at
				}
			}
		}
		r.violations = g.violations(numbers, lost)
		r.held, r.unprovable = g.held, g.unprovable
		for _, s := range p.stations {
			r.strips += fmt.Sprintf("%s: %s | %s\n", s, g.paper(s), g.jobResults(s, ""))
		}
	})
	return r
}

// repairAll ends every disturbance.
func (w *disturbedPrinter) repairAll() {
	w.till()
	w.c.clearTriggers()
	time.Sleep(10 * time.Millisecond) // triggers that have fired take effect
	w.mu.Lock()
	losing := w.losing || !w.fence && w.p().Joined()
	w.losing = false
	w.mu.Unlock()
	if losing { // a ticket that was sent before this is settled before the power is back
		w.c.power(false)
		time.Sleep(time.Minute)
		w.note(loses)
	}
	for _, a := range disturbances() {
		if a.loses == keeps {
			a.repair(w)
		}
	}
	if w.p().Conditions()&virtual.Unrecoverable != 0 {
		w.c.cycle()
	}
	w.p().Repair()
	w.c.power(true)
}

// waitUntilEmpty waits until all queues are empty. A cutter may jam at a cut that comes later.
func (g *cabledDaemon) waitUntilEmpty(wrecks []*disturbedPrinter) {
	for range 60 {
		g.advance(5 * time.Minute)
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
	g.advance(time.Hour) // printers print what they have buffered
	synctest.Wait()
}
