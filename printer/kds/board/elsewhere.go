package board

import (
	"context"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// RescueNote heads the copy of a ticket that was shown. Stored tickets contain it, so its text must not
// change.
const RescueNote = "WAS ON THE SCREEN and is not bumped: may be in preparation"

// MarkPaper records that a ticket that was shown has also come out at station, because the screen was dark.
// The card stays open: nobody has said that it is done.
//
// A crash before it is stored: the queue still has its mark of the copy, and this is done with the next
// rescue. A crash after it: the card itself keeps the ticket from being copied again.
func (b *Board) MarkPaper(ctx context.Context, job uint64, station string) error {
	return b.update(ctx, job, func(r *record) bool {
		if r.Paper == station {
			return false
		}
		r.Paper, r.PaperAt = station, time.Now().UnixMilli()
		r.Version++
		r.note(onPaper, 0)
		return true
	})
}

// ComesOut records that a ticket is about to come out at another station, because the screen is dark and no
// page has confirmed it. Its card is taken off the board; if there is none, one is made that was never on
// it. It can be recalled, so that the cooks find what went to paper when the screen is back.
//
// A crash before it is stored: a card is as it was and the queue has the ticket; it comes out there or here,
// and the doubt in the queue marks it. A crash after it: the ticket is in the queue and not on the board, so
// it comes out once, or twice and marked.
func (b *Board) ComesOut(ctx context.Context, d ticket.Delivery, station string) error {
	b.write.Lock()
	defer b.write.Unlock()
	was := b.get(d.Job)
	if was != nil && was.rec.State != Open {
		return nil
	}
	t := &d.Ticket
	var r record
	if was != nil {
		r, t = was.rec.clone(), was.t
		r.Version++
	} else {
		if d.For == b.station {
			d.For, d.Down = "", "" // that is what the paper says
		}
		var err error
		if r, err = b.newRecord(d, nil); err != nil {
			return err
		}
	}
	b.takeOff(&r, Elsewhere)
	r.LastChange = nil
	r.Paper, r.PaperAt = station, r.OffAt
	r.note(wentOut, 0)
	if err := b.store(ctx, &r, t); err != nil {
		return err
	}
	if err := b.replace(ctx); err != nil {
		return err
	}
	b.publish()
	b.sweep(ctx)
	return nil
}

// RescueCards returns every card that is not marked as printed elsewhere. If the screen is dark, each open
// card that was shown carries the copy that it needs; all others have none, which withdraws a copy that was
// made before.
func (b *Board) RescueCards(dark bool) (out []ticket.RescueCard) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for job, e := range b.cards {
		if e.rec.Paper != "" {
			continue
		}
		c := ticket.RescueCard{Job: job}
		if e.rec.State == Open {
			c.Reprint = e.rec.Reprint
			if dark && e.rec.Shown {
				c.Ticket = e.rescueTicket()
			}
		}
		out = append(out, c)
	}
	place := func(job uint64) uint64 { return b.cards[job].rec.Place }
	slices.SortFunc(out, func(x, y ticket.RescueCard) int { return int(place(x.Job)) - int(place(y.Job)) })
	return out
}

// rescueTicket is the copy of a card's ticket: it says what was known of the ticket on the screen, and what the cook
// has marked as done.
func (e *entry) rescueTicket() *ticket.Ticket {
	t := *e.t
	notes := slices.DeleteFunc(slices.Clone(t.Notes), func(n string) bool { return n == RescueNote })
	t.Notes = []string{RescueNote}
	if e.rec.Duplicate {
		t.Notes = append(t.Notes, "POSSIBLE DUPLICATE")
	}
	t.Notes = append(t.Notes, notes...)
	t.Lines = nil
	for i, l := range e.t.Lines {
		if l.Depth == 0 && slices.Contains(e.rec.Done, i) {
			l.Notes = append([]string{"done on the screen"}, l.Notes...)
		}
		t.Lines = append(t.Lines, l)
	}
	return &t
}
