package kds

import (
	"context"
	"errors"
	"time"

	"ticketrail/queue/ticket"
)

// A screen is dark when no page of it is open, so no cook sees its tickets. After HoldFor all that it showed comes out
// at the backup, on one piece of paper; the tickets of its queue follow there one by one, through the dispatcher.

// retryPaper is the pause after an attempt to send the open tickets to the backup has failed.
const retryPaper = 5 * time.Second

// RunDark sends the tickets that were shown and not bumped to the backup when the screen has been dark for HoldFor. It
// returns when ctx ends.
func (s *Screen) RunDark(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		pagesChanged, darkSince := s.pagesChanged, s.darkSince
		s.mu.Unlock()

		var pause <-chan time.Time
		var changed <-chan struct{}
		if !darkSince.IsZero() && s.o.StorePaper != nil {
			// Changed is asked for before the board is read, so no change is missed: a ticket may be confirmed by a
			// page that has just closed.
			changed = s.o.Board.Changed()
			if wait := time.Until(darkSince.Add(s.o.HoldFor)); wait > 0 {
				pause, changed = time.After(wait), nil
			} else if err := s.toPaper(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("the screen is dark, and its open tickets cannot be sent to the backup; trying again",
					"backup", s.o.Backup, "err", err)
				pause = time.After(retryPaper)
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

func (s *Screen) toPaper(ctx context.Context) error {
	printed, err := s.o.Board.ToPaper(ctx, s.o.Backup, s.o.StorePaper)
	if printed > 0 {
		s.log.Warn("the screen is dark: its open tickets go to the backup", "tickets", printed, "backup", s.o.Backup)
	}
	return err
}

// A screenBackup is another station as the backup of a screen's queue.
type screenBackup struct {
	s       *Screen
	station BackupStation
}

// WrapBackup returns backup as the backup of this screen's queue. The tickets that were shown and not bumped are
// older and are queued there first, see [Screen.RunDark]; until then this is not ready. If an attempt that broke left a
// ticket's card on the board, the card is taken off before the first byte of the ticket. The ticket says that it is the
// screen that is down. Values for equal stations are equal, so the dispatcher sees no change after a reload.
func (s *Screen) WrapBackup(backup BackupStation) BackupStation { return screenBackup{s, backup} }

// Idempotent reports whether the backup is idempotent, as the dispatcher sees it: that station
// recognises the same job, and the steps of screenBackup can be done twice.
func (p screenBackup) Idempotent() bool {
	i, ok := p.station.(interface{ Idempotent() bool })
	return ok && i.Idempotent()
}

// Print prints a ticket of the screen's queue at the backup, see [Screen.WrapBackup].
func (p screenBackup) Print(ctx context.Context, d ticket.Delivery,
	begin func(context.Context) error) (ticket.Proof, error) {
	// Checked as soon as the screen is dark and not only after HoldFor: else this ticket would come
	// out before older ones that were on the screen.
	if p.s.o.StorePaper != nil && !p.s.live() && p.s.o.Board.NeedPaper() {
		return "", ticket.NotReady(errShownFirst)
	}
	// Only the paper says that the screen is down. The card is made of own, and ComesOut clears its For and Down.
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

// errShownFirst says that this is no failure of the backup: the dispatcher tries again without
// doubt.
var errShownFirst = errors.New("older tickets that were on the screen come out first")
