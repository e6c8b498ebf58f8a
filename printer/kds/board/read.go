package board

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Snapshot is a whole board at one moment.
type Snapshot struct {
	ID      string  `json:"id"` // names this state; opaque to pages
	Run     string  `json:"run"`
	Seq     uint64  `json:"seq"`
	Now     int64   `json:"now"` // milliseconds since 1970 by the server's clock
	Station string  `json:"station"`
	Open    []*Card `json:"open"`   // in place
	Recall  []*Card `json:"recall"` // the latest first
}

// An Event is one change of a board or an expo.
type Event struct {
	ID   string `json:"id"` // of the state after the change
	Seq  uint64 `json:"seq"`
	Kind string `json:"kind"` // "card", "forget"; of an expo: "order", "forget_order"
	Job  uint64 `json:"job,omitempty"`
	Card *Card  `json:"card,omitempty"`
	// Order is the key of an order, View is the order as it is now.
	Order string `json:"order,omitempty"`
	View  *Order `json:"view,omitempty"`

	json []byte
}

// JSON is the encoded event. It is encoded once for all pages and must not be modified.
func (e Event) JSON() []byte { return e.json }

// Snapshot returns the board as it is now.
func (b *Board) Snapshot() Snapshot {
	b.mu.RLock()
	defer b.mu.RUnlock()
	now := time.Now()
	s := Snapshot{
		ID: stateID(b.run, b.history.seq), Run: b.run, Seq: b.history.seq, Now: now.UnixMilli(), Station: b.o.Station,
		Open: b.open(), Recall: []*Card{},
	}
	// A card that can no longer be recalled is deleted with the next change, so it may still be
	// here.
	for _, e := range b.notOpen() {
		if len(s.Recall) < b.o.RecallKeep && b.recallable(e, now) {
			s.Recall = append(s.Recall, e.card)
		}
	}
	return s
}

// open returns the open cards, sorted by place. mu is held.
func (b *Board) open() []*Card {
	cards := []*Card{}
	for _, e := range b.cards {
		if e.card.State == Open {
			cards = append(cards, e.card)
		}
	}
	slices.SortFunc(cards, func(x, y *Card) int { return compareTwo(x.Place, y.Place, x.Job, y.Job) })
	return cards
}

// Card returns one card, open or not.
func (b *Board) Card(job uint64) (*Card, bool) {
	e := b.get(job)
	if e == nil {
		return nil, false
	}
	return e.card, true
}

// At returns the ID of the current state.
func (b *Board) At() string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return stateID(b.run, b.history.seq)
}

// OpenCount returns how many tickets are open and when the oldest of them was received; zero if none is
// open.
func (b *Board) OpenCount() (open int, oldest time.Time) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, e := range b.cards {
		if e.card.State != Open {
			continue
		}
		open++
		// A ticket without a time of receipt counts from when it came to the board.
		at := time.UnixMilli(e.card.PutAt)
		if e.card.Received > 0 {
			at = time.UnixMilli(e.card.Received)
		}
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return open, oldest
}

// Since returns the events after the state of that id. False means that it cannot: the id is of
// another run, too old, or malformed; the caller takes a snapshot. The events must not be modified.
func (b *Board) Since(id string) ([]Event, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.history.since(b.run, id)
}

// Changed returns a channel that is closed at the next change. Call it before reading the board, or
// a change between the two is missed.
func (b *Board) Changed() <-chan struct{} {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.changed
}

// A history is the latest events, for pages that reconnect. It keeps at most keep events and about
// maxHistoryBytes of JSON; when one limit is reached, the older half is dropped, so that copying is
// rare.
type history struct {
	keep   int
	seq    uint64
	events []Event
	bytes  int // of their JSON
}

// maxHistoryBytes bounds what large tickets make a history cost. Each board has one.
const maxHistoryBytes = 256 << 10

// add gives the event the next sequence number and appends it. The owner's mu is held.
func (l *history) add(run string, e Event) {
	l.seq++
	e.Seq, e.ID = l.seq, stateID(run, l.seq)
	// Strings, numbers and booleans: it cannot fail.
	e.json, _ = json.Marshal(e)
	for len(l.events) > 0 && (len(l.events) >= l.keep || l.bytes > maxHistoryBytes) {
		l.events = slices.Clone(l.events[(len(l.events)+1)/2:]) // a copy: callers of since may still read the old slice
		l.bytes = 0
		for _, old := range l.events {
			l.bytes += len(old.json)
		}
	}
	l.events, l.bytes = append(l.events, e), l.bytes+len(e.json)
}

// since returns the events after id; false if the id is of another run, unknown, or no longer
// covered.
func (l *history) since(run, id string) ([]Event, bool) {
	was, number, _ := strings.Cut(id, ".")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil || was != run || seq > l.seq || l.seq-seq > uint64(len(l.events)) {
		return nil, false
	}
	return slices.Clip(l.events[len(l.events)-int(l.seq-seq):]), true
}
