package kds

import (
	"context"
	"time"
)

// markShown notes for good that a live page holds a card. One that is gone is no error.
//
// A crash before it: nobody was told that the ticket was shown, the queue brings it again.
// A crash after it: likewise, or the ticket is out; the card says what was true.
func (b *Board) markShown(ctx context.Context, job uint64) error {
	return b.update(ctx, job, func(r *record) bool {
		was := r.Shown
		r.Shown = true
		return !was
	})
}

// markPaper notes that a ticket that was shown came out of another station because
// every screen was dead. The card stays: nobody has said that it is done.
//
// A crash before it: the queue still has its mark, and this is done when it is asked next. A crash
// after it: the card itself keeps the ticket from being copied again.
func (b *Board) markPaper(ctx context.Context, job uint64, station string) error {
	return b.update(ctx, job, func(r *record) bool {
		if r.Paper == station {
			return false
		}
		r.Paper, r.PaperAt = station, time.Now().UnixMilli()
		r.Version++
		return true
	})
}

// withdraw takes a card off the board whose ticket is about to come out of another station:
// no page ever said that it holds it. It can be recalled.
//
// A crash before it: the card is here, the queue owes the ticket, and it comes out there or
// here, marked by the doubt that is in the queue. A crash after it: it is owed and not here,
// so it comes out once, or twice and marked.
func (b *Board) withdraw(ctx context.Context, job uint64) error {
	return b.update(ctx, job, func(r *record) bool {
		if r.State != Open {
			return false
		}
		b.takeOff(r, Elsewhere)
		r.LastChange = nil
		r.Version++
		return true
	})
}

func (b *Board) takeOff(r *record, as CardState) {
	b.lastOff++
	r.State, r.Off, r.OffAt = as, b.lastOff, time.Now().UnixMilli()
}
