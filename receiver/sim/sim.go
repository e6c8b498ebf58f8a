// Package sim is the point-of-sale service in memory: what stands on the other side of a
// kitchen's network cable, for tests, demos and whoever writes an integration in any
// language. The real service has no sandbox.
//
// It has three faces. [Service] answers the API that an integrator calls: tokens, /me,
// employees, payroll periods, and goes wrong on request ([Fault]). [Sender] posts print
// requests ([Orders]) to an integrator's webhook and obeys the service's rules for the answer.
// [Check] finds out whether a webhook is what the contract asks for.
//
// What the contract does not show is decided here, and not to be taken for what the real
// service does. Nothing of it ships with the daemon.
package sim

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"ticketrail/receiver/contract"
)

// Call is one of the service's endpoints.
type Call string

// The calls, by the names that [ParseFault] knows.
const (
	CallToken          Call = "token"
	CallMe             Call = "me"
	CallEmployees      Call = "employees"
	CallPayrollPeriods Call = "payrollperiods"
)

// Calls lists them.
func Calls() []Call { return []Call{CallToken, CallMe, CallEmployees, CallPayrollPeriods} }

// Options of a [Service]. ClientID, ClientSecret and at least one venue are needed for anything
// but refusals.
type Options struct {
	// Prefix stands before every path, as /api. Default: none.
	Prefix string
	// ClientID and ClientSecret are the integrator's.
	ClientID, ClientSecret string
	// Venues are those the integrator may ask for.
	Venues []Venue
	// TokenTTL is how long a token lives, in whole seconds. Default 15 minutes.
	TokenTTL time.Duration
	// Seed decides who works where, all ids but those of tokens, and when faults strike.
	Seed uint64
	// Faults are there from the start; see [Service.Fault].
	Faults []Fault
	// Logger gets a line for each request. Default: none.
	Logger *slog.Logger
}

// Venue is a restaurant.
type Venue struct {
	ID string // UUID
	// Scopes its tokens carry. Default (nil): all of [Scopes].
	Scopes []string
	// Employees is how many work there at first; see [Staff].
	Employees int
	// Zone is what its payroll periods say, even if there is no such zone. Default
	// Australia/Melbourne.
	Zone string
}

// Scopes are what a token carries unless its venue says otherwise.
func Scopes() []string {
	return []string{contract.ScopeChecksRead, contract.ScopeLaborRead, contract.ScopeMenuRead}
}

// DefaultZone is that of a [Venue].
const DefaultZone = "Australia/Melbourne"

// A Service answers the API. It is safe for concurrent use.
type Service struct {
	o      Options
	log    *slog.Logger
	venues map[string]*venue // by canonical id; the map never changes

	mu       sync.Mutex       // guards what follows, and who works at the venues
	tokens   map[string]grant // by token
	requests map[Call]int     // that came, faults included
	faults   []*fault
}

// venue is a restaurant and who works there now.
type venue struct {
	Venue
	staff roster
}

// New makes a service. It cannot fail: a venue that makes no sense is served as it is.
func New(o Options) *Service {
	o.Prefix = "/" + strings.Trim(o.Prefix, "/")
	if o.Prefix == "/" {
		o.Prefix = ""
	}
	o.TokenTTL = cmp.Or(o.TokenTTL, contract.TokenLifetime)
	s := &Service{
		o: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)).With("component", "sim"),
		venues: map[string]*venue{}, tokens: map[string]grant{}, requests: map[Call]int{},
	}
	for _, v := range o.Venues {
		v.ID, _ = contract.CanonicalID(v.ID)
		v.Zone = cmp.Or(v.Zone, DefaultZone)
		if v.Scopes == nil {
			v.Scopes = Scopes()
		}
		s.venues[v.ID] = &venue{Venue: v, staff: newRoster(o.Seed, v.ID, v.Employees)}
	}
	for _, f := range o.Faults {
		s.Fault(f)
	}
	return s
}

// Requests is how often a call was made, whatever became of it.
func (s *Service) Requests(c Call) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[c]
}

// Handler answers the API below the prefix.
func (s *Service) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// endpoint is what answers a call.
type endpoint struct {
	call   Call
	method string
	answer func(*exchange)
}

func (s *Service) endpoint(path string) (endpoint, bool) {
	below, ok := strings.CutPrefix(path, s.o.Prefix)
	if !ok {
		return endpoint{}, false
	}
	switch below {
	case contract.PathToken:
		return endpoint{CallToken, http.MethodPost, (*exchange).token}, true
	case contract.PathMe:
		return endpoint{CallMe, http.MethodGet, (*exchange).me}, true
	case contract.PathEmployees:
		return endpoint{CallEmployees, http.MethodGet, (*exchange).employees}, true
	case contract.PathPayrollPeriods:
		return endpoint{CallPayrollPeriods, http.MethodGet, (*exchange).payrollPeriods}, true
	}
	return endpoint{}, false
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	x := &exchange{s: s, r: r, began: time.Now(), header: http.Header{}}
	e, ok := s.endpoint(r.URL.Path)
	if !ok {
		x.refuse(http.StatusNotFound, "not_found", "nothing is here; the paths begin with "+s.o.Prefix+"/")
		x.write(w)
		return
	}
	s.mu.Lock()
	s.requests[e.call]++
	x.faults = s.faultsOf(e.call)
	s.mu.Unlock()
	x.readBody(r)
	if !x.applyRequestFaults() {
		return // the caller is gone
	}
	switch {
	case x.status != 0: // a fault answered
	case r.Method != e.method:
		x.header.Set("Allow", e.method)
		x.refuse(http.StatusMethodNotAllowed, "method_not_allowed", "only "+e.method+" is answered here")
	default:
		e.answer(x)
	}
	x.applyAnswerFaults()
	s.log.Info("answered", "call", e.call, "status", x.status, "venue", x.venue, "faults", x.faults, "took", time.Since(x.began))
	x.write(w)
}
