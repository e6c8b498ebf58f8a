package sim

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAFaultIsReadFromText(t *testing.T) {
	for text, want := range map[string]Fault{
		"employees:500": {Call: CallEmployees, Kind: Answers, Status: 500},
		"any:429":       {Kind: Answers, Status: 429},
		"me:401:2":      {Call: CallMe, Kind: Answers, Status: 401, Times: 2},
		"token:slow:1":  {Call: CallToken, Kind: Slow, Times: 1},
	} {
		got, err := ParseFault(text)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, cmp.Diff(want, got), err)
		}
	}
	for _, text := range []string{"", "employee:500", "employees", "employees:200", "employees:answers", "me:500:0",
		"me:500:x", "me:slow=3s", "me:hang "} {
		if got, err := ParseFault(text); err == nil || !strings.Contains(err.Error(), "want CALL:KIND[:TIMES]") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestEachFaultDoesWhatItsNameSays(t *testing.T) {
	for _, c := range []struct {
		fault string
		wrong func(resp *http.Response, body []byte, err error, took time.Duration) bool
	}{
		{"employees:500", func(r *http.Response, b []byte, err error, _ time.Duration) bool {
			return r.StatusCode != 500 || !json.Valid(b)
		}},
		{"employees:429", func(r *http.Response, b []byte, err error, _ time.Duration) bool {
			return r.StatusCode != 429 || r.Header.Get("Retry-After") != "1"
		}},
		{"any:slow", func(r *http.Response, b []byte, err error, took time.Duration) bool {
			return r.StatusCode != 200 || took != slowness || !json.Valid(b)
		}},
		{"employees:nonjson", func(r *http.Response, b []byte, err error, _ time.Duration) bool {
			return r.StatusCode != 200 || json.Valid(b) || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html")
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newService()
			token := tokenFor(t, s, venueA)
			f, err := ParseFault(c.fault)
			if err != nil {
				t.Fatal(err)
			}
			s.Fault(f)
			tr := inMemory(t, s.Handler())
			began := time.Now()
			resp, body, err := ask(t, tr, token, pathEmployees)
			if c.wrong(resp, body, err, time.Since(began)) {
				t.Errorf("%s: %v %.300s, %v", c.fault, resp, body, err)
			}
		})
	}
}

func TestAHangEndsWhenTheCallerHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		s.Fault(Fault{Call: CallToken, Kind: Hang})
		tr := inMemory(t, s.Handler())
		tr.ResponseHeaderTimeout = 10 * second
		req, err := http.NewRequest("POST", "http://127.0.0.1/oauth/token", strings.NewReader(form().Encode()))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if resp, err := tr.RoundTrip(req); err == nil || time.Since(began) != 10*second {
			t.Errorf("%v, %v after %s", resp, err, time.Since(began))
		} // the bubble fails if the handler has not returned
	})
}

func TestAFaultHitsItsCallAtMostItsTimes(t *testing.T) {
	for f, want := range map[Fault]int{
		{Call: CallMe, Kind: Answers, Status: 503}:        5,
		{Kind: Answers, Status: 503, Times: 3}:            3,
		{Call: CallEmployees, Kind: Answers, Status: 503}: 0,
	} {
		s, n := newService(func(o *Options) { o.Faults = []Fault{f} }), 0
		for range 5 {
			if get(s, "", "/me").Code == 503 {
				n++
			}
		}
		if n != want {
			t.Errorf("%+v hits %d of 5", f, n)
		}
	}
}

// ask makes a call over an in-memory connection.
func ask(t *testing.T, tr http.RoundTripper, token, path string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, b, err
}
