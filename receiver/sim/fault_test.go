package sim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
)

func TestAFaultIsReadFromText(t *testing.T) {
	for text, want := range map[string]Fault{
		"employees:500": {Call: CallEmployees, Kind: Answers, Status: 500},
		"any:429":       {Kind: Answers, Status: 429},
		"me:401:2":      {Call: CallMe, Kind: Answers, Status: 401, Times: 2},
		"token:slow:1":  {Call: CallToken, Kind: Slow, Times: 1},
	} {
		got, err := ParseFault(text)
		assert.True(t, err == nil && got == want, text, cmp.Diff(want, got), err)
	}
	for _, text := range []string{"", "employee:500", "employees", "employees:200", "employees:answers", "me:500:0",
		"me:500:x", "me:slow=3s", "me:hang "} {
		got, err := ParseFault(text)
		assert.True(t, err != nil && strings.Contains(err.Error(), "want CALL:KIND[:TIMES]"), text, got, err)
	}
}

func TestEachFaultDoesWhatItsNameSays(t *testing.T) {
	const data, page = "application/json", "text/html; charset=utf-8"
	for _, c := range []struct {
		fault  string
		status int
		kind   string
		after  string // Retry-After
		took   time.Duration
	}{
		{"employees:500", 500, data, "", 0}, {"employees:429", 429, data, "1", 0},
		{"any:slow", 200, data, "", slowness}, {"employees:nonjson", 200, page, "", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newService()
			token := tokenFor(t, s, venueA)
			f, err := ParseFault(c.fault)
			assert.NoError(t, err)
			s.Fault(f)
			began := time.Now()
			w := get(s, token, pathEmployees)
			took := time.Since(began)
			assert.True(t, took == c.took && w.Code == c.status && w.Header().Get("Content-Type") == c.kind &&
				w.Header().Get("Retry-After") == c.after && json.Valid(w.Body.Bytes()) == (c.kind == data), c.fault,
				w.Code, w.Header(), w.Body, took)
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
		assert.NoError(t, err)
		began := time.Now()
		resp, err := tr.RoundTrip(req)
		// The bubble fails if the handler has not returned.
		assert.True(t, err != nil && time.Since(began) == 10*second, resp, err, time.Since(began))
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
		assert.Equal(t, n, want, f)
	}
}
