package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"ticketrail/deploy"
	"ticketrail/printer/virtual"
)

type alertRule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func deployFile(t *testing.T, name string) string {
	t.Helper()
	b, err := deploy.Files.ReadFile("prometheus/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func alertRules(t *testing.T) []alertRule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alertRule } }
	if err := yaml.Unmarshal([]byte(deployFile(t, "ticketrail.rules.yml")), &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups[0].Rules
}

// tool is the path of a program of Prometheus. Without it the test is skipped, or fails if
// TICKETRAIL_TEST_ALL is set.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("TICKETRAIL_TEST_ALL") != "" {
			t.Fatal(err, "apt-get install prometheus prometheus-alertmanager")
		}
		t.Skip(err)
	}
	return path
}

// dashboardExpressions are the queries of the dashboard, with its variables replaced.
func dashboardExpressions(t *testing.T) (out []string) {
	t.Helper()
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(deployFile(t, "ticketrail.dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		for _, one := range p.Targets {
			out = append(out, strings.ReplaceAll(one.Expr, "$instance", ".*"))
		}
	}
	return out
}

func TestEveryAlertHasARunbookAndEveryRunbookItsAlert(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules, sections []string
	for _, r := range alertRules(t) {
		rules = append(rules, r.Alert)
		if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" ||
			!strings.HasSuffix(r.Annotations["runbook_url"], "#"+strings.ToLower(r.Alert)) {
			t.Errorf("%s: %v %v", r.Alert, r.Labels, r.Annotations)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^### (Ticketrail\w+)$`).FindAllStringSubmatch(string(text), -1) {
		sections = append(sections, m[1])
	}
	if !slices.Equal(rules, sections) {
		t.Errorf("the alerts are %v, the runbooks %v", rules, sections)
	}
}

func TestPrometheusFindsNothingWrongInTheRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(path, []byte(deployFile(t, "ticketrail.rules.yml")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool(t, "promtool"), "check", "rules", "--lint=all", "--lint-fatal", path).CombinedOutput()
	if err != nil {
		t.Errorf("%s", out)
	}
}

// A monitored daemon with the real programs of Debian around it.
type monitoring struct {
	t                    *testing.T
	prometheus, notifier string // base addresses
}

// start runs a program until the test ends.
func (m *monitoring) start(name string, args ...string) {
	m.t.Helper()
	cmd := exec.Command(tool(m.t, name), args...)
	cmd.Stdout, cmd.Stderr = m.t.Output(), m.t.Output()
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

func (*monitoring) json(address string, into any) error {
	resp, err := http.Get(address)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, b)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

// expect waits until the alerts that are told to people are these, among those that the test causes.
func (m *monitoring) expect(step string, of []string, want ...string) {
	m.t.Helper()
	var got []string
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var all []struct {
			Labels map[string]string
			Status struct{ State string }
		}
		if err := m.json(m.notifier+"/api/v2/alerts", &all); err != nil {
			continue // it starts
		}
		got = nil
		for _, a := range all {
			if n := a.Labels["alertname"]; slices.Contains(of, n) && !slices.Contains(got, n) {
				got = append(got, n)
			}
		}
		slices.Sort(got)
		if slices.Equal(got, want) {
			return
		}
	}
	m.t.Fatalf("%s: the alerts are %v, want %v", step, got, want)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestAlertsOfARealPrometheusFireAndClear(t *testing.T) {
	tool(t, "prometheus")
	tool(t, "prometheus-alertmanager")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := virtual.New(virtual.Options{Name: "grill", Can: virtual.Everything})
	go p.Serve(t.Context(), l)
	a, rewrite := startOnFile(t,
		fmt.Sprintf("printers: [ { name: grill, address: \"tcp://%s\" } ]\nfallback: grill\n", l.Addr()))

	m := &monitoring{t, "http://" + freePort(t), "http://" + freePort(t)}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// The same rules without their patience, and with windows of seconds.
	rules := regexp.MustCompile(`(?m)^ +for: .*\n`).ReplaceAllString(deployFile(t, "ticketrail.rules.yml"), "")
	rules = regexp.MustCompile(`\[(15|5)m\]`).ReplaceAllString(rules, "[4s]")
	write("rules.yml", rules)
	conf := write("prometheus.yml", fmt.Sprintf(`global: { scrape_interval: 500ms, evaluation_interval: 500ms }
rule_files: [ rules.yml ]
alerting: { alertmanagers: [ { static_configs: [ { targets: [ %q ] } ] } ] }
scrape_configs: [ { job_name: ticketrail, static_configs: [ { targets: [ %q ] } ] } ]
`, strings.TrimPrefix(m.notifier, "http://"), a.MetricsAddr().String()))
	am := write("am.yml",
		"route: { receiver: nobody }\nreceivers: [ { name: nobody } ]\nglobal: { resolve_timeout: 2s }\n")
	m.start("prometheus-alertmanager", "--config.file="+am, "--storage.path="+filepath.Join(dir, "am"),
		"--web.listen-address="+strings.TrimPrefix(m.notifier, "http://"), "--cluster.listen-address=")
	m.start("prometheus", "--config.file="+conf, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--log.level=error",
		"--rules.alert.resend-delay=1s", "--web.listen-address="+strings.TrimPrefix(m.prometheus, "http://"))

	all := []string{"TicketrailConfigurationRefused", "TicketrailDown", "TicketrailOrdersRefused",
		"TicketrailStationNeedsPerson"}
	if got := postTo(t, a, "one", "x"); got != 200 {
		t.Fatal(got)
	}
	rewrite("fallback: grill", "fallback: gril")
	if _, err := a.Reload(); err == nil {
		t.Fatal("accepted")
	}
	p.Set(virtual.PaperOut, true)
	postTo(t, a, "two", "x")
	m.expect("broken file, no paper", all, "TicketrailConfigurationRefused", "TicketrailStationNeedsPerson")
	m.queries(a)
	rewrite("fallback: gril", "fallback: grill")
	if _, err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	p.Refill()
	m.expect("repaired", all)
	req, _ := http.NewRequestWithContext(context.Background(), "POST", "http://"+a.WebhookAddr().String()+"/old", nil)
	req.Header.Set("x-svc-venueid", venueID)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	m.expect("an old address", all, "TicketrailOrdersRefused")
	m.expect("later", all)
}

// queries asks every expression of the dashboard and of the rules, and whether their metrics are ours.
func (m *monitoring) queries(a *App) {
	m.t.Helper()
	_, exposed := get(m.t, a, "/metrics")
	exprs := dashboardExpressions(m.t)
	for _, r := range alertRules(m.t) {
		exprs = append(exprs, r.Expr)
	}
	conditional := regexp.MustCompile(`^ticketrail_(display_|opening_hours|notify_)`) // only if configured
	for _, e := range exprs {
		var answer struct{ Status string }
		if err := m.json(m.prometheus+"/api/v1/query?query="+url.QueryEscape(e), &answer); err != nil {
			m.t.Errorf("%s: %v", e, err)
		}
		for _, name := range regexp.MustCompile(`ticketrail_[a-z0-9_]+`).FindAllString(e, -1) {
			if !conditional.MatchString(name) && !strings.Contains(exposed, "\n"+name) {
				m.t.Errorf("%s: the daemon has no %s", e, name)
			}
		}
	}
}
