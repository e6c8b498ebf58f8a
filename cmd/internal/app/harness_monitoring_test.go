package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
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

	"ticketrail/deploy/slow"
	"ticketrail/receiver/relay/natstest"
)

// An alertStep makes alerts fire and clear.
type alertStep struct {
	Fires       []string // each an alert, without Ticketrail, and the labels that say what it is about
	Cause, Cure func()
	Again       bool // cause and cure are repeated: a scrape that a busy machine misses must not matter
}

// A monitoring is the real Prometheus and Alertmanager of Debian around daemons, until the test ends. Whether a rule
// fires for its cause, and clears with the cure, only these programs can say.
type monitoring struct {
	t                    *testing.T
	prometheus, notifier string          // base addresses
	seen                 map[string]bool // all alerts that fired
}

// watch watches the daemons of each job, whose metrics are at the addresses, by rules with less patience. The rules
// are the text of a file. The test is a slow one.
func watch(t *testing.T, rules string, jobs map[string][]string) *monitoring {
	t.Helper()
	slow.Test(t, "prometheus", "prometheus-alertmanager")
	m := &monitoring{t, "http://" + freeAddress(t), "http://" + freeAddress(t), map[string]bool{}}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("rules.yml", impatient(t, rules))
	conf := fmt.Sprintf(`global: { scrape_interval: 1s, evaluation_interval: 500ms }
rule_files: [ rules.yml ]
alerting: { alertmanagers: [ { static_configs: [ { targets: [ %q ] } ] } ] }
scrape_configs:
`, strings.TrimPrefix(m.notifier, "http://"))
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		targets, _ := json.Marshal(jobs[job])
		conf += fmt.Sprintf("  - { job_name: %s, static_configs: [ { targets: %s } ] }\n", job, targets)
	}
	am := write("am.yml",
		"route: { receiver: nobody }\nreceivers: [ { name: nobody } ]\nglobal: { resolve_timeout: 2s }\n")
	m.run("prometheus-alertmanager", "--config.file="+am, "--storage.path="+filepath.Join(dir, "am"),
		"--log.level=error", "--web.listen-address="+strings.TrimPrefix(m.notifier, "http://"),
		"--cluster.listen-address=")
	m.run("prometheus", "--config.file="+write("prometheus.yml", conf),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--log.level=error", "--rules.alert.resend-delay=1s",
		"--web.listen-address="+strings.TrimPrefix(m.prometheus, "http://"))
	return m
}

// impatient divides the durations of the rules: an alert waits for a second, and a minute of a range is half a second,
// but a range is never less than 30 scrapes, of which a busy machine misses some. Everything else stays as it is
// installed.
func impatient(t *testing.T, rules string) string {
	t.Helper()
	rules = regexp.MustCompile(`(?m)^( +for:) .*`).ReplaceAllString(rules, "$1 1s")
	shorter := func(text string, least time.Duration) int64 {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return max(d/120, least).Milliseconds()
	}
	ranges := regexp.MustCompile(`\[(\w+)(:\w+)?\]`)
	return ranges.ReplaceAllStringFunc(rules, func(s string) string {
		m := ranges.FindStringSubmatch(s)
		out := fmt.Sprintf("%dms", shorter(m[1], 30*time.Second))
		if step, is := strings.CutPrefix(m[2], ":"); is {
			out += fmt.Sprintf(":%dms", shorter(step, 0))
		}
		return "[" + out + "]"
	})
}

// run runs a program until the test ends.
func (m *monitoring) run(name string, args ...string) {
	m.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = m.t.Output(), m.t.Output()
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// asker gives up, so that a program that hangs fails a test and does not hang it.
var asker = http.Client{Timeout: time.Minute}

func ask(address string, into any) error {
	resp, err := asker.Get(address)
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

// query asks Prometheus an expression. The error says what is wrong with it.
func (m *monitoring) query(expr string) error {
	var answer struct{ Status string }
	return ask(m.prometheus+"/api/v1/query?query="+url.QueryEscape(expr), &answer)
}

// active are the alerts that the Alertmanager would tell people now.
func (m *monitoring) active() (out []string, err error) {
	var all []struct{ Labels map[string]string }
	if err := ask(m.notifier+"/api/v2/alerts", &all); err != nil {
		return nil, err // it starts
	}
	for _, a := range all {
		words := []string{strings.TrimPrefix(a.Labels["alertname"], "Ticketrail")}
		for _, l := range slices.Sorted(maps.Keys(a.Labels)) {
			if !slices.Contains([]string{"alertname", "severity", "instance", "job"}, l) {
				words = append(words, a.Labels[l])
			}
		}
		out = append(out, strings.Join(words, " "))
		m.seen[out[len(out)-1]] = true
	}
	return out, nil
}

// play makes the alerts of all steps fire, and then clear.
func (m *monitoring) play(steps []alertStep) {
	m.t.Helper()
	var all []string
	for _, s := range steps {
		all = append(all, s.Fires...)
	}
	missing := all
	m.wait("fire", all, steps, func(s alertStep) func() { return s.Cause }, func(active []string) []string {
		missing = slices.DeleteFunc(slices.Clone(missing), func(a string) bool { return slices.Contains(active, a) })
		return missing
	})
	m.wait("clear", all, steps, func(s alertStep) func() { return s.Cure }, func(active []string) []string {
		return slices.DeleteFunc(active, func(a string) bool { return !slices.Contains(all, a) })
	})
}

// wait does something in each step, and then looks until none of all alerts is left.
func (m *monitoring) wait(
	what string, all []string, steps []alertStep, do func(alertStep) func(), left func(active []string) []string,
) {
	m.t.Helper()
	const lookEvery = 200 * time.Millisecond
	waits, start := all, time.Now()
	for n := 0; ; n++ {
		for _, s := range steps {
			if f := do(s); f != nil && (n == 0 || s.Again && n%10 == 0) {
				f()
			}
		}
		active, err := m.active()
		rest := left(active)
		if err == nil {
			for _, a := range waits {
				if !slices.Contains(rest, a) {
					m.t.Logf("%s %ss after %.1fs", a, what, time.Since(start).Seconds())
				}
			}
			if len(rest) == 0 {
				return
			}
			waits = rest
		}
		if time.Since(start) > 4*time.Minute {
			m.t.Fatalf("these alerts do not %s: %q; active are %q", what, rest, active)
		}
		time.Sleep(lookEvery)
	}
}

// nothingElse checks that only the alerts of the steps have fired, and those that a busy machine is the cause of.
func (m *monitoring) nothingElse(busy []string, steps ...[]alertStep) {
	m.t.Helper()
	for _, s := range slices.Concat(steps...) {
		for _, a := range s.Fires {
			delete(m.seen, a)
		}
	}
	for _, a := range busy {
		delete(m.seen, a)
	}
	if len(m.seen) > 0 {
		m.t.Errorf("these alerts fired without a cause: %q", slices.Sorted(maps.Keys(m.seen)))
	}
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
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups[0].Rules
}

// freeAddress is an address at which nothing listens. A daemon that is started again finds it free again, see
// [natstest.FreePort].
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := natstest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}
