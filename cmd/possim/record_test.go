package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const planted = "s3cret-path-0815"

// TestARecordShowsAFailureAsItWasSentAndNoSecret also shows that --ca is needed and used.
func TestARecordShowsAFailureAsItWasSentAndNoSecret(t *testing.T) {
	address, ca := vendor(t)
	dir := filepath.Join(t.TempDir(), "wire")
	junit := filepath.Join(t.TempDir(), "junit.xml")
	code, out, errs := possim(t, "", "check", "--count", "3", "--ca", ca, "--record", dir, "--json", "--junit", junit,
		address)
	if code != exitFailed || strings.Contains(errs, planted) {
		t.Fatalf("ends with %d, says\n%s%s", code, out, errs)
	}
	var r struct {
		Failed, Unseen int
		Complete       bool
		Endpoint       string
		Checks         []struct {
			Section, Name, Verdict, Got string
			Wire                        []int
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if saved, err := os.ReadFile(filepath.Join(dir, "report.json")); err != nil || string(saved) != out {
		t.Errorf("report.json: %v, %s", err, saved)
	}
	b, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	var suites junitSuites
	if err := xml.Unmarshal(b, &suites); err != nil || suites.Tests != len(r.Checks) || suites.Failures != r.Failed ||
		suites.Skipped != r.Unseen || len(suites.Suite.Cases) != len(r.Checks) || bytes.Contains(b, []byte(planted)) {
		t.Errorf("%v in the JUnit report\n%s", err, b)
	}
	for i, c := range suites.Suite.Cases {
		verdict := r.Checks[i].Verdict
		if (c.Failure != nil) != (verdict == "fail") || (c.Skipped != nil) != (verdict == "unseen") {
			t.Errorf("%s is %s, and in the JUnit report %+v", c.Name, verdict, c)
		}
	}
	if r.Failed == 0 || r.Unseen == 0 || !r.Complete || !strings.HasPrefix(address, r.Endpoint+"/hooks/") {
		t.Errorf("the report is %+v", r)
	}
	found := false
	for _, c := range r.Checks {
		if c.Name != "an order sent in chunks, without a Content-Length" {
			continue
		}
		found = true
		if c.Verdict != "fail" || c.Got != "418" || len(c.Wire) != 2 || c.Wire[0] != c.Wire[1] {
			t.Errorf("the check is %+v", c)
			continue
		}
		for kind, words := range map[string][]string{
			"request": {
				"POST /[secret] HTTP/1.1\r\n", "\r\nx-svc-venueid: " + sampleVenue + "\r\n",
				"\r\nTransfer-Encoding: chunked\r\n", `"records":[`, "\r\n0\r\n\r\n",
			},
			"answer": {
				"HTTP/1.1 418 I'm a teapot\r\n", "\r\nSet-Cookie: [secret]\r\n",
				"you asked for /hooks/[secret]?key=[secret]",
			},
		} {
			b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%04d.%s", c.Wire[0], kind)))
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range words {
				if !bytes.Contains(b, []byte(w)) {
					t.Errorf("the %s lacks %q:\n%s", kind, w, b)
				}
			}
		}
	}
	if !found {
		t.Error("the check is not in the report")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 100 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || bytes.Contains(b, []byte("planted-")) || bytes.Contains(b, []byte(planted)) {
			t.Errorf("%s, %v: a secret is in\n%s", e.Name(), err, b)
		}
	}
	if code, _, errs = possim(t, "", "check", "--record", dir, address); code != exitUsage ||
		!strings.Contains(errs, "is not empty") {
		t.Errorf("again into the same folder: ends with %d, says %s", code, errs)
	}
	// Without --ca the certificate is of no authority that this machine knows.
	if _, out, _ := possim(t, "", "send", "--count", "1", "--retries", "0", address); !strings.Contains(out, "x509") {
		t.Errorf("without --ca: %s", out)
	}
	if code, out, errs := possim(t, "", "send", "--count", "1", "--ca", ca, address); code != exitOK {
		t.Errorf("with --ca: ends with %d, says\n%s%s", code, out, errs)
	}
}

func TestAStoppedCheckMakesNoJUnitReport(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { interrupt() }))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "junit.xml")
	var out, errs strings.Builder
	code := run(ctx, []string{"check", "--junit", file, "--json", s.URL}, strings.NewReader(""), &out, &errs)
	if _, err := os.Stat(file); code != exitFailed || !os.IsNotExist(err) ||
		!strings.Contains(out.String(), `"complete": false`) || !strings.Contains(errs.String(), "stopped after") {
		t.Errorf("ends with %d, %v, says\n%s%s", code, err, &out, &errs)
	}
}

// vendor is an endpoint with a secret in its address, which refuses orders that are sent in chunks.
func vendor(t *testing.T) (address, ca string) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "planted-cookie"})
		if r.ContentLength < 0 {
			w.WriteHeader(418)
		}
		fmt.Fprintf(w, "you asked for %s", r.URL)
	}))
	t.Cleanup(s.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(ca, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return s.URL + "/hooks/" + planted + "?key=planted-query", ca
}
