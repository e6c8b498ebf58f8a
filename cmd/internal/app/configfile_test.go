package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/queue/queuetest"
)

func TestABrokenFileIsToldWithinAMinuteAndItsRepairToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.yaml")
	const good = "venues: [ { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Harbour Grill, timezone: UTC } ]\n" +
		"printers: [ { name: grill, address: \"tcp://127.0.0.1:1\" } ]\nfallback: grill\n"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(good)
	synctest.Test(t, func(t *testing.T) {
		log, reg := &queuetest.Log{}, prometheus.NewPedanticRegistry()
		f := newConfigFile(path, daemon.NewLogger(log, "text", nil), reg)
		ctx, stop := context.WithCancel(t.Context())
		go f.watch(ctx)
		expect := func(step, reason string, valid float64, lines int) {
			t.Helper()
			time.Sleep(3*lookEvery + 1)
			synctest.Wait()
			if got := f.refused(); (got == "") != (reason == "") || !strings.Contains(got, reason) {
				t.Errorf("%s: refused for %q", step, got)
			}
			if strings.Count(log.String(), "\n") != lines {
				t.Errorf("%s: the log is\n%s", step, log)
			}
			m, err := reg.Gather()
			if err != nil || m[0].GetMetric()[0].GetGauge().GetValue() != valid {
				t.Errorf("%s: the metrics are %v, %v", step, m, err)
			}
		}
		expect("at the start", "", 1, 0)
		write(good + "# a note\n")
		expect("changed", "", 1, 0)
		write(good + "fallbak: grill\n")
		expect("broken", "fallbak", 0, 1)
		write(good + "fallbak: grill\n# the same\n")
		expect("broken in the same way", "fallbak", 0, 1)
		write(good + "# the same\nfallbak: grill\n")
		expect("broken on another line", "fallbak", 0, 2)
		write(good + "# repaired\n")
		expect("repaired", "", 1, 3)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		expect("removed", path, 0, 4)
		stop()
	})
}
