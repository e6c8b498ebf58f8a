package app

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
)

func TestTheMetricsAreWellFormedAndServed(t *testing.T) {
	d := startOnFile(t, grillOnly)
	bad, err := testutil.GatherAndLint(d.registry)
	assert.NoError(t, err)
	for _, p := range bad {
		assert.True(t, !strings.HasPrefix(p.Metric, "ticketrail_"), p.Metric, p.Text)
	}
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		code, got := d.get("http://" + d.MetricsAddr().String() + path)
		assert.True(t, code == 200 && got == want, path, code, got)
	}
	if got := d.order("one"); got != 200 {
		t.Fatal(got)
	}
	for _, name := range []string{"ticketrail_queue_disk_free_bytes", "ticketrail_queue_file_free_bytes"} {
		text := d.metrics()
		assert.True(t, strings.Contains(text, "\n"+name+" ") && !strings.Contains(text, "\n"+name+" 0\n"), name)
	}
}

func TestAStationIsUpOnlyWhenThatIsKnown(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		k.Printers["grill"] = virtual.New(virtual.Options{Name: "grill", Can: virtual.Everything})
		k.Printers["grill"].Refuse(true)
		k.Printer("bar").Confirm = "none"
	}, func(k *testDaemon) {
		expect := func(step, station string, want float64, known bool) {
			k.T.Helper()
			time.Sleep(10 * time.Minute)
			up, ok := k.metric("ticketrail_station_up", station)
			assert.True(k.T, up == want && ok == known, step, station, up, ok)
		}
		expect("unreachable, no order yet", "grill", 0, true)
		expect("never asked, no order yet", "bar", 0, false)
		k.Accept("1", at("bar", "Beer"))
		expect("after an order", "bar", 1, true)
		k.Printers["grill"].Refuse(false)
		expect("repaired", "grill", 1, true)
		k.Accept("2", at("grill", "Burger"))
		k.Printers["grill"].Set(virtual.PaperOut, true)
		expect("printed, then without paper", "grill", 0, true)
	}, "grill", "bar")
}
