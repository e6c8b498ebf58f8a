package board

import (
	"cmp"
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

// The pass derives everything from the boards and the queue except the presses of people here: which orders were
// sent out, and which parts were ticked. So it cannot disagree with them for longer than one change. The
// price is that a board must keep a bumped card while the pass needs it: needs says so.

// PassOptions configure a pass. Station, KV, Boards and Title are required. The boards must be open before the pass is.
type PassOptions struct {
	Station  string
	KV       kv.Store // for this pass alone
	Boards   []*Board
	Siblings Siblings                    // nil: only the boards are known
	Title    func(station string) string // of a station, for people
	Logger   *slog.Logger                // nil: silent
}

// A Pass shows the orders of several boards, with every part of them, and remembers which of them were sent
// out. It shows an order as long as one of the boards has a ticket of it that was not sent out, for at most
// 12 hours after it was bumped there. It is safe for concurrent use.
type Pass struct {
	*Orders
	o   PassOptions
	log *slog.Logger

	// write is held during a whole change. A board calls the pass with its own write held, so no board may be
	// changed while this is held: that would deadlock. It guards the fields below, up to mu.
	write         sync.Mutex
	lastDeparture uint64
	assembler     assembler
	ticks         map[string]*tick // by their storage keys
	known         map[string]*requestJobs

	mu       sync.RWMutex          // guards the fields below, whose changes need write too; taken inside a board's mu
	sent     map[string]*sentOrder // by their storage keys
	lastSent map[Ref]*sentOrder    // the latest sent order that a card was in

	wake chan struct{} // has an element if the parts of an order are to be asked for
	stop context.CancelFunc
	done chan struct{} // closed when follow has returned
}

// A sentOrder is one bump at the pass, as it is stored.
type sentOrder struct {
	V          int      `json:"v"`
	Departure  uint64   `json:"departure"`
	At         int64    `json:"at"`
	Cards      []Ref    `json:"cards"`
	Recalled   bool     `json:"recalled,omitempty"` // it was undone or recalled since
	RecalledAt int64    `json:"recalled_at,omitempty"`
	CommandIDs []string `json:"command_ids"`
}

// OpenPass reads the stored orders and ticks, and follows the boards until [Pass.Close].
func OpenPass(o PassOptions) (*Pass, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	pass := &Pass{
		Orders: newOrders(o.Station), o: o,
		log:  o.Logger.With("component", "kds", "station", o.Station),
		sent: map[string]*sentOrder{}, ticks: map[string]*tick{},
		known: map[string]*requestJobs{}, wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if err := pass.load(); err != nil {
		return nil, fmt.Errorf("open pass %s: %w", o.Station, err)
	}

	for _, b := range o.Boards {
		b.mu.Lock()
		b.passes = append(slices.Clip(b.passes), pass)
		b.mu.Unlock()
	}

	pass.refresh()
	ctx, cancel := context.WithCancel(context.Background())
	pass.stop = cancel
	go pass.follow(ctx)
	return pass, nil
}

// load reads the stored values. One that cannot be read is skipped: its order is shown again, which a cook can bump.
func (x *Pass) load() error {
	defer x.index()
	return x.o.KV.All(func(key string, value []byte) bool {
		sent, ticked := &sentOrder{}, &tick{}
		switch {
		case strings.HasPrefix(key, sentPrefix) && json.Unmarshal(value, sent) == nil && sent.V == recordVersion:
			x.sent[key] = sent
		case strings.HasPrefix(key, tickPrefix) && json.Unmarshal(value, ticked) == nil && ticked.V == recordVersion:
			x.ticks[key] = ticked
		default:
			x.log.Warn("cannot read what was stored at the pass; its order is shown again", "key", key)
		}
		return true
	})
}

// index finds the latest sent order of each card. mu is held, except while the pass is being opened. A
// recalled order can be sent out again, with some of the same cards; the larger Departure is the later one.
func (x *Pass) index() {
	x.lastSent = map[Ref]*sentOrder{}
	for _, s := range x.sent {
		x.lastDeparture = max(x.lastDeparture, s.Departure)
		for _, p := range s.Cards {
			if was := x.lastSent[p]; was == nil || was.Departure < s.Departure {
				x.lastSent[p] = s
			}
		}
	}
}

// Close stops following the boards, so that another Pass can be opened on them after a reload. It may be
// called more than once.
func (x *Pass) Close() {
	x.stop()
	<-x.done
	for _, b := range x.o.Boards {
		b.mu.Lock()
		b.passes = slices.DeleteFunc(slices.Clone(b.passes), func(other *Pass) bool { return other == x })
		b.mu.Unlock()
	}
}

// SetLook changes how tickets are shown.
func (x *Pass) SetLook(l Look) {
	x.write.Lock()
	defer x.write.Unlock()
	x.assembler = assembler{look: l}
	x.publish()
}

// needs reports whether a card belongs to an open order here, or to one that can still be recalled. Until it
// was sent out, an order shows the work of all stations, also of hours ago.
func (x *Pass) needs(p Ref) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	sent := x.lastSent[p]
	return sent == nil || sent.Recalled || time.Since(time.UnixMilli(sent.At)) < x.recallFor
}

// refresh publishes the changes of the boards. Boards call it.
func (x *Pass) refresh() {
	x.write.Lock()
	defer x.write.Unlock()
	x.publish()
}

// publish makes the orders of the boards' cards as they are now: the cards that were sent out together, and the rest of
// each order. So a ticket that arrives after its order was sent out begins an open order of its own. Slips and test
// tickets are left out: a station shows them, the pass need not. write is held.
func (x *Pass) publish() {
	var members []member
	for _, b := range x.o.Boards {
		b.mu.RLock()
		for _, e := range b.cards {
			old := e.rec.State != Open && time.Since(time.UnixMilli(e.rec.DepartedAt)) >= maxKeptFor
			if !ordinary(e.t) || old {
				continue
			}
			shown := member{entry: e, state: Open}
			if sent := x.lastSent[shown.ref()]; sent != nil && !sent.Recalled {
				shown.state, shown.departure, shown.departedAt = Bumped, sent.Departure, sent.At
				shown.with = fmt.Sprint(sent.Departure)
			}
			if e.rec.State == Replaced {
				shown.state = Replaced
			}
			members = append(members, shown)
		}

		b.mu.RUnlock()
	}

	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.rec.Job, b.rec.Job), strings.Compare(a.rec.Station, b.rec.Station))
	})

	groups := grouped(members, x.recallFor)
	x.trackParts(groups)
	x.set(slices.DeleteFunc(x.assembler.orders(groups, x.finish), isOver))
}

// isOver says that nothing of an order is wanted any more, and that its stations have acknowledged it.
func isOver(o *Order) bool {
	return o.Cancelled && len(o.Voids) > 0 && !slices.ContainsFunc(o.Voids, func(v Band) bool { return v.AckedAt == 0 })
}

// finish completes an order as the pass shows it.
func (x *Pass) finish(g *group, o *Order) {
	o.Place = uint64(max(o.Received, 0)) // the oldest first
	o.Undo, o.UndoUntil, o.MustAckVoid, o.MustAckAlarm = "", 0, false, false
	if o.State == Bumped {
		o.Undo, o.UndoUntil = Bump, o.DepartedAt+UndoFor.Milliseconds()
		return
	}
	o.AlsoAt, o.Parts = nil, nil // the parts say where else it is; o may have the earlier ones
	x.addParts(g, o)
}

const (
	sentPrefix = "sent/"
	tickPrefix = "tick/"
)

// sentKey is the storage key of a sent order. Departure is padded, so that they are listed in the order in which
// they were sent out.
func sentKey(departure uint64) string { return fmt.Sprintf("%s%020d", sentPrefix, departure) }

// tickKey is the storage key of a tick. A station has it once for each job.
func tickKey(station string, job uint64) string {
	return fmt.Sprintf("%s%020d/%s", tickPrefix, job, station)
}
