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

	"go.yaml.in/yaml/v3"

	"ticketrail/deploy"
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

// tool is the path of a program. Without it the test is skipped, or fails if TICKETRAIL_TEST_ALL is set.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		skipOrFail(t, err)
	}
	return path
}

func skipOrFail(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("TICKETRAIL_TEST_ALL") != "" {
		t.Fatal(err, "; .ci/run installs the programs that tests need")
	}
	t.Skip(err)
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
