package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An alertStep makes alerts fire and clear.
type alertStep struct {
	fires       []string // each an alert and the labels that say what it is about
	cause, cure func()
	again       bool // cause and cure are repeated: a scrape that a busy machine misses must not matter
}

// onlyInvented are the alerts whose cause cannot be made here. TestEachAlertFiresForItsCauseAndClears has them,
// and TestTheDaemonHasEverySeriesThatTheRulesName.
var onlyInvented = map[string]string{
	"TicketrailBooksWrong": "it is a bug of the daemon, and none is known",
}

// A monitoring is the real programs of Debian around daemons.
type monitoring struct {
	t                    *testing.T
	prometheus, notifier string          // base addresses
	seen                 map[string]bool // all alerts that fired
}

// startMonitoring watches the daemons whose metrics are at the addresses, by the rules as they are installed, only
// with less patience.
func startMonitoring(t *testing.T, addresses ...string) *monitoring {
	t.Helper()
	m := &monitoring{t, "http://" + freePort(t), "http://" + freePort(t), map[string]bool{}}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("rules.yml", impatient(t, deployFile(t, "ticketrail.rules.yml")))
	targets, _ := json.Marshal(addresses)
	conf := write("prometheus.yml", fmt.Sprintf(`global: { scrape_interval: 1s, evaluation_interval: 500ms }
rule_files: [ rules.yml ]
alerting: { alertmanagers: [ { static_configs: [ { targets: [ %q ] } ] } ] }
scrape_configs: [ { job_name: ticketrail, static_configs: [ { targets: %s } ] } ]
`, strings.TrimPrefix(m.notifier, "http://"), targets))
	am := write("am.yml",
		"route: { receiver: nobody }\nreceivers: [ { name: nobody } ]\nglobal: { resolve_timeout: 2s }\n")
	m.run("prometheus-alertmanager", "--config.file="+am, "--storage.path="+filepath.Join(dir, "am"),
		"--log.level=error", "--web.listen-address="+strings.TrimPrefix(m.notifier, "http://"),
		"--cluster.listen-address=")
	m.run("prometheus", "--config.file="+conf, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--log.level=error",
		"--rules.alert.resend-delay=1s", "--web.listen-address="+strings.TrimPrefix(m.prometheus, "http://"))
	return m
}

// impatient divides the durations of the rules: an alert waits for a second, and a minute of a range is half a
// second, but never less than five scrapes. Everything else stays as it is installed.
func impatient(t *testing.T, rules string) string {
	t.Helper()
	rules = regexp.MustCompile(`(?m)^( +for:) .*`).ReplaceAllString(rules, "$1 1s")
	return regexp.MustCompile(`\[\w+\]`).ReplaceAllStringFunc(rules, func(s string) string {
		d, err := time.ParseDuration(strings.Trim(s, "[]"))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("[%dms]", max(d/120, 5*time.Second).Milliseconds())
	})
}

// run runs a program until the test ends.
func (m *monitoring) run(name string, args ...string) {
	m.t.Helper()
	cmd := exec.Command(tool(m.t, name), args...)
	cmd.Stdout, cmd.Stderr = m.t.Output(), m.t.Output()
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

func (*monitoring) json(address string, into any) error {
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

// active are the alerts that the Alertmanager would tell people now.
func (m *monitoring) active() (out []string, err error) {
	var all []struct{ Labels map[string]string }
	if err := m.json(m.notifier+"/api/v2/alerts", &all); err != nil {
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
		all = append(all, s.fires...)
	}
	missing := all
	m.wait("do not fire", steps, func(s alertStep) func() { return s.cause }, func(active []string) []string {
		missing = slices.DeleteFunc(slices.Clone(missing), func(a string) bool { return slices.Contains(active, a) })
		return missing
	})
	m.wait("do not clear", steps, func(s alertStep) func() { return s.cure }, func(active []string) []string {
		return slices.DeleteFunc(active, func(a string) bool { return !slices.Contains(all, a) })
	})
}

// wait does something in each step, and then looks until no alert is left.
func (m *monitoring) wait(
	what string, steps []alertStep, do func(alertStep) func(), left func(active []string) []string,
) {
	m.t.Helper()
	const looks, lookEvery = 600, 200 * time.Millisecond
	for n := range looks {
		for _, s := range steps {
			if f := do(s); f != nil && (n == 0 || s.again && n%10 == 0) {
				f()
			}
		}
		active, err := m.active()
		rest := left(active)
		if len(rest) == 0 && err == nil {
			return
		}
		if n == looks-1 {
			m.t.Fatalf("these alerts %s: %q; active are %q", what, rest, active)
		}
		time.Sleep(lookEvery)
	}
}

// nothingElse checks that only the alerts of the steps fired. A busy machine may miss scrapes and be slow to write.
func (m *monitoring) nothingElse(steps ...[]alertStep) {
	m.t.Helper()
	for _, s := range slices.Concat(steps...) {
		for _, a := range s.fires {
			delete(m.seen, a)
		}
	}
	delete(m.seen, "Down")
	delete(m.seen, "DiskSlow")
	if len(m.seen) > 0 {
		m.t.Errorf("these alerts fired without a cause: %q", slices.Sorted(maps.Keys(m.seen)))
	}
}

// freePort is an address at which nothing listens. It is below the ports that the kernel gives to outgoing
// connections: one of them would take it while the daemon is down.
func freePort(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
}

// asker gives up, so that a program that hangs fails a test and does not hang it.
var asker = http.Client{Timeout: 5 * time.Second}

func TestEveryAlertFiresForRealOrSaysWhyNot(t *testing.T) {
	fires := map[string]bool{}
	var k *kitchen
	for _, s := range slices.Concat(k.faults(), k.afterRestart(), k.damage(), k.down(), k.crashes(), k.low(), k.full(),
		k.hanging()) {
		for _, a := range s.fires {
			name, _, _ := strings.Cut(a, " ")
			fires["Ticketrail"+name] = true
		}
	}
	for _, r := range alertRules(t) {
		if fires[r.Alert] == (onlyInvented[r.Alert] != "") {
			t.Errorf("%s: fires in a test: %t; why not: %q", r.Alert, fires[r.Alert], onlyInvented[r.Alert])
		}
		delete(fires, r.Alert)
	}
	if len(fires) > 0 {
		t.Errorf("there are no such alerts: %v", fires)
	}
}

// queries asks every expression of the dashboard.
func (m *monitoring) queries() {
	m.t.Helper()
	for _, e := range dashboardExpressions(m.t) {
		var answer struct{ Status string }
		if err := m.json(m.prometheus+"/api/v1/query?query="+url.QueryEscape(e), &answer); err != nil {
			m.t.Errorf("%s: %v", e, err)
		}
	}
}
