// Package sim simulates the point-of-sale service in memory, for tests, for demos, and for
// anyone who writes an integration, in any language. The real service has no sandbox: without
// this package the first test of an integration would be a restaurant's evening.
//
// It has three parts. [Service] answers the API that an integrator calls: tokens, /me,
// employees and payroll periods. It fails on request ([Fault]). [Sender] posts print requests
// ([Orders]) to an integrator's webhook and follows the service's rules for the answer. [Check]
// tests whether a webhook meets the contract.
//
// Where the contract says nothing, the behaviour was chosen here. Do not rely on the real
// service to behave the same way. Nothing of this package ships with the daemon.
package sim

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"ticketrail/receiver/contract"
)

// A Call names one endpoint of the service.
type Call string

// The calls. Their values are the names that [ParseFault] reads.
const (
	CallToken          Call = "token"
	CallMe             Call = "me"
	CallEmployees      Call = "employees"
	CallPayrollPeriods Call = "payrollperiods"
)

// Options of a [Service]. Without ClientID, ClientSecret and at least one venue it refuses every
// request.
type Options struct {
	// Prefix is put before every path, for example /api; LaborPrefix between it and the paths of the labor
	// calls. They begin with a slash and end without one. Default: none.
	Prefix, LaborPrefix string
	// CursorAt is where a page of employees names the next one: a dotted path into the envelope, or
	// "header:" and a name. Default: [contract.FieldNextCursor].
	CursorAt string
	// MaxLimit is the largest page of employees; a larger limit is reduced to it. Default: 100.
	MaxLimit int
	// ClientID and ClientSecret are the credentials of the integrator.
	ClientID, ClientSecret string
	// Venues are those that the integrator may get a token for.
	Venues []Restaurant
	// Seed determines the employees and all ids. Tokens are random: a test must not be able to guess one.
	Seed uint64
	// Faults are active from the start; see [Service.Fault].
	Faults []Fault
	// Logger gets one line for each request. Default: none.
	Logger *slog.Logger
}

// A Restaurant is a venue of the service.
type Restaurant struct {
	ID string // UUID
	// Scopes of its tokens. Default (nil): those that the contract names, and labor:read.
	Scopes []string
	// Employees is how many employees it has at the start; see [Staff].
	Employees int
	// Zone is the time zone that its payroll periods name. It is not checked, so that a test can
	// send a zone that does not exist. Default: Australia/Melbourne.
	Zone string

	gone int // how many have left: its employees are those with a number from gone to Employees
}

// scopeLabor is not in the contract, which does not state which call needs which scope. The labor endpoints require it.
const scopeLabor = "labor:read"

// DefaultZone is the default of [Restaurant.Zone].
const DefaultZone = "Australia/Melbourne"

// A Service answers the API. It is safe for concurrent use.
type Service struct {
	o         Options
	log       *slog.Logger
	endpoints map[string]endpoint
	venues    map[string]*Restaurant // by canonical id; the map never changes

	mu     sync.Mutex       // guards the fields below, and who works at each venue
	tokens map[string]grant // by token
	faults []*Fault
}

// New makes a service. It checks nothing: a test may want a venue with a wrong id or zone.
func New(o Options) *Service {
	o.CursorAt = cmp.Or(o.CursorAt, contract.FieldNextCursor)
	o.MaxLimit = cmp.Or(o.MaxLimit, 100)

	service := &Service{
		o: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)).With("component", "sim"),
		endpoints: endpoints(o.Prefix, o.LaborPrefix), venues: map[string]*Restaurant{}, tokens: map[string]grant{},
	}

	for _, v := range o.Venues {
		v.ID, _ = contract.CanonicalID(v.ID)
		v.Zone = cmp.Or(v.Zone, DefaultZone)
		if v.Scopes == nil {
			v.Scopes = []string{"checks:read", scopeLabor, "menu:read"}
		}
		service.venues[v.ID] = &v
	}

	for _, f := range o.Faults {
		service.Fault(f)
	}

	return service
}

// Handler serves the API below [Options.Prefix].
func (s *Service) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// An endpoint says how a call is answered.
type endpoint struct {
	call   Call
	method string
	answer func(*exchange)
}

// endpoints are the calls by their paths. The match is exact, so that a client which loses or doubles the prefix is
// noticed.
func endpoints(prefix, labor string) map[string]endpoint {
	const get = http.MethodGet
	return map[string]endpoint{
		prefix + contract.PathToken:                  {CallToken, http.MethodPost, (*exchange).token},
		prefix + contract.PathMe:                     {CallMe, get, (*exchange).me},
		prefix + labor + contract.PathEmployees:      {CallEmployees, get, (*exchange).employees},
		prefix + labor + contract.PathPayrollPeriods: {CallPayrollPeriods, get, (*exchange).payrollPeriods},
	}
}

// serve answers one request: let faults act, answer, let faults change the answer, send it.
//
// A fault is chosen before the request is checked: a service that is down answers 500 to a wrong
// request too.
func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	x := &exchange{s: s, r: r, began: time.Now(), header: w.Header()}
	endpoint, ok := s.endpoints[r.URL.Path]
	if !ok {
		x.refuse(http.StatusNotFound, "not_found", "there is no such endpoint; paths begin with "+s.o.Prefix+"/")
		x.write(w)
		return
	}

	s.mu.Lock()
	x.faults = s.faultsOf(endpoint.call)
	s.mu.Unlock()

	x.readBody()
	if !x.applyRequestFaults() {
		return // the caller has hung up
	}

	switch {
	case x.status != 0: // a fault has set the answer
	case r.Method != endpoint.method:
		x.header.Set("Allow", endpoint.method)
		x.refuse(http.StatusMethodNotAllowed, "method_not_allowed", "only "+endpoint.method+" is allowed")
	default:
		endpoint.answer(x)
	}

	x.applyAnswerFaults()
	// Before the answer is sent, so that a client that has its answer finds the line.
	s.log.Info("answered", "call", endpoint.call, "status", x.status, "venue", x.venue, "faults", x.faults, "took",
		time.Since(x.began))
	x.write(w)
}
