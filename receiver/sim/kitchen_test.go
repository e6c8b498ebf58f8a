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
type kitchen struct {
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

func newKitchen() *kitchen {
	return &kitchen{noVenue: 401, badVenue: 403, noDevice: 401, notJSON: 400, notRequest: 400, done: 200, duplicate: 200, seen: map[string]bool{}, slow: make(chan struct{}, 1)}
}

func (k *kitchen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if k.early {
		if p, err := contract.Open(body, k.mode); err == nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			if k.seen[p.ID] {
				k.say(w, k.duplicate, true)
				return
			}
			k.seen[p.ID] = true
		}
	}
	if k.before != nil && k.before(w, r) {
		return
	}
	venueID, _ := contract.CanonicalID(r.Header.Get(contract.HeaderVenue))
	switch _, there := r.Header[http.CanonicalHeaderKey(contract.HeaderVenue)]; {
	case r.Method != http.MethodPost:
		w.WriteHeader(405)
		return
	case !there && k.noVenue != 200:
		w.WriteHeader(k.noVenue)
		return
	case there && venueID != venueA && venueID != venueB && k.badVenue != 200:
		w.WriteHeader(k.badVenue)
		return
	case r.Header.Get(contract.HeaderDevice) == "" && k.noDevice != 200:
		w.WriteHeader(k.noDevice)
		return
	}
	p, err := contract.Open(body, k.mode)
	if err != nil {
		if _, ok := errors.AsType[*contract.InvalidJSON](err); ok {
			w.WriteHeader(k.notJSON)
		} else {
			w.WriteHeader(k.notRequest)
		}
		return
	}
	if k.short > 0 {
		p.ID = p.ID[:min(k.short, len(p.ID))]
	}
	if k.opened != nil && k.opened(w, r, p) {
		return
	}
	k.put(w, p)
}

func (k *kitchen) put(w http.ResponseWriter, p contract.PrintRequest) {
	if k.lock > 0 {
		k.slow <- struct{}{} // a mutex would stop the bubble's clock
		time.Sleep(k.lock)
		<-k.slow
	}
	if !k.early {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.seen[p.ID] && (k.forget == nil || !k.forget(p)) {
			k.say(w, k.duplicate, true)
			return
		}
		k.seen[p.ID] = true
	}
	k.say(w, k.done, false)
}

func (k *kitchen) say(w http.ResponseWriter, status int, duplicate bool) {
	w.WriteHeader(status)
	if !k.silent && (duplicate || !k.sparing) {
		fmt.Fprintf(w, `{"status":"SUCCESS","duplicate":%t}`, duplicate)
	}
}

// racing looks first and remembers later.
func racing(k *kitchen) {
	k.opened = func(w answer, _ *http.Request, p contract.PrintRequest) bool {
		known := k.knows(p)
		time.Sleep(50 * time.Millisecond)
		k.mu.Lock()
		k.seen[p.ID] = true
		k.mu.Unlock()
		k.say(w, 200, known)
		return true
	}
}

// byContent takes the same dishes for the same order.
func byContent(k *kitchen) {
	k.opened = func(w answer, _ *http.Request, p contract.PrintRequest) bool {
		key := string(encode(p.Records[0].Fields["items"])) + fmt.Sprint(p.Records[0].Fields["checkId"])
		k.mu.Lock()
		defer k.mu.Unlock()
		dup := k.seen[key]
		k.seen[key] = true
		k.say(w, 200, dup)
		return true
	}
}

// busy refuses a load.
func busy(k *kitchen) {
	var n atomic.Int32
	k.opened = answers(http.StatusTooManyRequests, func(contract.PrintRequest) bool { return n.Add(1) > 70 })
}

// locked never gets over a caller that has gone.
func locked(k *kitchen) {
	var mu sync.Mutex
	working := map[string]bool{}
	k.opened = func(w answer, r *http.Request, p contract.PrintRequest) bool {
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
