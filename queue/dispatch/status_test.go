package dispatch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestStatusFollowsTheAttempts(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer()
		p.takes = time.Minute
		h.Set([]Lane{{Name: "grill", Station: p}, {Name: "bar", Station: h.printer()}})
		start := time.Now()
		h.advance(time.Second)
		if diff := cmp.Diff([]Status{{Name: "bar", Since: start}, {Name: "grill", Since: start}},
			h.Status()); diff != "" {
			t.Errorf("before the first attempt (-want +got):\n%s", diff)
		}

		h.q.enqueue("grill", "a")
		h.advance(time.Second)
		if got := h.status("grill").Attempt; got != 1 {
			t.Errorf("attempt %d while printing", got)
		}
		h.advance(time.Minute)
		up := time.Now().Add(-time.Second)
		want := Status{Name: "grill", Up: true, Known: true, Since: up}
		if diff := cmp.Diff(want, h.status("grill")); diff != "" {
			t.Errorf("after a ticket (-want +got):\n%s", diff)
		}

		down := time.Now()
		p.setFault(off)
		h.q.enqueue("grill", "b")
		h.advance(10 * time.Minute)
		got := h.status("grill")
		if left := time.Until(got.NextTry); left <= 0 || left > longestPause {
			t.Errorf("next try in %v", left)
		}
		got.NextTry = time.Time{}
		want = Status{Name: "grill", Known: true, Since: down, Err: "dial: connection refused",
			Attempt: len(p.attempts()) - 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("while off (-want +got):\n%s", diff)
		}
	})
}

func TestLogsHaveAChangeOnceAndEveryTicketThatIsPrinted(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.serveGrill(off, off, off, noPaper, noPaper, off, fine, cut, cut, unprintable, panics, panics, fine)
		h.q.enqueue("grill", "a", "b", "c", "d")
		h.advance(10 * time.Minute)
		got, last := h.logs.entries(t)
		want := []string{
			"WARN ticket not printed, trying again",
			"WARN station needs attention",
			"WARN ticket not printed, trying again",
			"INFO station works again",
			"INFO ticket delivered",
			"WARN ticket in doubt",
			"WARN ticket in doubt",
			"ERROR ticket held; reprint or cancel it",
			"ERROR ticket held; reprint or cancel it",
			"ERROR station panicked: ticket not printed, trying again",
			"INFO station works again",
			"INFO ticket delivered",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("logged (-want +got):\n%s", diff)
		}
		for key, value := range map[string]any{
			"component": "dispatch", "station": "grill", "request": "d", "job": 4.0, "venue": "v", "attempt": 3.0,
			"outcome": "sent",
		} {
			if last[key] != value {
				t.Errorf("%s is %v, want %v", key, last[key], value)
			}
		}
		if last["wait"].(float64) <= 0 {
			t.Errorf("wait is %v", last["wait"])
		}
	})
}

func TestAPanicIsCaughtAndLoggedWithItsStack(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		p.setFault(panics)
		h.q.enqueue("grill", "a")
		h.advance(0)
		_, last := h.logs.entries(t)
		if s, _ := last["stack"].(string); !strings.Contains(s, "fakePrinter") || last["err"] != "panic: nil pointer" {
			t.Errorf("logged %v", last)
		}
	})
}

func TestMetricsExistFromTheStartAndEndWithTheStation(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.serveGrill(off, noPaper, cut, cut, fine, unprintable, off, fine, noProof)
		count := func() int {
			n, err := testutil.GatherAndCount(h.reg)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		each := len(outcomes()) + len(results()) + 1
		if n := count(); n != each {
			t.Errorf("%d series at the start, want %d", n, each)
		}
		h.q.enqueue("grill", "a", "b", "c", "d", "e")
		h.advance(10 * time.Minute)
		if n := count(); n != each {
			t.Errorf("%d series after every outcome, want %d", n, each)
		}
		if problems, err := testutil.GatherAndLint(h.reg); err != nil || len(problems) > 0 {
			t.Errorf("lint: %v %v", problems, err)
		}
		var want strings.Builder
		fmt.Fprintln(&want, "# HELP ticketrail_station_attempts_total Attempts to print a ticket, by result.")
		fmt.Fprintln(&want, "# TYPE ticketrail_station_attempts_total counter")
		for r, n := range map[result]int{
			resultOK: 3, resultCleanFailure: 2, resultNotReady: 1, resultDoubt: 2, resultPermanent: 1,
			resultInterrupted: 0,
		} {
			fmt.Fprintf(&want, "ticketrail_station_attempts_total{result=%q,station=\"grill\"} %d\n", r, n)
		}
		if err := testutil.GatherAndCompare(h.reg, strings.NewReader(want.String()),
			"ticketrail_station_attempts_total"); err != nil {
			t.Error(err)
		}
		for outcome, n := range map[string]float64{"sent": 3, "held": 2, "failed": 0, "expired": 0, "confirmed": 0} {
			if got := testutil.ToFloat64(h.metrics.tickets.WithLabelValues("grill", outcome)); got != n {
				t.Errorf("%g tickets %s, want %g", got, outcome, n)
			}
		}
		families, err := h.reg.Gather()
		for _, f := range families {
			if h := f.Metric[0].Histogram; err != nil || h != nil && (len(h.Bucket) == 0 || h.Schema == nil) {
				t.Errorf("%s is not both a classic and a native histogram, %v", f.GetName(), err)
			}
		}
		h.Set(nil)
		h.advance(0)
		if n := count(); n != 0 {
			t.Errorf("%d series are left of a station that is gone", n)
		}
	})
}

func TestUpFollowsTheLastAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		for _, c := range []struct {
			f    fault
			want bool
		}{{fine, true}, {off, false}, {unprintable, false}, {fine, true}, {unprintable, true}, {noPaper, false},
			{fine, true}, {cut, false}, {refuses, true}, {refusesAll, false}, {refuses, true}} {
			p.setFault(c.f)
			h.q.enqueue("grill", string(c.f))
			h.advance(time.Minute)
			if got := h.status("grill").Up; got != c.want {
				t.Errorf("%s: up is %v, want %v", c.f, got, c.want)
			}
		}
	})
}

func TestTicketsPrintedByABackupAreLogged(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, _ := h.serveWithBackup(off, 0)
		h.q.enqueue("grill", "a", "b")
		h.advance(time.Second)
		if h.status("grill").Up {
			t.Error("a station whose tickets come out of another counts as up")
		}
		if s := h.status("grill"); s.Attempt != 0 {
			t.Errorf("attempt %d although no ticket waits", s.Attempt)
		}
		grill.setFault(fine)
		h.advance(time.Minute)
		h.q.enqueue("grill", "c")
		h.advance(time.Second)
		got, _ := h.logs.entries(t)
		want := []string{
			"WARN ticket not printed, trying again",
			"WARN backup prints for this station",
			"INFO ticket delivered",
			"INFO ticket delivered",
			"INFO station works again",
			"INFO ticket delivered",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("logged (-want +got):\n%s", diff)
		}
	})
}
