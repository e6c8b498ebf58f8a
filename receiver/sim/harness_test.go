package sim

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/printer/virtual"
)

const (
	venueA = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	venueB = "0b7e6a52-9d0c-4f5e-8a3b-5f3f6a1e2d22"
)

func newService(change ...func(*Options)) *Service {
	o := Options{
		ClientID:     "me",
		ClientSecret: "planted/secret +",
		Seed:         1,
		Venues:       []Restaurant{{ID: venueA, Employees: 25}, {ID: venueB, Employees: 3}},
	}
	for _, c := range change {
		c(&o)
	}
	return New(o)
}

// form is the form of a token request; change is pairs of field and new value.
func form(change ...string) url.Values {
	f := url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {"me"},
		"client_secret": {"planted/secret +"},
		"venue_id":      {venueA},
	}
	for i := 0; i < len(change); i += 2 {
		f.Del(change[i])
		if change[i+1] != "" {
			f.Set(change[i], change[i+1])
		}
	}
	return f
}

// do calls the handler directly, without a network: network I/O does not work in a bubble.
func do(s *Service, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func askToken(s *Service, f url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", s.o.Prefix+"/oauth/token", strings.NewReader(f.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range change {
		c(r)
	}
	return do(s, r)
}

func tokenFor(t testing.TB, s *Service, venueID string) string {
	t.Helper()
	w := askToken(s, form("venue_id", venueID))
	tok, _ := object(t, w.Body.Bytes())["access_token"].(string)
	if w.Code != 200 || tok == "" {
		t.Fatalf("no token: %d %s", w.Code, w.Body)
	}
	return tok
}

func get(s *Service, token, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", s.o.Prefix+path, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return do(s, r)
}

func object(t testing.TB, b []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return m
}

// inMemory serves h until the test ends and returns a transport to it.
func inMemory(t *testing.T, h http.Handler) *http.Transport {
	l := virtual.NewNetwork()
	s := &http.Server{Handler: h}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(l) })
	tr := &http.Transport{DialContext: l.Dial, MaxIdleConnsPerHost: 64}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = s.Shutdown(context.Background()) // waits for every handler
		wg.Wait()
	})
	return tr
}

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const second = time.Second
