package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestLaborDataOfAnotherVenueIsNeverShown(t *testing.T) {
	const other = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a99"
	var asked []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		fmt.Fprintf(w, `{"access_token":"t","venue_id":%q,"status":"SUCCESS","count":1,"records":[{"id":"17",
			"name":"Ann","payrollPeriodStartDateTime":"2026-01-05","payrollPeriodEndDateTime":"2026-01-18"}]}`, other)
	}))
	t.Cleanup(service.Close)
	dir := t.TempDir()
	conf := filepath.Join(dir, "ticketrail.yaml")
	writeFiles(t, map[string]string{filepath.Join(dir, "client"): plantedSecret, conf: fmt.Sprintf(`
venues: [ { id: %s, name: Harbour Grill, timezone: UTC } ]
printers: [ { name: grill, address: "tcp://127.0.0.1:9" } ]
fallback: grill
service: { base_url: %q, client_id: me, client_secret_file: client }
`, venueID, service.URL)})
	for _, command := range []string{"labor employees", "labor payrollperiods", "labor employees --all-venues --json"} {
		asked = nil
		code, out, errs := runCommand(t, append(strings.Fields(command), "--config", conf)...)
		want := "me of venue " + venueID + ": the token is for venue " + other +
			"; check the venue's id in the configuration, and service.token.venue_param"
		if code != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s ends with %d:\n%s%s", command, code, out, errs)
		}
		if got := strings.Join(asked, " "); got != "/oauth/token /me" {
			t.Errorf("%s asks %s", command, got)
		}
	}
}
