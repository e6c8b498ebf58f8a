package app

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ticketrail/deploy/slow"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// init makes rapid draw the same values on every machine. -rapid.seed=0 draws other ones at each run.
func init() { flag.Set("rapid.seed", "1") }

func TestWhateverHappensNoTicketIsLostNorPrintedTwiceUnmarked(t *testing.T) {
	checks, before := "10", flag.Lookup("rapid.checks").Value.String()
	if slow.All() {
		checks = "20"
	}
	_ = flag.Set("rapid.checks", checks)
	defer flag.Set("rapid.checks", before)
	var names []string
	for name := range mishaps {
		names = append(names, name, "order")
	}
	slices.Sort(names)
	pauses := []time.Duration{0, 100 * time.Millisecond, 900 * time.Millisecond, 3 * time.Second, 20 * time.Second,
		90 * time.Second, 400 * time.Second}
	evening := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mishap {
		return mishap{after: rapid.SampledFrom(pauses).Draw(t, "after"),
			station: rapid.SampledFrom([]string{"grill", "bar"}).Draw(t, "at"),
			what:    rapid.SampledFrom(names).Draw(t, "what")}
	}), 10, 50)

	rapid.Check(t, func(rt *rapid.T) {
		var broken []string
		moments := evening.Draw(rt, "evening")
		backup := rapid.Bool().Draw(rt, "grill has a backup")
		runDaemonWith(t, func(k *testDaemon) {
			withCapability(virtual.Everything)(k)
			k.NoPause = true
			for i := range k.Conf.Printers {
				k.Conf.Printers[i].ExpireAfter = 720 * time.Hour
			}
			if backup {
				k.Printer("grill").Backup = "bar"
			}
		}, func(k *testDaemon) { broken = k.play(moments) }, "grill", "bar")
		if len(broken) > 0 {
			rt.Fatal(strings.Join(broken, "\n"))
		}
	})
}

// A mishap is a moment of an evening: an order, or a fault of a printer or of the daemon.
type mishap struct {
	after   time.Duration
	station string
	what    string
}

// mishaps are the events, by name. The faults of a printer in every detail are in package printer; here they
// meet the queue, the backup and the restart.
var mishaps = map[string]func(k *testDaemon, p *virtual.Printer){
	"order":        nil, // see play
	"restart":      func(k *testDaemon, _ *virtual.Printer) { k.Restart() },
	"repair":       func(_ *testDaemon, p *virtual.Printer) { repair(p) },
	"paper out":    func(_ *testDaemon, p *virtual.Printer) { p.Set(virtual.PaperOut, true) },
	"cover open":   func(_ *testDaemon, p *virtual.Printer) { p.Set(virtual.CoverOpen, true) },
	"refuses":      func(_ *testDaemon, p *virtual.Printer) { _ = p.Refuse(true) },
	"hangs":        func(_ *testDaemon, p *virtual.Printer) { p.Stall() },
	"hangs later":  func(_ *testDaemon, p *virtual.Printer) { p.StallAfter(300) },
	"resets":       func(_ *testDaemon, p *virtual.Printer) { p.Reset() },
	"resets later": func(_ *testDaemon, p *virtual.Printer) { p.ResetAfter(300, 1) },
	"off and on":   func(_ *testDaemon, p *virtual.Printer) { p.PowerCycle() },
}

// repair ends the faults of a printer.
func repair(p *virtual.Printer) {
	p.Repair()
	_ = p.Refuse(false)
	p.Set(virtual.PaperOut|virtual.CoverOpen, false)
}

// play lets an evening pass and everything be repaired, and returns the broken promises.
func (k *testDaemon) play(evening []mishap) (broken []string) {
	k.T.Helper()
	var orders []string
	for _, m := range evening {
		k.Advance(m.after)
		if m.what != "order" {
			mishaps[m.what](k, k.Printers[m.station])
			continue
		}
		number := fmt.Sprintf("A%d", len(orders))
		k.Accept(number, at(m.station, "Alpha"), at(m.station, "宫保鸡丁"), at(m.station, "Omega"))
		orders = append(orders, number)
	}
	// Until nothing waits, and once more: by then a ticket that comes a second time is there.
	waits := func(j queue.Job) bool { return j.State == ticket.Pending || j.State == ticket.Printing }
	jobs := func() []queue.Job { return append(k.jobsOf("grill", ""), k.jobsOf("bar", "")...) }
	for rounds, settled := 0, false; rounds < 30 && !settled; rounds++ {
		settled = !slices.ContainsFunc(jobs(), waits)
		for _, p := range k.Printers {
			repair(p)
		}
		k.Advance(10 * time.Minute)
	}

	copies, unmarked := map[string]int{}, map[string]int{} // by the number of the order; copies are whole
	for _, p := range k.Printers {
		for _, one := range p.Tickets() {
			number := numberOn(one)
			if strings.Contains(one.Text, "Omega") {
				copies[number]++
			}
			if !strings.Contains(one.Text, "POSSIBLE DUPLICATE") {
				unmarked[number]++
			}
		}
	}
	if n := len(jobs()); n != len(orders) {
		broken = append(broken, fmt.Sprintf("%d jobs of %d orders", n, len(orders)))
	}
	for _, j := range jobs() {
		number := strings.TrimPrefix(j.Number, "#")
		switch {
		case j.State == ticket.Held && j.Doubt:
		case !slices.Contains(ticket.Proofs(), j.State):
			broken = append(broken, fmt.Sprintf("%s is %s", number, j.State))
		case copies[number] == 0:
			broken = append(broken, fmt.Sprintf("%s is %s and not on paper", number, j.State))
		}
		if unmarked[number] > 1 {
			broken = append(broken, fmt.Sprintf("%s came out %d times without a mark", number, unmarked[number]))
		}
	}
	return broken
}
