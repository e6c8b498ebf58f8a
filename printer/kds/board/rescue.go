package board

import (
	"slices"

	"ticketrail/queue/ticket"
)

// RescueNote heads the copy of a ticket that was shown. Stored tickets contain it, so its text must
// not change.
const RescueNote = "WAS ON THE SCREEN and is not bumped: may be in preparation"

// RescueCards returns every card that is not marked as printed elsewhere. If the screen is dark,
// each open card that was shown carries the copy that it needs; all others have none, which
// withdraws a copy that was made before.
func (b *Board) RescueCards(dark bool) []ticket.RescueCard {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []ticket.RescueCard
	for _, c := range b.open() {
		if rec := &b.cards[c.Job].rec; rec.Paper == "" {
			out = append(out, ticket.RescueCard{Job: c.Job, Reprint: rec.Reprint})
			// The ticket was readable when the card was added, so an error cannot happen here.
			if t, err := ticket.Unmarshal(rec.Ticket); err == nil && dark && rec.Shown {
				out[len(out)-1].Ticket = rec.rescueTicket(t)
			}
		}
	}
	for _, e := range b.cards {
		if e.card.State != Open && e.rec.Paper == "" {
			out = append(out, ticket.RescueCard{Job: e.rec.Job})
		}
	}
	return out
}

// rescueTicket is the copy of a card's ticket: it says what was known of the ticket on the screen.
func (r *record) rescueTicket(t ticket.Ticket) *ticket.Ticket {
	notes := slices.DeleteFunc(t.Notes, func(n string) bool { return n == RescueNote })
	t.Notes = []string{RescueNote}
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
