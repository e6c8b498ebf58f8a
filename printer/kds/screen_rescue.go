package kds

import (
	"context"
	"errors"
	"time"

	"ticketrail/queue/ticket"
)

// wasShown heads a ticket that comes out on paper although it was shown.
const wasShown = "WAS ON THE SCREEN and is not bumped: may be in preparation"

// mostPaper is how often a card may have come out on paper before a person must look: the
// first copy and one that is marked.
const mostPaper = 2

// Orphaned is what was shown and not bumped, oldest first, once every page has been dead for
// after; nothing before that. It comes out of the backup, marked.
func (s *Screen) Orphaned(after time.Duration) []ticket.Delivery {
	if !s.dark(after) {
		return nil
	}
	return s.o.Board.orphans(s.o.Name)
}

// dark says whether every page has been dead for so long.
func (s *Screen) dark(after time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.dead.IsZero() && time.Since(s.dead) >= after
}

// orphans is each open card that was shown and is on no paper, as a delivery.
func (b *Board) orphans(station string) (out []ticket.Delivery) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, c := range b.open() {
		r := &b.cards[c.Job].rec
		if !r.Shown || r.Paper != "" || r.PaperTries >= mostPaper {
			continue
		}
		t, err := ticket.Unmarshal(r.Ticket)
		if err != nil {
			continue // it was read when it was put here
		}
		t.Notes = append([]string{wasShown}, t.Notes...)
		out = append(out, ticket.Delivery{
			Job: c.Job, Station: station, Attempt: r.PaperTries + 1, Ticket: t,
			Doubt: r.PaperTries > 0 || r.Duplicate, Reprint: r.Reprint, For: station, Down: "screen",
		})
	}
	return out
}

// Watch has the backup print what was shown and not bumped when every page has been dead for
// HoldFor. It returns when ctx ends, which interrupts a print. Without a backup it only waits.
func (s *Screen) Watch(ctx context.Context) {
	pause := time.Duration(0) // after a failure
	for ctx.Err() == nil {
		s.mu.Lock()
		stir, wait := s.stir, time.Duration(-1)
		if !s.dead.IsZero() && s.o.Backup != nil {
			wait = max(time.Until(s.dead.Add(s.o.HoldFor)), pause)
		}
		s.mu.Unlock()
		if wait < 0 {
			select {
			case <-stir:
			case <-ctx.Done():
			}
			continue
		}
		if wait > 0 && !s.nap(ctx, stir, wait) {
			continue
		}
		err := s.printOrphans(ctx)
		if pause = rescuePause; err != nil && ctx.Err() == nil {
			s.log.Warn("cannot print what was on the screen, trying again", "backup", s.o.BackupName, "err", err)
		}
	}
}

// rescuePause is between two looks for tickets to rescue.
const rescuePause = 5 * time.Second

// nap says whether the time passed undisturbed.
func (s *Screen) nap(ctx context.Context, stir <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stir:
	case <-ctx.Done():
	}
	return false
}

// printOrphans prints them in order, and stops at the first that fails, or when a page is live.
func (s *Screen) printOrphans(ctx context.Context) error {
	for {
		all := s.Orphaned(s.o.HoldFor)
		if len(all) == 0 {
			return nil
		}
		if err := s.printOrphan(ctx, s.o.Backup, all[0]); err != nil {
			return err
		}
	}
}

// printOrphan prints a card's ticket. The card stays on the board, and says where the paper is:
// nobody has told that it is done.
//
// A crash before markTries returned: no paper. After it: there may be some, and the next copy
// says POSSIBLE DUPLICATE. After markPaper: it is done.
//
// A station that knows a ticket again counts as one try however often it is asked: see
// [Screen.Idempotent].
func (s *Screen) printOrphan(ctx context.Context, on Printer, d ticket.Delivery) error {
	tries := d.Attempt - 1
	may := tries + 1
	if idempotent(on) {
		may = max(tries, 1)
	}
	moot := false
	_, err := on.Print(ctx, d, func(ctx context.Context) error {
		// Whoever prints may have had us wait for long. Meanwhile a cook saw it, or can.
		err := errBack
		if s.dark(s.o.HoldFor) {
			err = s.o.Board.markTries(ctx, d.Job, may)
		}
		moot = errors.Is(err, errBack) || errors.Is(err, errNotOpen)
		return err
	})
	switch {
	case moot:
		return nil
	case err == nil:
		s.log.Warn("printed what was on the screen, no screen is open", "job", d.Job, "request", d.Ticket.Request, "backup", s.o.BackupName)
		return s.o.Board.markPaper(context.WithoutCancel(ctx), d.Job, s.o.BackupName)
	case ticket.IsPermanent(err):
		// Error: a person must look. It is still on the board; the others are more urgent.
		s.log.Error("a ticket of the screen cannot be printed, it is only on the board", "job", d.Job, "request", d.Ticket.Request, "err", err)
		return s.o.Board.giveUpPaper(context.WithoutCancel(ctx), d.Job)
	case ticket.IsUntouched(err):
		if err := s.o.Board.markTries(context.WithoutCancel(ctx), d.Job, tries); err != nil && !errors.Is(err, errNotOpen) {
			return err
		}
	case may >= mostPaper:
		s.log.Error("two copies of a ticket of the screen broke off; see what came out", "job", d.Job, "request", d.Ticket.Request, "backup", s.o.BackupName, "err", err)
	}
	return err
}

// A standIn is a backup of a screen's line.
type standIn struct {
	s  *Screen
	on Printer
}

// StandIn is another station as the backup of this screen's line. What was shown and not bumped
// is older, so it comes out first, by [Screen.Watch]; until then this is not ready. A ticket's
// card, if an attempt that broke off left one, is taken off the board before the ticket's first
// byte; and the ticket says that it is the screen that is down. The value is equal for
// equal stations.
func (s *Screen) StandIn(on Printer) Printer { return standIn{s, on} }

// Idempotent says that the other station is: it knows a ticket again by the same job, and what
// this adds can be done twice.
func (p standIn) Idempotent() bool { return idempotent(p.on) }

// idempotent is as the dispatcher has it.
func idempotent(on Printer) bool {
	i, ok := on.(interface{ Idempotent() bool })
	return ok && i.Idempotent()
}

// Print prints a ticket of the screen's line: see [Screen.StandIn].
func (p standIn) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	// Not only after HoldFor: what was shown would come out behind this one.
	if p.s.o.Backup != nil && len(p.s.Orphaned(0)) > 0 {
		return "", ticket.NotReady(errOlder)
	}
	d.Down = "screen"
	return p.on.Print(ctx, d, func(ctx context.Context) error {
		if err := begin(ctx); err != nil {
			return err
		}
		if err := p.s.o.Board.withdraw(ctx, d.Job); err != nil {
			return ticket.Untouched(err) // the card may still be shown, and nothing was printed
		}
		p.s.forget(d.Job)
		return nil
	})
}

var (
	errOlder = errors.New("tickets that were on the screen come out first")
	errBack  = errors.New("a screen is open again")
)
