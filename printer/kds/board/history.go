package board

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Snapshot is all that a screen shows at one moment.
type Snapshot struct {
	ID     string   `json:"id"` // names this state; opaque to pages
	Run    string   `json:"run"`
	Seq    uint64   `json:"seq"`
	Now    int64    `json:"now"`    // milliseconds since 1970 by the server's clock
	Orders []*Order `json:"orders"` // the open ones, in place; of a pass, the oldest first
	Recall []*Order `json:"recall"` // the latest first
}

// An Event is one change of an order on a screen.
type Event struct {
	ID    string `json:"id"` // of the state after the change
	Seq   uint64 `json:"seq"`
	Kind  string `json:"kind"`           // "order", "forget_order"
	Order string `json:"order"`          // its key
	View  *Order `json:"view,omitempty"` // as it is now

	json []byte
}

// JSON is the encoded event. It is encoded once for all pages and must not be modified.
func (e Event) JSON() []byte { return e.json }

// Orders are the orders that the pages of a [Board] or a [Pass] show, with the latest changes. Reading never waits for
// storage, and is safe for concurrent use.
type Orders struct {
	station    string
	run        string
	recallKeep int           // how many orders can be recalled
	recallFor  time.Duration // and for how long
	most       int           // about how many bytes of past events are kept, from which a stream can resume

	// mu guards the fields below. It is held briefly, because every page and every heartbeat reads under it.
	mu      sync.RWMutex
	byKey   map[string]*Order
	seq     uint64
	past    []Event
	bytes   int // of their JSON
	changed chan struct{}
}

func newOrders(station string) *Orders {
	return &Orders{
		// A random name for this opening: sequence numbers begin at 1 each time, so without it an old id
		// would look like one of this run.
		station: station, run: rand.Text()[:12], recallKeep: 50, recallFor: time.Hour, most: 256 << 10,
		byKey: map[string]*Order{}, changed: make(chan struct{}),
	}
}

// set replaces the orders, and records an event for each that changed. An order that is the same keeps its
// value.
func (v *Orders) set(list []*Order) {
	v.mu.Lock()
	defer v.mu.Unlock()

	now := make(map[string]*Order, len(list))
	seq := v.seq
	for _, o := range list {
		was := v.byKey[o.Key]
		if was != nil && (was == o || was.sum == o.sum) {
			now[o.Key] = was
			continue
		}
		now[o.Key] = o
		v.add(Event{Kind: "order", Order: o.Key, View: o})
	}

	for _, key := range slices.Sorted(maps.Keys(v.byKey)) {
		if now[key] == nil {
			v.add(Event{Kind: "forget_order", Order: key})
		}
	}

	if v.byKey = now; v.seq != seq {
		close(v.changed)
		v.changed = make(chan struct{})
	}
}

// add appends an event. When there are too many, the older half is dropped, so that copying is rare. mu is
// held.
func (v *Orders) add(e Event) {
	v.seq++
	e.Seq, e.ID = v.seq, stateID(v.run, v.seq)
	e.json, _ = json.Marshal(e) // strings, numbers and booleans: it cannot fail
	for len(v.past) > 0 && v.bytes > v.most {
		v.past = slices.Clone(v.past[(len(v.past)+1)/2:]) // callers of Since may still read the old slice
		v.bytes = 0
		for _, old := range v.past {
			v.bytes += len(old.json)
		}
	}

	v.past, v.bytes = append(v.past, e), v.bytes+len(e.json)
}

// sumOf is a hash of all that pages show of an order.
func sumOf(o *Order) uint64 {
	body, _ := json.Marshal(o) // as above
	hash := fnv.New64a()
	hash.Write(body)
	return hash.Sum64()
}

// Snapshot returns the orders as they are now.
func (v *Orders) Snapshot() Snapshot {
	v.mu.RLock()
	defer v.mu.RUnlock()

	now := time.Now()
	snap := Snapshot{ID: stateID(v.run, v.seq), Run: v.run, Seq: v.seq, Now: now.UnixMilli(),
		Orders: []*Order{}, Recall: []*Order{}}
	for _, o := range v.byKey {
		switch {
		case o.State == Open:
			snap.Orders = append(snap.Orders, o)
		// It is forgotten with the next change, so it may still be here.
		case now.Sub(time.UnixMilli(o.DepartedAt)) < v.recallFor:
			snap.Recall = append(snap.Recall, o)
		}
	}

	// The key second, so that two orders of one place do not change places from one snapshot to the next.
	slices.SortFunc(snap.Orders, func(a, b *Order) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), strings.Compare(a.Key, b.Key))
	})

	slices.SortFunc(snap.Recall, func(a, b *Order) int {
		return cmp.Or(cmp.Compare(b.Departure, a.Departure), strings.Compare(a.Key, b.Key))
	})

	snap.Recall = snap.Recall[:min(len(snap.Recall), v.recallKeep)]
	return snap
}

// Order returns the order with that key; nil if there is none.
func (v *Orders) Order(key string) *Order {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.byKey[key]
}

// RecallFor is how long an order can be recalled.
func (v *Orders) RecallFor() time.Duration { return v.recallFor }

// At returns the ID of the current state.
func (v *Orders) At() string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return stateID(v.run, v.seq)
}

// Since returns the events after the state of that id. False means that it cannot: the id is of another
// run, too old, or malformed; the caller takes a snapshot. The events must not be modified.
func (v *Orders) Since(id string) ([]Event, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	was, number, _ := strings.Cut(id, ".")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil || was != v.run || seq > v.seq || v.seq-seq > uint64(len(v.past)) {
		return nil, false
	}
	return slices.Clip(v.past[len(v.past)-int(v.seq-seq):]), true
}

// Changed returns a channel that is closed at the next change. Call it before reading, or a change between
// the two is missed.
func (v *Orders) Changed() <-chan struct{} {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.changed
}

// stateID names a state for pages: they compare it and send it back, nothing else.
func stateID(run string, seq uint64) string { return run + "." + strconv.FormatUint(seq, 10) }
