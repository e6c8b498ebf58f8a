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
	"ticketrail/queue/logtest"
)

func TestABrokenFileIsToldWithinAMinuteAndItsRepairToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.yaml")
	good := "venues: [ { id: " + venueID + ", name: Harbour Grill, timezone: UTC } ]\n" + grillOnly
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(good)
	synctest.Test(t, func(t *testing.T) {
		log, reg := &logtest.Log{}, prometheus.NewPedanticRegistry()
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

func TestAReloadThatFailsAndItsEndAreInTheStatusLineAndEveryListing(t *testing.T) {
	a, rewrite := startOnFile(t, grillAndBar)
	said := func() (string, string) {
		return a.health.status(), strings.Join(a.notices(), "\n")
	}
	rewrite("fallback: grill", "fallback: gril")
	if _, err := a.Reload(); err == nil {
		t.Fatal("accepted")
	}
	status, notices := said()
	if !strings.HasPrefix(status, "configuration on disk is refused: ") || !strings.Contains(status, "gril") ||
		!strings.Contains(notices, "configuration on disk is refused: ") {
		t.Errorf("status %q, notices %q", status, notices)
	}
	if _, text := get(t, a, "/metrics"); !strings.Contains(text, "\nticketrail_config_on_disk_valid 0\n") {
		t.Error("the metric does not say it")
	}
	rewrite("fallback: gril", "fallback: bar")
	if _, err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	if status, notices = said(); strings.Contains(status+notices, "refused") {
		t.Errorf("repaired: status %q, notices %q", status, notices)
	}
}

func TestTheDaemonLooksAtItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.yaml")
	runDaemonWith(t, func(k *testDaemon) {
		k.changeOptions = func(o *Options) { o.ConfigPath = path }
	}, func(k *testDaemon) {
		if err := os.WriteFile(path, []byte("printer: []"), 0o600); err != nil {
			k.t.Fatal(err)
		}
		time.Sleep(lookEvery + time.Second)
		if status := k.app.health.status(); !strings.Contains(status, "printer") {
			k.t.Error(status)
		}
	}, "grill")
}
