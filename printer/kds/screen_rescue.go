package kds

import (
	"context"
	"errors"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// The screen says what its board needs, and the queue works out what is still to be done. Both
// sides can crash at any time and ask again: the copies are found by their jobs, so none is made
// twice.

// A Rescuer makes and withdraws copies of a screen's tickets: *queue.Queue.
type Rescuer interface {
	// Rescue makes the copies at station to that the board of screen from needs, and withdraws
	// those it no longer needs. After an error, what was done and what was not is corrected by the
	// next call.
	Rescue(ctx context.Context, from, to string, board []ticket.RescueCard) (ticket.Rescue, error)
}

// RunRescue sends copies of what was shown and not bumped to the backup when the screen has been
// dark for HoldFor. It withdraws copies that have not begun to print when a page is live again, or
// when a ticket was bumped after all. It returns when ctx ends.
func (s *Screen) RunRescue(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		pagesChanged, darkSince := s.pagesChanged, s.darkSince
		s.mu.Unlock()
		// Changed is asked for before the board is read in rescue, so no change is missed.
		dark, changed := !darkSince.IsZero(), s.o.Board.Changed()
		if !dark {
			changed = nil // no card needs a copy while a page is live
		}
		var pause <-chan time.Time
		// With no backup there is nowhere to send copies; but when the screen is live again, copies
		// of an earlier configuration are still withdrawn.
		if wait := time.Until(darkSince.Add(s.o.HoldFor)); dark && wait > 0 {
			pause = time.After(wait)
		} else if !dark || s.o.Backup != "" {
			settled, err := s.rescue(ctx, dark)
			if err != nil && ctx.Err() == nil {
				s.log.Warn("cannot send the open tickets to the backup, or withdraw them; trying again", "backup",
					s.o.Backup, "err", err)
			}
			if !settled {
				pause = time.After(rescueInterval)
			}
		}
		select { // a nil channel blocks for ever
		case <-pause:
		case <-changed:
		case <-pagesChanged:
		case <-ctx.Done():
		}
	}
}

// rescueInterval is the time between two looks at what has become of the copies.
const rescueInterval = 5 * time.Second

// rescue has the queue make or withdraw the copies that the board needs now, and marks the cards
// whose copies came out. settled says that nothing more is to be expected of them.
func (s *Screen) rescue(ctx context.Context, dark bool) (settled bool, err error) {
	cards := s.o.Board.RescueCards(dark)
	r, err := s.o.Rescuer.Rescue(ctx, s.o.Name, s.o.Backup, cards)
	if err != nil {
		return false, err
	}
	if r.Sent > 0 {
		s.log.Warn("the screen is dark: sending its open tickets to the backup", "tickets", r.Sent, "backup",
			s.o.Backup)
	}
	if r.TakenBack > 0 {
		s.log.Info("withdrew copies from the backup before they began to print", "tickets", r.TakenBack)
	}
	settled = true
	skipped := map[uint64]bool{}
	for _, c := range cards {
		made, ok := r.Copies[c.Job]
		skipped[c.Job] = c.Ticket != nil && !made.WillPrint
		// Not settled: a copy that may still come out, and a card that needs a copy and has none. That
		// one still has its own job in the queue, which may end as shown; then it gets a copy.
		missing := c.Ticket != nil && !ok
		settled = settled && !made.Open && !missing
		// A crash before the mark is stored: the queue still reports the copy, and the next rescue
		// marks the card.
		if made.Out {
			err = errors.Join(err, s.o.Board.MarkPaper(ctx, c.Job, made.Station))
		}
	}
	s.mu.Lock()
	s.skipped = skipped
	s.mu.Unlock()
	return settled && err == nil, err
}

// rescuePending reports whether a ticket that was shown has yet to come out at the backup.
func (s *Screen) rescuePending() bool {
	s.mu.Lock()
	dark, skipped := !s.darkSince.IsZero(), s.skipped
	s.mu.Unlock()
	return dark && s.o.Backup != "" && slices.ContainsFunc(s.o.Board.RescueCards(true), func(c ticket.RescueCard) bool {
		return c.Ticket != nil && !skipped[c.Job]
	})
}

// A screenBackup is another station as the backup of a screen's queue.
type screenBackup struct {
	s       *Screen
	station BackupStation
}

// WrapBackup returns station on as the backup of this screen's queue. Tickets that were shown and
// not bumped are older and come out first, see [Screen.RunRescue]; until then this is not ready. If
// an attempt that broke left a ticket's card on the board, the card is taken off before the first
// byte of the ticket. The ticket says that it is the screen that is down. Values for equal stations
// are equal, so the dispatcher sees no change after a reload.
func (s *Screen) WrapBackup(on BackupStation) BackupStation { return screenBackup{s, on} }

// Idempotent reports what the station on reports, as the dispatcher sees it: that station
// recognises the same job, and what screenBackup adds can be done twice.
func (p screenBackup) Idempotent() bool {
	i, ok := p.station.(interface{ Idempotent() bool })
	return ok && i.Idempotent()
}

// Print prints a ticket of the screen's queue at the backup, see [Screen.WrapBackup].
func (p screenBackup) Print(ctx context.Context, d ticket.Delivery,
	begin func(context.Context) error) (ticket.Proof, error) {
	// Checked as soon as the screen is dark and not only after HoldFor: else this ticket would come
	// out before older ones that were on the screen.
	if p.s.rescuePending() {
		return "", ticket.NotReady(errRescuePending)
	}
	own := d
	if len(d.RefusedBy) == 0 { // else For is the station that refused it
		d.Down = "screen"
	}
	return p.station.Print(ctx, d, func(ctx context.Context) error {
		// The order matters. begin first: the doubt is on disk before anything changes. Then the
		// board, so that no page shows a card whose ticket is being printed, and the cooks find it when
		// the screen is back. Then the first byte.
		if err := begin(ctx); err != nil {
			return err
		}
		if err := p.s.o.Board.ComesOut(ctx, own, p.s.o.Backup); err != nil {
			return ticket.Untouched(err) // the card may still be visible, and nothing was printed
		}
		p.s.forget(d.Job)
		return nil
	})
}

// errRescuePending says that this is no failure of the backup: the dispatcher tries again without
// doubt.
var errRescuePending = errors.New("older tickets that were on the screen come out first")
