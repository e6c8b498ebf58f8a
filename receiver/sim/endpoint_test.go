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

// A kitchen is an endpoint as the contract wants it. Its functions make it wrong, one at a
// time; each may answer (true: it did).
type testEndpoint struct {
	silent                      bool // does not say what is a duplicate
	sparing                     bool // does not say what is none
	short                       int  // of an id that many bytes are looked at; 0: all
	noVenue, badVenue, noDevice int  // statuses of these
	notJSON, notRequest, done   int
	duplicate                   int                                                           // status of a duplicate
	before                      func(w answer, r *http.Request) bool                          // the headers are not looked at yet
	opened                      func(w answer, _ *http.Request, p contract.PrintRequest) bool // the request is known to be right
	mode                        contract.Mode
	forget                      func(p contract.PrintRequest) bool // a duplicate it does not notice
	early                       bool                               // the id is remembered before anything is checked
	lock                        time.Duration                      // one order at a time, each takes this long

	mu   sync.Mutex
	seen map[string]bool
	slow chan struct{}
}

type answer = http.ResponseWriter

func newTestEndpoint() *testEndpoint {
	return &testEndpoint{noVenue: 401, badVenue: 403, noDevice: 401, notJSON: 400, notRequest: 400, done: 200, duplicate: 200, seen: map[string]bool{}, slow: make(chan struct{}, 1)}
}

func (e *testEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if e.early {
		if p, err := contract.Open(body, e.mode); err == nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.seen[p.ID] {
				e.say(w, e.duplicate, true)
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
	case !there && e.noVenue != 200:
		w.WriteHeader(e.noVenue)
		return
	case there && venueID != venueA && venueID != venueB && e.badVenue != 200:
		w.WriteHeader(e.badVenue)
		return
	case r.Header.Get(contract.HeaderDevice) == "" && e.noDevice != 200:
		w.WriteHeader(e.noDevice)
		return
	}
	p, err := contract.Open(body, e.mode)
	if err != nil {
		if _, ok := errors.AsType[*contract.InvalidJSON](err); ok {
			w.WriteHeader(e.notJSON)
		} else {
			w.WriteHeader(e.notRequest)
		}
		return
	}
	if e.short > 0 {
		p.ID = p.ID[:min(e.short, len(p.ID))]
	}
	if e.opened != nil && e.opened(w, r, p) {
		return
	}
	e.put(w, p)
}

func (e *testEndpoint) put(w http.ResponseWriter, p contract.PrintRequest) {
	if e.lock > 0 {
		e.slow <- struct{}{} // a mutex would stop the bubble's clock
		time.Sleep(e.lock)
		<-e.slow
	}
	if !e.early {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.seen[p.ID] && (e.forget == nil || !e.forget(p)) {
			e.say(w, e.duplicate, true)
			return
		}
		e.seen[p.ID] = true
	}
	e.say(w, e.done, false)
}

func (e *testEndpoint) say(w http.ResponseWriter, status int, duplicate bool) {
	w.WriteHeader(status)
	if !e.silent && (duplicate || !e.sparing) {
		fmt.Fprintf(w, `{"status":"SUCCESS","duplicate":%t}`, duplicate)
	}
}

// racing looks first and remembers later.
func racing(e *testEndpoint) {
	e.opened = func(w answer, _ *http.Request, p contract.PrintRequest) bool {
		known := e.knows(p)
		time.Sleep(50 * time.Millisecond)
		e.mu.Lock()
		e.seen[p.ID] = true
		e.mu.Unlock()
		e.say(w, 200, known)
		return true
	}
}

// byContent takes the same dishes for the same order.
func byContent(e *testEndpoint) {
	e.opened = func(w answer, _ *http.Request, p contract.PrintRequest) bool {
		key := string(encode(p.Records[0].Fields["items"])) + fmt.Sprint(p.Records[0].Fields["checkId"])
		e.mu.Lock()
		defer e.mu.Unlock()
		dup := e.seen[key]
		e.seen[key] = true
		e.say(w, 200, dup)
		return true
	}
}

// busy refuses a load.
func busy(e *testEndpoint) {
	var n atomic.Int32
	e.opened = answers(http.StatusTooManyRequests, func(contract.PrintRequest) bool { return n.Add(1) > 70 })
}

// locked never gets over a caller that has gone.
func locked(e *testEndpoint) {
	var mu sync.Mutex
	working := map[string]bool{}
	e.opened = func(w answer, r *http.Request, p contract.PrintRequest) bool {
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
