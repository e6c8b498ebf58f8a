package sim

import (
	"encoding/json"
	"errors"
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
		"employees:500":            {Call: CallEmployees, Kind: Answers, Status: 500},
		"any:429":                  {Kind: Answers, Status: 429},
		"me:401:2":                 {Call: CallMe, Kind: Answers, Status: 401, Times: 2},
		"token:slow=3s:1":          {Call: CallToken, Kind: Slow, For: 3 * second, Times: 1},
		"payrollperiods:truncated": {Call: CallPayrollPeriods, Kind: Truncated},
	} {
		got, err := ParseFault(text)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, cmp.Diff(want, got), err)
		}
	}
}

func TestTheErrorForAnInvalidFaultNamesTheValidOnes(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "is not a call",
		"employee:500":      "token, me, employees, payrollperiods",
		"employees":         "is not a kind",
		"employees:200":     "use 400 to 599",
		"employees:answers": "use 400 to 599",
		"employees:500:0":   "is not a number of times",
		"employees:500:x":   "is not a number of times",
		"employees:slow=3":  "is not a duration",
		"employees:slow=0s": "is not a duration",
		"employees:hang=3s": "takes no duration",
	} {
		if _, err := ParseFault(text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "write CALL:KIND") {
			t.Errorf("%q: %v", text, err)
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
		{"any:slow=3s", func(r *http.Response, b []byte, err error, took time.Duration) bool {
			return r.StatusCode != 200 || took != 3*second || !json.Valid(b)
		}},
		{"employees:truncated", func(r *http.Response, b []byte, err error, _ time.Duration) bool {
			return r.StatusCode != 200 || err != nil || json.Valid(b) || len(b) < 100
		}},
		{"employees:broken", func(_ *http.Response, b []byte, err error, _ time.Duration) bool {
			return !errors.Is(err, io.ErrUnexpectedEOF) || len(b) < 100
		}},
		{"employees:nonjson", func(r *http.Response, b []byte, err error, _ time.Duration) bool {
			return r.StatusCode != 200 || json.Valid(b) || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html")
		}},
		{"employees:redirect", func(r *http.Response, b []byte, err error, _ time.Duration) bool {
			return r.StatusCode != 302 || r.Header.Get("Location") != "/elsewhere"
		}},
		{"employees:unsuccessful", func(r *http.Response, b []byte, err error, _ time.Duration) bool {
			return r.StatusCode != 200 || !strings.Contains(string(b), `"status":"ERROR"`)
		}},
		{"employees:large", func(r *http.Response, b []byte, err error, _ time.Duration) bool {
			return r.StatusCode != 200 || len(b) < largeBytes || !json.Valid(b)
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
			s.ClearFaults()
			if resp, body, err := ask(t, tr, token, pathEmployees); err != nil || resp.StatusCode != 200 ||
				!json.Valid(body) {
				t.Errorf("after %s was cleared: %v %v", c.fault, resp, err)
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

func TestChurnChangesTheStaffBetweenPages(t *testing.T) {
	s := newService(func(o *Options) { o.Faults = []Fault{{Call: CallEmployees, Kind: Churn}} })
	tok, before := tokenFor(t, s, venueA), s.Employees(venueA)
	for range 10 {
		page(t, s, tok, "")
	}
	if cmp.Equal(before, s.Employees(venueA)) {
		t.Error("nothing changed")
	}
	s.ClearFaults()
	s.Fault(Fault{Call: CallEmployees, Kind: SameCursor})
	_, next, _ := page(t, s, tok, "?limit=5")
	if _, again, _ := page(t, s, tok, "?limit=5&cursor="+next); again != next {
		t.Errorf("names %s after %s", again, next)
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
