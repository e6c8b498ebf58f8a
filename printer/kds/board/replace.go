package board

import (
	"cmp"
	"context"
	"slices"
)

// A change of an order is a whole ticket, which takes the place of the card that it changes.

// replaces says whether a card is in the place of another one: both came to the same station under the same request,
// and the change names the order of the other one.
func (e *entry) replaces(o *entry) bool {
	t, was := e.t, o.t
	return t.Changed != nil && t.Venue == was.Venue && t.Request == was.Request && t.Changed.Order == was.Order() &&
		o.rec.Job < e.rec.Job && !was.Received.Equal(t.Received) && // else both came with the same POST
		cmp.Or(e.rec.For, e.rec.Station) == cmp.Or(o.rec.For, o.rec.Station)
}

// removeReplaced takes replaced cards off the board, whichever came first. write is held.
//
// A crash after the changed ticket was stored and before this: it is done at the next start.
func (b *Board) removeReplaced(ctx context.Context) error {
	var jobs []uint64
	b.mu.RLock()
	for _, e := range b.cards {
		if e.t.Changed == nil {
			continue
		}
		for job, o := range b.cards {
			if o.rec.State != Replaced && e.replaces(o) {
				jobs = append(jobs, job)
			}
		}
	}

	b.mu.RUnlock()
	slices.Sort(jobs)
	return b.change(ctx, slices.Compact(jobs), func(r *record) bool {
		if r.State == Bumped { // that a cook was done with it stays known
			r.State = Replaced
		} else {
			b.depart(r, Replaced)
		}
		r.Version++
		r.note(wasReplaced, 0)
		return true
	})
}
