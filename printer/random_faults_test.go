package printer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/slow"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

func TestUnderRandomFaultsEachTicketPrintsAndEachRepeatIsMarked(t *testing.T) {
	evenings := uint64(20)
	if slow.All() {
		evenings = 80
	}
	capabilities := []virtual.Capability{
		virtual.Everything, statusOnly, virtual.RealTime | virtual.ProcessID, virtual.RealTime | virtual.StatusQuery, 0,
	}
	for seed := range evenings {
		rng := rand.New(rand.NewPCG(seed, 7))
		o := virtual.Options{
			Can: capabilities[rng.IntN(len(capabilities))], Kanji: true, Clients: rng.IntN(3), Hang: rng.IntN(2) == 0,
			LinesPerSecond: float64(rng.IntN(3) * 4), ReceiveBuffer: rng.IntN(3) * 200,
		}
		synctest.Test(t, func(t *testing.T) {
			v := virtual.New(o)
			e := &faultyEvening{
				harness: newHarness(t, v, v, nil), rng: rng, held: map[string]bool{}, sent: map[string]bool{},
			}
			for i := range 12 {
				if rng.IntN(2) == 0 {
					e.accident()
				}
				e.serve(string(rune('A' + i))) // one letter: no torn name is another one
				time.Sleep(time.Duration(rng.IntN(3)) * time.Second)
			}
			time.Sleep(time.Hour) // it prints the bytes that it has
			v.Refill()
			v.Set(virtual.CutterJam, false)
			e.d.Retire()
			e.check(fmt.Sprintf("seed %d, %+v", seed, o))
		})
	}
}

// A faultyEvening is a printer with random faults, and the fate of its tickets.
type faultyEvening struct {
	*harness
	rng  *rand.Rand
	held map[string]bool
	sent map[string]bool // the proof is sent: it may be lost
	said []string
}

// accident starts a random fault soon and repairs it later.
func (e *faultyEvening) accident() {
	v, at := e.v, time.Duration(e.rng.IntN(4000))*time.Millisecond
	over := at + time.Duration(1+e.rng.IntN(400))*time.Second
	set := func(c virtual.Condition) {
		later(at, func() { v.Set(c, true) })
		later(over, func() { v.Set(c, false) })
	}
	repaired := func(f func()) {
		later(at, f)
		later(over, v.Repair)
	}
	n, bytes, times := e.rng.IntN(12), e.rng.IntN(500), 1+e.rng.IntN(2)
	e.said = append(e.said, fmt.Sprintf("%s accident %d at %s over %s", time.Now().Format("15:04:05"), n, at, over))
	for i, fault := range []func(){
		func() { set(virtual.PaperOut) }, func() { set(virtual.CoverOpen) }, func() { set(virtual.Overheated) },
		func() { later(at, v.JamAtCut); later(over, func() { v.Set(virtual.CutterJam, false) }) },
		func() { later(at, v.Reset) },
		func() { repaired(func() { v.ResetAfter(bytes, times) }) },
		func() { repaired(func() { v.CloseAfter(bytes, 1) }) },
		func() { repaired(func() { v.StallAfter(bytes) }) },
		func() { later(at, func() { _ = v.Refuse(true) }); later(over, func() { _ = v.Refuse(false) }) },
		func() { later(at, func() { v.Unplug(true) }); later(over, func() { v.Unplug(false) }) },
		func() { later(at, v.PowerOff); later(over, v.PowerOn) },
	} {
		if i == n {
			fault()
		}
	}
}

// serve handles a ticket as the dispatcher does: it tries again until the ticket is printed, with a banner
// after a doubt, and holds it after a second doubt.
func (e *faultyEvening) serve(name string) {
	d := orderOf(name)
	for try := range 500 {
		if try%20 == 19 {
			e.v.Set(virtual.CutterJam, false) // the jam may occur after its repair
		}
		o := e.printWith(e.t.Context(), e.p, d, nil)
		e.said = append(e.said, fmt.Sprintf("%s %s: %s %v", time.Now().Format("15:04:05"), name, o.kind(), o.err))
		e.sent[name] = o.proof == ticket.Sent
		switch {
		case o.err == nil:
			return
		case o.kind() == "permanent":
			e.t.Errorf("%s: %v", name, o.err)
			return
		case o.inDoubt && d.Doubt:
			e.held[name] = true
			return
		case o.inDoubt:
			d.Doubt = true
		}
		time.Sleep(time.Duration(1+e.rng.IntN(20)) * time.Second)
	}
	e.t.Errorf("%s never came out", name)
}

// check tests two promises: a ticket that was reported as printed is on paper, and a ticket is on paper at most
// twice, the second time with a banner.
func (e *faultyEvening) check(what string) {
	e.t.Helper()
	got := e.paper()
	for i := range 12 {
		name, unmarked, all := string(rune('A'+i)), 0, 0
		for f := range strings.FieldsSeq(got) {
			if strings.TrimRight(f, "!~") != name {
				continue
			}
			all++
			if !strings.Contains(f, "!") {
				unmarked++
			}
		}
		if all == 0 && !e.held[name] && !e.sent[name] || unmarked > 1 || all > 2 {
			e.t.Errorf("%s: %s is on paper %d times, %d of them without a mark: %s", what, name, all, unmarked, got)
		}
	}
	if e.t.Failed() {
		e.t.Log(strings.Join(e.said, "\n"))
	}
}
