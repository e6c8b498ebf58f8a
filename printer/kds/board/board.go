package board

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/queue/kv"
	"ticketrail/queue/ticket"
)

// Three locks, taken in this order: a board's write, the expo's write (through a watcher), mu.
// write serialises changes and is held while the disk works; mu is never held over anything that
// can block, because every page and every heartbeat reads under it.

// BoardOptions configure a board. Station and KV are required; two boards must not share a KV.
type BoardOptions struct {
	Station    string
	KV         kv.Store      // for this board alone
	Logger     *slog.Logger  // nil: silent
	RecallKeep int           // how many cards can be recalled; 0 is 50
	RecallFor  time.Duration // for how long; 0 is an hour
	UndoFor    time.Duration // how long a change can be undone; 0 is 10 s
	Events     int           // about how many past events a stream can resume from; 0 is 1000
}

// A Board holds the open tickets of one screen station. A page is told of a change only after it is
// on stable storage. It is safe for concurrent use; reading never waits for storage.
//
// Each change is one Put of one card, with everything that belongs to the change: the command that
// asked for it, and how to undo it. So a crash leaves either the state before or the state after,
// never one in between. After an error of the storage the board in memory stays as it was. If the
// change was stored all the same, it appears at the next start. That does no harm: the queue
// delivers a ticket again, and the board knows its job; a page sends a command again, and the card
// knows its id.
type Board struct {
	o   BoardOptions
	log *slog.Logger
	run string

	// write is held during a whole change, storage included, so changes happen one after another.
	write     sync.Mutex
	lastPlace uint64 // the last place given out; guarded by write
	lastOff   uint64 // the last Off given out; guarded by write

	// mu guards what follows. It is held briefly and taken inside write.
	mu       sync.RWMutex
	cards    map[uint64]*entry
	history  history
	changed  chan struct{} // closed at the next change, then replaced
	watchers []*watcher
}

// An entry is a card and its stored record. It is replaced, never changed, so a reader may keep it
// without a lock.
type entry struct {
	rec  record
	card *Card
}

// OpenBoard reads the board from its storage. A card that cannot be read is left out and logged: a
// board with the other cards is better than none.
func OpenBoard(o BoardOptions) (*Board, error) {
	if o.Station == "" || o.KV == nil {
		panic("kds.OpenBoard: Options.Station or Options.KV is missing")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	orDefault(&o.RecallKeep, 50)
	orDefault(&o.RecallFor, time.Hour)
	orDefault(&o.UndoFor, 10*time.Second)
	orDefault(&o.Events, 1000)
	b := &Board{
		o: o, log: o.Logger.With("component", "kds", "station", o.Station), run: newRun(),
		cards: map[uint64]*entry{}, history: history{keep: o.Events}, changed: make(chan struct{}),
	}
	err := o.KV.All(func(key string, value []byte) bool {
		if !strings.HasPrefix(key, cardPrefix) {
			return true
		}
		r, t, err := decodeRecord(value)
		if err == nil && cardKey(r.Job) != key {
			err = fmt.Errorf("its record names job %d", r.Job)
		}
		if err != nil {
			// Level Error: the kitchen lacks a ticket, and only an operator can find out which.
			b.log.Error("cannot read a stored card; it is not shown", "key", key, "err", err)
			return true
		}
		// The counters continue after the largest stored one, so no place is given out twice.
		b.cards[r.Job] = &entry{rec: r, card: newCard(&r, &t, o.UndoFor)}
		b.lastPlace, b.lastOff = max(b.lastPlace, r.Place), max(b.lastOff, r.Off)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("open board of %s: %w", o.Station, err)
	}
	return b, nil
}

func orDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// newRun returns a random name for this opening of a board. Sequence numbers begin at 1 each time,
// so without it an old id would look like one of this run.
func newRun() string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Options returns the options of the board, with defaults filled in.
func (b *Board) Options() BoardOptions { return b.o }

func (b *Board) Station() string { return b.o.Station }

// Put adds a ticket to the board. When it returns nil, the card is on stable storage. A job that
// the board knows already, open or bumped, stays as it is: the queue has delivered it again, which
// must neither duplicate nor mark the card. seq is the sequence number of the state that has the
// card.
//
// A crash before the storage's Put returned: the queue still has the ticket and delivers it again.
// A crash after it: the same, and the card is already here.
func (b *Board) Put(ctx context.Context, d ticket.Delivery) (seq uint64, err error) {
	b.write.Lock()
	defer b.write.Unlock()
	// A card that came out elsewhere is replaced: the queue gives its ticket here again.
	if e := b.get(d.Job); e != nil && e.card.State != Elsewhere {
		return b.seq(), nil
	}
	// A place is not reused after a failed Put: the card may be stored all the same and keep it. (The
	// expo does reuse its numbers: its next write replaces the same record.)
	b.lastPlace++
	r := newRecord(d, b.lastPlace)
	r.Station = b.o.Station
	r.AddOn = b.isAddOn(&d.Ticket)
	if e := b.get(d.Job); e != nil {
		r.Version = e.rec.Version + 1 // a command for the card it was before must not match
	}
	if r.Ticket, err = ticket.Marshal(d.Ticket); err != nil {
		return 0, ticket.Permanent(fmt.Errorf("add job %d to the board: %w", d.Job, err))
	}
	if err := b.store(ctx, &r, &d.Ticket); err != nil {
		return 0, err
	}
	// Before the sweep, whose events come after the card.
	seq = b.seq()
	b.sweep(ctx)
	return seq, nil
}

// isAddOn reports whether an earlier ticket of the same order is on the board. For an order with a
// number, bumped cards that can be recalled count too; a table without a number does not, for it
// may have new guests as soon as its card is bumped.
func (b *Board) isAddOn(t *ticket.Ticket) bool {
	if number(t) == "" && table(t) == "" || t.Kind == ticket.Slip || t.Kind == ticket.Test {
		return false
	}
	key, request := orderKey(t), layout.OneLine(ticket.Short(t.Request))
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, e := range b.cards {
		if e.card.Order != key || e.card.Request == request || e.card.State == Elsewhere {
			continue
		}
		if e.card.State == Open || number(t) != "" && b.recallable(e, time.Now()) {
			return true
		}
	}
	return false
}

// update changes a card's record with f and stores it. If f returns false, or the job is unknown,
// nothing happens. The record is cloned, because readers may hold the old one; and f decides under
// write, so no other change comes between.
func (b *Board) update(ctx context.Context, job uint64, f func(*record) bool) error {
	b.write.Lock()
	defer b.write.Unlock()
	e := b.get(job)
	if e == nil {
		return nil
	}
	r := e.rec.clone()
	if !f(&r) {
		return nil
	}
	t, err := ticket.Unmarshal(r.Ticket)
	if err != nil {
		return fmt.Errorf("change card of job %d: %w", job, err)
	}
	return b.store(ctx, &r, &t)
}

// store is the only place where the board changes: first on stable storage, then in memory, then in
// the events for pages. write is held.
//
// A crash before Put returned: the card is as it was, or as r; no page was told. A crash after it:
// the card is as r at the next start.
func (b *Board) store(ctx context.Context, r *record, t *ticket.Ticket) error {
	value, err := r.encode()
	if err == nil {
		err = b.o.KV.Put(ctx, cardKey(r.Job), value)
	}
	if err != nil {
		return fmt.Errorf("store card of job %d: %w", r.Job, err)
	}
	now := &entry{rec: *r, card: newCard(r, t, b.o.UndoFor)}
	b.publish(r.Job, now)
	return nil
}

// publish makes a change visible in memory and in the events. now is nil for a card that is
// forgotten. The order matters: a page that is woken must find the change in the board and in the
// history. Watchers are called without mu, because the expo reads the board.
func (b *Board) publish(job uint64, now *entry) {
	b.mu.Lock()
	if now != nil {
		b.cards[job] = now
		b.history.add(b.run, Event{Kind: "card", Job: job, Card: now.card})
	} else {
		delete(b.cards, job)
		b.history.add(b.run, Event{Kind: "forget", Job: job})
	}
	close(b.changed)
	b.changed = make(chan struct{})
	watched := b.watchers
	b.mu.Unlock()
	for _, w := range watched {
		w.onChange()
	}
}

// get returns the entry of a job; nil if the board does not have it.
func (b *Board) get(job uint64) *entry {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.cards[job]
}

// seq returns the sequence number of the current state.
func (b *Board) seq() uint64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.history.seq
}

// compareTwo compares by the first pair, then by the second. The second pair makes the order total,
// so that two cards of one place, which only a damaged file has, do not change places from one
// snapshot to the next.
func compareTwo(a1, a2, b1, b2 uint64) int {
	switch {
	case a1 < a2, a1 == a2 && b1 < b2:
		return -1
	case a1 > a2, b1 > b2:
		return 1
	}
	return 0
}

// cardKey is the storage key of a card. The job is padded, so that the storage lists cards in the
// order of their jobs.
func cardKey(job uint64) string { return cardPrefix + fmt.Sprintf("%020d", job) }

const cardPrefix = "card/"

// stateID names a state for pages: they compare it and send it back, nothing else.
func stateID(run string, seq uint64) string { return run + "." + strconv.FormatUint(seq, 10) }
