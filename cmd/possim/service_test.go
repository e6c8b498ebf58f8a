package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

func TestServePrintsItsBaseAddressFirst(t *testing.T) {
	s := start(t, "serve", "--listen", "127.0.0.1:0", "--client-id", "me", "--client-secret", "planted",
		"--venue", "11111111-1111-4111-8111-111111111111", "--venue", strings.ToUpper(sampleVenue),
		"--employees", "45", "--seed", "7", "--fault", "me:500:1")
	base := s.first
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" || u.Port() == "0" || u.Path != "/api" {
		t.Fatalf("the first line is %q", base)
	}

	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {"me"}, "client_secret": {"planted"},
		"venue_id": {sampleVenue}}
	resp, err := http.PostForm(base+"/oauth/token", form)
	must(t, err)
	var token struct {
		AccessToken string `json:"access_token"`
	}
	must(t, json.NewDecoder(resp.Body).Decode(&token))
	_ = resp.Body.Close()

	said := ""
	for _, path := range []string{"/me", "/me", "/v1/labor/employees"} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", base+path, nil)
		req.Header.Set("Authorization", "Bearer "+token.AccessToken)
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		var list struct{ Count, Length int }
		_ = json.NewDecoder(resp.Body).Decode(&list)
		_ = resp.Body.Close()
		said += fmt.Sprintf("%d %v, ", resp.StatusCode, list)
	}
	if said != "500 {0 0}, 200 {0 0}, 200 {45 20}, " {
		t.Errorf("answers %s", said)
	}
	s.end()
	if log := s.shown.String(); strings.Contains(log, "planted") || strings.Contains(log, token.AccessToken) ||
		strings.Count(log, "call=me") != 2 {
		t.Errorf("it says\n%s", log)
	}
}

func TestAUsageErrorNamesTheValidValues(t *testing.T) {
	for line, want := range map[string]string{
		"serve --fault employees:200":            "want CALL:KIND",
		"serve --venue harbour":                  `"harbour" is not a UUID`,
		"serve --employees -1":                   "use 0 or more",
		"serve --client-secret=":                 "cannot be empty",
		"serve now":                              "unknown command",
		"send":                                   "give the URL",
		"send kitchen":                           "is not the URL of a webhook",
		"send ftp://kitchen/":                    "is not the URL of a webhook",
		"send --venue x http://k/":               "is not a UUID",
		"send --count -1 http://k/":              "--count",
		"send --rate NaN http://k/":              "--rate",
		"send --concurrency 0 http://k/":         "use 1 or more",
		"check http://k/ http://l/":              "give the URL of one webhook",
		"check --burst 0 http://k/":              "use 1 or more",
		"check --venue harbour-grill http://k/x": "is not a UUID",
		"check --quiet 0s http://k/":             "use more than 0s",

		"":                              "name a command",
		"toaster":                       "unknown command",
		"printer --profile typewriter":  "generic-80mm",
		"printer --condition on_fire":   "cover_open",
		"printer --lines-per-second -1": "0 or more",
		"printer now":                   "unknown command",

		"check --listen-printer :0 --profile typewriter http://k/":     "generic-80mm",
		"check --listen-printer :0 --tickets-command false http://k/x": "use only one of",
	} {
		if code, out, errs := possim(t, strings.Fields(line)...); code != exitUsage || out != "" ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: ends with %d, says %s%s", line, code, out, errs)
		}
	}
	if code, _, errs := possim(t, "printer", "--listen", "nowhere:x"); code != exitFailed {
		t.Errorf("an invalid address: ends with %d, says %s", code, errs)
	}
}

func TestSendExitsWithZeroOnlyIfAllOrdersWereAccepted(t *testing.T) {
	to, came := webhook(t, 200)
	code, out, errs := possim(t, "send", "--count", "5", "--venue", sampleVenue, to)
	if n := len(came()); code != exitOK || errs != "" || strings.Count(out, "state=SENT") != 5 || n != 5 ||
		!strings.Contains(out, "5 jobs in ") || !strings.Contains(out, ", 5 SENT\n0 retries, 0 late, slowest ") {
		t.Errorf("ends with %d after %d posts, says\n%s%s", code, n, out, errs)
	}
	to, _ = webhook(t, 403)
	code, out, errs = possim(t, "send", "--count", "1", to)
	if code != exitFailed || !strings.Contains(out, "state=ABORTED") ||
		!strings.Contains(errs, "not all jobs were accepted") {
		t.Errorf("ends with %d, says\n%s%s", code, out, errs)
	}
}

func TestAFileIsSentAsItIs(t *testing.T) {
	to, came := webhook(t, 202)
	file := filepath.Join(t.TempDir(), "body.json")
	const body = `{"records": [{"id":"a", "items":[]}]}`
	must(t, os.WriteFile(file, []byte(body), 0o600))
	code, out, errs := possim(t, "send", "--file", file, to)
	if got := came(); code != exitOK || !strings.Contains(out, "state=CONSUMED id=a") || len(got) != 1 ||
		!strings.HasSuffix(got[0], " "+body) {
		t.Errorf("ends with %d, sends %q, says\n%s%s", code, got, out, errs)
	}

	if code, _, errs := possim(t, "send", "--file", file+"x", to); code != exitFailed ||
		!strings.Contains(errs, "--file: ") || came() != nil {
		t.Errorf("ends with %d, says %s", code, errs)
	}
}

func TestAnInterruptedSendPrintsItsSummary(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var posts atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if posts.Add(1) == 3 {
			interrupt()
		}
	}))
	defer s.Close()
	var out, errs strings.Builder
	if code := run(ctx, []string{"send", "--count", "0", s.URL}, &out, &errs); code != exitOK ||
		!strings.Contains(out.String(), " SENT") || !strings.Contains(out.String(), "\n0 retries, ") {
		t.Errorf("ends with %d, says\n%s%s", code, &out, &errs)
	}
}

func TestTheCommandsInTheREADMEExist(t *testing.T) {
	// A line that begins with ./possim is a command to type; with --help its flags are read and nothing runs.
	b, err := os.ReadFile("README.md")
	must(t, err)
	lines := regexp.MustCompile(`(?m)^    \./possim (.+)$`).FindAllStringSubmatch(string(b), -1)
	if len(lines) < 5 {
		t.Errorf("only %d commands", len(lines))
	}
	for _, m := range lines {
		line, _, _ := strings.Cut(m[1], " #")
		args := strings.Fields(line)
		code, out, errs := possim(t, append(args, "--help")...)
		if code != exitOK || !strings.Contains(out, "possim "+args[0]) {
			t.Errorf("%s: ends with %d, says\n%s%s", line, code, out, errs)
		}
	}
}
