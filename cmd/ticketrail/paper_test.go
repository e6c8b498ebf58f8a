package main

import (
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// waitUntilPrinted waits until nothing is pending, and reprints what is held, as a
// person would.
func (k *daemonProcess) waitUntilPrinted() {
	k.t.Helper()
	k.waitForNoJobs([]string{"pending", "printing", "held"}, func(open []admin.Job) {
		for _, j := range open {
			if j.State == ticket.Held {
				if b, err := exec.Command("ticketrail", "jobs", "reprint", fmt.Sprint(j.ID), "--config",
					k.conf).CombinedOutput(); err != nil {
					k.t.Fatalf("jobs reprint: %v %s", err, b)
				}
			}
		}
	})
}

// waitForNoJobs waits until no job is in any of those states, and hands those that still are to meanwhile.
func (k *daemonProcess) waitForNoJobs(states []string, meanwhile func([]admin.Job)) {
	k.t.Helper()
	var open []admin.Job
	if err := untilNone(func() (int, error) {
		if open = k.jobs(admin.Filter{States: states}); len(open) > 0 {
			meanwhile(open)
		}
		return len(open), nil
	}); err != nil {
		k.t.Fatalf("open jobs: %v, the first %+v", err, open[0])
	}
}

// printed is what a printer has printed of an order.
type printed struct {
	whole    int // came out to the cut
	unmarked int // pieces, whole or torn, that nothing marks as a copy
	first    int // position of the first piece
}

var orderNumber = regexp.MustCompile(`K-[0-9a-z]+-[0-9]+-[0-9a-f]{4}`)

// printedBy reads everything that came out of a station's printer, by order number.
func (k *daemonProcess) printedBy(station string) map[string]printed {
	k.t.Helper()
	p := k.printers[station]
	if bad := p.Problems(); len(bad) > 0 {
		k.t.Errorf("%s got invalid bytes: %v", station, bad)
	}
	out := map[string]printed{}
	for i, tk := range p.Tickets() {
		number := orderNumber.FindString(tk.Text)
		if number == "" {
			continue // torn before the number
		}
		seen, known := out[number]
		if !known {
			seen.first = i
		}
		if tk.End == virtual.Cut {
			seen.whole++
		}
		if !strings.Contains(tk.Text, "POSSIBLE DUPLICATE") && !strings.Contains(tk.Text, "REPRINT") {
			seen.unmarked++
		}
		out[number] = seen
	}
	return out
}

// checkPaper checks promises 1, 2 and 4 on the paper of every station.
func (k *daemonProcess) checkPaper(acked, unanswered []order, chains [][]order) {
	k.t.Helper()
	paper := map[string]map[string]printed{}
	for _, s := range k.stations {
		paper[s] = k.printedBy(s)
	}
	for _, o := range acked {
		for _, s := range o.stations {
			switch got := paper[s][o.number]; {
			case got.whole == 0:
				k.t.Errorf("%s was answered 200 and did not come out of %s", o.number, s)
			case got.unmarked > 1:
				k.t.Errorf("%s came out of %s %d times unmarked", o.number, s, got.unmarked)
			}
		}
	}
	for _, o := range unanswered {
		for _, s := range o.stations {
			if got := paper[s][o.number]; got.unmarked > 1 {
				k.t.Errorf("%s, never answered, came out of %s %d times unmarked", o.number, s, got.unmarked)
			}
		}
	}
	for _, chain := range chains { // each order was answered before the next was sent
		for _, s := range k.stations {
			last, lastNumber := -1, ""
			for _, o := range chain {
				if got, ok := paper[s][o.number]; ok && slices.Contains(o.stations, s) {
					if got.first < last {
						k.t.Errorf("%s: %s came out before %s, which was accepted earlier", s, o.number, lastNumber)
					}
					last, lastNumber = got.first, o.number
				}
			}
		}
	}
	for _, s := range slices.Sorted(maps.Keys(paper)) {
		k.t.Logf("%s: %d orders on %d pieces of paper", s, len(paper[s]), len(k.printers[s].Tickets()))
	}
}
