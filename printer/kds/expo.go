package kds

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"ticketrail/queue/kv"
)

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

// ExpoOptions say which boards a pass sees. Station, KV and Of are required; all of them
// are opened before the Expo.
type ExpoOptions struct {
	Station string
	KV      kv.Store // this pass's alone; not that of its own board
	Own     *Board   // of tickets routed to the pass itself; may be nil. What the pass bumps is bumped there
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
	write   sync.Mutex
	lastOff uint64
	unwatch []func()

	mu       sync.RWMutex // as of [Board]; taken inside a board's mu
	sent     map[uint64]*sentOrder
	lastSent map[cardRef]*sentOrder // the latest that a ticket was in
	orders   map[string]*Order      // as told last
	history  history
	changed  chan struct{}
}

// A sending is one bump of the pass, as stored.
type sentOrder struct {
	V          int       `json:"v"`
	Off        uint64    `json:"off"`
	At         int64     `json:"at"`
	Key        string    `json:"key"` // of the open order
	Cards      []cardRef `json:"parts"`
	Recalled   bool      `json:"back,omitempty"` // it was undone or recalled
	CommandIDs []string  `json:"heard"`
}

type cardRef struct {
	Station string `json:"station"`
	Job     uint64 `json:"job"`
}

// OpenExpo reads what the pass has sent out and looks at its boards from then on.
func OpenExpo(ctx context.Context, o ExpoOptions) (*Expo, error) {
	if o.Station == "" || o.KV == nil {
		panic("kds.OpenExpo: Options.Station or Options.KV is missing")
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
		sent: map[uint64]*sentOrder{}, lastSent: map[cardRef]*sentOrder{}, orders: map[string]*Order{},
		history: history{keep: o.Events}, changed: make(chan struct{}),
	}
	x.boards = slices.Clone(o.Of)
	if o.Own != nil {
		x.boards = append(x.boards, o.Own)
	}
	if err := x.load(); err != nil {
		return nil, fmt.Errorf("open pass %s: %w", o.Station, err)
	}
	for _, b := range x.boards {
		x.unwatch = append(x.unwatch, b.watch(&watcher{x.refresh,
			func(job uint64) bool { return x.needs(b.Station(), job) }}))
	}
	x.refresh()
	for _, s := range x.sent {
		if s.Recalled { // its own cards may have been bumped since
			continue
		}
		if err := x.applyToOwnBoard(ctx, s); err != nil {
			return nil, fmt.Errorf("open pass %s: %w", o.Station, err)
		}
	}
	return x, nil
}

// load reads what was sent out.
func (x *Expo) load() error {
	return x.o.KV.All(func(key string, value []byte) bool {
		if !strings.HasPrefix(key, sentPrefix) {
			return true
		}
		s := &sentOrder{}
		if err := json.Unmarshal(value, s); err != nil || s.V != recordVersion {
			x.log.Warn("an order that the pass sent out cannot be read, it shows again", "key", key, "err", err)
			return true
		}
		x.remember(s)
		return true
	})
}

// remember needs mu, once x is known to others.
func (x *Expo) remember(s *sentOrder) {
	x.sent[s.Off], x.lastOff = s, max(x.lastOff, s.Off)
	for _, p := range s.Cards {
		if was := x.lastSent[p]; was == nil || was.Off <= s.Off {
			x.lastSent[p] = s
		}
	}
}

// A watcher is who looks at a board.
type watcher struct {
	onChange func()                // called after each change, outside mu
	needs    func(job uint64) bool // asked whether it needs a card that could be forgotten
}

func (b *Board) watch(w *watcher) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers = append(slices.Clip(b.watchers), w)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.watchers = slices.DeleteFunc(slices.Clone(b.watchers), func(o *watcher) bool { return o == w })
	}
}

// Close ends the looking at the boards: another Expo may be opened instead. It may be called
// more than once.
func (x *Expo) Close() {
	x.write.Lock()
	defer x.write.Unlock()
	for _, end := range x.unwatch {
		end()
	}
	x.unwatch = nil
}

// needs says that the pass has a ticket, or can have it back.
func (x *Expo) needs(station string, job uint64) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.lastSent[cardRef{station, job}]
	return s == nil || s.Recalled || time.Since(time.UnixMilli(s.At)) < x.o.RecallFor
}

// refresh makes the orders anew and tells which of them changed.
func (x *Expo) refresh() {
	x.write.Lock()
	defer x.write.Unlock()
	x.publish()
}

const sentPrefix = "sent/"

func sentKey(off uint64) string { return fmt.Sprintf("%s%020d", sentPrefix, off) }
