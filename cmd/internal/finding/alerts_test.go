package finding

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

var update = flag.Bool("update", false, "write the rules of these alerts into deploy/prometheus")

// alerts are the rules that repeat a finding. The other rules of the file have no finding.
var alerts = []struct {
	name, ids string // the finding's, a regular expression
	lasts     string
	severity  string
	open      bool // silent outside the opening hours
	summary   string
}{
	{"NothingReceived", "orders/silent/.*", "5m", "critical", false, "No order for an hour, although it is open"},
	{"OrdersRefused", "orders/refused/.*", "", "critical", false, "Orders were refused"},
	{"OrdersNotStored", "orders/(disk_full|not_stored)", "1m", "critical", false, "Orders cannot be stored"},
	{"StationDown", "station/.*/(down|unreachable|hung|busy|clearing|not_a_printer|offline|fault|overheated|orphan)",
		"3m", "critical", true, "A station does not work"},
	{"StationNeedsPerson", "station/.*/(paper_out|cover_open|cutter_error|unrecoverable|mechanical_error|refusing)",
		"2m", "critical", false, "Somebody must go to the printer"},
	{"PaperLow", "station/.*/paper_low", "10m", "info", false, "The paper is nearly out"},
	{"TicketHeld", "station/.*/tickets_held", "1m", "critical", false, "Tickets wait for a decision"},
	{"TicketFailed", "tickets/failed", "", "critical", false, "A ticket failed for good"},
	{"StationHeld", "station/.*/on_hold", "30m", "warning", false, "A station is held for half an hour"},
	{"ScreenDark", "station/.*/nobody_looking", "5m", "critical", true, "Nobody sees a screen"},
	{"ConfigurationRefused", "config/(invalid|unreadable|secret_missing)", "5m", "critical", false,
		"The next start would refuse the configuration"},
	{"DiskLow", "disk/low", "10m", "warning", false, "The disk is nearly full"},
	{"CopyIncomplete", "database/copy_incomplete", "15m", "warning", false, "The copy is not complete"},
	{"DatabaseDamaged", "database/(damaged/.*|lost/.*|unreadable)", "", "critical", false, "The database was damaged"},
	{"BooksWrong", "database/books", "5m", "critical", false, "The books do not balance"},
	{"CertificateExpires", "certificate/(expires|not_renewed)/.*", "1h", "warning", false, "A certificate expires"},
	{"CertificateExpired", "certificate/(expired|unreadable)/.*", "", "critical", false,
		"A certificate expired or cannot be read"},
	{"WebhookNotReached", "webhook/.*", "15m", "critical", false,
		"The address that the service uses does not lead here"},
	{"ServiceFails", "venue/.*", "30m", "warning", false, "The point-of-sale API fails"},
	{"ClockNotSynchronized", "clock/not_synchronized", "1h", "warning", false, "The clock may be wrong"},
}

// withoutAlert are identities without a call, or that another rule is about.
var withoutAlert = regexp.MustCompile(
	"^(config/needs_restart|disk/unknown|station/grill/(moved|shared)|certificate/none/webhook)$")

func TestEachIdentityHasOneAlertAndTheRulesAndTheRunbookAreThoseOfTheTable(t *testing.T) {
	const path = "../../../deploy/prometheus/ticketrail.rules.yml"
	rules, runbook := read(t, path), read(t, "../../../deploy/README.md")
	for _, a := range alerts {
		name := "Ticketrail" + a.name
		block := regexp.MustCompile(`(?ms)^      - alert: ` + name + `\n.*?\n(      - alert:|\z)`)
		at := block.FindStringSubmatchIndex(rules)
		if at == nil {
			t.Errorf("%s is not in the rules", name)
			continue
		}
		expr := `ticketrail_finding{id=~"` + a.ids + `"} == 1`
		if a.open {
			expr += "\n          unless on (instance) max by (instance) (ticketrail_opening_hours) == 0"
		}
		if a.name == "OrdersNotStored" { // also when too many wait, or a commit takes too long
			expr += "\n          or on (instance) sum by (instance) (increase(" +
				"ticketrail_receiver_requests_total{code=\"503\"}[5m])) > 5"
		}
		lasts := ""
		if a.lasts != "" {
			lasts = "        for: " + a.lasts + "\n"
		}
		want := "      - alert: " + name + "\n        expr: |-\n          " + expr + "\n" + lasts +
			"        labels: { severity: " + a.severity + " }\n        annotations:\n          summary: '" + a.summary +
			": {{ $labels.id }}'\n          description: 'ticketrail status says since when, why, and what to do.'\n" +
			"          runbook_url: file:///usr/share/doc/ticketrail/deploy/README.md#" + strings.ToLower(name) + "\n"
		assert.True(t, rules[at[0]:at[2]] == want || *update, "write it with -update", want)
		rules = rules[:at[0]] + want + rules[at[2]:]

		word := strings.ToUpper(a.severity[:1]) + a.severity[1:]
		assert.True(t, strings.Contains(runbook, "\n### "+name+"\n\n"+word+". "), "deploy/README.md", name, word)
	}
	if *update {
		assert.NoError(t, os.WriteFile(path, []byte(rules), 0o644))
	}

	ids := []string{"webhook/not_ours", "venue/Harbour Grill/token"}
	for _, c := range faults() {
		ids = append(ids, c.id)
	}
	for _, id := range ids {
		var of []string
		for _, a := range alerts {
			if regexp.MustCompile("^(" + a.ids + ")$").MatchString(id) {
				of = append(of, a.name)
			}
		}
		assert.True(t, len(of) == 1 || withoutAlert.MatchString(id), id, of)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	assert.NoError(t, err)
	return string(b)
}
