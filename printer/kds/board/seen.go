package board

import (
	"context"
	"time"
)

// visible is how long a card was on the visible page of a screen.
type visible struct {
	last  time.Time // when a page said so
	total int64     // milliseconds
}

// maxSeenGap is the longest time between two reports of a page for which its cards count as visible: a page
// that was asleep reports late.
const maxSeenGap = 15 * time.Second

// Seen records that a page shows these cards now, and not on another of its pages. The first time is stored;
// how long a card was visible is kept in memory and stored with its next change, because a write every five
// seconds would wear out the disk.
func (b *Board) Seen(ctx context.Context, jobs []uint64) error {
	now := time.Now()
	var first []uint64
	b.mu.Lock()
	for _, job := range jobs {
		card := b.cards[job]
		if card == nil || card.rec.State != Open {
			continue
		}

		shown := b.visible[job]
		shown.total = max(shown.total, card.rec.SeenFor)
		if gap := now.Sub(shown.last); gap > 0 && gap <= maxSeenGap { // of two pages each adds its part
			shown.total += gap.Milliseconds()
		}

		shown.last = now
		b.visible[job] = shown
		if card.rec.SeenAt == 0 {
			first = append(first, job)
		}
	}

	b.mu.Unlock()
	if len(first) == 0 {
		return nil
	}

	b.write.Lock()
	defer b.write.Unlock()

	return b.change(ctx, first, func(r *record) bool {
		if r.SeenAt != 0 {
			return false
		}
		r.SeenAt = now.UnixMilli()
		r.note(wasSeen, 0)
		return true
	})
}

// Unseen says how many open tickets are on the board for longer than after, and were never on the visible
// page of a screen.
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
