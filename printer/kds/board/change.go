package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Do carries out a command, once however often it is delivered. An error means that it is not known to be
// stored, or, if it wraps [ErrCommand], that it is malformed. Every other reason for not doing it is the
// Result's Outcome.
//
// A command for an order changes its cards one after another. A crash or an error before the first one is
// stored: the page has no answer and sends the command again. A crash or an error between two: some cards of
// the order are changed, and each of those knows the command and which cards it is for, so its next delivery
// changes the rest, and nothing that came later. A crash after the last: all cards know the command.
func (b *Board) Do(ctx context.Context, c Command) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	if c.Do == Tick || c.Do == Untick {
		return Result{}, fmt.Errorf("%w: %s is for a pass, and %s is a board", ErrCommand, c.Do, b.station)
	}

	b.write.Lock()
	defer b.write.Unlock()

	jobs, out := b.resumed(c)
	if out == "" {
		jobs, out = b.decide(c)
	}
	if out != Done {
		return b.result(c, jobs, out), nil
	}

	change := &lastChange{Do: c.Do, Item: c.Item, At: time.Now().UnixMilli(), By: c.ID, Jobs: jobs}
	err := b.change(ctx, jobs, func(r *record) bool { return b.apply(r, change) })
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.Do, err)
	}

	res := b.result(c, jobs, Done)
	b.sweep(ctx)
	return res, nil
}

// resumed recognises a command that was delivered before: it returns Done, and the cards it is for. It comes
// before everything else, because the first delivery has changed the version.
func (b *Board) resumed(c Command) ([]uint64, Outcome) {
	b.mu.RLock()
	defer b.mu.RUnlock()

	var known []uint64
	for job, e := range b.cards {
		if !slices.Contains(e.rec.CommandIDs, c.ID) {
			continue
		}
		known = append(known, job)
		if last := e.rec.LastChange; last != nil && last.By == c.ID && len(last.Jobs) > 0 {
			return last.Jobs, Done
		}
	}

	if len(known) > 0 {
		return known, Done
	}

	return nil, ""
}

// result is the answer with the order as it is now, whatever the outcome: the page shows it at once.
func (b *Board) result(c Command, jobs []uint64, out Outcome) Result {
	r := Result{ID: c.ID, Outcome: out, Order: b.Order(c.Order), At: b.At()}
	if len(jobs) > 0 {
		r.Order = cmp.Or(b.OrderWith(jobs[0]), r.Order)
	}
	return r
}

// OrderWith returns the order that has the card of a job; nil if there is none.
func (v *Orders) OrderWith(job uint64) *Order {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, o := range v.byKey {
		if slices.ContainsFunc(o.refs, func(r Ref) bool { return r.Job == job }) {
			return o
		}
	}
	return nil
}

// Jobs are the jobs of the cards that are in the order.
func (o *Order) Jobs() (jobs []uint64) {
	for _, r := range o.refs {
		jobs = append(jobs, r.Job)
	}
	return jobs
}

// Replaced are the jobs of an open order at a pass that other ones of it have replaced.
func (o *Order) Replaced() []uint64 { return o.replaced }

// Unknown says that the queue was not asked for all parts of the order yet, so that it may be ready although it is not
// Ready: at a pass, for a moment after it was opened.
func (o *Order) Unknown() bool { return o.unknown }

// Group is the part of Key before ~. The open and the bumped orders of one group of cards have the same one, also on
// other screens if the group began there with the same ticket.
func (o *Order) Group() string {
	group, _, _ := strings.Cut(o.Key, "~")
	return group
}

// successor is the order that one with that key has become, because another cook was faster.
func (v *Orders) successor(key string) *Order {
	v.mu.RLock()
	defer v.mu.RUnlock()

	group, off, _ := strings.Cut(key, "~")
	if off != "" {
		return v.byKey[group]
	}

	var last *Order
	for k, o := range v.byKey {
		if strings.HasPrefix(k, key+"~") && (last == nil || o.Departure > last.Departure) {
			last = o
		}
	}

	return last
}

// decide returns the cards that the command changes and Done, or why it changes none. It checks for Already
// before Conflict: two cooks who press the same do not disagree.
func (b *Board) decide(c Command) ([]uint64, Outcome) {
	if c.Do == ItemDone || c.Do == ItemUndone {
		return b.decideItem(c)
	}

	order := b.Order(c.Order)
	if order == nil {
		if order = b.successor(c.Order); order != nil && (c.Do == Bump || c.Do == Recall) {
			return order.Jobs(), Already
		}
		return nil, Gone
	}

	open, jobs := order.State == Open, order.Jobs()
	switch {
	case c.Do == Bump && !open, c.Do == Recall && open, c.Do == AckVoid && open && !order.MustAckVoid,
		c.Do == AckAlarm && open && len(order.Alarms) == 0, c.Do == AckAlarm && order.AlarmAckedAt != 0:
		return jobs, Already
	case c.Version != order.Version, !open && (c.Do == AckVoid || c.Do == AckAlarm):
		return jobs, Conflict
	// A cancellation or a change that no cook has read would be cooked: the order may not disappear before.
	case c.Do == Bump && (order.MustAckVoid || order.MustAckAlarm):
		return jobs, Unacknowledged
	case c.Do == Recall && time.Since(time.UnixMilli(order.DepartedAt)) >= b.recallFor:
		return nil, Gone
	case c.Do == Undo:
		if jobs = b.lastChanged(jobs); jobs == nil {
			return order.Jobs(), TooLate
		}
	case c.Do == AckVoid, c.Do == AckAlarm:
		jobs = b.unacknowledged(order, c.Do)
	}

	return jobs, Done
}

// decideItem is decide for one item.
func (b *Board) decideItem(c Command) ([]uint64, Outcome) {
	card := b.get(c.Job)
	if card == nil || c.Item < 0 || c.Item >= len(card.t.Lines) || card.t.Lines[c.Item].Depth > 0 {
		return nil, Gone
	}

	jobs := []uint64{c.Job}
	switch {
	case slices.Contains(card.rec.Done, c.Item) == (c.Do == ItemDone):
		return jobs, Already
	case c.Version != card.rec.Version, card.rec.State != Open:
		return jobs, Conflict
	}
	return jobs, Done
}

// unacknowledged returns the cards of the order whose cancellation or allergy is not acknowledged.
func (b *Board) unacknowledged(o *Order, do Verb) []uint64 {
	return slices.DeleteFunc(o.Jobs(), func(job uint64) bool {
		card := b.get(job)
		if do == AckVoid {
			return card.rec.AckedAt != 0 || !mustAck(card.t)
		}
		return card.rec.AlarmAckedAt != 0 || !slices.ContainsFunc(o.Alarms, func(a Alarm) bool { return a.Job == job })
	})
}

// lastChanged returns the cards that the latest change has changed; nil if none can be undone any
// more.
func (b *Board) lastChanged(jobs []uint64) (latest []uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()

	var last *lastChange
	for _, job := range jobs {
		change := b.cards[job].rec.LastChange
		if change == nil || !undoable(change.Do) || time.Since(time.UnixMilli(change.At)) >= UndoFor {
			continue
		}
		// Not by time alone: a delivery that was repeated has changed some cards later than others.
		if last == nil || change.By != last.By && change.At >= last.At {
			last, latest = change, nil
		}
		if change.By == last.By {
			latest = append(latest, job)
		}
	}

	return latest
}

// undoable says whether a change can be reversed by Undo. A recall is reversed by a bump.
func undoable(v Verb) bool { return v != Undo && v != Recall }

// apply changes a record as the command asks. It returns false for a card that the command has changed
// before, or that was moved since its first delivery.
func (b *Board) apply(r *record, change *lastChange) bool {
	if slices.Contains(r.CommandIDs, change.By) || change.Do == Bump && r.State != Open ||
		change.Do == Recall && r.State == Open || r.State == Replaced {
		return false
	}

	last := r.LastChange
	r.Version++
	r.Shown = true // a cook pressed on it, so a page has shown it
	if r.CommandIDs = append(r.CommandIDs, change.By); len(r.CommandIDs) > maxCommandIDs {
		r.CommandIDs = r.CommandIDs[len(r.CommandIDs)-maxCommandIDs:]
	}

	r.LastChange = change
	r.note(string(change.Do), change.Item)
	switch change.Do {
	case Bump:
		b.depart(r, Bumped)
		r.DepartedBy = change.By
	case Recall:
		if r.State == Elsewhere { // it may also have come out at the backup, or not at all
			r.Duplicate, r.Paper = true, ""
		}
		r.reopen()
	case ItemDone, ItemUndone:
		r.setDone(change.Item, change.Do == ItemDone)
	case AckVoid:
		r.AckedAt = cmp.Or(r.AckedAt, change.At)
	case AckAlarm:
		r.AlarmAckedAt = cmp.Or(r.AlarmAckedAt, change.At)
	case Undo:
		if last != nil {
			r.reverse(last)
		}
	}

	return true
}

// depart moves a record off the board into the given state.
func (b *Board) depart(r *record, as State) {
	b.lastDeparture++
	r.State, r.Departure, r.DepartedAt, r.DepartedBy = as, b.lastDeparture, time.Now().UnixMilli(), ""
}

// reopen moves a record back to its place.
func (r *record) reopen() { r.State, r.Departure, r.DepartedAt, r.DepartedBy = Open, 0, 0, "" }

// reverse reverses a change. An undo cannot be undone; the original command does it again.
func (r *record) reverse(last *lastChange) {
	switch last.Do {
	case Bump:
		r.reopen()
	case ItemDone, ItemUndone:
		r.setDone(last.Item, last.Do == ItemUndone)
	case AckVoid: // a card that was acknowledged before stays so
		if r.AckedAt == last.At {
			r.AckedAt = 0
		}
	case AckAlarm:
		if r.AlarmAckedAt == last.At {
			r.AlarmAckedAt = 0
		}
	}
}

// setDone marks an item as done, or not.
func (r *record) setDone(item int, done bool) {
	r.Done = slices.DeleteFunc(r.Done, func(i int) bool { return i == item })
	if done {
		r.Done = append(r.Done, item)
		slices.Sort(r.Done)
	}
}
