package dispatch

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestStopBeginsNothingOnABackup(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.printer(), k.printer()
		grill.dial = 10 * time.Second
		grill.now(off)
		l := backed(grill, bar)
		l.Backups[0].After = 0
		k.Set([]Line{l})
		k.q.put("grill", "a")
		k.pass(time.Second)
		if err := k.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		k.wantPaper(bar)
		k.wantEnds("grill a retry")
	})
}

func TestAStuckBackupIsNamedByTheLineThatWaitsForIt(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.printer(), k.printer()
		grill.now(off)
		bar.deaf, bar.takes = true, time.Minute
		l := backed(grill, bar)
		l.Backups[0].After = 0
		k.Set([]Line{l})
		k.q.put("grill", "a")
		k.pass(time.Second)
		if err := k.stopNow(); err == nil || !strings.Contains(err.Error(), "grill") {
			t.Errorf("stop: %v", err)
		}
		k.pass(time.Minute)
	})
}

func TestSetSeesAChangeOfBackups(t *testing.T) {
	p, q := &fakePrinter{}, &fakePrinter{}
	is := backed(p, q)
	for name, other := range map[string]Line{
		"none":            backed(p),
		"another station": backed(p, p),
		"another name":    {Name: "grill", Station: p, Backups: []Backup{{"pass", q, holdFor}}},
		"another time":    {Name: "grill", Station: p, Backups: []Backup{{"bar", q, time.Minute}}},
		"one more":        backed(p, q, p),
		"no station":      {Name: "grill", Station: p, Backups: []Backup{{"bar", nil, holdFor}}},
	} {
		if same(is, other) || same(other, is) {
			t.Errorf("%s: counts as the same", name)
		}
	}
	if !same(is, backed(p, q)) {
		t.Error("the same is not the same")
	}
}

func TestAReloadKeepsWhatIsKnownOfStationsThatStay(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar, pass := k.printer(), k.printer(), k.printer()
		grill.now(off)
		k.Set([]Line{backed(grill, bar)})
		k.q.put("grill", "a")
		k.pass(holdFor + time.Second)
		k.wantPaper(bar, "a"+instead)

		l := backed(grill, pass) // another one is called bar now
		k.Set([]Line{l})
		k.q.put("grill", "b")
		k.pass(0)
		k.wantPaper(pass, "b"+instead)

		k.Set([]Line{backed(k.printer(), pass)}) // the own printer is another: it has not failed yet
		k.pass(0)
		if s := k.status("grill"); s.StandIn != (StandIn{}) {
			t.Errorf("%+v stands in for a printer that was not tried yet", s.StandIn)
		}
	})
}

func TestStandInsAreCountedAndTold(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.printer(), k.printer()
		grill.now(off)
		l := backed(grill, bar)
		l.Backups[0].After = 0
		k.Set([]Line{l})
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
		k.Set([]Line{{Name: "grill", Station: grill}})
		k.pass(0)
		if count() != 0 {
			t.Error("the series of a backup that is gone is left")
		}
	})
}
