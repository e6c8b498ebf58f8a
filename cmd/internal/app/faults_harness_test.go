package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/logtest"
	"ticketrail/queue/ticket"
)

// A cabledDaemon is a daemon whose printers are connected by cables.
type cabledDaemon struct {
	*testDaemon
	cables map[string]*cable
	log    *logRecorder

	held, unprovable int // counted by violations
}

// A logRecorder keeps the daemon's log.
type logRecorder struct{ logtest.Log }

// doubts is how often each job ended in doubt.
func (l *logRecorder) doubts() map[uint64]int {
	out := map[uint64]int{}
	for line := range strings.Lines(l.String()) {
		var r struct {
			Msg string
			Job uint64
		}
		if json.Unmarshal([]byte(line), &r) == nil && strings.Contains(r.Msg, "ticket in doubt") {
			out[r.Job]++
		}
	}
	return out
}

// runCabledDaemon runs f with a daemon whose printers are at those cables. It does not sync its
// commits: other tests cover storage.
func runCabledDaemon(t *testing.T, stations []string, makeCables func() map[string]*cable,
	setup func(*config.Config), f func(*cabledDaemon)) {
	g := &cabledDaemon{log: &logRecorder{}}
	runDaemonWith(t, func(k *testDaemon) {
		g.testDaemon, g.cables, k.noPause = k, makeCables(), true
		order := new(atomic.Int64)
		for _, c := range g.cables {
			c.order = order
		}
		k.conf.Log.Format = "json"
		k.conf.Fonts = []string{"/none.ttf"} // reading real fonts takes longer than the test
		if setup != nil {
			setup(k.conf)
		}
		k.changeOptions = func(o *Options) {
			o.Log, o.NoSync = g.log, true
			o.Dialer = func(p config.Printer) (transport.Dialer, error) { return g.cables[p.Name], nil }
		}
	}, func(*testDaemon) { f(g) }, stations...)
}

// order posts a ticket with a middle, a picture and an end, where faults are injected.
func (g *cabledDaemon) order(station, number string) {
	g.t.Helper()
	g.accept(number, at(station, "Alpha"), at(station, "Middle"), at(station, "宫保鸡丁"), at(station, "Omega"))
}

// state is the state of a station's printer.
func (g *cabledDaemon) state(station string) string {
	return g.status(station).Device.State
}

// probe is printers probe, by an operator who knows that the printer is another one.
func (g *cabledDaemon) probe(station string) {
	g.t.Helper()
	if _, err := g.app.stations.Probe(g.t.Context(), station); err != nil {
		g.t.Error(err)
	}
}

// A printout is a piece of paper.
type printout struct {
	number string // empty: it ended before the number
	whole  bool   // down to its foot
	cut    bool
	banner bool
	other  string // the station whose backup printed it
	at     time.Time
	of     *cable
}

// String is the number, then ! for POSSIBLE DUPLICATE, @GRILL for FOR GRILL (printer down), ~ if it
// ended before the foot, _ if it is whole and not cut.
func (s printout) String() string {
	w := cmp.Or(s.number, "?")
	if s.banner {
		w += "!"
	}
	if s.other != "" {
		w += "@" + s.other
	}
	switch {
	case !s.whole:
		w += "~"
	case !s.cut:
		w += "_"
	}
	return w
}

var footPattern = regexp.MustCompile(`job [0-9]+ \|`)

// ofTheLogo is in what a printer says when the bytes that it missed are those of the program of [logo].
const ofTheLogo = `"\x1dv0`

// printouts are the printouts of the printers at a cable, and the invalid bytes that they got.
func (c *cable) printouts() (out []printout, objections []string) {
	c.mu.Lock()
	printers := slices.Clone(c.printers)
	c.mu.Unlock()
	for _, p := range printers {
		objections = append(objections, slices.DeleteFunc(p.Problems(), func(problem string) bool {
			// The other program lost it, to a picture of ours that broke off.
			return strings.Contains(problem, ofTheLogo)
		})...)
		for _, t := range p.Tickets() {
			s := printout{whole: footPattern.MatchString(t.Text), cut: t.End == virtual.Cut, at: t.At, of: c}
			s.banner = strings.Contains(t.Text, "POSSIBLE DUPLICATE")
			if m := printedNumber.FindStringSubmatch(t.Text); m != nil {
				s.number = m[1]
			}
			if m := forStation.FindStringSubmatch(t.Text); m != nil {
				s.other = m[1]
			}
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b printout) int { return a.at.Compare(b.at) })
	return out, objections
}

// paper is the printouts of a station, one word for each.
func (g *cabledDaemon) paper(station string) string {
	var words []string
	slips, _ := g.cables[station].printouts()
	for _, s := range slips {
		words = append(words, s.String())
	}
	return strings.Join(words, " ")
}

// printerProblems are the invalid bytes that printers got.
func (g *cabledDaemon) printerProblems() (out []string) {
	for name, c := range g.cables {
		_, bad := c.printouts()
		for _, b := range bad {
			out = append(out, name+" got invalid bytes: "+b)
		}
	}
	return out
}

// stationJobs are the jobs of a station, in the order in which they were accepted.
func (g *cabledDaemon) stationJobs(station string) []queue.Job {
	g.t.Helper()
	jobs, err := g.app.queue.Jobs(g.t.Context(), queue.Filter{Station: station})
	if err != nil {
		g.t.Fatal(err)
	}
	slices.SortFunc(jobs, func(a, b queue.Job) int { return cmp.Compare(a.ID, b.ID) })
	return jobs
}

// jobResults is the result of each job of a station, one letter for each: = for the best that the
// printer can prove, c confirmed, p processed, s sent, h held, w waiting; then + for a second attempt
// and ++ for more.
func (g *cabledDaemon) jobResults(station string, best ticket.State) string {
	g.t.Helper()
	letters := map[ticket.State]string{
		ticket.Confirmed: "c", ticket.Processed: "p", ticket.Sent: "s", ticket.Held: "h", ticket.Pending: "w",
		ticket.Printing: "w",
	}
	letters[best] = "="
	var words []string
	for _, j := range g.stationJobs(station) {
		words = append(words,
			cmp.Or(letters[j.State], string(j.State))+strings.Repeat("+", min(max(j.Attempts-1, 0), 2)))
	}
	return strings.Join(words, " ")
}

// violations are the promises that were not kept, once everything is repaired and all queues are
// empty. numbers are each station's tickets in the order in which they were accepted. lost is when the
// station's printer last may have lost data that it had accepted, which a printer without status cannot report.
func (g *cabledDaemon) violations(numbers map[string][]string, lost map[string]time.Time) (out []string) {
	report := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	copies, seen := map[string][]printout{}, []passedTicket{}
	for _, c := range g.cables {
		slips, _ := c.printouts()
		for _, s := range slips {
			copies[s.number] = append(copies[s.number], s)
		}
		c.mu.Lock()
		seen = append(seen, c.passed...)
		c.mu.Unlock()
	}
	slices.SortStableFunc(seen, func(a, b passedTicket) int { return cmp.Compare(a.nth, b.nth) })
	out = g.printerProblems()
	doubts := g.log.doubts()
	for line, want := range numbers {
		jobs := g.stationJobs(line)
		if len(jobs) != len(want) {
			report("%s has %d jobs, and %d orders were accepted", line, len(jobs), len(want))
			continue
		}
		last := -1 // the last ticket that was begun
		for _, s := range seen {
			i := slices.Index(want, s.number)
			switch {
			case i < 0:
			case i < last:
				report("%s was begun after %s", want[i], want[last])
			default:
				last = i
			}
		}
		for i, j := range jobs {
			if j.State == ticket.Held {
				g.held++
			}
			if j.State == ticket.Sent && !slices.ContainsFunc(copies[want[i]], func(s printout) bool {
				return s.whole
			}) {
				g.unprovable++
			}
			for _, fault := range ticketViolations(j, copies[want[i]], doubts[j.ID], lost[line]) {
				report("%s (job %d of %s, %s, %d attempts, %d in doubt, on paper %v): %s",
					want[i], j.ID, line, j.State, j.Attempts, doubts[j.ID], copies[want[i]], fault)
			}
		}
	}
	if n := g.app.queue.Unaccounted(); n != 0 {
		report("the books do not balance by %d", n)
	}
	return out
}

// ticketViolations are the violations of one ticket.
func ticketViolations(j queue.Job, copies []printout, doubts int, lost time.Time) (out []string) {
	slices.SortStableFunc(copies, func(a, b printout) int { return a.at.Compare(b.at) })
	whole := slices.ContainsFunc(copies, func(s printout) bool { return s.whole })
	switch {
	case j.State == ticket.Held && doubts != 2, j.State != ticket.Held && doubts >= 2:
		out = append(out, "exactly the tickets that were in doubt twice must be held")
	case j.State.Open() && j.State != ticket.Held:
		out = append(out, "it is still in the queue")
	case j.State == ticket.Sent && !j.FinishedAt.After(lost), j.State == ticket.Held:
	case !slices.Contains(ticket.Proofs(), j.State):
		out = append(out, "this state was not requested")
	case !whole:
		out = append(out, "it is not on paper")
	}
	if len(copies) > 2 {
		out = append(out, "more than two copies")
	}
	unmarked, after := 0, map[*cable]bool{}
	for _, c := range copies {
		if !c.banner {
			unmarked++
		}
		if after[c.of] && !c.banner || unmarked > 1 {
			out = append(out, "a copy after the first has no banner")
		}
		after[c.of] = true
		if c.banner && doubts == 0 {
			out = append(out, "a banner without doubt")
		}
	}
	return out
}
