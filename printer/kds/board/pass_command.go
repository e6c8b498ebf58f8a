package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Snapshot returns the expo as it is now.
func (x *Pass) Snapshot() PassSnapshot {
	x.mu.RLock()
	defer x.mu.RUnlock()
	now := time.Now()
	s := PassSnapshot{
		ID: stateID(x.run, x.history.seq), Run: x.run, Seq: x.history.seq, Now: now.UnixMilli(), Station: x.o.Station,
		Orders: []*Order{}, Recall: []*Order{},
	}
	for _, o := range x.orders {
		switch {
		case o.State == Open:
			s.Orders = append(s.Orders, o)
		case now.Sub(time.UnixMilli(o.OffAt)) < x.o.RecallFor:
			s.Recall = append(s.Recall, o)
		}
	}
	slices.SortFunc(s.Orders, func(a, b *Order) int {
		if c := compareTwo(uint64(max(a.Received, 0)), uint64(max(b.Received, 0)), 0, 0); c != 0 {
			return c
		}
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	slices.SortFunc(s.Recall, func(a, b *Order) int { return -compareTwo(a.Off, b.Off, 0, 0) })
	s.Recall = s.Recall[:min(len(s.Recall), x.o.RecallKeep)]
	return s
}

// At returns the ID of the current state, as [Board.At].
func (x *Pass) At() string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return stateID(x.run, x.history.seq)
}

// Since returns the events after the state of that id, as [Board.Since].
func (x *Pass) Since(id string) ([]Event, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.history.since(x.run, id)
}

// Changed returns a channel that is closed at the next change, as [Board.Changed].
func (x *Pass) Changed() <-chan struct{} {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.changed
}

// Do bumps, undoes or recalls an order. See [Board.Do] for errors and repeated deliveries.
//
// A crash before the storage's Put returned: the order is where it was, and the page asks again. A
// crash after it: the order is sent out, and the command is known. The cards on the expo's own
// board follow in changes of their own; after a crash between the two, OpenPass makes them follow.
func (x *Pass) Do(ctx context.Context, c Command) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	if c.Do != Bump && c.Do != Undo && c.Do != Recall {
		return Result{}, fmt.Errorf("%w: an expo has no %s, only bump, undo and recall", ErrCommand, c.Do)
	}
	// Two steps, because the expo's write must not be held while its own board changes: the board
	// calls back into the expo.
	r, s, err := x.apply(ctx, c)
	// Also for a repeated delivery: the first one may have failed or crashed right here.
	if err == nil && s != nil {
		err = x.applyToOwnBoard(ctx, s)
	}
	if err != nil {
		return Result{}, err
	}
	return r, nil
}

// apply carries out the command on the sent orders. It returns the sent order that the command
// changed, now or at its first delivery; nil if it changed nothing.
func (x *Pass) apply(ctx context.Context, c Command) (Result, *sentOrder, error) {
	x.write.Lock()
	defer x.write.Unlock()
	s, out := x.decide(c)
	if out != Done {
		return x.result(c, out), nil, nil
	}
	if x.isStored(s) {
		return x.result(c, Done), s, nil
	}
	value, err := json.Marshal(s)
	if err == nil {
		err = x.o.KV.Put(ctx, sentKey(s.Off), value)
	}
	if err != nil {
		return Result{}, nil, fmt.Errorf("%s order: %w", c.Do, err)
	}
	x.mu.Lock()
	x.remember(s)
	x.mu.Unlock()
	x.publish()
	x.sweep(ctx)
	return x.result(c, Done), s, nil
}

// isStored reports whether s is a known sent order and not a new version of one.
func (x *Pass) isStored(s *sentOrder) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.sent[s.Off] == s
}

// decide returns the sent order to store; the stored one, if it knows the command already; or the
// reason for doing nothing. write is held.
func (x *Pass) decide(c Command) (*sentOrder, Outcome) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	// A delivery that was repeated is recognised before anything else: its order may have another
	// key by now.
	for _, s := range x.sent {
		if slices.Contains(s.CommandIDs, c.ID) {
			return s, Done
		}
	}
	o := x.orders[c.Order]
	switch {
	case o == nil:
		return nil, Gone
	case c.Do == Bump && o.State != Open, c.Do == Recall && o.State == Open:
		return nil, Already
	case c.Version != o.Version:
		return nil, Conflict
	}
	now := time.Now()
	if c.Do == Bump {
		// After a failed Put the same number is used again: if the first value was stored all the
		// same, the next one replaces it under the same key, so at most one of them exists.
		s := &sentOrder{V: recordVersion, Off: x.lastOff + 1, At: now.UnixMilli(), Key: o.Key,
			CommandIDs: []string{c.ID}}
		for _, st := range o.Stations {
			for _, card := range st.Cards {
				s.Cards = append(s.Cards, cardRef{st.Station, card.Job})
			}
		}
		return s, Done
	}
	was := x.sent[o.Off]
	since := now.Sub(time.UnixMilli(o.OffAt))
	switch {
	case was == nil || c.Do == Undo && since >= x.o.UndoFor:
		return nil, TooLate
	case since >= x.o.RecallFor:
		return nil, Gone
	}
	s := *was
	s.Recalled, s.CommandIDs = true, append(slices.Clone(was.CommandIDs), c.ID)
	return &s, Done
}

// result is the answer with the order as it is now. After a bump there is none: the bumped order
// has another key.
func (x *Pass) result(c Command, out Outcome) Result {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return Result{ID: c.ID, Outcome: out, Order: x.orders[c.Order], At: stateID(x.run, x.history.seq)}
}

// applyToOwnBoard moves the cards that the expo's own board has of a sent order: bumped with it,
// open again when it was undone or recalled. Cards that are already so, or are in a later sent
// order, stay.
func (x *Pass) applyToOwnBoard(ctx context.Context, s *sentOrder) error {
	own, to := x.o.Own, Bumped
	if s.Recalled {
		to = Open
	}
	var errs []error
	for _, p := range s.Cards {
		if own != nil && p.Station == own.Station() && x.lastSentWith(p) == s {
			errs = append(errs, own.moveTo(ctx, p.Job, to))
		}
	}
	return errors.Join(errs...)
}

// lastSentWith returns the latest sent order that a card was in.
func (x *Pass) lastSentWith(p cardRef) *sentOrder {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.lastSent[p]
}

// moveTo moves a card because its order was moved at the expo. Nobody can be asked to acknowledge a
// cancellation here, so bumping the order acknowledges it.
func (b *Board) moveTo(ctx context.Context, job uint64, to CardState) error {
	return b.update(ctx, job, func(r *record) bool {
		if r.State == to {
			return false
		}
		if r.LastChange = nil; to == Open {
			r.State, r.Off, r.OffAt = Open, 0, 0
		} else {
			b.takeOff(r, to)
			r.Acked = true
		}
		r.Version++
		return true
	})
}

// sweep deletes sent orders that are so old that no board has their cards. write is held. Twice
// maxKeptFor, so that no order whose card is still on a board is shown as open again.
func (x *Pass) sweep(ctx context.Context) {
	x.mu.RLock()
	var old []uint64
	for off, s := range x.sent {
		if time.Since(time.UnixMilli(s.At)) > 2*maxKeptFor {
			old = append(old, off)
		}
	}
	x.mu.RUnlock()
	for _, off := range old {
		if err := x.o.KV.Delete(ctx, sentKey(off)); err != nil {
			x.log.Debug("cannot delete an old sent order yet", "err", err)
			return
		}
		x.mu.Lock()
		for _, p := range x.sent[off].Cards {
			if x.lastSent[p] == x.sent[off] {
				delete(x.lastSent, p)
			}
		}
		delete(x.sent, off)
		x.mu.Unlock()
	}
}
