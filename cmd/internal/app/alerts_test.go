package app

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.yaml.in/yaml/v3"

	"ticketrail/config"
	"ticketrail/deploy"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

func TestEveryAlertHasARunbookAndEveryRunbookItsAlert(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/README.md")
	assert.NoError(t, err)
	var rules, sections []string
	for _, r := range rulesOf(t, alertRules(t)) {
		rules = append(rules, r.Alert)
		assert.True(t, r.Labels["severity"] != "" && r.Annotations["summary"] != "" &&
			r.Annotations["description"] != "" &&
			strings.HasSuffix(r.Annotations["runbook_url"], "#"+strings.ToLower(r.Alert)), r)
	}
	for _, m := range regexp.MustCompile(`(?m)^### (Ticketrail\w+)$`).FindAllStringSubmatch(string(text), -1) {
		sections = append(sections, m[1])
	}
	assert.True(t, slices.Equal(rules, sections), "alerts", rules, "runbooks", sections)
}

// TestTheDaemonHasEverySeriesThatTheRulesAndTheDashboardName also wants each label that they select by, with its
// values.
func TestTheDaemonHasEverySeriesThatTheRulesAndTheDashboardName(t *testing.T) {
	cert, key := keyPair(t, time.Now().AddDate(1, 0, 0))
	everything := func(k *testDaemon) {
		withScreens(testScreen("board"))(k)
		withThirdParty(&thirdParty{}, func(*config.KDS) {})(k)
		k.Conf.Receiver.TLS.CertFile, k.Conf.Receiver.TLS.KeyFile = cert, key
		k.Conf.Display.TLS.CertFile, k.Conf.Display.TLS.KeyFile = cert, key
		k.Conf.Venues[0].Hours = []config.Hours{hours(t, "daily 00:00-24:00")}
		// No name: package net has one channel for its resolver, and a channel belongs to one bubble.
		k.Conf.Notify.To = []config.Recipient{{Name: "phone", Address: config.NewSecret("https://127.0.0.1:1/"),
			Keys: config.NewSecret("whsec_" + strings.Repeat("QUJD", 8))}}
	}
	runDaemonWith(t, everything, func(k *testDaemon) {
		page := httptest.NewRecorder()
		metrics := promhttp.HandlerFor(k.App.registry, promhttp.HandlerOpts{})
		metrics.ServeHTTP(page, httptest.NewRequest("GET", "/", nil))
		exposed := page.Body.String()
		selector := regexp.MustCompile(`\b((?:ticketrail|process)_\w+)(?:\{\s*(\w+)=~?"([^"]*)"\s*\})?`)
		expressions := dashboardExpressions(t)
		for _, r := range rulesOf(t, alertRules(t)) {
			expressions = append(expressions, r.Expr)
		}
		for _, e := range expressions {
			for _, m := range selector.FindAllStringSubmatch(e, -1) {
				if m[1] == "ticketrail_finding" { // its identities are compared in package finding
					continue
				}
				for value := range strings.SplitSeq(m[3], "|") {
					want := `(?m)^` + m[1] + `[{ ]`
					if m[2] != "" && m[2] != "instance" { // which Prometheus adds
						want = `(?m)^` + m[1] + `\{(.*,)?` + m[2] + `="` + value + `"`
					}
					assert.True(t, regexp.MustCompile(want).MatchString(exposed), "the daemon has no", m[0], value, e)
				}
			}
		}

		k.wantMetric(1, "ticketrail_clock_synchronized")
	}, "grill")
}

func TestEachAlertFiresForItsCauseAndClears(t *testing.T) {
	slow.Test(t, "promtool")
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("rule_files: [ rules.yml ]\nevaluation_interval: 2m\ntests:\n")
	for _, r := range rulesOf(t, alertRules(t)) {
		causes := alertCauses[r.Alert]
		if causes == nil {
			causes = findingOf(r.Expr)
		}
		assert.True(t, len(causes) > 0, "no cause is here", r.Alert)
		b.WriteString("  - interval: 1m\n    input_series:\n")
		for _, c := range causes {
			name, values, _ := strings.Cut(c, " ")
			fmt.Fprintf(&b, "      - { series: '%s', values: '%s' }\n", name, values)
		}
		b.WriteString("    promql_expr_test:\n")
		for at, want := range map[int]string{118: "[ { labels: '{}', value: 1 } ]", 238: "[]"} {
			fmt.Fprintf(&b, "      - { expr: 'count(ALERTS{alertname=%q, alertstate=\"firing\"})', eval_time: %dm, "+
				"exp_samples: %s }\n", r.Alert, at, want)
		}
	}
	rules, tests := filepath.Join(dir, "rules.yml"), filepath.Join(dir, "test.yml")
	for path, text := range map[string]string{rules: alertRules(t), tests: b.String()} {
		assert.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}

	dashboard := filepath.Join(dir, "dashboard.yml")
	records := "groups: [ { name: dashboard, rules: [\n"
	for i, e := range dashboardExpressions(t) {
		records += fmt.Sprintf("  { record: 'r%d', expr: %q },\n", i, e)
	}
	assert.NoError(t, os.WriteFile(dashboard, []byte(records+"] } ]\n"), 0o600))

	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", rules},
		{"check", "rules", dashboard}, {"test", "rules", tests}} {
		out, err := exec.Command("promtool", args...).CombinedOutput()
		assert.True(t, err == nil, strings.Join(args, " "), err, string(out))
	}
}

// alertCauses are two hours of the cause of each alert, then two hours without it; the unit is a minute. A
// series begins with its name and labels. Rules about findings are not here: see findingOf.
var alertCauses = map[string][]string{
	"TicketrailDown":            {`up{job="ticketrail"} 0x120 1x120`},
	"TicketrailOrdersNotStored": {`ticketrail_receiver_requests_total{code="503",reason="too_slow"} 0+2x120 240x120`},

	"TicketrailTicketStuck":    {`ticketrail_queue_oldest_job_age_seconds{station="s"} 200x120 9x120`},
	"TicketrailPrintsAtBackup": {`ticketrail_station_uses_backup{station="s"} 1x120 0x120`},
	"TicketrailTicketsUnseen":  {`ticketrail_display_unseen_tickets{station="s"} 2x120 0x120`},
	"TicketrailDiskSlow": {`ticketrail_queue_commit_seconds_bucket{le="0.5"} 0x240`,
		`ticketrail_queue_commit_seconds_bucket{le="1"} 0+9x120 1080x120`,
		`ticketrail_queue_commit_seconds_bucket{le="+Inf"} 0+9x120 1080x120`},
	"TicketrailCompactionDue": {`ticketrail_queue_file_bytes 100000000x240`,
		`ticketrail_queue_file_free_bytes 60000000x120 40000000x120`},
	"TicketrailCertificateNotLoaded": {`ticketrail_receiver_tls_last_load_successful 0x120 1x120`},
	"TicketrailMessagesNotSent": {`ticketrail_notify_messages_total{to="p",result="failed"} 0+1x120 120x120`,
		`ticketrail_notify_messages_total{to="p",result="sent"} 0x120 0+1x120`},
	"TicketrailRestarts": {`process_start_time_seconds 0+60x120 7200x120`, `ticketrail_build_info 1x240`},
}

// findingOf is the first finding that a rule is about, for two hours.
func findingOf(expr string) []string {
	id := regexp.MustCompile(`id=~"([^"]*)"`).FindStringSubmatch(expr)
	if id == nil {
		return nil
	}
	first := regexp.MustCompile(`\(([^|)]*)[^)]*\)`).ReplaceAllString(strings.ReplaceAll(id[1], ".*", "x"), "$1")
	series := `ticketrail_finding{id="` + first + `",severity="fail"} `
	if strings.Contains(expr, "opening_hours") { // it is silent at night, whatever is wrong
		return []string{series + "1x240", `ticketrail_opening_hours{venue="v"} 1x120 0x120`}
	}
	return []string{series + "1x120 _x120"}
}

// alertRules are the rules as they are installed.
func alertRules(t *testing.T) string {
	t.Helper()
	return deployFile(t, "ticketrail.rules.yml")
}

func deployFile(t *testing.T, name string) string {
	t.Helper()
	b, err := deploy.Files.ReadFile("prometheus/" + name)
	assert.NoError(t, err)
	return string(b)
}

// dashboardExpressions are the queries of the dashboard, with its variables replaced.
func dashboardExpressions(t *testing.T) (out []string) {
	t.Helper()
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	assert.NoError(t, json.Unmarshal([]byte(deployFile(t, "ticketrail.dashboard.json")), &d))
	for _, p := range d.Panels {
		for _, one := range p.Targets {
			out = append(out, strings.ReplaceAll(one.Expr, "$instance", ".*"))
		}
	}
	return out
}

// A rule is an alert of a file of rules.
type rule struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

// rulesOf are the alerts of the first group of a file.
func rulesOf(t *testing.T, text string) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	assert.NoError(t, yaml.Unmarshal([]byte(text), &file))
	return file.Groups[0].Rules
}
