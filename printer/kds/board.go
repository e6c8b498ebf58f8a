package kds

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

	"ticketrail/queue/kv"
	"ticketrail/queue/ticket"
)

// BoardOptions say whose board it is. Station and KV are required.
type BoardOptions struct {
	Station    string
	KV         kv.Store      // this board's alone
	Logger     *slog.Logger  // nil: silent
	RecallKeep int           // cards that can be recalled; 0 is 50
	RecallFor  time.Duration // for how long; 0 is an hour
	UndoFor    time.Duration // how long a change can be undone; 0 is 10 s
	Events     int           // past events that a page can resume from, about; 0 is 1000
}

// A Board is the open tickets of one screen station. What it tells is on stable storage before
// it is told. It is safe for concurrent use; reading never waits for storage.
//
// Each change is one Put of one card, with everything that belongs to it (the command that
// asked for it, how to take it back), so there is no state between two changes to be
// found after a crash. After an error of the shelf the board stays as it was; if the change
// was stored all the same, it shows after the next start, which is no worse than had the
// answer been lost on its way: a ticket is put again and recognised by its job, a command is
// sent again and recognised by its id.
type Board struct {
	o   BoardOptions
	log *slog.Logger
	run string

	// write is held over a whole change, storage included: changes happen one after the other.
	write     sync.Mutex
	lastPlace uint64 // last place given; only with write
	lastOff   uint64 // last Off given; only with write

	// mu guards what is read, for moments; it is taken inside write.
	mu       sync.RWMutex
	cards    map[uint64]*entry
	history  history
	changed  chan struct{}
	watchers []*watcher
}

// An entry is a card and what is stored of it. It is replaced, never changed.
type entry struct {
	rec  record
	card *Card
}

// OpenBoard reads the board from its shelf. A card that cannot be read is left out and
// logged: the others are more than none.
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
			err = fmt.Errorf("it says that it is of job %d", r.Job)
		}
		if err != nil {
			// Error: a cook misses a ticket, and only a person can find out which.
			b.log.Error("a card on the board cannot be read, it is not shown", "key", key, "err", err)
			return true
		}
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

// newRun names an opening of a board. Reading from crypto/rand does not fail.
func newRun() string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Station is whose board it is.
func (b *Board) Station() string { return b.o.Station }

// Put places a ticket on the board; it is durable when Put returns nil. A job that the board
// knows, open or bumped, stays where it is: that was a retry, and neither doubles the card
// nor marks it. It returns the sequence number of the state in which the card is there.
//
// A crash before the shelf's Put returned: the queue still owes the ticket and brings it
// again. A crash after it: so it does, and the card is already here.
func (b *Board) Put(ctx context.Context, d ticket.Delivery) (seq uint64, err error) {
	b.write.Lock()
	defer b.write.Unlock()
	if e := b.get(d.Job); e != nil && e.card.State != Elsewhere {
		return b.seq(), nil
	}
	// A place is used up even if the Put fails: what was stored all the same keeps it.
	b.lastPlace++
	r := newRecord(d, b.lastPlace)
	r.Station = b.o.Station
	r.AddOn = b.isAddOn(&d.Ticket)
	if e := b.get(d.Job); e != nil {
		r.Version = e.rec.Version + 1 // a command from its first life must not fit
	}
	if r.Ticket, err = ticket.Marshal(d.Ticket); err != nil {
		return 0, ticket.Permanent(fmt.Errorf("put job %d on the board: %w", d.Job, err))
	}
	if err := b.store(ctx, &r, &d.Ticket); err != nil {
		return 0, err
	}
	seq = b.seq()
	b.sweep(ctx)
	return seq, nil
}

// addsTo says whether a ticket comes after another of its order. A number is called out for
// the whole evening, a table has new guests as soon as it is empty.
func (b *Board) isAddOn(t *ticket.Ticket) bool {
	if number(t) == "" && table(t) == "" || t.Kind == ticket.Slip || t.Kind == ticket.Test {
		return false
	}
	key, request := orderKey(t), oneLine(ticket.Short(t.Request))
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

// alter changes a card, if f says that there is something to change.
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

// store is the one place where the board changes: first on the shelf, then in memory, then
// pages are told. write is held.
func (b *Board) store(ctx context.Context, r *record, t *ticket.Ticket) error {
	value, err := r.encode()
	if err == nil {
		err = b.o.KV.Put(ctx, cardKey(r.Job), value)
	}
	if err != nil {
		return fmt.Errorf("keep card of job %d: %w", r.Job, err)
	}
	now := &entry{rec: *r, card: newCard(r, t, b.o.UndoFor)}
	b.publish(r.Job, now)
	return nil
}

// tell puts a change into memory and into the events. after is nil for a card that is
// forgotten.
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

func (b *Board) get(job uint64) *entry {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.cards[job]
}

func (b *Board) seq() uint64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.history.seq
}

// compare orders by a, then by b.
func compareTwo(a1, a2, b1, b2 uint64) int {
	switch {
	case a1 < a2, a1 == a2 && b1 < b2:
		return -1
	case a1 > a2, b1 > b2:
		return 1
	}
	return 0
}

func cardKey(job uint64) string { return cardPrefix + fmt.Sprintf("%020d", job) }

const cardPrefix = "card/"

func stateID(run string, seq uint64) string { return run + "." + strconv.FormatUint(seq, 10) }
