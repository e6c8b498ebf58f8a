package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/cmd/internal/monitoringtest"
)

// Two hours of what makes each alert fire, then two hours of what ends it; the unit is a minute. A series
// begins with its name and labels.
var alertCauses = map[string][]string{
	"TicketrailDown": {`up{job="ticketrail"} 0x120 1x120`},
	"TicketrailNothingReceived": {`ticketrail_venue_last_request_timestamp_seconds{venue="v"} 0x120 13000x120`,
		`ticketrail_opening_hours{venue="v"} 1x240`},
	"TicketrailOrdersRefused":   {`ticketrail_receiver_requests_total{code="404",reason="wrong_path"} 0+1x120 120x120`},
	"TicketrailOrdersNotStored": {`ticketrail_receiver_requests_total{code="503",reason="too_slow"} 0+2x120 240x120`},
	"TicketrailStationDown": {`ticketrail_station_up{station="s"} 0x240`,
		`ticketrail_opening_hours{venue="v"} 1x120 0x120`,
		`ticketrail_station_held{station="s"} 0x240`,
		`ticketrail_station_condition{station="s",condition="busy"} 1x240`},
	"TicketrailStationNeedsPerson": {`ticketrail_station_condition{station="s",condition="cover_open"} 1x120 0x120`},
	"TicketrailPaperLow":           {`ticketrail_station_condition{station="s",condition="paper_low"} 1x120 0x120`},
	"TicketrailTicketStuck":        {`ticketrail_queue_oldest_job_age_seconds{station="s"} 200x120 9x120`},
	"TicketrailTicketHeld":         {`ticketrail_queue_jobs{station="s",state="held"} 1x120 0x120`},
	"TicketrailTicketFailed":       {`ticketrail_queue_ended_total{station="s",state="buried"} 0+1x120 120x120`},
	"TicketrailStationHeld":        {`ticketrail_station_held{station="s"} 1x120 0x120`},
	"TicketrailPrintsAtBackup":     {`ticketrail_station_stood_in_for{station="s"} 1x120 0x120`},
	"TicketrailScreenDark": {`ticketrail_display_screens{station="s"} 0x240`,
		`ticketrail_opening_hours{venue="v"} 1x120 0x120`},
	"TicketrailTicketsUnseen":        {`ticketrail_display_unseen_tickets{station="s"} 2x120 0x120`},
	"TicketrailPaperNotTaken":        {`ticketrail_display_paper_tickets{station="s"} 2x120 0x120`},
	"TicketrailConfigurationRefused": {`ticketrail_config_on_disk_valid 0x120 1x120`},
	"TicketrailDiskLow":              {`ticketrail_queue_disk_free_bytes 1000000x120 1000000000x120`},
	"TicketrailDiskSlow": {`ticketrail_queue_commit_seconds_bucket{le="0.5"} 0x240`,
		`ticketrail_queue_commit_seconds_bucket{le="1"} 0+9x120 1080x120`,
		`ticketrail_queue_commit_seconds_bucket{le="+Inf"} 0+9x120 1080x120`},
	"TicketrailCompactionDue": {`ticketrail_queue_file_bytes 100000000x240`,
		`ticketrail_queue_file_free_bytes 60000000x120 40000000x120`},
	"TicketrailDatabaseDamaged": {`ticketrail_queue_quarantined_files 1x120 0x120`},
	"TicketrailBooksWrong":      {`ticketrail_queue_unaccounted_jobs -1x120 0x120`},
	"TicketrailCertificateExpires": {
		`ticketrail_display_certificate_not_after_timestamp_seconds 500000x120 99000000x120`},
	"TicketrailCertificateNotLoaded": {`ticketrail_receiver_tls_last_load_successful 0x120 1x120`},
	"TicketrailMessagesNotSent": {`ticketrail_notify_messages_total{to="p",result="failed"} 0+1x120 120x120`,
		`ticketrail_notify_messages_total{to="p",result="sent"} 0x120 0+1x120`},
	"TicketrailClockNotSynchronized": {`ticketrail_clock_synchronized 0x120 1x120`},
	"TicketrailRestarts":             {`process_start_time_seconds 0+60x120 7200x120`, `ticketrail_build_info 1x240`},
}

func TestEachAlertFiresForItsCauseAndClears(t *testing.T) {
	promtool, dir := monitoringtest.Tool(t, "promtool"), t.TempDir()
	var b strings.Builder
	b.WriteString("rule_files: [ rules.yml ]\nevaluation_interval: 2m\ntests:\n")
	for _, r := range monitoringtest.Rules(t, deployFile(t, rulesFile)) {
		causes := alertCauses[r.Alert]
		if len(causes) == 0 {
			t.Errorf("%s has no cause here", r.Alert)
		}
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
	files := map[string]string{"rules.yml": deployFile(t, rulesFile), "test.yml": b.String()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(promtool, "test", "rules", filepath.Join(dir, "test.yml")).CombinedOutput()
	if err != nil {
		t.Errorf("%s", out)
	}
}
