package kds

import (
	"context"
	"errors"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// wasShown heads a ticket that comes out elsewhere although it was shown.
const rescueNote = "WAS ON THE SCREEN and is not bumped: may be in preparation"

// A Rescuer makes copies of what is on a board for another station: *queue.Queue.
type Rescuer interface {
	// Rescue makes the copies at station to what the board of screen from needs. What it did not do
	// because of an error, or did all the same, is right after the next call.
	Rescue(ctx context.Context, from, to string, board []ticket.Card) (ticket.Rescue, error)
}

// Watch sends what was shown and not bumped to the backup when every page has been dead for HoldFor,
// and takes back what has not begun to come out there when a page is live, or the ticket was
// bumped after all. It returns when ctx ends.
func (s *Screen) RunRescue(ctx context.Context) {
	if s.o.Rescuer == nil {
		<-ctx.Done()
		return
	}
	for ctx.Err() == nil {
		s.mu.Lock()
		pagesChanged, dead := s.pagesChanged, s.darkSince
		s.mu.Unlock()
		dark, changed := !dead.IsZero(), s.o.Board.Changed()
		if !dark {
			changed = nil // no card wants a copy, whatever happens to it
		}
		var pause <-chan time.Time
		if wait := time.Until(dead.Add(s.o.HoldFor)); dark && wait > 0 {
			pause = time.After(wait)
		} else if !dark || s.o.Backup != "" {
			settled, err := s.rescue(ctx, dark)
			if err != nil && ctx.Err() == nil {
				s.log.Warn("cannot send what was on the screen to its backup, or take it back; trying again", "backup",
					s.o.Backup, "err", err)
			}
			if !settled {
				pause = time.After(rescueInterval)
			}
		}
		select { // a nil channel is for ever
		case <-pause:
		case <-changed:
		case <-pagesChanged:
		case <-ctx.Done():
		}
	}
}

// rescuePause is between two looks at what has become of the copies.
const rescueInterval = 5 * time.Second

// rescue has the queue make of the board what there should be of it elsewhere, and notes on the cards
// what came out. It says whether all of that has come to an end.
func (s *Screen) rescue(ctx context.Context, dark bool) (settled bool, err error) {
	cards := s.o.Board.rescueCards(dark)
	r, err := s.o.Rescuer.Rescue(ctx, s.o.Name, s.o.Backup, cards)
	if err != nil {
		return false, err
	}
	if r.Sent > 0 {
		s.log.Warn("no screen is open: what was on it goes to the backup", "tickets", r.Sent, "backup", s.o.Backup)
	}
	if r.TakenBack > 0 {
		s.log.Info("tickets that were on the screen are not printed after all", "tickets", r.TakenBack)
	}
	settled = true
	apart := map[uint64]bool{}
	for _, c := range cards {
		made, ok := r.Copies[c.Job]
		apart[c.Job] = c.Copy != nil && !made.First
		// One that wants a copy and has none has its own job in the queue still, which may end as shown.
		settled = settled && !made.Open && (ok || c.Copy == nil)
		if made.Out {
			err = errors.Join(err, s.o.Board.markPaper(ctx, c.Job, made.Station))
		}
	}
	s.mu.Lock()
	s.notAwaited = apart
	s.mu.Unlock()
	return settled && err == nil, err
}

// older says whether something that was shown has yet to come out of the backup.
func (s *Screen) rescuePending() bool {
	s.mu.Lock()
	dark, apart := !s.darkSince.IsZero(), s.notAwaited
	s.mu.Unlock()
	return dark && s.o.Backup != "" && slices.ContainsFunc(s.o.Board.rescueCards(true), func(c ticket.Card) bool {
		return c.Copy != nil && !apart[c.Job]
	})
}

// unprinted is each card that does not say that it is on paper; if nobody looks, an open one that was
// shown wants a copy.
func (b *Board) rescueCards(dark bool) []ticket.Card {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []ticket.Card
	for _, c := range b.open() {
		if rec := &b.cards[c.Job].rec; rec.Paper == "" {
			out = append(out, ticket.Card{Job: c.Job, Reprint: rec.Reprint})
			if t, err := ticket.Unmarshal(rec.Ticket); err == nil && dark && rec.Shown { // it was read when it was put here
				out[len(out)-1].Copy = rec.rescueTicket(t)
			}
		}
	}
	for _, e := range b.cards {
		if e.card.State != Open && e.rec.Paper == "" {
			out = append(out, ticket.Card{Job: e.rec.Job})
		}
	}
	return out
}

// copied is the ticket of a card as it comes out elsewhere: it says what was known of it here.
func (r *record) rescueTicket(t ticket.Ticket) *ticket.Ticket {
	notes := slices.DeleteFunc(t.Notes, func(n string) bool { return n == rescueNote })
	t.Notes = []string{rescueNote}
	if r.Duplicate {
		t.Notes = append(t.Notes, "POSSIBLE DUPLICATE")
	}
	t.Notes = append(t.Notes, notes...)
	for _, i := range r.Done {
		if i < len(t.Lines) {
			t.Lines[i].Notes = append([]string{"done on the screen"}, t.Lines[i].Notes...)
		}
	}
	return &t
}

// A standIn is a backup of a screen's queue.
type screenBackup struct {
	s       *Screen
	station BackupStation
}

// StandIn is another station as the backup of this screen's queue. What was shown and not bumped
// is older, so it comes out first, see [Screen.Watch]; until then this is not ready. A ticket's
// card, if an attempt that broke off left one, is taken off the board before the ticket's first
// byte; and the ticket says that it is the screen that is down. The value is equal for
// equal stations.
func (s *Screen) WrapBackup(on BackupStation) BackupStation { return screenBackup{s, on} }

// Idempotent says that the other station is, as the dispatcher has it: it knows a ticket again by the
// same job, and what this adds can be done twice.
func (p screenBackup) Idempotent() bool {
	i, ok := p.station.(interface{ Idempotent() bool })
	return ok && i.Idempotent()
}

// Print prints a ticket of the screen's queue: see [Screen.StandIn].
func (p screenBackup) Print(ctx context.Context, d ticket.Delivery,
	begin func(context.Context) error) (ticket.Proof, error) {
	// Not only after HoldFor: what was shown would come out behind this one.
	if p.s.rescuePending() {
		return "", ticket.NotReady(errRescuePending)
	}
	d.Down = "screen"
	return p.station.Print(ctx, d, func(ctx context.Context) error {
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

var errRescuePending = errors.New("tickets that were on the screen come out first")
