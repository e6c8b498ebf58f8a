package dispatch

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/deploy/assert"
)

func TestStatusFollowsTheAttempts(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer()
		p.takes = time.Minute
		h.Set([]Lane{{Name: "grill", Station: p}, {Name: "bar", Station: h.printer()}})
		start := time.Now()
		h.advance(time.Second)
		wantSame(t, h.Status(), []Status{{Name: "bar", Since: start}, {Name: "grill", Since: start}})

		h.q.enqueue("grill", "a")
		h.advance(time.Second)
		assert.Equal(t, h.status("grill").Attempt, 1, "while printing")
		h.advance(time.Minute)
		up := time.Now().Add(-time.Second)
		want := Status{Name: "grill", Up: true, Known: true, Since: up}
		wantSame(t, h.status("grill"), want, "after a ticket")

		down := time.Now()
		p.setFault(off)
		h.q.enqueue("grill", "b")
		h.advance(10 * time.Minute)
		got := h.status("grill")
		left := time.Until(got.NextTry)
		assert.True(t, left > 0 && left <= longestPause, left)
		got.NextTry = time.Time{}
		want = Status{Name: "grill", Known: true, Since: down, Err: "dial: connection refused",
			Attempt: len(p.attempts()) - 1}
		wantSame(t, got, want, "while off")
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
		wantSame(t, got, want)
		for key, value := range map[string]any{
			"component": "dispatch", "station": "grill", "request": "d", "job": 4.0, "venue": "v", "attempt": 3.0,
			"outcome": "sent",
		} {
			assert.Equal(t, last[key], value, key)
		}
		assert.True(t, last["wait"].(float64) > 0, last)
	})
}

func TestAPanicIsCaughtAndLoggedWithItsStack(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		p.setFault(panics)
		h.q.enqueue("grill", "a")
		h.advance(0)
		_, last := h.logs.entries(t)
		s, _ := last["stack"].(string)
		assert.True(t, strings.Contains(s, "fakePrinter") && last["err"] == "panic: nil pointer", last)
	})
}

func TestMetricsExistFromTheStartAndEndWithTheStation(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.serveGrill(off, noPaper, cut, cut, fine, unprintable, off, fine, noProof)
		count := func() int {
			n, err := testutil.GatherAndCount(h.reg)
			assert.NoError(t, err)
			return n
		}
		each := len(outcomes()) + len(results()) + 1
		assert.Equal(t, count(), each, "at the start")
		h.q.enqueue("grill", "a", "b", "c", "d", "e")
		h.advance(10 * time.Minute)
		assert.Equal(t, count(), each, "after every outcome")
		problems, err := testutil.GatherAndLint(h.reg)
		assert.True(t, err == nil && len(problems) == 0, problems, err)
		for r, n := range map[result]float64{
			resultOK: 3, resultCleanFailure: 2, resultNotReady: 1, resultDoubt: 2, resultPermanent: 1,
			resultInterrupted: 0,
		} {
			assert.Equal(t, testutil.ToFloat64(h.metrics.attempts.WithLabelValues("grill", string(r))), n, r)
		}
		for outcome, n := range map[string]float64{"sent": 3, "held": 2, "failed": 0, "expired": 0, "confirmed": 0} {
			assert.Equal(t, testutil.ToFloat64(h.metrics.tickets.WithLabelValues("grill", outcome)), n, outcome)
		}
		families, err := h.reg.Gather()
		for _, f := range families {
			h := f.Metric[0].Histogram // classic, and native
			assert.True(t, err == nil && (h == nil || len(h.Bucket) > 0 && h.Schema != nil), f.GetName(), err)
		}
		h.Set(nil)
		h.advance(0)
		assert.Equal(t, count(), 0, "of a station that is gone")
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
			assert.Equal(t, h.status("grill").Up, c.want, c.f)
		}
	})
}

func TestTicketsPrintedByABackupAreLogged(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, _ := h.serveWithBackup(off, 0)
		h.q.enqueue("grill", "a", "b")
		h.advance(time.Second)
		assert.True(t, !h.status("grill").Up, "its tickets come out of another")
		assert.Equal(t, h.status("grill").Attempt, 0, "no ticket waits")
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
		wantSame(t, got, want)
	})
}
