package board

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"ticketrail/printer/layout"
)

const (
	// MaxKept and maxKeptFor limit how many cards off the board stay in memory, and for how long, for an order that is
	// not finished or for a pass: a kitchen's evening. Cards that can be recalled stay in any case.
	MaxKept    = 1000
	maxKeptFor = 12 * time.Hour
	// storedFor is how long a card stays stored after it left the board, for its timeline.
	storedFor = 48 * time.Hour
)

// sweep forgets cards that can no longer be recalled, and deletes those that left the board long ago. It
// stops at the first error; the rest is deleted after the next change or the next start. write is held.
//
// A crash in the middle: the cards that are still stored are deleted later. It runs after a change and not
// by a timer, so an idle night writes nothing to the disk.
func (b *Board) sweep(ctx context.Context) {
	if gone := b.forgettable(); len(gone) > 0 {
		b.mu.Lock()
		for _, e := range gone {
			delete(b.cards, e.rec.Job)
			b.archived[e.rec.Job] = e.rec.DepartedAt
		}
		b.mu.Unlock()
		b.publish()
	}

	for job, offAt := range b.archived {
		if time.Since(time.UnixMilli(offAt)) < storedFor {
			continue
		}
		if err := b.o.KV.Delete(ctx, cardKey(job)); err != nil {
			b.log.Debug("cannot delete an old card yet", "job", job, "err", err)
			return
		}
		delete(b.archived, job)
	}
}

// forgettable returns the cards that are off the board, no longer recallable and not needed by a pass. The
// cards of an order are kept together. write is held.
func (b *Board) forgettable() (gone []*entry) {
	snap := b.Snapshot()
	recallable, needed := map[uint64]bool{}, map[uint64]bool{}
	b.mu.RLock()
	defer b.mu.RUnlock()

	for _, o := range slices.Concat(snap.Orders, snap.Recall) {
		for _, r := range o.refs {
			recallable[r.Job] = o.State != Open
		}
		for _, m := range b.assembler.groups[o.Group()].members {
			needed[m.rec.Job] = true
		}
	}

	off := slices.DeleteFunc(slices.Collect(maps.Values(b.cards)), func(e *entry) bool { return e.rec.State == Open })
	slices.SortFunc(off, func(x, y *entry) int { return int(y.rec.Departure) - int(x.rec.Departure) })
	for i, e := range off {
		keep := recallable[e.rec.Job]
		if !keep && i < MaxKept && time.Since(time.UnixMilli(e.rec.DepartedAt)) < maxKeptFor {
			keep = needed[e.rec.Job] ||
				slices.ContainsFunc(b.passes, func(x *Pass) bool { return x.needs(Ref{b.station, e.rec.Job}) })
		}
		if !keep {
			gone = append(gone, e)
		}
	}

	return gone
}

// Past is a card as it was stored, for reports. Times are milliseconds since 1970; 0 is never.
type Past struct {
	Station                string
	Job                    uint64
	Received, Seen, Bumped int64
	Promised               int64 // when it was wanted
	Recalls                int
	Paper                  bool // it came out at another station
	Held                   bool // it waited until somebody said that it is to be begun; the time is unknown
	Items                  []PastItem

	// The board does not know these.
	SentOut int64 // when its order left the pass
	// Late says that it was bumped later than its screen's LateAfter and not before it was wanted, or is open for so
	// long. It has no meaning for a ticket that came out on paper: the time when that was made is unknown.
	Late bool
}

// A PastItem is an item of a card with when it was made: marked done, or bumped with its ticket.
type PastItem struct {
	Name string
	Done int64
}

// Past returns the cards that were received between two times, up to 48 hours after they left the board.
// Slips, tests, cancellations and replaced cards are left out.
func (b *Board) Past(from, to time.Time) ([]Past, error) {
	var out []Past
	err := b.o.KV.All(func(_ string, value []byte) bool {
		card, err := decodeRecord(value)
		if err == nil && !card.t.Void && ordinary(card.t) && card.rec.State != Replaced &&
			!card.t.Received.Before(from) && card.t.Received.Before(to) {
			out = append(out, card.past())
		}
		return true
	})
	return out, err
}

func (e *entry) past() Past {
	p := Past{Station: e.rec.Station, Job: e.rec.Job, Received: unixMillis(e.t.Received), Seen: e.rec.SeenAt,
		Promised: unixMillis(e.t.PromisedAt()), Paper: e.rec.Paper != ""}
	if e.rec.State == Bumped {
		p.Bumped = e.rec.DepartedAt
	}

	for _, m := range e.rec.Timeline {
		if m.E == string(Recall) {
			p.Recalls++
		}
	}

	for i, l := range e.t.Lines {
		if l.Depth != 0 || l.Void {
			continue
		}
		p.Held = l.Hold && (p.Held || len(p.Items) == 0)
		it := PastItem{Name: layout.OneLine(l.Name), Done: p.Bumped}
		if slices.Contains(e.rec.Done, i) {
			it.Done = cmp.Or(e.rec.doneAt(i), p.Bumped)
		}
		p.Items = append(p.Items, it)
	}

	return p
}
