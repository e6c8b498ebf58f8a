package board

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// A tick says that somebody at the pass has seen the dishes of a station that cannot say so itself. One is
// stored for each job, under a key that names the job and the station.
type tick struct {
	V          int      `json:"v"`
	At         int64    `json:"at"`
	TakenBack  bool     `json:"taken_back,omitempty"` // it was taken back
	CommandIDs []string `json:"command_ids"`
}

// Do bumps, undoes or recalls an order, or ticks a part of it. See [Board.Do] for errors and repeated
// deliveries.
//
// A bump is one Put. A crash before it returned: the order is where it was, and the page asks again. A crash
// after it: the order is sent out, and the command is known. A tick is a Put for each job of the part. After
// a crash between two the part is not ticked yet; the page asks again, and the version is the same.
func (x *Pass) Do(ctx context.Context, c Command) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}

	x.write.Lock()
	defer x.write.Unlock()

	var out Outcome
	var err error
	switch c.Do {
	case Bump, Undo, Recall:
		out, err = x.send(ctx, c)
	case Tick, Untick:
		out, err = x.tick(ctx, c)
	default:
		err = fmt.Errorf("%w: a pass has no %s, only bump, undo, recall, tick and untick", ErrCommand, c.Do)
	}
	if err != nil {
		return Result{}, err
	}
	if out == Done {
		x.sweep(ctx)
	}

	order := cmp.Or(x.Order(c.Order), x.successor(c.Order))
	return Result{ID: c.ID, Outcome: out, Order: order, At: x.At()}, nil
}

// send carries out a command that moves an order. write is held.
func (x *Pass) send(ctx context.Context, c Command) (Outcome, error) {
	sent, out := x.decide(c)
	if out != Done || sent == nil {
		return out, nil
	}
	if err := x.store(ctx, sentKey(sent.Departure), sent); err != nil {
		return "", fmt.Errorf("%s order: %w", c.Do, err)
	}

	x.mu.Lock()
	x.sent[sentKey(sent.Departure)] = sent
	x.index()
	x.mu.Unlock()
	x.publish()
	return Done, nil
}

// store stores a sent order or a tick.
func (x *Pass) store(ctx context.Context, key string, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return x.o.KV.Put(ctx, key, value)
}

// decide returns the sent order to store and Done; nothing and Done, if the command was done before; or why
// it is not done. write is held.
func (x *Pass) decide(c Command) (*sentOrder, Outcome) {
	// A delivery that was repeated is recognised before anything else: its order may have another key by now.
	for _, s := range x.sent {
		if slices.Contains(s.CommandIDs, c.ID) {
			return nil, Done
		}
	}

	order := x.Order(c.Order)
	if order == nil && c.Do != Undo && x.successor(c.Order) != nil {
		return nil, Already
	}

	switch {
	case order == nil:
		return nil, Gone
	case c.Do == Bump && order.State != Open, c.Do == Recall && order.State == Open:
		return nil, Already
	case c.Version != order.Version:
		return nil, Conflict
	}

	now := time.Now()
	if c.Do == Bump {
		// After a failed Put the same number is used again: if the first value was stored all the same, the
		// next one replaces it under the same key, so at most one of them exists.
		return &sentOrder{V: recordVersion, Departure: x.lastDeparture + 1, At: now.UnixMilli(), Cards: order.refs,
			CommandIDs: []string{c.ID}}, Done
	}

	was, since := x.sent[sentKey(order.Departure)], now.Sub(time.UnixMilli(order.DepartedAt))
	switch {
	case was == nil || c.Do == Undo && since >= UndoFor:
		return nil, TooLate
	case since >= x.recallFor:
		return nil, Gone
	}

	sent := *was
	sent.Recalled, sent.RecalledAt, sent.CommandIDs = true, now.UnixMilli(), append(slices.Clone(was.CommandIDs), c.ID)
	return &sent, Done
}

// tick ticks a part of an order, or takes that back. write is held.
func (x *Pass) tick(ctx context.Context, c Command) (Outcome, error) {
	order := x.Order(c.Order)
	if order == nil {
		return Gone, nil
	}

	i := slices.IndexFunc(order.Parts, func(p Part) bool { return p.Station == c.PartStation })
	if i < 0 {
		return Gone, nil
	}

	part := &order.Parts[i]
	done := 0
	for _, job := range part.byHand {
		if ticked := x.ticks[tickKey(part.Station, job)]; ticked != nil && slices.Contains(ticked.CommandIDs, c.ID) {
			done++
		}
	}

	switch {
	case done > 0 && done == len(part.byHand):
		return Done, nil
	case (part.TickedAt != 0) == (c.Do == Tick):
		return Already, nil
	case done == 0 && c.Version != order.Version,
		part.State != PartOut && part.State != PartExpired && part.State != PartTicked:
		return Conflict, nil
	}

	defer x.publish() // also after an error: the stored ticks are true
	for _, job := range part.byHand {
		key := tickKey(part.Station, job)
		ticked := tick{V: recordVersion, At: time.Now().UnixMilli(), TakenBack: c.Do == Untick}
		if was := x.ticks[key]; was != nil {
			ticked.CommandIDs = slices.Clone(was.CommandIDs[max(0, len(was.CommandIDs)+1-maxCommandIDs):])
		}
		ticked.CommandIDs = append(ticked.CommandIDs, c.ID)
		if err := x.store(ctx, key, ticked); err != nil {
			return "", fmt.Errorf("%s %s: %w", c.Do, part.Station, err)
		}
		x.ticks[key] = &ticked
	}

	return Done, nil
}

// sweep deletes values so old that no board has their cards. They are kept for storedFor, so that no order whose
// card is still on a board is shown as open again, and reports have it. write is held.
func (x *Pass) sweep(ctx context.Context) {
	var old []string
	for key, s := range x.sent {
		if time.Since(time.UnixMilli(s.At)) > storedFor {
			old = append(old, key)
		}
	}

	for key, k := range x.ticks {
		if time.Since(time.UnixMilli(k.At)) > storedFor {
			old = append(old, key)
		}
	}

	slices.Sort(old)
	for _, key := range old {
		if err := x.o.KV.Delete(ctx, key); err != nil {
			x.log.Debug("cannot delete an old order of the pass yet", "key", key, "err", err)
			return
		}
		x.mu.Lock()
		delete(x.ticks, key)
		delete(x.sent, key)
		x.index()
		x.mu.Unlock()
	}
}

// Sent says when each card was sent out from the pass, in milliseconds since 1970, for up to 48 hours.
func (x *Pass) Sent() map[Ref]int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()

	out := map[Ref]int64{}
	for p, s := range x.lastSent {
		if !s.Recalled {
			out[p] = s.At
		}
	}
	return out
}

// Timeline lists the moments of an order, at the stations and here.
func (x *Pass) Timeline(key string) []Moment {
	order := x.Order(key)
	if order == nil {
		return nil
	}

	entries, zone := order.entries(x.o.Boards...), ""
	for _, e := range entries {
		zone = e.t.Zone
	}

	here := x.sendings(zone, func(r Ref) bool { return slices.Contains(order.refs, r) })
	for _, p := range order.Parts {
		here = appendMoment(here, zone, Moment{At: p.TickedAt, What: wasTicked, Station: p.Title})
	}

	return timelineOf(entries, here...)
}

// TimelineOfJob says when the card of a job was sent out from the pass, and taken back, for up to 48 hours.
// The clock is UTC.
func (x *Pass) TimelineOfJob(job uint64) []Moment {
	return x.sendings("", func(r Ref) bool { return r.Job == job })
}

// sendings says when orders with such a card were sent out, and taken back.
func (x *Pass) sendings(zone string, with func(Ref) bool) (out []Moment) {
	x.mu.RLock()
	defer x.mu.RUnlock()

	for _, s := range x.sent {
		if slices.ContainsFunc(s.Cards, with) {
			out = appendMoment(out, zone, Moment{At: s.At, What: wasSentOut})
			out = appendMoment(out, zone, Moment{At: s.RecalledAt, What: wasReturned})
		}
	}
	return out
}
