package board

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

// The expo derives everything from the boards except which orders were sent out, so it cannot
// disagree with them for longer than one change. The price is that a board must keep a bumped card
// while the expo needs it: watcher.needs says so.

// An PassSnapshot is an expo at one moment.
type PassSnapshot struct {
	ID      string   `json:"id"`
	Run     string   `json:"run"`
	Seq     uint64   `json:"seq"`
	Now     int64    `json:"now"`
	Station string   `json:"station"`
	Orders  []*Order `json:"orders"` // oldest first
	Recall  []*Order `json:"recall"` // newest first
}

// PassOptions configure an expo. Station, KV and Of are required. The boards must be open before
// the expo is opened.
type PassOptions struct {
	Station string
	KV      kv.Store // for this expo alone; not that of its own board
	Own     *Board   // cards of the expo's own station; may be nil. A bumped order is bumped there too
	Of      []*Board
	Logger  *slog.Logger

	RecallKeep, Events int // as in [BoardOptions]
	RecallFor, UndoFor time.Duration
}

// An Pass shows the orders of several boards at the pass, and remembers which of them were sent
// out. Only the latter is stored; the rest is read from the boards, which keep a bumped card as
// long as the expo needs it, for at most 12 hours. It is safe for concurrent use.
type Pass struct {
	o      PassOptions
	log    *slog.Logger
	boards []*Board
	run    string

	// write is held during a whole change. A board calls the expo with its own write held, so no
	// board may be changed while this is held: that would deadlock.
	write   sync.Mutex
	lastOff uint64
	unwatch []func()

	mu       sync.RWMutex // as in [Board]; taken inside a board's mu
	sent     map[uint64]*sentOrder
	lastSent map[cardRef]*sentOrder // the latest sent order that a card was in
	orders   map[string]*Order      // as published last
	history  history
	changed  chan struct{}
}

// A sentOrder is one bump at the expo, as it is stored.
type sentOrder struct {
	V          int       `json:"v"`
	Off        uint64    `json:"off"`
	At         int64     `json:"at"`
	Key        string    `json:"key"` // of the order while it was open
	Cards      []cardRef `json:"parts"`
	Recalled   bool      `json:"back,omitempty"` // it was undone or recalled since
	CommandIDs []string  `json:"heard"`
}

// A cardRef names a card. Jobs of a backup's cards can be on two boards, so the job alone is not
// enough.
type cardRef struct {
	Station string `json:"station"`
	Job     uint64 `json:"job"`
}

// OpenPass reads which orders were sent out, groups the cards of the boards and follows their
// changes until [Pass.Close]. It also finishes what a crash may have left: orders that were sent
// out whose cards on the expo's own board are not bumped yet.
func OpenPass(ctx context.Context, o PassOptions) (*Pass, error) {
	if o.Station == "" || o.KV == nil {
		panic("kds.OpenPass: Options.Station or Options.KV is missing")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	orDefault(&o.RecallKeep, 50)
	orDefault(&o.RecallFor, time.Hour)
	orDefault(&o.UndoFor, 10*time.Second)
	orDefault(&o.Events, 1000)
	x := &Pass{
		o: o, log: o.Logger.With("component", "kds", "station", o.Station), run: newRun(),
		sent: map[uint64]*sentOrder{}, lastSent: map[cardRef]*sentOrder{}, orders: map[string]*Order{},
		history: history{keep: o.Events}, changed: make(chan struct{}),
	}
	x.boards = slices.Clone(o.Of)
	if o.Own != nil {
		x.boards = append(x.boards, o.Own)
	}
	if err := x.load(); err != nil {
		return nil, fmt.Errorf("open expo %s: %w", o.Station, err)
	}
	for _, b := range x.boards {
		x.unwatch = append(x.unwatch, b.watch(&watcher{x.refresh,
			func(job uint64) bool { return x.needs(b.Station(), job) }}))
	}
	x.refresh()
	for _, s := range x.sent {
		if s.Recalled { // its own cards may have been bumped again since
			continue
		}
		if err := x.applyToOwnBoard(ctx, s); err != nil {
			return nil, fmt.Errorf("open expo %s: %w", o.Station, err)
		}
	}
	return x, nil
}

// Options returns the options of the pass, with defaults filled in.
func (x *Pass) Options() PassOptions { return x.o }

// load reads the sent orders. One that cannot be read is skipped: its order is shown again, which a
// cook can bump.
func (x *Pass) load() error {
	return x.o.KV.All(func(key string, value []byte) bool {
		if !strings.HasPrefix(key, sentPrefix) {
			return true
		}
		s := &sentOrder{}
		if err := json.Unmarshal(value, s); err != nil || s.V != recordVersion {
			x.log.Warn("cannot read a stored order that was sent out; it is shown again", "key", key, "err", err)
			return true
		}
		x.remember(s)
		return true
	})
}

// remember takes a sent order into memory. mu is held, except while the expo is being opened. A
// recalled order can be sent out again, with some of the same cards; the larger Off is the later
// one.
func (x *Pass) remember(s *sentOrder) {
	x.sent[s.Off], x.lastOff = s, max(x.lastOff, s.Off)
	for _, p := range s.Cards {
		if was := x.lastSent[p]; was == nil || was.Off <= s.Off {
			x.lastSent[p] = s
		}
	}
}

// A watcher is notified of a board's changes.
type watcher struct {
	onChange func()                // called after each change, without mu
	needs    func(job uint64) bool // reports whether the watcher needs a card that could be deleted
}

// watch adds a watcher. The list is copied, never changed, because publish reads it without a lock.
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

// Close stops following the boards, so that another Pass can be opened on them after a reload. It
// may be called more than once.
func (x *Pass) Close() {
	x.write.Lock()
	defer x.write.Unlock()
	for _, end := range x.unwatch {
		end()
	}
	x.unwatch = nil
}

// needs reports whether a card belongs to an open order here, or to one that can still be recalled.
// Until it was sent out, an order shows what all stations have done, also hours ago.
func (x *Pass) needs(station string, job uint64) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.lastSent[cardRef{station, job}]
	return s == nil || s.Recalled || time.Since(time.UnixMilli(s.At)) < x.o.RecallFor
}

// refresh publishes the changes of the boards. Boards call it.
func (x *Pass) refresh() {
	x.write.Lock()
	defer x.write.Unlock()
	x.publish()
}

const sentPrefix = "sent/"

// sentKey is the storage key of a sent order. Off is padded, so that they are listed in the order
// in which they were sent out.
func sentKey(off uint64) string { return fmt.Sprintf("%s%020d", sentPrefix, off) }
