package kds

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// An Order is what the pass sees of one order: the cards of all its stations. An Order is
// never changed after it was made.
type Order struct {
	Key      string    `json:"key"`     // opaque; a bumped order has another one than an open one
	Version  uint64    `json:"version"` // changes with any of its cards
	State    CardState `json:"state"`   // "open" or "bumped", by the pass
	Off      uint64    `json:"off,omitempty"`
	OffAt    int64     `json:"off_at,omitempty"`
	Number   string    `json:"number,omitempty"`
	Table    string    `json:"table,omitempty"`
	Server   string    `json:"server,omitempty"`
	Type     string    `json:"type,omitempty"`
	Guests   string    `json:"guests,omitempty"`
	Venue    string    `json:"venue,omitempty"`
	Received int64     `json:"received"` // of its oldest card
	Clock    string    `json:"clock,omitempty"`
	// Ready says that every station has bumped its cards.
	Ready     bool           `json:"ready"`
	Stations  []OrderStation `json:"stations"`
	UndoUntil int64          `json:"undo_until,omitempty"`
}

// An OrderStation is one station's part of an order.
type OrderStation struct {
	Station string  `json:"station"`
	Done    bool    `json:"done"`           // it bumped all its cards
	Left    int     `json:"left,omitempty"` // items it has not done
	Cards   []*Card `json:"cards"`          // in place
}

// An ExpoSnapshot is the pass at one moment.
type ExpoSnapshot struct {
	ID      string   `json:"id"`
	Run     string   `json:"run"`
	Seq     uint64   `json:"seq"`
	Now     int64    `json:"now"`
	Station string   `json:"station"`
	Orders  []*Order `json:"orders"` // oldest first
	Recall  []*Order `json:"recall"` // the latest first
}

// ExpoOptions say which boards a pass sees. Station, Shelf and Of are required; all of them
// are opened before the Expo.
type ExpoOptions struct {
	Station string
	Shelf   Shelf  // this pass's alone; not that of its own board
	Own     *Board // of tickets routed to the pass itself; may be nil. What the pass bumps is bumped there
	Of      []*Board
	Logger  *slog.Logger

	RecallKeep, Events int // as of [BoardOptions]
	RecallFor, UndoFor time.Duration
}

// An Expo is the pass: the orders of several boards, and which of them it has sent out. It
// stores only the latter; the rest it reads off the boards, which keep a bumped card
// for as long as the pass needs it, at most 12 hours. It is safe for concurrent use.
type Expo struct {
	o      ExpoOptions
	log    *slog.Logger
	boards []*Board
	run    string

	// write is held over a whole change. Taken inside a board's write, so no board may be changed
	// while it is held.
	write sync.Mutex
	off   uint64
	ends  []func()

	mu      sync.RWMutex // as of [Board]; taken inside a board's mu
	sent    map[uint64]*sending
	last    map[part]*sending // the latest that a ticket was in
	orders  map[string]*Order // as told last
	past    eventLog
	changed chan struct{}
}

// A sending is one bump of the pass, as stored.
type sending struct {
	V     int      `json:"v"`
	Off   uint64   `json:"off"`
	At    int64    `json:"at"`
	Key   string   `json:"key"` // of the open order
	Parts []part   `json:"parts"`
	Back  bool     `json:"back,omitempty"` // it was undone or recalled
	Heard []string `json:"heard"`
}

type part struct {
	Station string `json:"station"`
	Job     uint64 `json:"job"`
}

// OpenExpo reads what the pass has sent out and looks at its boards from then on.
func OpenExpo(ctx context.Context, o ExpoOptions) (*Expo, error) {
	if o.Station == "" || o.Shelf == nil {
		panic("kds.OpenExpo: Options.Station or Options.Shelf is missing")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	orDefault(&o.RecallKeep, 50)
	orDefault(&o.RecallFor, time.Hour)
	orDefault(&o.UndoFor, 10*time.Second)
	orDefault(&o.Events, 1000)
	x := &Expo{
		o: o, log: o.Logger.With("component", "kds", "station", o.Station), run: newRun(),
		sent: map[uint64]*sending{}, last: map[part]*sending{}, orders: map[string]*Order{}, past: eventLog{keep: o.Events}, changed: make(chan struct{}),
	}
	x.boards = slices.Clone(o.Of)
	if o.Own != nil {
		x.boards = append(x.boards, o.Own)
	}
	if err := x.load(); err != nil {
		return nil, fmt.Errorf("open pass %s: %w", o.Station, err)
	}
	for _, b := range x.boards {
		x.ends = append(x.ends, b.watch(&watcher{x.refresh, func(job uint64) bool { return x.needs(b.Station(), job) }}))
	}
	x.refresh()
	for _, s := range x.sent {
		if s.Back { // its own cards may have been bumped since
			continue
		}
		if err := x.follow(ctx, s); err != nil {
			return nil, fmt.Errorf("open pass %s: %w", o.Station, err)
		}
	}
	return x, nil
}

// load reads what was sent out.
func (x *Expo) load() error {
	return x.o.Shelf.All(func(key string, value []byte) bool {
		if !strings.HasPrefix(key, sentPrefix) {
			return true
		}
		s := &sending{}
		if err := json.Unmarshal(value, s); err != nil || s.V != recordVersion {
			x.log.Warn("an order that the pass sent out cannot be read, it shows again", "key", key, "err", err)
			return true
		}
		x.remember(s)
		return true
	})
}

// remember needs mu, once x is known to others.
func (x *Expo) remember(s *sending) {
	x.sent[s.Off], x.off = s, max(x.off, s.Off)
	for _, p := range s.Parts {
		if was := x.last[p]; was == nil || was.Off <= s.Off {
			x.last[p] = s
		}
	}
}

// A watcher is who looks at a board.
type watcher struct {
	changed func()                // called after each change, outside mu
	keep    func(job uint64) bool // asked whether it needs a card that could be forgotten
}

func (b *Board) watch(w *watcher) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watched = append(slices.Clip(b.watched), w)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.watched = slices.DeleteFunc(slices.Clone(b.watched), func(o *watcher) bool { return o == w })
	}
}

// Close ends the looking at the boards: another Expo may be opened instead. It may be called
// more than once.
func (x *Expo) Close() {
	x.write.Lock()
	defer x.write.Unlock()
	for _, end := range x.ends {
		end()
	}
	x.ends = nil
}

// needs says that the pass has a ticket, or can have it back.
func (x *Expo) needs(station string, job uint64) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.last[part{station, job}]
	return s == nil || s.Back || time.Since(time.UnixMilli(s.At)) < x.o.RecallFor
}

// refresh makes the orders anew and tells which of them changed.
func (x *Expo) refresh() {
	x.write.Lock()
	defer x.write.Unlock()
	x.tell()
}

// tell needs write.
func (x *Expo) tell() {
	now := time.Now()
	cards := map[part]*Card{}
	var all []part // in the order of the boards
	for _, b := range x.boards {
		for _, c := range b.all(now) {
			p := part{b.Station(), c.Job}
			cards[p], all = c, append(all, p)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	is := x.compose(all, cards)
	told := false
	for key := range x.orders {
		if _, ok := is[key]; !ok {
			x.past.add(x.run, Event{Kind: "forget_order", Order: key})
			told = true
		}
	}
	for key, o := range is {
		if was, ok := x.orders[key]; ok && was.Version == o.Version {
			is[key] = was
			continue
		}
		x.past.add(x.run, Event{Kind: "order", Order: key, View: o})
		told = true
	}
	x.orders = is
	if told {
		close(x.changed)
		x.changed = make(chan struct{})
	}
}

// all is every card that the pass may show.
func (b *Board) all(now time.Time) []*Card {
	b.mu.RLock()
	defer b.mu.RUnlock()
	cards := b.open()
	for _, e := range b.offBoard() {
		if e.card.State == Bumped && now.Sub(time.UnixMilli(e.rec.OffAt)) < longestKept {
			cards = append(cards, e.card)
		}
	}
	slices.SortFunc(cards, func(x, y *Card) int { return compare(x.Place, y.Place, x.Job, y.Job) })
	return cards
}

// compose groups cards by order. mu is held.
func (x *Expo) compose(all []part, cards map[part]*Card) map[string]*Order {
	orders := map[string]*Order{}
	gone := map[part]bool{}
	for _, s := range x.sent {
		if s.Back {
			continue
		}
		for _, p := range s.Parts {
			if x.last[p] != s { // it was taken back and sent again
				continue
			}
			gone[p] = true
			if c := cards[p]; c != nil {
				key := fmt.Sprintf("%s~%d", s.Key, s.Off)
				o := orderOf(orders, key, c)
				o.State, o.Off, o.OffAt, o.UndoUntil = Bumped, s.Off, s.At, s.At+x.o.UndoFor.Milliseconds()
				o.add(p.Station, c)
			}
		}
	}
	for _, p := range all {
		c := cards[p]
		if gone[p] || c.Kind == "slip" || c.Kind == "test" {
			continue
		}
		orderOf(orders, c.Order, c).add(p.Station, c)
	}
	for _, o := range orders {
		o.finish()
	}
	return orders
}

func orderOf(orders map[string]*Order, key string, c *Card) *Order {
	o := orders[key]
	if o == nil {
		o = &Order{Key: key, State: Open, Received: c.Received, Clock: c.Clock}
		orders[key] = o
	}
	if c.Received < o.Received {
		o.Received, o.Clock = c.Received, c.Clock
	}
	for _, f := range []struct {
		to   *string
		from string
	}{{&o.Number, c.Number}, {&o.Table, c.Table}, {&o.Server, c.Server}, {&o.Type, c.Type}, {&o.Guests, c.Guests}, {&o.Venue, c.Venue}} {
		if *f.to == "" {
			*f.to = f.from
		}
	}
	return o
}

func (o *Order) add(station string, c *Card) {
	i := slices.IndexFunc(o.Stations, func(s OrderStation) bool { return s.Station == station })
	if i < 0 {
		o.Stations = append(o.Stations, OrderStation{Station: station, Done: true})
		i = len(o.Stations) - 1
	}
	s := &o.Stations[i]
	s.Cards = append(s.Cards, c)
	if c.State != Open {
		return
	}
	s.Done = false
	for _, it := range c.Items {
		if it.Depth == 0 && !it.Done && !it.Void {
			s.Left++
		}
	}
}

// finish sums up what was added. The version is a hash of all that can change; 53 bits, for
// pages count in floating point.
func (o *Order) finish() {
	o.Ready = !slices.ContainsFunc(o.Stations, func(s OrderStation) bool { return !s.Done })
	h := fnv.New64a()
	var b [8]byte
	sum := func(v uint64) { binary.BigEndian.PutUint64(b[:], v); h.Write(b[:]) }
	sum(o.Off)
	for _, s := range o.Stations {
		h.Write([]byte(s.Station))
		for _, c := range s.Cards {
			sum(c.Job)
			sum(c.Version)
		}
	}
	o.Version = h.Sum64() >> 11
}

const sentPrefix = "sent/"

func sentKey(off uint64) string { return fmt.Sprintf("%s%020d", sentPrefix, off) }
