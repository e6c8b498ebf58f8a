package app

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ticketrail/cmd/internal/monitoringtest"
	"ticketrail/deploy"
)

const rulesFile = "ticketrail.rules.yml"

func deployFile(t *testing.T, name string) string {
	t.Helper()
	b, err := deploy.Files.ReadFile("prometheus/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
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
	for _, r := range monitoringtest.Rules(t, deployFile(t, rulesFile)) {
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
	if err := os.WriteFile(path, []byte(deployFile(t, rulesFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool := monitoringtest.Tool(t, "promtool")
	out, err := exec.Command(promtool, "check", "rules", "--lint=all", "--lint-fatal", path).CombinedOutput()
	if err != nil {
		t.Errorf("%s", out)
	}
}

// onlyInvented are the alerts whose cause cannot be made here. TestEachAlertFiresForItsCauseAndClears has them,
// and TestTheDaemonHasEverySeriesThatTheRulesName.
var onlyInvented = map[string]string{
	"TicketrailBooksWrong": "it is a bug of the daemon, and none is known",
}

// watched is the daemon under the rules as they are installed.
func (k *kitchen) watched() *monitoringtest.Monitoring {
	k.t.Helper()
	return monitoringtest.Start(k.t, deployFile(k.t, rulesFile), map[string][]string{"ticketrail": {k.metrics}})
}

func TestEveryAlertFiresForRealOrSaysWhyNot(t *testing.T) {
	var k *kitchen
	monitoringtest.EachFiresOrSaysWhyNot(t, deployFile(t, rulesFile), slices.Concat(k.faults(), k.afterRestart(),
		k.damage(), k.down(), k.crashes(), k.low(), k.full(), k.hanging()), onlyInvented)
}
