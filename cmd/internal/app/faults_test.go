package app

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// A talent is what a printer can tell, as found in kitchens.
type talent struct {
	name   string
	o      virtual.Options
	oneWay bool
	best   ticket.State
}

func talents() []talent {
	all := virtual.Options{Columns: 48, Kanji: true, Remembers: true, Can: virtual.Everything}
	with := func(can virtual.Ability, answer func([]byte) []byte) virtual.Options {
		o := all
		o.Can, o.Clone.Answer = can, answer
		return o
	}
	return []talent{
		{"ids", with(virtual.Everything, nil), false, ticket.Confirmed},
		{"status", with(virtual.RealTime|virtual.StatusQuery|virtual.ASB, nil), false, ticket.Processed}, // TM-U220
		{"talks", with(virtual.RealTime, nil), false, ticket.Sent},
		{"mute", with(0, nil), false, ticket.Sent},
		{"wrongid", with(virtual.Everything, virtual.WrongID), false, ticket.Processed},
		{"oneway", with(0, nil), true, ticket.Sent},
	}
}

// A scene is where a fault strikes: the printer grill, between A1 and A4.
type scene struct {
	*galley
	c *cable
	p *virtual.Printer
	o virtual.Options
}

// middle and end are places in a ticket.
const (
	middle = "Middle"
	end    = "| grill"
)

type fault struct {
	name   string
	why    string
	strike func(*scene)
	repair func(*scene)
	want   map[string]string // by talents: what is on paper | what the books say
}

func (s *scene) in(d time.Duration, f func()) { time.AfterFunc(d, f) }

// shut is a condition of the printer.
func shut(c virtual.Condition, at string) func(*scene) {
	return func(s *scene) {
		if at == "" {
			s.p.Set(c, true)
			return
		}
		s.c.arm(at, func() { s.p.Set(c, true) })
	}
}

func opened(c virtual.Condition) func(*scene) { return func(s *scene) { s.p.Set(c, false) } }
func mended(s *scene)                         { s.p.Repair() }
func byItself(*scene)                         {}

func faults() []fault {
	return []fault{
		{name: "none", strike: byItself, repair: byItself},
		{name: "refused at dial", strike: func(s *scene) { _ = s.p.Refuse(true) }, repair: func(s *scene) { _ = s.p.Refuse(false) }},
		{name: "dial hangs", strike: func(s *scene) { s.c.setHang(true) }, repair: func(s *scene) { s.c.setHang(false) }},
		{name: "accepted and silent", strike: func(s *scene) { s.p.Stall() }, repair: mended},
		{name: "reset before the first byte", strike: func(s *scene) { s.p.ResetAfter(0, -1) }, repair: mended},
		{name: "reset in the middle", strike: func(s *scene) { s.c.arm(middle, s.p.Reset) }, repair: byItself},
		{name: "reset behind the text", strike: func(s *scene) { s.c.arm(end, s.p.Reset) }, repair: byItself},
		{name: "closed in the middle", strike: func(s *scene) { s.c.arm(middle, func() { s.p.CloseAfter(0, 1) }) }, repair: mended},
		{name: "half open", strike: func(s *scene) { s.c.arm(middle, func() { s.p.Vanish(true) }) }, repair: func(s *scene) { s.p.Vanish(false) }},
		{name: "stops in the middle and goes on", strike: func(s *scene) {
			s.c.arm(middle, func() { s.p.Stall(); s.in(20*time.Second, s.p.Repair) })
		}, repair: byItself},
		{name: "stops in the middle for ever", strike: func(s *scene) { s.c.arm(middle, s.p.Stall) }, repair: mended},
		{name: "paper out before", strike: shut(virtual.PaperOut, ""), repair: opened(virtual.PaperOut)},
		{name: "paper out in the middle, refilled", strike: func(s *scene) {
			s.c.arm(middle, func() { s.p.Set(virtual.PaperOut, true); s.in(5*time.Minute, s.p.Refill) })
		}, repair: byItself},
		{name: "paper out in the middle, nobody comes", strike: shut(virtual.PaperOut, middle), repair: opened(virtual.PaperOut)},
		{name: "cover open before", strike: shut(virtual.CoverOpen, ""), repair: opened(virtual.CoverOpen)},
		{name: "cover open in the middle", strike: func(s *scene) {
			s.c.arm(middle, func() {
				s.p.Set(virtual.CoverOpen, true)
				s.in(time.Minute, func() { s.p.Set(virtual.CoverOpen, false) })
			})
		}, repair: byItself},
		{name: "cutter jam", strike: func(s *scene) { s.p.JamAtCut() }, repair: opened(virtual.CutterJam)},
		{name: "unrecoverable", strike: shut(virtual.Unrecoverable, middle), repair: func(s *scene) { s.p.PowerCycle() }},
		{name: "power cycle in the middle", strike: func(s *scene) {
			s.c.arm(middle, func() { s.p.PowerOff(); s.in(20*time.Second, s.p.PowerOn) })
		}, repair: byItself},
		{name: "power cycle with the ticket in its buffer", strike: func(s *scene) {
			s.c.arm(middle, func() {
				s.p.Set(virtual.PaperOut, true)
				s.in(time.Minute, func() { s.p.PowerCycle(); s.p.Refill() })
			})
		}, repair: byItself},
		{name: "power cycle idle", strike: func(s *scene) { s.p.PowerOff(); s.pass(20 * time.Second); s.p.PowerOn() }, repair: byItself},
		{name: "power cycle in the linger", strike: func(s *scene) {
			s.order("grill", "A9")
			s.pass(900 * time.Millisecond)
			s.p.PowerCycle()
		}, repair: byItself},
		{name: "late answer", strike: func(s *scene) { s.c.arm(middle, func() { s.p.Delay(4 * time.Second) }) }, repair: mended},
		{name: "answer too late", strike: func(s *scene) { s.c.arm(middle, func() { s.p.Delay(time.Minute) }) }, repair: mended},
		{name: "swapped for a silent one", strike: func(s *scene) { s.swapFor(0) }, repair: byItself},
		{name: "swapped for one that talks", strike: func(s *scene) { s.swapFor(virtual.RealTime) }, repair: byItself},
		{name: "busy", strike: func(s *scene) { s.occupy(3 * time.Minute) }, repair: byItself},
	}
}

// swapFor puts another printer in the place of grill.
func (s *scene) swapFor(can virtual.Ability) {
	s.c.swap(virtual.New(virtual.Options{Name: "another", Columns: 48, Kanji: true, Remembers: true, Can: can}))
}

// occupy is a till that holds the printer.
func (s *scene) occupy(d time.Duration) {
	conn, err := s.p.Dial(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.in(d, func() { _ = conn.Finish(s.t.Context()); _ = conn.Close() })
}

func TestEveryFaultOnEveryPrinter(t *testing.T) {
	for _, f := range faults() {
		for _, who := range talents() {
			t.Run(f.name+"/"+who.name, func(t *testing.T) {
				t.Parallel()
				play(t, f, who)
			})
		}
	}
}

func play(t *testing.T, f fault, who talent) {
	buffered := os.Getenv("FAULTS_BUFFERED") != ""
	lay := func() map[string]*cable {
		o := who.o
		o.Name = "grill"
		return map[string]*cable{
			"grill": newCable(o, buffered, who.oneWay),
			"bar":   newCable(virtual.Options{Name: "bar", Columns: 48, Kanji: true, Can: virtual.Everything}, false, false),
		}
	}
	inGalley(t, []string{"grill", "bar"}, lay, nil, func(g *galley) {
		s := &scene{g, g.cables["grill"], g.cables["grill"].now(), who.o}
		g.order("grill", "A1")
		g.pass(time.Minute)
		f.strike(s)
		g.order("grill", "A2")
		g.pass(time.Second)
		g.order("grill", "A3")
		for i := range 3 {
			g.order("bar", fmt.Sprintf("B%d", i+1))
		}
		g.pass(20 * time.Second)
		if got := g.strip("bar"); got != "B1 B2 B3" {
			t.Errorf("meanwhile bar printed %q", got)
		}
		g.pass(20 * time.Minute)
		mid := g.app.live.Load().devices["tcp://grill:9100"].Status().State
		f.repair(s)
		g.pass(30 * time.Minute)
		g.order("grill", "A4")
		g.pass(5 * time.Minute)
		got := g.strip("grill") + " | " + g.fates("grill", who.best) + " | " + mid
		fmt.Printf("%-45s %-8s %s\n", f.name, who.name, got)
		_ = strings.Fields
	})
}
