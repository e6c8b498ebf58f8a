package sim

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"ticketrail/receiver/contract"
)

// A testEndpoint is an endpoint that does what the contract requires. Its fields make it wrong, one
// at a time. The functions before and opened may answer, and then return true.
type testEndpoint struct {
	silent         bool // its answers have no field "duplicate"
	duplicatesOnly bool // only its answers to duplicates have that field
	idBytes        int  // how many bytes of an id it compares; 0: all
	storesFirst    bool // it stores the id before it checks the request
	mode           contract.Mode
	takes          time.Duration // it accepts one order at a time, and each takes this long

	// The statuses it answers with; 200 for what is wrong: it takes it for right.
	noVenue, unknown, noDevice, notJSON, mismatch, done, duplicate int

	before func(w writer, r *http.Request) bool                          // called before it checks the headers
	opened func(w writer, _ *http.Request, p contract.PrintRequest) bool // called when the request is correct
	forget func(p contract.PrintRequest) bool                            // it takes this duplicate for new

	mu      sync.Mutex
	seen    map[string]bool
	came    []string // the bodies of the orders that were new: its tickets
	one     chan struct{}
	crashed int
}

type writer = http.ResponseWriter

func newTestEndpoint() *testEndpoint {
	return &testEndpoint{
		noVenue: 401, unknown: 403, noDevice: 401, notJSON: 400, mismatch: 400, done: 200, duplicate: 200,
		seen: map[string]bool{}, one: make(chan struct{}, 1),
	}
}

func (e *testEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if e.storesFirst {
		if p, err := contract.Open(body, e.mode); err == nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.seen[p.ID] {
				e.answer(w, e.duplicate, true)
				return
			}
			e.seen[p.ID] = true
		}
	}
	if e.before != nil && e.before(w, r) {
		return
	}
	venueID, _ := contract.CanonicalID(r.Header.Get(contract.HeaderVenue))
	switch _, there := r.Header[http.CanonicalHeaderKey(contract.HeaderVenue)]; {
	case r.Method != http.MethodPost:
		w.WriteHeader(405)
		return
	case !there:
		w.WriteHeader(e.noVenue)
		return
	case venueID != venueA && venueID != venueB:
		w.WriteHeader(e.unknown)
		return
	case r.Header.Get(contract.HeaderDevice) == "":
		w.WriteHeader(e.noDevice)
		return
	}
	p, err := contract.Open(body, e.mode)
	if _, ok := errors.AsType[*contract.InvalidJSON](err); ok {
		w.WriteHeader(e.notJSON)
		return
	}
	if err != nil {
		w.WriteHeader(e.mismatch)
		return
	}
	if e.idBytes > 0 {
		p.ID = p.ID[:min(e.idBytes, len(p.ID))]
	}
	if e.opened != nil && e.opened(w, r, p) {
		return
	}
	e.accept(w, p)
}

func (e *testEndpoint) accept(w http.ResponseWriter, p contract.PrintRequest) {
	if e.takes > 0 {
		e.one <- struct{}{} // a mutex does not count as durably blocked: it would stop the bubble's clock
		time.Sleep(e.takes)
		<-e.one
	}
	if !e.storesFirst {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.seen[p.ID] && (e.forget == nil || !e.forget(p)) {
			e.answer(w, e.duplicate, true)
			return
		}
		e.seen[p.ID] = true
		e.came = append(e.came, string(p.Raw))
	}
	e.answer(w, e.done, false)
}

func (e *testEndpoint) answer(w http.ResponseWriter, status int, duplicate bool) {
	w.WriteHeader(status)
	if !e.silent && (duplicate || !e.duplicatesOnly) {
		fmt.Fprintf(w, `{"status":"SUCCESS","duplicate":%t}`, duplicate)
	}
}

func (e *testEndpoint) knows(p contract.PrintRequest) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen[p.ID]
}

// racing looks an id up and stores it later: two at once are both new.
func racing(e *testEndpoint) {
	e.opened = func(w writer, _ *http.Request, p contract.PrintRequest) bool {
		known := e.knows(p)
		time.Sleep(50 * time.Millisecond)
		e.mu.Lock()
		e.seen[p.ID] = true
		e.mu.Unlock()
		e.answer(w, 200, known)
		return true
	}
}

// byContent takes the same items for the same order.
func byContent(e *testEndpoint) {
	e.opened = func(w writer, _ *http.Request, p contract.PrintRequest) bool {
		key := p.Records[0].Fields.Get("items").JSON() + p.Records[0].Fields.Get("checkId").Text()
		e.mu.Lock()
		defer e.mu.Unlock()
		dup := e.seen[key]
		e.seen[key] = true
		e.answer(w, 200, dup)
		return true
	}
}

// busy answers 429 under load.
func busy(e *testEndpoint) {
	var n atomic.Int32
	refuses(http.StatusTooManyRequests, func(contract.PrintRequest) bool { return n.Add(1) > 70 })(e)
}

// locked never accepts an order whose first sender hung up.
func locked(e *testEndpoint) {
	var mu sync.Mutex
	working := map[string]bool{}
	e.opened = func(w writer, r *http.Request, p contract.PrintRequest) bool {
		mu.Lock()
		defer mu.Unlock()
		if working[p.ID] {
			w.WriteHeader(503)
			return true
		}
		working[p.ID] = true
		mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		mu.Lock()
		if r.Context().Err() == nil {
			delete(working, p.ID)
		}
		return false
	}
}
