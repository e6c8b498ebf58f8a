package board

import (
	"context"
	"time"
)

// Seen records that a page shows these cards now, and not on another of its sheets. The first time is stored; of cards
// that were seen before, nothing is written.
func (b *Board) Seen(ctx context.Context, jobs []uint64) error {
	now := time.Now()
	b.write.Lock()
	defer b.write.Unlock()

	return b.change(ctx, jobs, func(r *record) bool {
		if r.State != Open || r.SeenAt != 0 {
			return false
		}
		r.SeenAt = now.UnixMilli()
		r.note(wasSeen, 0)
		return true
	})
}

// Unseen says how many open tickets are on the board for longer than after, and were never on the visible
// sheet of a page.
func (b *Board) Unseen(after time.Duration) (n int) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, e := range b.cards {
		if e.rec.State == Open && e.rec.SeenAt == 0 && time.Since(time.UnixMilli(e.rec.CameAt)) >= after {
			n++
		}
	}
	return n
}

// MarkShown records that a live page holds a card. A card that is gone is no error.
//
// A crash before the record is stored: the queue was not told that the ticket was shown, so the queue delivers it
// again. A crash after it: the same, or the ticket has ended; the card says how it was.
func (b *Board) MarkShown(ctx context.Context, job uint64) error {
	b.write.Lock()
	defer b.write.Unlock()

	return b.change(ctx, []uint64{job}, func(r *record) bool {
		if r.Shown {
			return false
		}
		r.Shown = true
		r.note(wasShown, 0)
		return true
	})
}
