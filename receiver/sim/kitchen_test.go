package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ticketrail/receiver/contract"
)

// A kitchen is an integration in memory, an endpoint and its printer, as the contract requires. Its fields
// make it wrong, one at a time. before and opened return the status of the answer; 0: none yet.
type kitchen struct {
	silent         bool // its answers have no field "duplicate"
	duplicatesOnly bool // only its answers to duplicates have that field
	storesFirst    bool // it stores the id before it checks the request

	// The statuses it answers with; 200 for a mistake: it does not see it.
	noVenue, unknown, noDevice, notJSON, mismatch, done, duplicate int

	before func(*http.Request) int                        // called before it checks the headers
	opened func(*http.Request, contract.PrintRequest) int // called when the request is correct
	key    func(contract.PrintRequest) string             // it deduplicates by; "": nothing

	sees time.Duration // between the look-up of a key and storing it

	burst int // how many orders the check sends at once

	// The printer.
	store     func(p contract.PrintRequest) // puts it into the queue
	stores    time.Duration                 // after the answer
	unreached func()                        // called when the printer is off
	waits     bool                          // it answers when it has printed
	slip      layout
	split     bool // each record on a slip of its own; else one slip

	life atomic.Int64 // how often it was started

	mu    sync.Mutex // guards the fields below
	seen  map[string]bool
	queue []contract.PrintRequest
	slips []Slip
	off   bool
}

func newKitchen() *kitchen {
	k := &kitchen{
		noVenue: 401, unknown: 403, noDevice: 401, notJSON: 400, mismatch: 400, done: 200, duplicate: 200,
		seen: map[string]bool{}, key: func(p contract.PrintRequest) string { return p.ID }, split: true, burst: 60,
		slip: layout{depth: 99, items: 999, width: 30, voidWord: "VOID"}, unreached: func() {},
		before: func(*http.Request) int { return 0 },
		opened: func(*http.Request, contract.PrintRequest) int { return 0 },
	}
	k.store = func(p contract.PrintRequest) { k.queue = append(k.queue, p) }
	return k
}

func (k *kitchen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p, err := contract.Open(body, contract.Lenient)
	if err == nil && k.storesFirst {
		defer k.remember(p)
	}
	status := cmp.Or(k.before(r), k.ofHeaders(r))
	if _, ok := errors.AsType[*contract.InvalidJSON](err); ok {
		status = cmp.Or(status, k.notJSON)
	}
	if err != nil {
		status = cmp.Or(status, k.mismatch)
	}
	if status == 0 {
		status = k.opened(r, p)
	}
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	k.accept(w, r, p)
}

// ofHeaders is the status for headers that are wrong.
func (k *kitchen) ofHeaders(r *http.Request) int {
	venueID, _ := contract.CanonicalID(r.Header.Get(contract.HeaderVenue))
	switch _, there := r.Header[http.CanonicalHeaderKey(contract.HeaderVenue)]; {
	case r.Method != http.MethodPost:
		return 405
	case !there && k.noVenue != 200:
		return k.noVenue
	case venueID != venueA && venueID != venueB && k.unknown != 200:
		return k.unknown
	case r.Header.Get(contract.HeaderDevice) == "" && k.noDevice != 200:
		return k.noDevice
	}
	return 0
}

func (k *kitchen) accept(w http.ResponseWriter, r *http.Request, p contract.PrintRequest) {
	known := k.knows(p)
	if k.sees > 0 {
		time.Sleep(k.sees)
	} else {
		known = k.remember(p)
	}
	if known {
		k.answer(w, k.duplicate, true)
		return
	}

	k.remember(p)
	for k.waits && k.isOff() {
		time.Sleep(100 * time.Millisecond)
		if r.Context().Err() != nil {
			return
		}
	}
	if k.stores == 0 {
		k.print(p)
	} else {
		life := k.life.Load()
		time.AfterFunc(k.stores, func() {
			if life == k.life.Load() {
				k.print(p)
			}
		})
	}
	k.answer(w, k.done, false)
}

func (k *kitchen) answer(w http.ResponseWriter, status int, duplicate bool) {
	w.WriteHeader(status)
	if !k.silent && (duplicate || !k.duplicatesOnly) {
		fmt.Fprintf(w, `{"status":"SUCCESS","duplicate":%t}`, duplicate)
	}
}

func (k *kitchen) knows(p contract.PrintRequest) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.seen[k.key(p)]
}

// remember says whether the key was known.
func (k *kitchen) remember(p contract.PrintRequest) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := k.key(p)
	was := k.seen[key]
	k.seen[key] = key != ""
	return was
}

func (k *kitchen) isOff() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.off
}

// print stores a request and prints the waiting ones, unless the printer is off.
func (k *kitchen) print(p contract.PrintRequest) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.store(p)
	k.work()
}

func (k *kitchen) work() {
	if k.off {
		k.unreached()
		return
	}
	for _, p := range k.queue {
		var texts []string
		request, _ := decode(p.Raw)
		records := request[contract.FieldRecords].([]any)
		for i, r := range records {
			switch record := r.(map[string]any); {
			case i > 0 && k.slip.firstRecord:
				continue
			case k.slip.merges:
				record[fieldNumber] = records[0].(map[string]any)[fieldNumber]
			}
			texts = append(texts, k.slip.record(r.(map[string]any)))
		}
		if !k.split {
			texts = []string{strings.Join(texts, "")}
		}
		for _, t := range texts {
			s := Slip{Text: t}
			if k.slip.draws && !ascii(t) {
				s.Pictures, s.Text = t, ascii7(t, "")
			}
			k.slips = append(k.slips, s)
		}
	}
	k.queue = nil
}

// output is the printer of the kitchen.
func (k *kitchen) output() *Output {
	off := func(on bool) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.off = on
		k.work()
		return nil
	}
	return &Output{Off: off, Stall: off, Slips: func(context.Context) ([]Slip, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return slices.Clone(k.slips), nil
	}}
}

// restart kills it; its stored requests remain.
func (k *kitchen) restart(context.Context) error { k.life.Add(1); return nil }

// A layout writes tickets. Each field is a way to write a wrong one, if it is not as in newKitchen.
type layout struct {
	depth, items, width int // the most levels, items and columns; width breaks lines, and cut cuts them
	cut                 int
	tooBig              int // from so many items on it writes that there are too many

	firstRecord, merges                           bool
	noNotes, noVoids, noChildren, noQuantity      bool
	one, wrongNumber, childrenFirst               bool
	oneBelow, noNotesBelow                        bool // of modifiers
	twice                                         bool // it writes each item twice
	latin, loud, draws, firstWins, after, bullets bool
	marks                                         bool // it writes the word for a void on each line of a name
	voidWord                                      string
}

func (l layout) record(r map[string]any) string {
	number := fmt.Sprint(r[fieldNumber])
	if l.wrongNumber {
		number = "1" + number
	}
	lines := []string{"KITCHEN", fmt.Sprintf("#%s  table %v", number, r["checkName"])}
	items, _ := r[fieldItems].([]any)
	if l.tooBig > 0 && len(items) > l.tooBig {
		return strings.Join(append(lines, "order too big, see the till", ""), "\n")
	}
	for _, it := range items[:min(len(items), l.items)] {
		own, children := l.item(it.(map[string]any), 0)
		if l.childrenFirst {
			own, children = children, own
		}
		lines = append(append(lines, own...), children...)
		if l.twice {
			lines = append(append(lines, own...), children...)
		}
	}
	text := strings.Join(append(lines, "", ""), "\n")
	if l.loud {
		text = strings.ToUpper(text)
	}
	if l.latin {
		text = ascii7(text, "?")
	}
	return text
}

// item returns the lines of an item and of its modifiers.
func (l layout) item(it map[string]any, depth int) (own, children []string) {
	void, _ := it[contract.FieldIsVoid].(bool)
	if void && l.noVoids {
		return nil, nil
	}
	name, quantity := fmt.Sprint(it["name"]), fmt.Sprint(it["quantity"])
	if upper, ok := it["NAME"]; ok && l.firstWins {
		name = fmt.Sprint(upper)
	}
	if l.cut > 0 {
		name = string([]rune(name)[:min(len([]rune(name)), l.cut)])
	}
	if l.one || l.oneBelow && depth > 0 {
		quantity = "1"
	}
	line := quantity + "x " + name
	switch {
	case l.noQuantity:
		line = name
	case l.after:
		line = name + " .... " + quantity
	case l.bullets:
		line = "- " + line
	}
	if void && l.voidWord != "" && !l.marks {
		own = append(own, l.voidWord)
	}
	for first := true; len(line) > 0; first = false {
		r := []rune(line)
		n := min(len(r), l.width)
		part := strings.Repeat(" ", 2*depth) + string(r[:n])
		if !first {
			part = "   " + part
		}
		if void && l.marks {
			part = l.voidWord + " " + part
		}
		own, line = append(own, part), string(r[n:])
	}
	if note, _ := it["note"].(string); note != "" && !l.noNotes && !(l.noNotesBelow && depth > 0) {
		own = append(own, "  ! "+note)
	}
	below, _ := it[fieldChildren].([]any)
	for _, c := range below {
		if depth+1 <= l.depth && !l.noChildren {
			a, b := l.item(c.(map[string]any), depth+1)
			children = append(append(children, a...), b...)
		}
	}
	return own, children
}

// ascii7 replaces other characters than ASCII.
func ascii7(s, by string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 128 {
			b.WriteRune(r)
		} else {
			b.WriteString(by)
		}
	}
	return b.String()
}
