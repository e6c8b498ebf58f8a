package pos

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
	"ticketrail/receiver/contract"
)

const (
	harbour = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	station = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a22"

	theSecret = `s3cr&t/"plan+ted<>`
)

// A service is hand-written, by the contract and nothing of this package, and notes its requests. Each field
// replaces one of its answers.
type service struct {
	Token, Me, Employees, Payroll http.HandlerFunc

	mu     sync.Mutex
	issued map[string]string // venue by token
	wanted []string          // the token requests: type, Authorization and body
	asked  []string          // path and query of the other requests
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	venue := s.note(r, string(body))
	switch {
	case r.URL.Path == "/api/oauth/token":
		form, _ := url.ParseQuery(string(body))
		of := cmp.Or(form.Get(contract.ParamTokenVenue), harbour)
		or(s.Token, say(`{"access_token":"`+s.issue(of)+`","token_type":"bearer","expires_in":900}`))(w, r)
	case venue == "":
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/api/me":
		or(s.Me, say(`{"venue_id":"`+venue+`","scopes":["checks:read","menu:read"]}`))(w, r)
	case r.URL.Path == "/api/v1/labor/employees":
		or(s.Employees, say(envelope(0)))(w, r)
	case r.URL.Path == "/api/v1/labor/payrollperiods":
		or(s.Payroll, say(envelope(0)))(w, r)
	default:
		http.NotFound(w, r)
	}
}

// note returns the venue of the request's token.
func (s *service) note(r *http.Request, body string) (venue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPost {
		s.wanted = append(s.wanted, r.Header.Get("Content-Type")+" "+r.Header.Get("Authorization")+" "+body)
	} else {
		s.asked = append(s.asked, strings.TrimPrefix(r.URL.RequestURI(), "/api/"))
	}
	return s.issued[tokenOf(r)]
}

func tokenOf(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (s *service) issue(venue string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.issued == nil {
		s.issued = map[string]string{}
	}
	token := fmt.Sprintf("token-%d-PLANTED", len(s.issued))
	s.issued[token] = venue
	return token
}

// forget drops all tokens, as a restart of a service does.
func (s *service) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.issued)
}

// calls are the requests since the last time, and tokens how many were wanted.
func (s *service) calls() (calls string, tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls, tokens = strings.Join(s.asked, " "), len(s.wanted)
	s.asked, s.wanted = nil, nil
	return calls, tokens
}

func or(f, g http.HandlerFunc) http.HandlerFunc {
	if f != nil {
		return f
	}
	return g
}

// say answers with JSON.
func say(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contract.ContentType)
		_, _ = w.Write([]byte(body))
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// envelope wraps a list of these records, which are JSON.
func envelope(count int, records ...string) string {
	return fmt.Sprintf(`{"records":[%s],"length":%d,"status":"SUCCESS","count":%d}`, strings.Join(records, ","),
		len(records), count)
}

// pages answers with pages of employees, each under the cursor that names it; "" is the first. A line in front is a
// header.
func pages(p map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		page := p[r.URL.Query().Get("cursor")]
		if header, body, ok := strings.Cut(page, "\n"); ok {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Set(name, value)
			page = body
		}
		say(page)(w, r)
	}
}

// inMemory sends requests to a handler without a network, so that it works in a bubble.
type inMemory struct{ http.Handler }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
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

// overPipe is a real HTTP server and client without a network.
func overPipe(t *testing.T, h http.Handler) http.RoundTripper {
	l := virtual.NewNetwork()
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(l) }()
	tr := &http.Transport{DialContext: l.Dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = srv.Close()
	})
	return tr
}

// client asks h, with the defaults of the configuration where o has nothing.
func client(h http.Handler, o Options) *Client {
	o.BaseURL = cmp.Or(o.BaseURL, "http://localhost/api/")
	o.ClientID = cmp.Or(o.ClientID, "kitchen")
	if o.Secret == nil {
		o.Secret = func() (string, error) { return theSecret, nil }
	}
	t := &o.Token
	t.Path, o.Me.Path = cmp.Or(t.Path, contract.PathToken), cmp.Or(o.Me.Path, contract.PathMe)
	t.VenueParam = cmp.Or(t.VenueParam, contract.ParamTokenVenue)
	t.ClientIDParam = cmp.Or(t.ClientIDParam, contract.ParamClientID)
	t.ClientSecretParam = cmp.Or(t.ClientSecretParam, contract.ParamClientSecret)
	t.Field = cmp.Or(t.Field, contract.FieldAccessToken)
	o.Payroll.VenueParam = cmp.Or(o.Payroll.VenueParam, contract.ParamPayrollVenue)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	if h != nil {
		o.Transport = inMemory{h}
	}
	return New(o)
}

// venue is harbour, confirmed by the service.
func venue(t testing.TB, h http.Handler, o Options) *Account {
	t.Helper()
	v, err := client(h, o).Venue(t.Context(), harbour)
	assert.NoError(t, err)
	return v
}

// names are the names of the venue's employees, as far as they come.
func names(t testing.TB, v *Account) (got []string, err error) {
	all, err := collect(v.Employees(t.Context()))
	for _, e := range all {
		got = append(got, e.Name)
	}
	return got, err
}

// collect returns what comes before an error.
func collect[T any](list iter.Seq2[T, error]) (all []T, err error) {
	for one, err := range list {
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
	return all, nil
}

// wantError checks the text of an error behind the call and the venue.
func wantError(t testing.TB, err error, call string, parts ...string) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	missing := func(part string) bool { return !strings.Contains(err.Error(), part) }
	if !ok || e.Call != call || e.Venue != harbour || e.Advice == "" || slices.ContainsFunc(parts, missing) {
		t.Errorf("the error is %v, want %s with %q", err, call, parts)
		return &Error{}
	}
	assert.True(t, !strings.Contains(err.Error(), "PLANTED") && !strings.Contains(err.Error(), theSecret),
		"the error shows a secret", err)
	return e
}
