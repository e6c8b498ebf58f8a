package board

import (
	"context"
	"slices"
	"time"
)

// sweep deletes cards that can no longer be recalled. It stops at the first error; the rest is
// deleted after the next change or the next start. write is held.
//
// A crash in the middle: the cards that are still stored are deleted later. It runs after a change
// and not by a timer, so an idle night writes nothing to the disk.
func (b *Board) sweep(ctx context.Context) {
	for _, job := range b.forgettable() {
		if err := b.o.KV.Delete(ctx, cardKey(job)); err != nil {
			b.log.Debug("cannot delete an expired card yet", "job", job, "err", err)
			return
		}
		b.publish(job, nil)
	}
}

// MaxKept and maxKeptFor bound what an expo can make a board keep: a kitchen's evening, and no more
// if the expo is never used.
const (
	MaxKept    = 1000
	maxKeptFor = 12 * time.Hour
)

// forgettable returns the jobs whose cards can be deleted: off the board, no longer recallable, and
// not needed by an expo.
func (b *Board) forgettable() (jobs []uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	now := time.Now()
	off := b.notOpen()
	for i, e := range off {
		wanted := i < b.o.RecallKeep && b.recallable(e, now)
		if !wanted && i < MaxKept && now.Sub(time.UnixMilli(e.rec.OffAt)) < maxKeptFor {
			wanted = slices.ContainsFunc(b.watchers, func(w *watcher) bool { return w.needs(e.rec.Job) })
		}
		if !wanted {
			jobs = append(jobs, e.rec.Job)
		}
	}
	return jobs
}

// notOpen returns the entries off the board, the latest first. mu is held.
func (b *Board) notOpen() []*entry {
	var off []*entry
	for _, e := range b.cards {
		if e.card.State != Open {
			off = append(off, e)
		}
	}
	slices.SortFunc(off, func(x, y *entry) int { return -compareTwo(x.rec.Off, y.rec.Off, x.rec.Job, y.rec.Job) })
	return off
}

// recallable reports whether a card went off the board recently enough. After the clock was set
// back, a card looks younger and is kept longer, which does no harm.
func (b *Board) recallable(e *entry, now time.Time) bool {
	return now.Sub(time.UnixMilli(e.rec.OffAt)) < b.o.RecallFor
}
