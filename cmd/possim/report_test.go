package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const planted = "s3cret-path-0815"

func TestAReportNamesWhatFailedAndNoSecret(t *testing.T) {
	address := vendor(t)
	code, out, errs := possim(t, "check", "--burst", "3", "--json", address)
	if code != exitFailed || strings.Contains(out+errs, planted) {
		t.Fatalf("ends with %d, says\n%s%s", code, out, errs)
	}

	var r struct {
		Failed, Unseen int
		Complete       bool
		Endpoint       string
		Checks         []struct{ Section, Name, Verdict, Got string }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if r.Failed == 0 || r.Unseen == 0 || !r.Complete || !strings.HasPrefix(address, r.Endpoint+"/hooks/") {
		t.Errorf("the report is %+v", r)
	}
	found := false
	for _, c := range r.Checks {
		if c.Name == "an order sent in chunks, without a Content-Length" {
			found = c.Verdict == "fail" && c.Got == "418"
		}
	}
	if !found {
		t.Errorf("the check that failed is not in\n%s", out)
	}
}

func TestAStoppedCheckIsNotComplete(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { interrupt() }))
	defer s.Close()
	var out, errs strings.Builder
	code := run(ctx, []string{"check", "--json", s.URL}, &out, &errs)
	if code != exitFailed || !strings.Contains(out.String(), `"complete": false`) ||
		!strings.Contains(errs.String(), "stopped after") {
		t.Errorf("ends with %d, says\n%s%s", code, &out, &errs)
	}
}

// vendor is an endpoint with a secret in its address, which refuses orders that are sent in chunks.
func vendor(t *testing.T) (address string) {
	t.Helper()

	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.ContentLength < 0 {
			w.WriteHeader(418)
		}
		fmt.Fprintf(w, "you asked for %s", r.URL)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/hooks/" + planted + "?key=planted-query"
}
