package board

import (
	"context"
	"time"
)

// MarkShown records that a live page holds a card. A card that is gone is no error.
//
// A crash before the record is stored: nobody was told that the ticket was shown, so the queue
// delivers it again. A crash after it: the same, or the ticket has ended; the card says what was
// true.
func (b *Board) MarkShown(ctx context.Context, job uint64) error {
	return b.update(ctx, job, func(r *record) bool {
		was := r.Shown
		r.Shown = true
		return !was
	})
}

// MarkPaper records that a ticket that was shown has also come out at station, because the screen
// was dark. The card stays open: nobody has said that it is done.
//
// A crash before it is stored: the queue still has its mark of the copy, and this is done with the
// next rescue. A crash after it: the card itself keeps the ticket from being copied again.
func (b *Board) MarkPaper(ctx context.Context, job uint64, station string) error {
	return b.update(ctx, job, func(r *record) bool {
		if r.Paper == station {
			return false
		}
		r.Paper, r.PaperAt = station, time.Now().UnixMilli()
		r.Version++
		return true
	})
}

// Withdraw takes a card off the board because its ticket is about to come out at another station
// and no page ever confirmed it. It can be recalled.
//
// A crash before it is stored: the card is here and the queue has the ticket; it comes out there or
// here, and the doubt in the queue marks it. A crash after it: the ticket is in the queue and not
// here, so it comes out once, or twice and marked.
func (b *Board) Withdraw(ctx context.Context, job uint64) error {
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

// takeOff moves a record off the board into the given state.
func (b *Board) takeOff(r *record, as CardState) {
	b.lastOff++
	r.State, r.Off, r.OffAt = as, b.lastOff, time.Now().UnixMilli()
}
