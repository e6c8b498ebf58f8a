package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

func TestEveryAlertOfTheRelayHasARunbookAndEveryRunbookItsAlert(t *testing.T) {
	var rules, sections []string
	for _, r := range rulesOfTheRelay(t) {
		rules = append(rules, r.Alert)
		link := "file:///usr/share/doc/ticketrail/deploy/relay/README.md#" + strings.ToLower(r.Alert)
		assert.True(t, r.Labels["severity"] != "" && r.Annotations["summary"] != "" &&
			r.Annotations["description"] != "" && r.Annotations["runbook_url"] == link, r)
	}
	for _, m := range regexp.MustCompile(`(?m)^### (Ticketrail\w+)$`).FindAllStringSubmatch(
		read(t, "relay/README.md"), -1) {
		sections = append(sections, m[1])
	}
	assert.True(t, slices.Equal(rules, sections), "alerts", rules, "runbooks", sections)
}

func TestEachAlertOfTheRelayFiresOnceForItsCauseNotBeforeItsLimitAndClears(t *testing.T) {
	slow.Test(t, "promtool")
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("rule_files: [ rules.yml ]\nevaluation_interval: 1m\ntests:\n")
	const none, once = "[]", "[ { labels: '{}', value: 1 } ]"
	expect := func(alert string, series []string, alerts map[int]string) {
		assert.True(t, len(series) != 0, alert)
		b.WriteString("  - interval: 1m\n    input_series:\n")
		for _, s := range series {
			name, values, _ := strings.Cut(s, " ")
			fmt.Fprintf(&b, "      - { series: '%s', values: '%s' }\n", name, values)
		}
		b.WriteString("    promql_expr_test:\n")
		for at, want := range alerts {
			fmt.Fprintf(&b, "      - { expr: 'count(ALERTS{alertname=%q, alertstate=\"firing\"})', eval_time: %dm, "+
				"exp_samples: %s }\n", alert, at, want)
		}
	}
	for _, r := range rulesOfTheRelay(t) {
		limit := relayLimits[r.Alert]
		expect(r.Alert, relayCauses[r.Alert], map[int]string{118: once, 238: none})
		expect(r.Alert, limit.series, map[int]string{limit.minute - 1: none, limit.minute: once})
	}
	for name, text := range map[string]string{"rules.yml": read(t, relayRules), "test.yml": b.String()} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	rules := filepath.Join(dir, "rules.yml")
	out, err := run(t, "promtool", "check", "rules", "--lint=all", "--lint-fatal", rules)
	assert.True(t, err == nil, out)
	out, err = run(t, "promtool", "test", "rules", filepath.Join(dir, "test.yml"))
	assert.True(t, err == nil, out)
}

// A rule is one alert of a file of Prometheus rules.
type rule struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

const relayRules = "relay/ticketrail-relay.rules.yml"

// rulesOfTheRelay reads the alerts of the relay.
func rulesOfTheRelay(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	assert.NoError(t, yaml.Unmarshal([]byte(read(t, relayRules)), &file))
	return file.Groups[0].Rules
}

// relayCauses are two hours of the cause of each alert, then two hours without it; the unit is a minute. A
// series begins with its name and labels.
var relayCauses = map[string][]string{
	"TicketrailRelayNotReady": {`ticketrail_relay_ready{instance="a"} 0x120 1x120`,
		`ticketrail_relay_ready{instance="b"} 1x240`},
	"TicketrailNoRelay": {`up{job="ticketrail-relay",instance="a"} 1x240`,
		`up{job="ticketrail-relay",instance="b"} 0x240`,
		`ticketrail_relay_ready{instance="a"} 0x120 1x120`, `ticketrail_relay_ready{instance="b"} 1x240`},
	"TicketrailRelayBlind": {`ticketrail_relay_watched_timestamp_seconds{instance="a"} 0x120 7260+60x120`,
		`ticketrail_relay_watched_timestamp_seconds{instance="b"} 0x240`,
		`ticketrail_relay_ready{instance="a"} 1x240`, `ticketrail_relay_ready{instance="b"} 0x240`},
	"TicketrailSiteOffline": {`ticketrail_relay_site_online{instance="a",venue="v"} 0x120 1x120`,
		`ticketrail_relay_site_online{instance="b",venue="v"} 0x120 1x120`,
		`ticketrail_relay_site_online{instance="a",venue="closed"} 0x240`,
		`ticketrail_opening_hours{job="ticketrail-relay",venue="closed"} 0x240`,
		`ticketrail_opening_hours{job="ticketrail-relay",venue="v"} 1x240`},
	"TicketrailOrdersWaitAtRelay": {`ticketrail_relay_site_oldest_age_seconds{instance="a",venue="v"} 0+60x120 0x120`,
		`ticketrail_relay_site_oldest_age_seconds{instance="b",venue="v"} 0+60x120 0x120`,
		`ticketrail_relay_site_oldest_age_seconds{instance="b",venue="closed"} 600x240`,
		`ticketrail_opening_hours{job="ticketrail-relay",venue="closed"} 0x240`},
	"TicketrailBacklogGrows": {`ticketrail_relay_site_waiting{instance="a",venue="v"} 0+5x120 600x120`,
		`ticketrail_relay_site_waiting{instance="a",venue="w"} 30x240`},
	"TicketrailStreamNearLimit": {`ticketrail_relay_stream_bytes{instance="a"} 900x120 500x120`,
		`ticketrail_relay_stream_bytes{instance="b"} 900x120 500x120`,
		`ticketrail_relay_stream_max_bytes{instance="a"} 1000x240`,
		`ticketrail_relay_stream_max_bytes{instance="b"} 1000x240`},
	"TicketrailReplicaDown": {`ticketrail_relay_server_behind{instance="a",server="node1"} 1x120 stale`,
		`ticketrail_relay_server_behind{instance="b",server="node1"} 1x120 stale`},
	"TicketrailSourceDisconnected": {`ticketrail_source_up{instance="box"} 0x120 1x120`,
		`ticketrail_source_up{instance="closed"} 0x240`,
		`ticketrail_opening_hours{instance="closed",venue="c"} 0x240`},
}

// relayLimits are the last good values, then the first bad ones, and the minute at which the alert fires. Each fires
// then and not before, so that no number of a rule, and no comparison, changes by mistake.
var relayLimits = map[string]struct {
	series []string
	minute int
}{
	"TicketrailRelayNotReady": {[]string{`up{job="ticketrail-relay",instance="a"} 1x9 0x30`}, 11},
	"TicketrailNoRelay": {[]string{`up{job="ticketrail-relay",instance="a"} 1x9 0x30`,
		`ticketrail_relay_ready{instance="a"} 1x9 stale`}, 11},
	"TicketrailRelayBlind": {[]string{`ticketrail_relay_watched_timestamp_seconds{instance="a"} 480x10 539x30`,
		`ticketrail_relay_ready{instance="a"} 1x40`}, 12}, // in minute 10 that was 120 s ago, in minute 11 121 s
	"TicketrailSiteOffline": {[]string{`ticketrail_relay_site_online{instance="a",venue="v"} 1x9 0x30`,
		`ticketrail_relay_site_online{instance="b",venue="v"} 0x40`}, 15},
	"TicketrailOrdersWaitAtRelay": {[]string{
		`ticketrail_relay_site_oldest_age_seconds{instance="a",venue="v"} 180x9 181x30`}, 11},
	// Both relays say of v and w together 10 at first and one more in each minute. In minute 21 it was more than 20 for
	// 10 minutes.
	"TicketrailBacklogGrows": {[]string{`ticketrail_relay_site_waiting{instance="a",venue="v"} 0+1x60`,
		`ticketrail_relay_site_waiting{instance="b",venue="v"} 0+1x60`,
		`ticketrail_relay_site_waiting{instance="a",venue="w"} 10x60`,
		`ticketrail_relay_site_waiting{instance="b",venue="w"} 10x60`}, 31},
	"TicketrailStreamNearLimit": {[]string{`ticketrail_relay_stream_bytes{instance="a"} 800x9 801x30`,
		`ticketrail_relay_stream_max_bytes{instance="a"} 1000x40`}, 20},
	"TicketrailReplicaDown":        {[]string{`ticketrail_relay_server_behind{instance="a",server="n"} _x10 1x30`}, 12},
	"TicketrailSourceDisconnected": {[]string{`ticketrail_source_up{instance="box"} 1x9 0x30`}, 12},
}
