package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ticketrail/cmd/internal/app"
	"ticketrail/config"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

// possim runs the program until it ends.
func possim(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func TestServePrintsItsBaseAddressFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{
			"serve", "--listen", "127.0.0.1:0", "--prefix", "/pos", "--client-id", "me", "--client-secret", "planted",
			"--venue", "11111111-1111-4111-8111-111111111111", "--venue", strings.ToUpper(sampleVenue),
			"--employees", "45", "--token-ttl", "90s",
			"--seed", "7", "--fault", "me:500:1:1"}, strings.NewReader(""), w, w)
		_ = w.Close()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("no output")
	}
	base := lines.Text()
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" || u.Port() == "0" || u.Path != "/pos" {
		t.Fatalf("the first line is %q", base)
	}
	rest := make(chan string)
	go func() {
		var all strings.Builder
		for lines.Scan() {
			fmt.Fprintln(&all, lines.Text())
		}
		rest <- all.String()
	}()
	resp, err := http.PostForm(
		base+"/oauth/token",
		url.Values{
			"grant_type":    {"client_credentials"},
			"client_id":     {"me"},
			"client_secret": {"planted"},
			"venue_id":      {sampleVenue},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	var token struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	answer(t, resp, 200, &token)
	if token.ExpiresIn != 90 {
		t.Errorf("the token lives for %d s", token.ExpiresIn)
	}
	get := func(path string, status int, into any) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token.AccessToken)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer(t, resp, status, into)
	}
	get("/me", 500, nil)
	get("/me", 200, nil)
	var list struct{ Count, Length int }
	get("/v1/labor/employees", 200, &list)
	if list.Count != 45 || list.Length != 20 {
		t.Errorf("employees: %+v", list)
	}
	cancel()
	if code, said := <-ended, <-rest; code != exitOK || strings.Contains(said, "planted") ||
		strings.Contains(said, token.AccessToken) ||
		strings.Count(said, "call=me") != 2 {
		t.Errorf("ends with %d after\n%s", code, said)
	}
}

func answer(t *testing.T, resp *http.Response, status int, into any) {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("answers %d %s, %v", resp.StatusCode, b, err)
	}
	if into != nil {
		if err := json.Unmarshal(b, into); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAUsageErrorOfTheServiceNamesTheValidValues(t *testing.T) {
	for line, want := range map[string]string{
		"serve --fault employees:200":            "use 400 to 599",
		"serve --venue harbour":                  `"harbour" is not a UUID`,
		"serve --employees -1":                   "use 0 to 1000000",
		"serve --employees 1000000000":           "use 0 to 1000000",
		"serve --prefix /a/../b":                 "is not a plain path",
		"serve --prefix /a?b":                    "is not a plain path",
		"send --employees 1000000000 http://k/":  "use 0 to 1000000",
		"serve --token-ttl 0s":                   "use 1s or more",
		"serve --token-ttl 15":                   "missing unit",
		"serve --client-secret=":                 "cannot be empty",
		"serve now":                              "unknown command",
		"send":                                   "give the URL",
		"send kitchen":                           "is not the URL of a webhook",
		"send ftp://kitchen/":                    "is not the URL of a webhook",
		"send --venue x http://k/":               "is not a UUID",
		"send --count -1 http://k/":              "--count",
		"send --rate NaN http://k/":              "--rate",
		"send --concurrency 0 http://k/":         "use 1 to 10000",
		"send --duplicates 2 http://k/":          "use 0 to 1",
		"check http://k/ http://l/":              "give the URL of one webhook",
		"check --count 0 http://k/":              "use 1 or more",
		"check --venue harbour-grill http://k/x": "is not a UUID",
	} {
		if code, out, errs := possim(t, "", strings.Fields(line)...); code != exitUsage || out != "" ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: ends with %d, says %s%s", line, code, out, errs)
		}
	}
}

func TestAFileThatIsTooLargeIsNotSent(t *testing.T) {
	if code, _, errs := possim(t, "", "send", "--file", "/dev/zero", "http://127.0.0.1:1/"); code != exitFailed ||
		!strings.Contains(errs, "/dev/zero has more than 67108864 bytes") {
		t.Errorf("ends with %d, says %s", code, errs)
	}
}

func TestSendExitsWithZeroOnlyIfAllOrdersWereAccepted(t *testing.T) {
	var bodies []string
	status := 200
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, string(b))
		w.WriteHeader(status)
	}))
	defer s.Close()
	code, out, errs := possim(t, "", "send", "--count", "5", "--duplicates", "1", "--venue", sampleVenue, s.URL)
	if code != exitOK || errs != "" || strings.Count(out, "state=SENT") != 10 || !strings.Contains(out, "10 jobs in") ||
		!strings.Contains(out, "duplicates 5") ||
		len(bodies) != 10 {
		t.Errorf("ends with %d after %d posts, says\n%s%s", code, len(bodies), out, errs)
	}
	for _, word := range []string{"p50", "p99", "over 5s: 0"} {
		if !strings.Contains(out, word) {
			t.Errorf("the summary lacks %s:\n%s", word, out)
		}
	}
	for code, word := range map[int]string{400: "configuration error", 403: "alert to the venue admin"} {
		if ended, out, errs := possim(t, "", "send", "--count", "1", answering(t, code)); ended != exitFailed ||
			!strings.Contains(out, "state=ABORTED") ||
			!strings.Contains(out, word) ||
			!strings.Contains(errs, "not all jobs were accepted") {
			t.Errorf("%d: ends with %d, says\n%s%s", code, ended, out, errs)
		}
	}
	status, bodies = 202, nil
	file := filepath.Join(t.TempDir(), "body.json")
	const body = `{"records": [{"id":"a", "items":[]}]}`
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := possim(t, "", "send", "--file", file, s.URL); code != exitOK ||
		!strings.Contains(out, "state=CONSUMED id=a") ||
		len(bodies) != 1 ||
		bodies[0] != body {
		t.Errorf("ends with %d, sends %q, says\n%s", code, bodies, out)
	}
	if code, out, _ := possim(t, "no JSON at all", "send", "--file", "-", "--count", "2", s.URL); code != exitOK ||
		len(bodies) != 3 ||
		bodies[2] != "no JSON at all" {
		t.Errorf("ends with %d, sends %q, says\n%s", code, bodies, out)
	}
	if code, _, errs := possim(t, "", "send", "--file", file+"x", s.URL); code != exitFailed ||
		!strings.Contains(errs, "--file: ") {
		t.Errorf("without the file it ends with %d, says %s", code, errs)
	}
}

func TestAnInterruptedSendPrintsItsSummary(t *testing.T) {
	for name, c := range map[string]struct {
		status, ended int
		out, errs     string
	}{
		"all were accepted": {200, exitOK, " SENT", ""},
		"none ever was":     {503, exitFailed, "0 jobs in ", "stopped before any order was accepted"},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		var posts atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			if posts.Add(1) == 3 || c.status != 200 {
				interrupt()
			}
		}))
		var out, errs strings.Builder
		code := run(ctx, []string{"send", "--count", "0", s.URL}, strings.NewReader(""), &out, &errs)
		s.Close()
		if code != c.ended || !strings.Contains(out.String(), c.out) || !strings.Contains(out.String(), "\nretries ") ||
			!strings.Contains(errs.String(), c.errs) {
			t.Errorf("%s: ends with %d, says\n%s%s", name, code, &out, &errs)
		}
	}
}

// answering is an endpoint that always answers with one status.
func answering(t *testing.T, status int) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(s.Close)
	return s.URL
}

// daemon runs the real daemon with a simulated printer and returns the URL of its webhook.
func daemon(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tr") // short: a unix socket's path has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	conf := filepath.Join(dir, "ticketrail.yaml")
	if err := os.WriteFile(conf, fmt.Appendf(nil, `admin: { socket: %q }
metrics: { listen: "" }
storage: { path: %q }
log: { level: error }
venues: [ { id: %s, name: Harbour Grill }, { id: 0b7e6a52-9d0c-4f5e-8a3b-5f3f6a1e2d22, name: Second } ]
printers: [ { name: grill, address: "tcp://127.0.0.1:9" } ]
fallback: grill
`, filepath.Join(dir, "s"), filepath.Join(dir, "t.db"), sampleVenue), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	printer := virtual.New(virtual.Options{Name: "grill", Keep: 10})
	a, err := app.New(t.Context(), app.Options{
		ConfigPath: conf, Webhook: l, Log: t.Output(),
		Dialer: func(config.Printer) (transport.Dialer, error) { return printer, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String() + "/webhooks/print"
}

func TestTicketrailMeetsTheContract(t *testing.T) {
	webhook := daemon(t)
	code, out, errs := possim(t, "", "check", "--venue", sampleVenue, "--venue",
		"0b7e6a52-9d0c-4f5e-8a3b-5f3f6a1e2d22", webhook)
	if code != exitOK || errs != "" || !strings.Contains(out, " checks, 0 failed") ||
		strings.Contains(out, "do not say which") {
		t.Errorf("ends with %d, says\n%s%s", code, out, errs)
	}
	code, out, errs = possim(t, "", "send", "--count", "60", "--concurrency", "8", "--duplicates", "0.2", "--seed",
		"5", webhook)
	if code != exitOK || errs != "" || strings.Count(out, "state=SENT") < 60 {
		t.Errorf("ends with %d, says\n%s%s", code, out, errs)
	}
}

func TestAnEndpointThatAcceptsEverythingFailsTheCheck(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	code, out, errs := possim(t, "", "check", "--count", "10", s.URL)
	if code != exitFailed ||
		!strings.Contains(out, "FAIL  6.2  x-svc-venueid of an unknown venue\n      want 403; got 200\n") ||
		!strings.Contains(errs, "does not meet the contract") {
		t.Errorf("ends with %d, says\n%s%s", code, out, errs)
	}
}
