package dispatch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestStatusSaysWhatIsKnownOfAStation(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		p.takes = time.Minute
		k.Set([]Lane{{Name: "grill", Station: p}, {Name: "bar", Station: k.printer()}})
		start := time.Now()
		k.pass(time.Second)
		if diff := cmp.Diff([]Status{{Name: "bar", Since: start}, {Name: "grill", Since: start}}, k.Status()); diff != "" {
			t.Errorf("before the first attempt (-want +got):\n%s", diff)
		}

		k.q.put("grill", "a")
		k.pass(time.Second)
		if got := k.status("grill").Attempt; got != 1 {
			t.Errorf("attempt %d while printing", got)
		}
		k.pass(time.Minute)
		up := time.Now().Add(-time.Second)
		want := Status{Name: "grill", Up: true, Known: true, Since: up}
		if diff := cmp.Diff(want, k.status("grill")); diff != "" {
			t.Errorf("after a ticket (-want +got):\n%s", diff)
		}

		down := time.Now()
		p.now(off)
		k.q.put("grill", "b")
		k.pass(10 * time.Minute)
		got := k.status("grill")
		if left := time.Until(got.NextTry); left <= 0 || left > longestPause {
			t.Errorf("next try in %v", left)
		}
		got.NextTry = time.Time{}
		want = Status{Name: "grill", Known: true, Since: down, Err: "dial: connection refused", Attempt: len(p.attempts()) - 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("while off (-want +got):\n%s", diff)
		}
	})
}

func TestLogsTellAChangeOnceAndEveryTicketThatGoesOut(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		k.grill(off, off, off, noPaper, noPaper, off, fine, cut, cut, never, panics, panics, fine)
		k.q.put("grill", "a", "b", "c", "d")
		k.pass(10 * time.Minute)
		got, last := k.logs.lines(t)
		want := []string{
			"WARN ticket did not go out, trying again",
			"WARN printer waits for a person",
			"WARN ticket did not go out, trying again",
			"INFO printer works again",
			"INFO ticket out",
			"WARN ticket in doubt",
			"WARN ticket in doubt",
			"ERROR ticket held for a person",
			"ERROR ticket buried",
			"ERROR station panicked: ticket did not go out, trying again",
			"INFO printer works again",
			"INFO ticket out",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("logged (-want +got):\n%s", diff)
		}
		for key, value := range map[string]any{
			"component": "dispatch", "printer": "grill", "request": "d", "job": 4.0, "venue": "v", "attempt": 3.0, "outcome": "sent",
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
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill()
		p.now(panics)
		k.q.put("grill", "a")
		k.pass(0)
		_, last := k.logs.lines(t)
		if s, _ := last["stack"].(string); !strings.Contains(s, "fakePrinter") || last["err"] != "panic: nil kitchen" {
			t.Errorf("logged %v", last)
		}
	})
}

func TestMetricsExistFromTheStartAndGoWithTheStation(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		k.grill(off, noPaper, cut, cut, fine, never, off, fine, noProof)
		count := func() int {
			n, err := testutil.GatherAndCount(k.reg)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		each := len(outcomes()) + len(results()) + 2
		if n := count(); n != each {
			t.Errorf("%d series at the start, want %d", n, each)
		}
		k.q.put("grill", "a", "b", "c", "d", "e")
		k.pass(10 * time.Minute)
		if n := count(); n != each {
			t.Errorf("%d series after every outcome, want %d", n, each)
		}
		if problems, err := testutil.GatherAndLint(k.reg); err != nil || len(problems) > 0 {
			t.Errorf("lint: %v %v", problems, err)
		}
		var want strings.Builder
		fmt.Fprintln(&want, "# HELP ticketrail_station_attempts_total Attempts to print a ticket, by how they ended.")
		fmt.Fprintln(&want, "# TYPE ticketrail_station_attempts_total counter")
		for r, n := range map[result]int{ok: 3, refused: 2, notReady: 1, doubt: 2, permanent: 1, interrupted: 0} {
			fmt.Fprintf(&want, "ticketrail_station_attempts_total{result=%q,station=\"grill\"} %d\n", r, n)
		}
		if err := testutil.GatherAndCompare(k.reg, strings.NewReader(want.String()), "ticketrail_station_attempts_total"); err != nil {
			t.Error(err)
		}
		for outcome, n := range map[string]float64{"sent": 3, "held": 1, "buried": 1, "expired": 0, "confirmed": 0} {
			if got := testutil.ToFloat64(k.metrics.tickets.WithLabelValues("grill", outcome)); got != n {
				t.Errorf("%g tickets %s, want %g", got, outcome, n)
			}
		}
		families, err := k.reg.Gather()
		for _, f := range families {
			if h := f.Metric[0].Histogram; err != nil || h != nil && (len(h.Bucket) == 0 || h.Schema == nil) {
				t.Errorf("%s is not both a classic and a native histogram, %v", f.GetName(), err)
			}
		}
		k.Set(nil)
		k.pass(0)
		if n := count(); n != 0 {
			t.Errorf("%d series are left of a station that is gone", n)
		}
	})
}

func TestUpFollowsTheLastAttempt(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill()
		up := func() float64 { return testutil.ToFloat64(k.metrics.up.WithLabelValues("grill")) }
		for _, c := range []struct {
			f    fault
			want float64
		}{{fine, 1}, {off, 0}, {never, 0}, {fine, 1}, {never, 1}, {noPaper, 0}, {fine, 1}, {cut, 0}} {
			p.now(c.f)
			k.q.put("grill", string(c.f))
			k.pass(time.Minute)
			if got := up(); got != c.want {
				t.Errorf("%s: up is %g, want %g", c.f, got, c.want)
			}
		}
	})
}

func TestStandInsAreCountedAndTold(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, _ := k.backed(off, 0)
		count := func() int {
			n, err := testutil.GatherAndCount(k.reg, "ticketrail_station_standins_total")
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if count() != 1 {
			t.Error("the series is not there from the start")
		}
		k.q.put("grill", "a", "b")
		k.pass(time.Second)
		if n := testutil.ToFloat64(k.metrics.standIns.WithLabelValues("grill", "bar")); n != 2 {
			t.Errorf("%g tickets are counted, want 2", n)
		}
		if n := testutil.ToFloat64(k.metrics.up.WithLabelValues("grill")); n != 0 {
			t.Error("a station whose tickets come out of another counts as up")
		}
		if problems, err := testutil.GatherAndLint(k.reg); err != nil || len(problems) > 0 {
			t.Errorf("lint: %v %v", problems, err)
		}
		grill.now(fine)
		k.pass(time.Minute)
		k.q.put("grill", "c")
		k.pass(time.Second)
		got, _ := k.logs.lines(t)
		want := []string{
			"WARN ticket did not go out, trying again",
			"WARN another printer stands in",
			"INFO ticket out",
			"INFO ticket out",
			"INFO printer works again",
			"INFO ticket out",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("logged (-want +got):\n%s", diff)
		}
		k.Set([]Lane{{Name: "grill", Station: grill}})
		k.pass(0)
		if count() != 0 {
			t.Error("the series of a backup that is gone is left")
		}
	})
}
