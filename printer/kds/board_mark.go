package kds

import (
	"context"
	"errors"
	"time"
)

// markShown notes for good that a live page holds a card. One that is gone is no error.
//
// A crash before it: nobody was told that the ticket was shown, the queue brings it again.
// A crash after it: likewise, or the ticket is out; the card says what was true.
func (b *Board) markShown(ctx context.Context, job uint64) error {
	return b.alter(ctx, job, func(r *record) bool {
		was := r.Shown
		r.Shown = true
		return !was
	})
}

// markPaper notes that a ticket that was shown has been printed at another station because
// every screen was dead. The card stays: nobody has said that it is done.
func (b *Board) markPaper(ctx context.Context, job uint64, station string) error {
	return b.alter(ctx, job, func(r *record) bool {
		if r.Paper == station {
			return false
		}
		r.Paper, r.PaperAt = station, time.Now().UnixMilli()
		r.Version++
		return true
	})
}

var errNotOpen = errors.New("the card is not open any more")

// markTries makes it durable how often paper with this ticket may have come out of another
// station; the next copy says so. Of a card that is not open it is errNotOpen.
//
// A crash before it: none of this try did. A crash after it: it may have.
func (b *Board) markTries(ctx context.Context, job uint64, tries int) error {
	is := false
	err := b.alter(ctx, job, func(r *record) bool {
		is = r.State == Open
		was := r.PaperTries
		r.PaperTries = tries
		return is && was != tries
	})
	if err == nil && !is {
		return errNotOpen
	}
	return err
}

// withdraw takes a card off the board whose ticket is about to come out of another station:
// no page ever said that it holds it. It can be recalled.
//
// A crash before it: the card is here, the queue owes the ticket, and it comes out there or
// here, marked by the doubt that is in the queue. A crash after it: it is owed and not here,
// so it comes out once, or twice and marked.
func (b *Board) withdraw(ctx context.Context, job uint64) error {
	return b.alter(ctx, job, func(r *record) bool {
		if r.State != Open {
			return false
		}
		b.leave(r, Elsewhere)
		r.Back = nil
		r.Version++
		return true
	})
}

func (b *Board) leave(r *record, as CardState) {
	b.off++
	r.State, r.Off, r.OffAt = as, b.off, time.Now().UnixMilli()
}

// giveUpPaper notes that a card's ticket cannot be printed.
func (b *Board) giveUpPaper(ctx context.Context, job uint64) error {
	return b.alter(ctx, job, func(r *record) bool { r.PaperTries = mostPaper; return true })
}
