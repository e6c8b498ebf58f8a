package posapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/sim"
)

const (
	grill = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	bar   = "0b9d3f6c-1c53-4e0e-8a55-5d2f6d1c7e22"

	theSecret = `s3cr&t/"plan+ted<>`
)

// A service is hand-written, by the contract and nothing of this package, and notes what it
// was asked. Each field replaces one of its answers.
type service struct {
	Token, Me, Employees, Payroll http.HandlerFunc

	mu     sync.Mutex
	issued map[string]string // venue by token
	forms  []http.Header     // of token requests: their form, and Authorization
	asked  []string          // path and query of the other requests
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/oauth/token" {
		s.token(w, r)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.RequestURI())
	venue := s.issued[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	s.mu.Unlock()
	if venue == "" {
		http.Error(w, `{"message":"token expired"}`, http.StatusUnauthorized)
		return
	}
	say := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, body) }
	}
	switch r.URL.Path {
	case "/api/me":
		or(s.Me, say(`{"venue_id":"`+venue+`","scopes":["checks:read","menu:read"]}`))(w, r)
	case "/api/v1/labor/employees":
		or(s.Employees, say(list(0)))(w, r)
	case "/api/v1/labor/payrollperiods":
		or(s.Payroll, say(list(0)))(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *service) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	form := http.Header(r.PostForm)
	form["Authorization"] = r.Header["Authorization"]
	s.mu.Lock()
	s.forms = append(s.forms, form)
	s.mu.Unlock()
	if s.Token != nil {
		s.Token(w, r)
		return
	}
	answerJSON(w,
		fmt.Sprintf(`{"access_token":%q,"token_type":"bearer","expires_in":900}`, s.issue(r.PostForm.Get("venue_id"))))
}

func (s *service) issue(venue string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.issued == nil {
		s.issued = map[string]string{}
	}
	token := fmt.Sprintf("token-%d-of-%s", len(s.forms), venue)
	s.issued[token] = venue
	return token
}

// forget drops all tokens, as a restart of a service does.
func (s *service) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.issued)
}

func (s *service) tokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.forms)
}

func (s *service) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.asked...)
}

func or(f, g http.HandlerFunc) http.HandlerFunc {
	if f != nil {
		return f
	}
	return g
}

func answerJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", contract.ContentType)
	_, _ = w.Write([]byte(body))
}

// list is an envelope around records, which are JSON.
func list(count int, records ...string) string {
	return fmt.Sprintf(`{"records":[%s],"length":%d,"status":"SUCCESS","count":%d}`, strings.Join(records, ","),
		len(records), count)
}

// handlerTransport sends requests to a handler without a network, so that it works in a bubble.
type handlerTransport struct{ http.Handler }

func (m handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil { // as the real one; below, either case may win
		return nil, err
	}
	answered := make(chan *http.Response, 1)
	go func() {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, r)
		answered <- w.Result()
	}()
	select {
	case resp := <-answered:
		return resp, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func secret() (string, error) { return theSecret, nil }

// client asks h; o may be nil.
func client(t testing.TB, h http.Handler, o *Options) *Client {
	t.Helper()
	if o == nil {
		o = new(Options)
	}
	o.BaseURL = cmp.Or(o.BaseURL, "https://pos.example.com/api/")
	o.ClientID = cmp.Or(o.ClientID, "kitchen")
	if o.Secret == nil {
		o.Secret = secret
	}
	o.TokenPath = cmp.Or(o.TokenPath, contract.PathToken)
	o.TokenVenueParam = cmp.Or(o.TokenVenueParam, contract.ParamTokenVenue)
	o.AuthStyle = cmp.Or(o.AuthStyle, "params")
	o.RenewBefore = cmp.Or(o.RenewBefore, time.Minute)
	o.PayrollVenueParam = cmp.Or(o.PayrollVenueParam, contract.ParamPayrollVenue)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	if h != nil {
		o.Transport = handlerTransport{h}
	}
	c, err := New(*o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// names reads a list to its end.
func names(v *Venue, ctx context.Context) (got []string, err error) {
	for e, err := range v.Employees(ctx) {
		if err != nil {
			return got, err
		}
		got = append(got, e.Name)
	}
	return got, nil
}

// problem is err as *Error, which it must be.
func problem(t testing.TB, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("%v (%T), want an *Error", err, err)
	}
	return e
}

// overPipe is a real HTTP server and client without a network, so that time is a bubble's.
func overPipe(t *testing.T, h http.Handler) http.RoundTripper {
	l := sim.Listen()
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(l) }()
	tr := &http.Transport{DialContext: l.Dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = srv.Close()
	})
	return tr
}
