package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/cmd/internal/app"
	"ticketrail/printer/virtual"
)

func TestAReloadAppliesTheWholeFileOrNothing(t *testing.T) {
	d := startOnFile(t, grillAndBar)
	if got := d.order("one"); got != 200 || d.waiting("grill") != 1 || d.waiting("bar") != 0 {
		t.Fatalf("before the reload the order got %d and went to %+v", got, d.Queue().Stations())
	}

	d.rewrite(`routes: [ { to: [grill] } ]`, `routes: [ { when: "item.name ==", to: [bar] } ]`)
	if _, err := d.Reload(); err == nil || !strings.Contains(err.Error(), "routes[0].when") {
		t.Errorf("a wrong rule gives %v, want its path", err)
	}
	if !strings.Contains(d.metrics(), "\nticketrail_config_last_reload_successful 0\n") {
		t.Error("the metric does not say that the reload failed")
	}
	if got := d.order("two"); got != 200 || d.waiting("grill") != 2 || d.waiting("bar") != 0 {
		t.Errorf("a refused file moved an order, which got %d: %+v", got, d.Queue().Stations())
	}

	d.rewrite(`{ when: "item.name ==", to: [bar] }`, `{ to: [bar] }`)
	d.rewrite(`{ listen: "127.0.0.1:0" }`, `{ listen: "127.0.0.1:1", path: /elsewhere }`)
	done, err := d.Reload()
	if err != nil || !slices.Equal(done.Restart, []string{"receiver.listen"}) {
		t.Errorf("needing a restart: %v, %v, want receiver.listen", done.Restart, err)
	}
	if got := d.order("three"); got != 404 {
		t.Errorf("the old path got %d, want 404", got)
	}
	if !strings.Contains(d.metrics(), "\nticketrail_config_last_reload_successful 1\n") {
		t.Error("the metric does not say that the reload succeeded")
	}
}

func TestAReloadThatFailsAndItsEndAreInTheStatusLineAndEveryListing(t *testing.T) {
	d := startOnFile(t, grillAndBar)
	d.rewrite("fallback: grill", "fallback: gril")
	if _, err := d.Reload(); err == nil {
		t.Fatal("accepted")
	}
	const refused = "configuration on disk is refused: "
	status, notices := d.StatusLine(), strings.Join(d.Notices(), "\n")
	if !strings.HasPrefix(status, refused) || !strings.Contains(status, "gril") || !strings.Contains(notices, refused) {
		t.Errorf("status %q, notices %q", status, notices)
	}
	if !strings.Contains(d.metrics(), "\nticketrail_config_on_disk_valid 0\n") {
		t.Error("the metric does not say it")
	}

	d.rewrite("fallback: gril", "fallback: bar")
	if _, err := d.Reload(); err != nil {
		t.Fatal(err)
	}
	if said := d.StatusLine() + strings.Join(d.Notices(), "\n"); strings.Contains(said, "refused") {
		t.Errorf("repaired: %q", said)
	}
}

func TestTheDaemonLooksAtItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.yaml")
	runDaemonWith(t, func(k *testDaemon) {
		k.change(func(o *app.Options) { o.ConfigPath = path })
	}, func(k *testDaemon) {
		k.must(os.WriteFile(path, []byte("printer: []"), 0o600))
		time.Sleep(app.LookEvery + time.Second)
		if status := k.App.StatusLine(); !strings.Contains(status, "printer") {
			t.Error(status)
		}
	}, "grill")
}

func TestARemovedStationKeepsItsTicketsAsAnOrphan(t *testing.T) {
	d := startOnFile(t, grillAndBar)
	if got := d.order("one"); got != 200 {
		t.Fatalf("got %d", got)
	}
	d.rewrite(grillYAML+", ", "")
	d.rewrite("to: [grill]", "to: [bar]")
	d.rewrite("fallback: grill", "fallback: bar")
	done, err := d.Reload()
	if err != nil || !slices.Equal(done.Orphans, []string{"grill"}) {
		t.Fatalf("orphans are %v, %v, want grill", done.Orphans, err)
	}

	var moved []uint64
	for end := time.Now().Add(time.Minute); len(moved) == 0 && err == nil && time.Now().Before(end); {
		moved, err = d.Queue().MoveAll(t.Context(), "grill", "bar") // a ticket in an attempt only after it
	}
	if err != nil || len(moved) != 1 || d.Queue().Unaccounted() != 0 {
		t.Errorf("moved %v: %v; the books do not balance by %d", moved, err, d.Queue().Unaccounted())
	}
}

func TestEveryDocumentedMetricExistsFromTheStart(t *testing.T) {
	d := startOnFile(t, grillOnly)
	text := d.metrics()
	for _, want := range documentedMetrics {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, "disk_free_bytes 0\n") {
		t.Error("no free bytes")
	}

	bad, err := testutil.GatherAndLint(d.Registry())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range bad {
		if strings.HasPrefix(p.Metric, "ticketrail_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if code, got := d.get("http://" + d.MetricsAddr().String() + path); code != 200 || got != want {
			t.Errorf("%s: %d %q", path, code, got)
		}
	}
	if got := d.order("one"); got != 200 {
		t.Fatal(got)
	}
	if strings.Contains(d.metrics(), "ticketrail_queue_file_free_bytes 0\n") {
		t.Error("no page of the file is free after an order")
	}
}

func TestASecondDaemonDoesNotStart(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		_, err := app.New(t.Context(), app.Options{Config: k.Conf, Webhook: virtual.NewNetwork()})
		if err == nil || !strings.Contains(err.Error(), "another ticketrail") {
			t.Errorf("the second daemon got %v", err)
		}
	}, "grill")
}

func TestAFileThatIsNoDatabaseIsQuarantined(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.db"), make([]byte, 20_000), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startInFolder(t, dir, grillOnly)
	if found := d.Quarantined(); len(found) != 1 {
		t.Errorf("quarantined: %v, want one file", found)
	}
	if text := strings.Join(d.Notices(), "\n"); !strings.Contains(text, ".corrupt-") {
		t.Errorf("the notices do not tell: %s", text)
	}
}

// documentedMetrics are metrics that dashboards and alerts use.
var documentedMetrics = []string{
	`ticketrail_receiver_requests_total{code="200",reason="stored"}`, "ticketrail_receiver_request_seconds_bucket",
	"ticketrail_receiver_anomalies_total{kind=",
	"ticketrail_receiver_last_request_timestamp_seconds",
	`ticketrail_queue_jobs{state="pending",station="grill"} 0`,
	`ticketrail_queue_ended_total{state="failed",station="grill"} 0`, "ticketrail_queue_unaccounted_jobs 0",
	`ticketrail_queue_oldest_job_age_seconds{station="grill"}`,
	"ticketrail_queue_commit_seconds_bucket", "ticketrail_queue_file_bytes", "ticketrail_queue_quarantined_files 0",
	"ticketrail_queue_disk_free_bytes", "ticketrail_queue_reserve_bytes 1.6777216e+07",
	"ticketrail_queue_file_free_bytes", "ticketrail_clock_synchronized",
	`ticketrail_station_tickets_total{outcome="sent",station="grill"}`, "ticketrail_station_attempts_total{result=",
	"ticketrail_config_on_disk_valid 1",
	`ticketrail_venue_last_request_timestamp_seconds{venue="Harbour Grill"} 0`,
	`ticketrail_station_held{station="grill"} 0`, `ticketrail_station_stood_in_for{station="grill"} 0`,
	`ticketrail_station_condition{condition="paper_out",station="grill"} 0`,
	`ticketrail_station_condition{condition="cover_open",station="grill"} 0`,
	`ticketrail_station_condition{condition="silent",station="grill"} 0`,
	`ticketrail_station_condition{condition="unreachable",station="grill"} `,
	`ticketrail_ticket_wait_seconds_bucket{station="grill"`,
	"ticketrail_config_last_reload_successful 1", "ticketrail_config_last_reload_success_timestamp_seconds",
	"ticketrail_build_info",
}
