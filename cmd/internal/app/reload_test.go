package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// startOnFile starts a daemon with a configuration file and real sockets, which a synctest bubble
// cannot have.
func startOnFile(t *testing.T, text string) (a *App, rewrite func(old, new string)) {
	t.Helper()
	return startInFolder(t, t.TempDir(), text)
}

func startInFolder(t *testing.T, dir, text string) (a *App, rewrite func(old, new string)) {
	t.Helper()
	conf := filepath.Join(dir, "t.yaml")
	text = fmt.Sprintf(`receiver: { listen: "127.0.0.1:0" }
metrics: { listen: "127.0.0.1:0" }
admin: { socket: %q }
storage: { path: %q }
venues: [ { id: %s, name: Harbour Grill, timezone: UTC } ]
`, filepath.Join(dir, "s"), filepath.Join(dir, "t.db"), venueID) + text
	write := func() {
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	a, err := New(t.Context(), Options{ConfigPath: conf, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return a, func(old, new string) {
		t.Helper()
		if !strings.Contains(text, old) {
			t.Fatalf("the file does not contain %q", old)
		}
		text = strings.Replace(text, old, new, 1)
		write()
	}
}

// postTo sends an order, and sends it again if the disk was too slow, as the service does.
func postTo(t *testing.T, a *App, id, item string) (status int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if status = postOnce(t, a, id, item); status != http.StatusServiceUnavailable {
			break
		}
	}
	return status
}

func postOnce(t *testing.T, a *App, id, item string) int {
	t.Helper()
	req, err := http.NewRequest("POST", "http://"+a.WebhookAddr().String()+"/webhooks/print",
		strings.NewReader(fmt.Sprintf(`{"records":[{"id":%q,"items":[{"name":%q}]}]}`, id, item)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("x-svc-venueid", venueID)
	req.Header.Set("x-svc-device-id", "tablet")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func get(t *testing.T, a *App, path string) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + a.MetricsAddr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// waiting is how many tickets wait at a station.
func waiting(a *App, station string) (n int) {
	for _, s := range a.queue.Stations() {
		if s.Name == station {
			n = s.Pending + s.Printing
		}
	}
	return n
}

// Printers at an address where no program listens.
const (
	grillYAML = `{ name: grill, address: "tcp://127.0.0.1:1" }`
	barYAML   = `{ name: bar, address: "tcp://127.0.0.1:1" }`

	grillOnly   = "printers: [ " + grillYAML + " ]\nfallback: grill\n"
	grillAndBar = "printers: [ " + grillYAML + ", " + barYAML + " ]\nroutes: [ { to: [grill] } ]\nfallback: grill\n"
)

func TestAReloadAppliesTheWholeFileOrNothing(t *testing.T) {
	a, rewrite := startOnFile(t, grillAndBar)
	if got := postTo(t, a, "one", "x"); got != 200 {
		t.Fatalf("got %d", got)
	}
	if waiting(a, "grill") != 1 || waiting(a, "bar") != 0 {
		t.Fatalf("before the reload the order went to %+v", a.queue.Stations())
	}

	rewrite(`routes: [ { to: [grill] } ]`, `routes: [ { when: "item.name ==", to: [bar] } ]`)
	if _, err := a.Reload(); err == nil || !strings.Contains(err.Error(), "routes[0].when") {
		t.Errorf("a wrong rule gives %v, want its path", err)
	}
	if _, text := get(t, a, "/metrics"); !strings.Contains(text, "\nticketrail_config_last_reload_successful 0\n") {
		t.Error("the metric does not say that the reload failed")
	}
	if got := postTo(t, a, "two", "x"); got != 200 {
		t.Fatalf("got %d", got)
	}
	if waiting(a, "grill") != 2 || waiting(a, "bar") != 0 {
		t.Errorf("a refused file moved an order: %+v", a.queue.Stations())
	}

	rewrite(`{ when: "item.name ==", to: [bar] }`, `{ to: [bar] }`)
	rewrite(`{ listen: "127.0.0.1:0" }`, `{ listen: "127.0.0.1:1", path: /elsewhere }`)
	done, err := a.Reload()
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Restart) != 1 || done.Restart[0] != "receiver.listen" {
		t.Errorf("needing a restart: %v, want receiver.listen", done.Restart)
	}
	if got := postTo(t, a, "three", "x"); got != 404 {
		t.Errorf("the old path got %d, want 404", got)
	}
	if _, text := get(t, a, "/metrics"); !strings.Contains(text, "\nticketrail_config_last_reload_successful 1\n") {
		t.Error("the metric does not say that the reload succeeded")
	}
}

func TestARemovedStationKeepsItsTicketsAsAnOrphan(t *testing.T) {
	a, rewrite := startOnFile(t, grillAndBar)
	if got := postTo(t, a, "one", "x"); got != 200 {
		t.Fatalf("got %d", got)
	}
	rewrite(grillYAML+", ", "")
	rewrite("to: [grill]", "to: [bar]")
	rewrite("fallback: grill", "fallback: bar")
	done, err := a.Reload()
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Orphans) != 1 || done.Orphans[0] != "grill" {
		t.Errorf("orphans are %v, want grill", done.Orphans)
	}
	moved, err := waitMove(t, a, "grill", "bar")
	if err != nil || len(moved) != 1 {
		t.Fatalf("moved %v: %v", moved, err)
	}
	if n := a.queue.Unaccounted(); n != 0 {
		t.Errorf("the books do not balance by %d", n)
	}
}

// waitMove moves a whole queue; a ticket in an attempt can be moved only after it.
func waitMove(t *testing.T, a *App, from, to string) ([]uint64, error) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		moved, err := a.queue.MoveAll(t.Context(), from, to)
		if err != nil || len(moved) > 0 || time.Now().After(deadline) {
			return moved, err
		}
	}
}

// Metrics that dashboards and alerts use.
var documentedMetrics = []string{
	`ticketrail_receiver_requests_total{code="200",reason="stored"}`, "ticketrail_receiver_request_seconds_bucket",
	"ticketrail_receiver_duplicates_total",
	"ticketrail_receiver_conflicts_total", "ticketrail_receiver_anomalies_total{kind=",
	"ticketrail_receiver_last_request_timestamp_seconds",
	`ticketrail_queue_jobs{state="pending",station="grill"} 0`,
	`ticketrail_queue_ended_total{state="buried",station="grill"} 0`, "ticketrail_queue_unaccounted_jobs 0",
	`ticketrail_queue_oldest_job_age_seconds{station="grill"}`,
	"ticketrail_queue_commit_seconds_bucket", "ticketrail_queue_file_bytes", "ticketrail_queue_quarantined_files 0",
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

func TestEveryDocumentedMetricExistsFromTheStart(t *testing.T) {
	a, _ := startOnFile(t, grillOnly)
	_, text := get(t, a, "/metrics")
	for _, want := range documentedMetrics {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
	bad, err := testutil.GatherAndLint(a.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range bad {
		if strings.HasPrefix(p.Metric, "ticketrail_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if code, got := get(t, a, path); code != 200 || got != want {
			t.Errorf("%s: %d %q", path, code, got)
		}
	}
}

func TestASecondDaemonDoesNotStart(t *testing.T) {
	a, _ := startOnFile(t, grillOnly)
	_, err := New(t.Context(), Options{ConfigPath: a.o.ConfigPath})
	if err == nil || !strings.Contains(err.Error(), "another ticketrail") {
		t.Errorf("the second daemon got %v", err)
	}
}

func TestAFileThatIsNoDatabaseIsQuarantined(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.db"), make([]byte, 20_000), 0o600); err != nil {
		t.Fatal(err)
	}
	a, _ := startInFolder(t, dir, grillOnly)
	if found := a.health.store.quarantined(); len(found) != 1 {
		t.Errorf("quarantined: %v, want one file", found)
	}
	if text := strings.Join(a.notices(), "\n"); !strings.Contains(text, ".corrupt-") {
		t.Errorf("the notices do not tell: %s", text)
	}
}
