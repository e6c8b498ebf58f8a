package kds

import (
	"context"
	"slices"
	"time"
)

// sweep forgets cards that can no longer be recalled. One that the shelf keeps all the same
// is forgotten at the next start. write is held.
func (b *Board) sweep(ctx context.Context) {
	for _, job := range b.forgettable() {
		if err := b.o.KV.Delete(ctx, cardKey(job)); err != nil {
			b.log.Debug("an old card is kept for now", "job", job, "err", err)
			return
		}
		b.publish(job, nil)
	}
}

// mostKept bounds what the pass can keep of a station's cards, and longestKept for how long.
const (
	maxKept    = 1000
	maxKeptFor = 12 * time.Hour
)

func (b *Board) forgettable() (jobs []uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	now := time.Now()
	off := b.notOpen()
	for i, e := range off {
		wanted := i < b.o.RecallKeep && b.recallable(e, now)
		if !wanted && i < maxKept && now.Sub(time.UnixMilli(e.rec.OffAt)) < maxKeptFor {
			wanted = slices.ContainsFunc(b.watchers, func(w *watcher) bool { return w.needs(e.rec.Job) })
		}
		if !wanted {
			jobs = append(jobs, e.rec.Job)
		}
	}
	return jobs
}

// offBoard is what is not open, the latest first. mu is held.
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

// recallable says whether a card went off the board lately. A clock that was set back makes
// nothing old.
func (b *Board) recallable(e *entry, now time.Time) bool {
	return now.Sub(time.UnixMilli(e.rec.OffAt)) < b.o.RecallFor
}
