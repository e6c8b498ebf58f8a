package board

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ticketrail/queue/kv"
	"ticketrail/queue/ticket"
)

// The order of the locks: a board's write, the pass's write (through publish), Board.mu, Pass.mu; Orders.mu alone. A
// write serialises changes and is held while the disk works. No mu is held over anything that can block.

// BoardOptions configure a board. Station and KV are required; two boards must not share a KV.
type BoardOptions struct {
	Station string
	KV      kv.Store     // for this board alone
	Logger  *slog.Logger // nil: silent
}

// UndoFor is how long a change can be undone.
const UndoFor = 10 * time.Second

// A Board holds the open tickets of one screen station, and shows them as [Orders]. A page is told of a
// change only after it is on stable storage. It is safe for concurrent use; reading never waits for storage.
//
// Each change of a card is one Put, with everything that belongs to the change: the command that asked for
// it, and how to undo it. So a crash leaves a card either as before or as after, never in between. A change
// of an order is a Put for each of its cards; see [Board.Do] for a crash between them. After an error of
// the storage the card in memory stays as it was. If the change was stored all the same, it appears at the
// next start. That does no harm: the queue delivers a ticket again, and the board knows its job; a page
// sends a command again, and the card knows its id.
type Board struct {
	*Orders
	o   BoardOptions
	log *slog.Logger

	// write is held during a whole change, storage included, so changes happen one after another. It guards
	// the fields below, up to mu.
	write         sync.Mutex
	lastPlace     uint64 // the last place given out
	lastDeparture uint64 // the last departure given out
	assembler     assembler
	archived      map[uint64]int64 // jobs that are stored and no longer in memory, and when they left the board
	paperUnknown  bool             // ToPaper failed, and may be stored: it is read again before a change

	mu     sync.RWMutex // guards the fields below; taken inside write
	cards  map[uint64]*entry
	passes []*Pass // that show its cards; replaced, never changed
}

// An entry is a card: its stored record and its ticket. It is replaced, never changed, so a reader may keep
// it without a lock.
type entry struct {
	rec record
	t   *ticket.Ticket
	names
}

// OpenBoard reads the board from its storage. A card that cannot be read is left out and logged: a board with
// the other cards is better than none.
func OpenBoard(o BoardOptions) (*Board, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	board := &Board{
		Orders: newOrders(o.Station), o: o,
		log: o.Logger.With("component", "kds", "station", o.Station), cards: map[uint64]*entry{},
		archived: map[uint64]int64{},
	}

	err := o.KV.All(func(key string, value []byte) bool {
		card, err := decodeRecord(value)
		if err == nil && cardKey(card.rec.Job) != key {
			err = fmt.Errorf("its record names job %d", card.rec.Job)
		}
		if err != nil {
			// Level Error: the kitchen lacks a ticket, and only an operator can find out which.
			board.log.Error("cannot read a stored card; it is not shown", "key", key, "err", err)
			return true
		}

		// The counters continue after the largest stored one, so no place is given out twice.
		board.lastPlace = max(board.lastPlace, card.rec.Place)
		board.lastDeparture = max(board.lastDeparture, card.rec.Departure)
		if card.rec.State != Open && time.Since(time.UnixMilli(card.rec.DepartedAt)) >= maxKeptFor {
			board.archived[card.rec.Job] = card.rec.DepartedAt
		} else {
			board.cards[card.rec.Job] = card
		}

		return true
	})
	if err != nil {
		return nil, fmt.Errorf("open board of %s: %w", o.Station, err)
	}
	if err := board.removeReplaced(context.Background()); err != nil {
		return nil, fmt.Errorf("open board of %s: %w", o.Station, err)
	}

	board.publish()
	return board, nil
}

// SetLook changes how tickets are shown.
func (b *Board) SetLook(l Look) {
	b.write.Lock()
	defer b.write.Unlock()
	b.assembler = assembler{look: l}
	b.publish()
}

// Add adds a ticket to the board. When it returns nil, the card is on stable storage. A job that the board
// knows already, open or bumped, stays as it is: the queue has delivered it again, which must neither
// duplicate nor mark the card.
//
// A crash before the storage's Put returned: the queue still has the ticket and delivers it again. A crash
// after it: the same, and the card is already here.
func (b *Board) Add(ctx context.Context, d ticket.Delivery) error {
	b.write.Lock()
	defer b.write.Unlock()

	was := b.get(d.Job)
	// A card whose ticket came out elsewhere gets a new record: the queue gives the ticket here again.
	if was != nil && was.rec.State != Elsewhere {
		return b.removeReplaced(ctx) // after an error the replaced cards may still be open
	}

	r, err := b.newRecord(d, was)
	if err != nil {
		return err
	}

	r.note(cameHere, 0)
	for _, e := range b.cards { // the changed ticket takes the place of the old one
		if e.rec.State == Open && (&entry{rec: r, t: &d.Ticket}).replaces(e) {
			r.Place = min(r.Place, e.rec.Place)
		}
	}
	return b.storeNew(ctx, &r, &d.Ticket)
}

// storeNew stores a card that came or went, with those that it replaces. write is held.
func (b *Board) storeNew(ctx context.Context, r *record, t *ticket.Ticket) error {
	if err := b.store(ctx, r, t); err != nil {
		return err
	}
	if err := b.removeReplaced(ctx); err != nil {
		return err
	}

	b.publish()
	b.sweep(ctx)
	return nil
}

// newRecord is the record of a ticket that comes to the board. Version 0 is never used, so a command without
// a version matches no card. A place is not reused after a failed Put: the card may be stored all the same
// and keep it. write is held.
func (b *Board) newRecord(d ticket.Delivery, was *entry) (record, error) {
	b.lastPlace++
	rec := record{
		V: recordVersion, Job: d.Job, Station: b.o.Station, Place: b.lastPlace, Version: 1, State: Open,
		CameAt: time.Now().UnixMilli(), Duplicate: d.Doubt, Reprint: d.Reprint, For: d.For, Down: d.Down,
		RefusedBy: d.RefusedBy,
	}

	if was != nil {
		rec.Version = was.rec.Version + 1 // a command for the card it was before must not match
		rec.Timeline = slices.Clone(was.rec.Timeline)
	}

	var err error
	if rec.Ticket, err = ticket.Marshal(d.Ticket); err != nil {
		return rec, ticket.Permanent(fmt.Errorf("add job %d to the board: %w", d.Job, err))
	}

	return rec, nil
}

// change changes the records of cards with f, stores them and tells the pages, up to the first that cannot
// be stored. If f returns false, or the job is unknown, nothing happens to a card. The record is cloned,
// because readers may hold the old one; and f decides under write, so no other change comes between. write
// is held.
func (b *Board) change(ctx context.Context, jobs []uint64, f func(*record) bool) (err error) {
	if b.paperUnknown {
		// It notes which cards are on paper. One that cannot be read must not keep cooks from the others.
		_, failed := b.readUnprinted()
		b.paperUnknown = failed != nil
	}

	changed := false
	for _, job := range jobs {
		card := b.get(job)
		if card == nil {
			continue
		}
		rec := card.rec.clone()
		if !f(&rec) {
			continue
		}
		if err = b.store(ctx, &rec, card.t); err != nil {
			break
		}
		changed = true
	}

	if changed {
		b.publish()
	}

	return err
}

// store is the only place where a card changes: first on stable storage, then in memory. Pages are told by
// publish. write is held.
//
// A crash before Put returned: the card is as it was, or as r; no page was told. A crash after it: the card
// is as r at the next start.
func (b *Board) store(ctx context.Context, r *record, t *ticket.Ticket) error {
	value, err := json.Marshal(r)
	if err == nil {
		err = b.o.KV.Put(ctx, cardKey(r.Job), value)
	}
	if err != nil {
		return fmt.Errorf("store card of job %d: %w", r.Job, err)
	}

	b.mu.Lock()
	b.cards[r.Job] = &entry{*r, t, namesOf(t, r.Job)}
	b.mu.Unlock()
	delete(b.archived, r.Job)
	return nil
}

// publish makes the orders of the cards as they are now, and tells the pages and the passes. Orders of
// unchanged cards are not made again. write is held, except while the board is being opened.
func (b *Board) publish() {
	b.mu.RLock()
	members := make([]member, 0, len(b.cards))
	for _, e := range b.cards {
		shown := member{entry: e, state: e.rec.State}
		if shown.state != Open {
			shown.departure, shown.departedAt, shown.with = e.rec.Departure, e.rec.DepartedAt, e.rec.DepartedBy
		}
		members = append(members, shown)
	}

	passes := b.passes
	b.mu.RUnlock()
	slices.SortFunc(members, func(x, y member) int {
		return cmp.Or(cmp.Compare(x.rec.Place, y.rec.Place), cmp.Compare(x.rec.Job, y.rec.Job))
	})

	b.set(b.assembler.orders(grouped(members, b.recallFor), nil))
	for _, x := range passes { // without mu, because the pass reads the board
		x.refresh()
	}
}

// get returns a card; nil if the board does not have it in memory.
func (b *Board) get(job uint64) *entry {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.cards[job]
}

// State says where the card of a job is; false if the board does not have it.
func (b *Board) State(job uint64) (State, bool) {
	if card := b.get(job); card != nil {
		return card.rec.State, true
	}
	return "", false
}

// Count says how many tickets are open, and when the oldest of them was received; zero if none is open.
func (b *Board) Count() (open int, oldest time.Time) {
	b.mu.RLock()
	defer b.mu.RUnlock()

	for _, e := range b.cards {
		if e.rec.State != Open {
			continue
		}
		open++
		// A ticket without a time of receipt counts from when it came to the board.
		at := time.UnixMilli(cmp.Or(unixMillis(e.t.Received), e.rec.CameAt)).UTC()
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}

	return open, oldest
}

// cardKey is the storage key of a card. The job is padded, so that the storage lists cards in the order of
// their jobs.
func cardKey(job uint64) string { return cardPrefix + fmt.Sprintf("%020d", job) }

const cardPrefix = "card/"
