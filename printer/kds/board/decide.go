package board

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// Do carries out a command, once however often it is delivered. An error means that it is not known
// to be stored, or, if it wraps [ErrCommand], that it is malformed. Every other reason for not
// doing it is the Result's Outcome.
//
// A crash before the storage's Put returned: the page has no answer and sends the command again. A
// crash after it: the page sends it again, and the card knows the command's id.
func (b *Board) Do(ctx context.Context, c Command) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	b.write.Lock()
	defer b.write.Unlock()
	e := b.get(c.Job)
	if e == nil {
		return b.result(c, Gone), nil
	}
	// Checked before the version: the first delivery has changed it.
	if slices.Contains(e.rec.CommandIDs, c.ID) {
		return b.result(c, Done), nil
	}
	r := e.rec.clone()
	t, err := ticket.Unmarshal(r.Ticket)
	if err != nil {
		return Result{}, fmt.Errorf("%s job %d: %w", c.Do, c.Job, err)
	}
	if out := b.decide(c, &r, &t); out != Done {
		return b.result(c, out), nil
	}
	r.Version++
	r.Shown = true // a cook pressed on it, so a page has shown it
	if r.CommandIDs = append(r.CommandIDs, c.ID); len(r.CommandIDs) > maxCommandIDs {
		r.CommandIDs = r.CommandIDs[len(r.CommandIDs)-maxCommandIDs:]
	}
	if err := b.store(ctx, &r, &t); err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.Do, err)
	}
	res := b.result(c, Done)
	b.sweep(ctx)
	return res, nil
}

// result is the answer with the card as it is now, whatever the outcome: the page shows it at once.
func (b *Board) result(c Command, out Outcome) Result {
	b.mu.RLock()
	defer b.mu.RUnlock()
	r := Result{ID: c.ID, Outcome: out, At: stateID(b.run, b.history.seq)}
	if e := b.cards[c.Job]; e != nil {
		r.Card = e.card
	}
	return r
}

// decide changes r as the command asks and returns Done, or returns why it did not.
func (b *Board) decide(c Command, r *record, t *ticket.Ticket) Outcome {
	if out := applicable(c, r, t); out != Done {
		return out
	}
	// The version matches, so the cook has seen the card as it is; only time can still forbid it.
	now := time.Now()
	change := lastChange{Do: c.Do, Item: c.Item, At: now.UnixMilli()}
	switch c.Do {
	case Bump:
		b.takeOff(r, Bumped)
	case Recall:
		if !b.recallable(&entry{rec: *r}, now) {
			return Gone
		}
		r.Duplicate = r.Duplicate || r.State == Elsewhere // it may also have come out at the backup
		r.State, r.Off, r.OffAt = Open, 0, 0
	case ItemDone:
		r.Done = append(r.Done, c.Item)
		slices.Sort(r.Done)
	case ItemUndone:
		r.Done = without(r.Done, c.Item)
	case AckVoid:
		r.Acked = true
	case Undo:
		if r.LastChange == nil || now.Sub(time.UnixMilli(r.LastChange.At)) >= b.o.UndoFor {
			return TooLate
		}
		b.undoLast(r)
		return Done
	}
	r.LastChange = &change
	if c.Do == Recall {
		r.LastChange = nil // a recall is reversed by a bump, not by undo
	}
	return Done
}

// applicable reports whether a command fits the card as it is. It checks for Already before
// Conflict: two cooks who press the same do not disagree.
func applicable(c Command, r *record, t *ticket.Ticket) Outcome {
	onItem := c.Do == ItemDone || c.Do == ItemUndone
	already := false
	switch c.Do {
	case Bump:
		already = r.State != Open
	case Recall:
		already = r.State == Open
	case ItemDone:
		already = slices.Contains(r.Done, c.Item)
	case AckVoid:
		already = r.Acked
	}
	switch {
	case onItem && (c.Item < 0 || c.Item >= len(t.Lines) || t.Lines[c.Item].Depth > 0):
		return Gone
	case already:
		return Already
	case c.Do == ItemUndone && !slices.Contains(r.Done, c.Item):
		return Already
	case c.Version != r.Version:
		return Conflict
	case r.State != Open && c.Do != Recall && c.Do != Undo:
		return Conflict
	case c.Do == AckVoid && !hasVoid(t):
		return Already
	// A cancellation that nobody has read would be cooked: the card may not disappear before.
	case c.Do == Bump && hasVoid(t) && !r.Acked:
		return Unread
	}
	return Done
}

// undoLast reverses the last change. An undo cannot be undone; the original command does it again.
func (b *Board) undoLast(r *record) {
	switch r.LastChange.Do {
	case Bump:
		r.State, r.Off, r.OffAt = Open, 0, 0
	case ItemDone:
		r.Done = without(r.Done, r.LastChange.Item)
	case ItemUndone:
		r.Done = append(r.Done, r.LastChange.Item)
		slices.Sort(r.Done)
	case AckVoid:
		r.Acked = false
	}
	r.LastChange = nil
}

// without returns list without i.
func without(list []int, i int) []int {
	return slices.DeleteFunc(list, func(x int) bool { return x == i })
}
