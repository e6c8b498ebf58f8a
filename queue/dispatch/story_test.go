package dispatch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

// A story has faults of a lane's printer and of its backup, and the end of the tickets that wait.
type story struct {
	grill     *fakePrinter // nil: one that works
	bar       *fakePrinter // the backup, to be tried at once; nil: none
	holdDoubt bool
	inDoubt   bool          // a crash left the first order so
	orders    string        // names; empty: "a"
	within    time.Duration // zero: a minute

	paper, onBar string       // the tickets that came out, with commas; of bar without the words that name the grill
	ends         string       // of the leases; empty: not looked at
	state        ticket.State // of the first order; empty: all have come out
	reason       string       // a part of its reason
}

func first(f ...fault) *fakePrinter { return &fakePrinter{faults: f} }

func always(f fault) *fakePrinter { return &fakePrinter{always: f} }

func TestAFaultDoesToTheTicketsWhatItsStorySays(t *testing.T) {
	each(t, map[string]story{
		"the order is kept through failures": {
			grill: first(off, off, fine, noPaper, fine, off, panics, fine, noPaper, off), orders: "a b c d e f",
			within: 10 * time.Minute, paper: "a, b, c, d, e, f"},

		"a marked copy that fails before the first byte keeps its mark": {
			grill: first(cut, off, noPaper, panics, off), paper: "a, a DUPLICATE",
			ends: "a retry, a retry, a return, a retry, a retry, a ack"},
		"the marked copy comes at once": {grill: first(cut), within: time.Second, paper: "a, a DUPLICATE"},
		"in doubt twice, it is held": {grill: first(cut, cut), orders: "a b", paper: "a, a DUPLICATE, b",
			ends: "a retry, a hold, b ack", state: ticket.Held, reason: "check what came out"},
		"out of paper in the marked copy": {grill: first(cut, noPaperMidway), orders: "a b",
			paper: "a, a DUPLICATE, b", ends: "a retry, a hold, b ack", state: ticket.Held},
		"the backup leaves it in doubt twice": {grill: always(off), bar: first(cut, cut), orders: "a b",
			onBar: "a, a DUPLICATE, b", state: ticket.Held, reason: "on bar: "},
		"a lane that holds what is in doubt": {grill: first(off, cut), holdDoubt: true, orders: "a b",
			paper: "a, b", ends: "a retry, a hold, b ack", state: ticket.Held,
			reason: "check whether it came out, then reprint or cancel: write: connection reset"},
		"the same with its backup": {grill: always(off), bar: first(cut), holdDoubt: true, orders: "a b",
			onBar: "a, b", ends: "a hold, b ack", state: ticket.Held},
		"the same, and a crash left it in doubt": {inDoubt: true, holdDoubt: true, orders: "a b", paper: "b",
			ends: "a hold, b ack", state: ticket.Held},
		"a station that never prints a ticket twice": {
			grill: &fakePrinter{idempotent: true, faults: []fault{cut, cut, off, cut}}, holdDoubt: true,
			paper: "a, a DUPLICATE, a DUPLICATE, a DUPLICATE",
			ends:  "a retry, a retry, a retry, a retry, a ack"},
		"the same, and a part that cannot be printed": {
			grill: &fakePrinter{idempotent: true, faults: []fault{unprintableMidway}}, paper: "a", ends: "a hold",
			state: ticket.Held, reason: "no other station takes it"},

		"a copy of what is in doubt comes out of the backup": {
			grill: &fakePrinter{faults: []fault{cut}, always: off}, bar: always(fine), paper: "a",
			onBar: "a DUPLICATE"},
		"a station that began and printed nothing ends the attempt": { // a lease begins once
			grill: always(dropped), bar: always(fine), orders: "a b", within: 10 * time.Second, onBar: "a, b",
			ends: "a retry, a ack, b ack"},
		"no station can print: one attempt, and the reason names them all": {grill: always(off),
			bar: always(noPaper), within: 1, ends: "a retry", state: ticket.Pending,
			reason: "dial: connection refused; on bar: status: no paper"},
		"no station has paper: no attempt": {grill: always(noPaper), bar: always(noPaper), within: 1,
			ends: "a return", state: ticket.Pending},
		"paper was put in at the backup": {grill: always(off), bar: first(noPaper), within: 10 * time.Second,
			onBar: "a"},
		"the reason of what a backup has printed names the backup alone": {grill: always(off),
			bar: always(fine), within: 1, onBar: "a", reason: "came out of bar"},
		"a late begin of the own station does not begin for the backup": {grill: always(beginsLate),
			bar: &fakePrinter{dial: 10 * time.Second}, within: 2 * time.Minute, onBar: "a"},

		// A station can be busy for long before begin, with the ticket of another lane, and after it, with this one.
		// Only the first may be interrupted, and only if there is a backup.
		"waits before begin, with a backup": {grill: &fakePrinter{dial: time.Hour}, bar: always(fine),
			orders: "a b", within: 40 * time.Second, onBar: "a, b"},
		"waits before begin, without": {grill: &fakePrinter{dial: time.Hour}, within: 61 * time.Minute,
			paper: "a"},
		"prints for long": {grill: &fakePrinter{takes: 10 * time.Minute}, bar: always(fine), orders: "a b",
			within: 30 * time.Minute, paper: "a, b"},
		"is in both for long": {grill: &fakePrinter{dial: 29 * time.Second, takes: 10 * time.Minute},
			bar: always(fine), orders: "a b", within: 30 * time.Minute, paper: "a, b"},
	}, func(t *testing.T, h *harness, s story) { s.run(t, h) })
}

func (s story) run(t *testing.T, h *harness) {
	if s.grill == nil {
		s.grill = &fakePrinter{}
	}
	s.grill.t = t
	lane := Lane{Name: "grill", Station: s.grill, HoldDoubt: s.holdDoubt}
	if s.bar != nil {
		s.bar.t = t
		lane.Backups = []Backup{{Name: "bar", Station: s.bar}}
	}
	orders := strings.Fields(s.orders)
	if s.orders == "" {
		orders = []string{"a"}
	}
	if s.within == 0 {
		s.within = time.Minute
	}

	h.q.enqueue("grill", orders...)
	if s.inDoubt {
		h.q.leaveInDoubt("grill")
	}
	h.Set([]Lane{lane})
	h.advance(s.within)

	h.wantPrinted(s.grill, list(s.paper)...)
	if s.bar != nil {
		var want []string
		for _, copied := range list(s.onBar) {
			name, marks, _ := strings.Cut(copied, " ")
			want = append(want, strings.TrimSpace(name+forGrill+" "+marks))
		}
		h.wantPrinted(s.bar, want...)
	}
	if s.ends != "" {
		h.wantEndsAtGrill(s.ends)
	}
	for i, name := range orders {
		j, want := h.q.job(name), ticket.Sent
		if i == 0 && s.state != "" {
			want = s.state
		}
		assert.True(t, j.State == want && (i > 0 || strings.Contains(j.Reason, s.reason)), name, j, want, s.reason)
	}
	assert.True(t, s.state == ticket.Pending || h.status("grill").Attempt == 0, h.status("grill"), "no ticket waits")
}

func list(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ", "), func(s string) bool { return s == "" })
}

func TestTheBannerIsThereExactlyWhenInDoubt(t *testing.T) {
	// The second attempt shows the trace of the first one: a banner or none, whichever station it was.
	for _, c := range []struct {
		fault    fault
		paper    string // the tickets that come out in the end
		end      string // of the first attempt
		attempts int
	}{
		{fine, "a", "ack", 1},
		{off, "a", "retry", 2},
		{noPaper, "a", "return", 1},
		{panics, "a", "retry", 2},
		{unprintable, "", "hold", 0},
		{cut, "a, a DUPLICATE", "retry", 2},
		{noPaperMidway, "a, a DUPLICATE", "retry", 2},
		{panicsMidway, "a, a DUPLICATE", "retry", 2},
		{unprintableMidway, "a", "hold", 1},
		{noProof, "a", "ack", 1},
		{unknownProof, "a", "ack", 1},
		{dropped, "a", "retry", 2},
		{refuses, "", "hold", 0},
		{refusesAll, "a", "return", 1},
		{beginsTwice, "a", "ack", 1},
		{neverBegins, "a", "ack", 1},
		{beginsLate, "a", "retry", 2},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			s := story{grill: first(c.fault), paper: c.paper}
			if c.end == "hold" {
				s.state = ticket.Held
			}
			inBubble(t, func(t *testing.T, h *harness) {
				s.run(t, h)
				assert.Equal(t, h.q.ends[0], "grill a "+c.end)
				assert.Equal(t, h.q.job("a").Attempts, c.attempts)
			})
			s.grill, s.bar, s.paper, s.onBar = always(off), first(c.fault), "", c.paper
			inBubble(t, func(t *testing.T, h *harness) { s.run(t, h) })
		})
	}
}
