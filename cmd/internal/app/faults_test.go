package app

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// A printerKind is what a printer can report, as found in kitchens.
type printerKind struct {
	name   string
	o      virtual.Options
	oneWay bool
	best   ticket.State // the best proof it can give
	well   string       // its state without a fault
}

func printerKinds() []printerKind {
	with := func(can virtual.Capability, answer func([]byte) []byte) virtual.Options {
		return virtual.Options{Columns: 48, Kanji: true, Remembers: true, Can: can,
			Clone: virtual.Clone{Answer: answer}}
	}
	return []printerKind{
		// TM-T88V
		{"ids", with(virtual.Everything, nil), false, ticket.Confirmed, "ready"},
		// TM-U220
		{"status", with(virtual.RealTime|virtual.StatusQuery|virtual.ASB, nil), false, ticket.Processed, "ready"},
		// a clone
		{"wrongid", with(virtual.Everything, virtual.WrongID), false, ticket.Processed, "ready"},
		// DLE EOT only
		{"talks", with(virtual.RealTime, nil), false, ticket.Sent, "ready"},
		// a cheap one
		{"mute", with(0, nil), false, ticket.Sent, "silent"},
		// a parallel port
		{"oneway", with(0, nil), true, ticket.Sent, "unknown"},
	}
}

// A faultRun is the run of one fault: at the printer grill, between A1 and A4.
type faultRun struct {
	*cabledDaemon
	c *cable
	p *virtual.Printer
}

// Places in a ticket.
const (
	middle  = "Middle"
	picture = "\x1dv0" // the raster command for letters that the printer lacks: it says how many bytes follow
	end     = "| grill"
)

// A fault is injected a minute after A1 printed, before A2 and A3 are ordered. Twenty minutes later
// it is repaired, and half an hour after that A4 is ordered. B1 to B3 are ordered from bar, which
// has no fault.
type fault struct {
	name   string
	inject func(*faultRun)
	repair func(*faultRun) // nil: it ends by itself
	// want is, by printer kinds ("" is all others): the printouts | the results of the jobs | the
	// printer's state before the repair. "=" is the printer's best proof, "well" its state without
	// a fault. No entry means [noFault]. "//" separates results that are equally good.
	want map[string]string
	// socket is want where it differs for a socket, which accepts data that the printer does not read.
	socket map[string]string
}

const noFault = "A1 A2 A3 A4 | = = = = | well"

// expected is the wanted result.
func (f fault) expected(who string, socket bool) string {
	find := func(want map[string]string) (string, bool) {
		for names, w := range want {
			if slices.Contains(strings.Fields(names), who) {
				return w, true
			}
		}
		w, ok := want[""]
		return w, ok
	}
	if socket {
		if w, ok := find(f.socket); ok {
			return w
		}
	}
	if w, ok := find(f.want); ok {
		return w
	}
	return noFault
}

// later calls f after d.
func later(d time.Duration, f func()) { time.AfterFunc(d, f) }

// at calls f when A2 has reached a place.
func (s *faultRun) at(place string, f func()) { s.c.triggerAt(place, f) }

// set makes a condition of the printer true for d.
func (s *faultRun) set(c virtual.Condition, d time.Duration) {
	s.p.Set(c, true)
	later(d, func() { s.p.Set(c, false) })
}

func (s *faultRun) repairPrinter() { s.p.Repair() }

// swapFor replaces the printer of grill.
func (s *faultRun) swapFor(can virtual.Capability) {
	s.c.swap(virtual.New(virtual.Options{Name: "another", Columns: 48, Kanji: true, Remembers: true, Can: can}))
}

// occupy is a till that keeps the printer busy for d.
func (s *faultRun) occupy(d time.Duration) {
	conn, err := s.p.Dial(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	later(d, func() { _ = conn.Finish(s.t.Context()); _ = conn.Close() })
}

// echo is the answer to another program's GS ( H, in front of each of ours.
func echo(b []byte) []byte { return append([]byte("\x37\x22!!!!\x00"), b...) }

// noise adds bytes that are no answer, as a bad cable does.
func noise(b []byte) []byte {
	return slices.Concat([]byte("\xff\x80\xc3\x11"), b, []byte("\x13\xfe\x9f"))
}

func TestEveryFaultOnEveryPrinter(t *testing.T) {
	for _, f := range faults() {
		for _, who := range printerKinds() {
			for _, socket := range []bool{false, true} {
				if socket && who.oneWay {
					continue
				}
				wire := "pipe"
				if socket {
					wire = "socket"
				}
				t.Run(strings.Join([]string{f.name, who.name, wire}, "/"), func(t *testing.T) {
					t.Parallel()
					play(t, f, who, socket)
				})
			}
		}
	}
}

// grillAndBarCables is a grill of that kind, and a bar without faults.
func grillAndBarCables(who printerKind, socket bool) map[string]*cable {
	who.o.Name = "grill"
	bar := virtual.Options{Name: "bar", Columns: 48, Kanji: true, Can: virtual.Everything}
	return map[string]*cable{"grill": newCable(who.o, socket, who.oneWay), "bar": newCable(bar, socket, false)}
}

func play(t *testing.T, f fault, who printerKind, socket bool) {
	makeCables := func() map[string]*cable { return grillAndBarCables(who, socket) }
	runCabledDaemon(t, []string{"grill", "bar"}, makeCables, nil, func(g *cabledDaemon) {
		s := &faultRun{g, g.cables["grill"], g.cables["grill"].printer()}
		g.order("grill", "A1")
		g.advance(time.Minute)
		f.inject(s)
		g.order("grill", "A2")
		g.advance(time.Second)
		g.order("grill", "A3")
		for i := range 3 {
			g.order("bar", fmt.Sprintf("B%d", i+1))
		}
		g.advance(10 * time.Second)
		if got := g.paper("bar"); got != "B1 B2 B3" {
			t.Errorf("meanwhile bar printed %q", got)
		}
		g.advance(20 * time.Minute)
		state := g.state("grill")
		if state == who.well {
			state = "well"
		}
		if f.repair != nil {
			f.repair(s)
		}
		g.advance(30 * time.Minute)
		g.order("grill", "A4")
		g.advance(5 * time.Minute)
		got := strings.Join([]string{g.paper("grill"), g.jobResults("grill", who.best), state}, " | ")
		want := f.expected(who.name, socket)
		if !slices.Contains(strings.Split(want, " // "), got) {
			t.Errorf("%s\nwant %s", got, want)
		}
		for _, o := range g.printerProblems() {
			t.Error(o)
		}
	})
}
