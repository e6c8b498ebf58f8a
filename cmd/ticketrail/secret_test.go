package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

// TestNoSecretOfTheConfigurationIsShown runs the daemon and every command that may know a secret, and checks all
// output. The bundle for support has no order's contents either.
func TestNoSecretOfTheConfigurationIsShown(t *testing.T) {
	service := httptest.NewServer(echoService(http.StatusOK))
	t.Cleanup(service.Close)
	r, err := newScriptDaemon()
	must(t, err)
	r.log.whole = true
	t.Cleanup(r.close)
	conf := filepath.Join(r.dir, "ticketrail.yaml")
	text := fmt.Sprintf(`# the old secret was PLANTED
receiver: { secret_file: webhook }
admin: { socket: SOCKET }
storage: { path: t.db }
log: { level: debug, format: json }
venues: [ { id: %s, name: Harbour Grill, secret_file: own } ]
printers: [ { name: grill, address: "tcp://127.0.0.1:9" } ]
fallback: grill
service: { base_url: %q, client_id: me, client_secret_file: client }
notify:
  to:
    - { name: one, url: "ntfy://me:PLANTED@127.0.0.1:9/PLANTED" } # PLANTED
    - { name: two, url_file: url }
    - { name: three, url: "https://127.0.0.1:9/?token=PLANTED", secret_file: signed }
`, venueID, service.URL)
	bad := filepath.Join(r.dir, "bad.yaml")
	files := map[string]string{conf: text, bad: strings.NewReplacer("client_secret_file: client",
		"client_secret_file: two", "secret_file: webhook", "secret_file: client").Replace(text)}
	for name, text := range map[string]string{"client": plantedSecret, "webhook": plantedPath, "own": plantedOwn,
		"two": plantedSecret + "\n" + plantedPath, "url": "ntfy://me:" + plantedToken + "@127.0.0.1/topic",
		"signed": "whsec_UExBTlRFRFBMQU5URURQTEFOVEVE"} {
		files[filepath.Join(r.dir, name)] = text
	}
	writeFiles(t, files)
	must(t, r.start(conf))
	said := map[string]string{}
	public := r.webhook
	for _, step := range [][3]string{
		{plantedPath, `{"records":[{"id":"none","items":[]}]}`, "404"},
		{plantedOwn, `{"records":[{"id":"one","employeeId":"17","note":"ORDERED1","customer":{"name":"ORDERED2"},
			"items":[{"name":"ORDERED3","notes":"ORDERED4","oddity":"ORDERED6"}]}]}`, "200"},
		{plantedOwn, `{"records":"ORDERED5"}`, "400"},
	} {
		r.webhook = public + "/" + step[0]
		must(t, r.post(step[1], step[2]))
	}
	for _, command := range []string{
		"check", "check --online", "venues check", "venues check --json", "venues list", "venues list --json",
		"labor employees", "labor employees --csv", "labor employees --json",
		"labor payrollperiods", "labor payrollperiods --csv", "labor payrollperiods --json",
		"jobs list --json", "jobs show 1", "jobs show 1 --json", "printers list", "printers list --json",
		"rejects list", "rejects list --json", "version", "inspect " + conf,
	} {
		args := strings.Fields(command)
		_, out, errs := runCommand(t, append(args, "--config", conf)...)
		said[command] = out + errs
		if slices.Contains([]string{"check", "venues check", "labor employees", "inspect " + conf}, command) {
			_, out, errs := runCommand(t, append(args, "--config", bad)...)
			said[command+" of a bad file"] = out + errs
		}
	}
	must(t, eventually(func() error { // status then has examples of fields
		all, err := r.control().Fields(t.Context())
		if err == nil && all.Venues[0].Requests == 0 {
			err = errors.New("the fields of the order were not looked at")
		}
		return err
	}))
	refusing := httptest.NewServer(echoService(http.StatusUnauthorized))
	t.Cleanup(refusing.Close)
	t.Setenv("TICKETRAIL_SERVICE_BASE_URL", refusing.URL)
	listed, files := bundle(t, "--config", conf)
	for _, name := range []string{"versions.txt", "config.yaml", "status.txt", "doctor.txt", "log.txt"} {
		assert.True(t, strings.Contains(listed, name) && strings.Contains(files["README.txt"], name), name, listed)
	}
	assert.Contains(t, files["config.yaml"], "Harbour Grill")
	assert.Contains(t, files["status.txt"], "orders")
	for name, text := range files {
		said[name] = text
		assert.True(t, !strings.Contains(text, "ORDERED"), "an order's contents", name, text)
	}
	resp, err := http.Get("http://" + r.metrics + "/metrics")
	must(t, err)
	metrics, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	said["metrics"] = string(metrics)
	must(t, err)
	if slow.All() { // the daemon logs its findings after ten seconds
		must(t, eventually(func() error {
			if !strings.Contains(r.log.String(), `"finding":"venue/`) {
				return errors.New("the daemon has not asked the service")
			}
			return nil
		}))
	}
	must(t, r.stop())
	if said["log"] = r.log.String(); strings.Contains(said["log"], "ORDERED") { // which journalctl would show
		t.Errorf("the log has an order's contents:\n%s", said["log"])
	}
	for what, text := range said {
		assert.True(t, strings.TrimSpace(text) != "", "nothing is said by", what)
		if at := secretPattern().FindStringIndex(text); at != nil {
			t.Errorf("%s shows a secret: …%s…", what, text[max(0, at[0]-200):min(len(text), at[1]+50)])
		}
	}
}

// The planted secrets have a core that most encodings do not change.
const (
	plantedSecret = `a/b+"Xq7PLANTEDcore9z`
	plantedToken  = "eyTokenPLANTEDcore8y"
	plantedPath   = "PLANTEDpath-0123456789-abcdef"
	plantedOwn    = "PLANTEDown-0123456789-abcdef"
)

// secretPattern matches every form of a planted secret.
func secretPattern() *regexp.Regexp {
	encoded := []string{
		base64.StdEncoding.EncodeToString([]byte(plantedSecret)),
		base64.StdEncoding.EncodeToString([]byte("me:" + plantedSecret)),
		base64.StdEncoding.EncodeToString([]byte("me:" + url.QueryEscape(plantedSecret))),
	}
	for i := range encoded {
		encoded[i] = regexp.QuoteMeta(encoded[i])
	}
	return regexp.MustCompile("PLANTED|UExBTlRFRF|" + strings.Join(encoded, "|"))
}

// echoService is a service that repeats in every answer the request, and its tokens, wherever the contract
// names no field. tokenStatus is the status of answers to requests for a token.
func echoService(tokenStatus int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		// Also a token that was not issued yet: after its key it must not be shown either.
		echo := fmt.Sprintf("%s %s %s access_token=%s", r.Header.Get("Authorization"), sent, plantedSecret,
			plantedToken)
		w.Header().Set("X-Echo", strings.ReplaceAll(echo, "\n", " "))
		w.Header().Set("Content-Type", "application/json")
		switch token := strings.HasSuffix(r.URL.Path, "/token"); {
		case token && tokenStatus != http.StatusOK:
			w.WriteHeader(tokenStatus)
			fmt.Fprintf(w, `{"error":{"message":%q},"access_token":%q,"client_secret":%q}`, echo, plantedToken,
				plantedSecret)
		case token:
			fmt.Fprintf(w, `{"access_token":%q,"expires_in":900,"scope":"labor:read","echo":%q}`, plantedToken, echo)
		default:
			fmt.Fprintf(w, `{"status":"SUCCESS","count":2,"venue_id":%q,"scopes":["labor:read"],"access_token":%q,
				"echo":%q,"records":[{"id":"17","name":"Ann","payrollPeriodStartDateTime":"2026-01-05",
				"payrollPeriodEndDateTime":"2026-01-18","meta":{"timezone":"UTC"}}]}`, venueID, plantedToken, echo)
		}
	})
}
