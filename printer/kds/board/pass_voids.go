package board

import (
	"reflect"
	"slices"

	"ticketrail/queue/ticket"
)

// A partTicket is a ticket of a part, with its dishes and voids. It has a card or a sibling.
type partTicket struct {
	station string
	job     uint64
	t       *ticket.Ticket
	card    *Ticket
	sibling *Sibling
	items   []*netItem
}

// A netItem is a dish of a ticket, or a void that takes from dishes.
type netItem struct {
	of                 *partTicket
	id, quantity, name string
	void               bool
	hasNoDishName      bool // it voids nothing by its name: a modifier alone, or an item without a name
	finished           bool // it is not waited for
	usedUp             bool // a dish: all of it was voided; a void: all of it was applied
	matchedByID        bool // of a void: a dish has its id, so its name means no other
}

// newPartTicket reads the dishes and voids of a ticket. finished says that no dish is waited for.
func newPartTicket(of partTicket, items []Item, finished bool) *partTicket {
	added := &of
	lineAboveIsVoid := false
	for i := range items {
		it := &items[i]
		if it.Depth == 0 || it.Void && !lineAboveIsVoid {
			added.items = append(added.items, &netItem{of: added, id: it.id, quantity: it.Quantity, name: it.Name,
				void:     it.Void,
				finished: finished || it.Done, hasNoDishName: it.Depth > 0 || it.Name == noName})
		}
		lineAboveIsVoid = it.Void
	}
	return added
}

// maxNetted limits how many dishes and voids of an order are compared, each with each, at every change of a board.
const maxNetted = 1000

// netVoids takes voided quantities off the dishes of the same part. Of an order with more than maxNetted dishes and
// voids all voids stay. A void takes from finished dishes first, then from the oldest: if it meant one that is still
// awaited, the order is ready too late, not too early. Dishes of a part that was ticked at the pass do not count as
// finished: else a tick would change from which dish a void takes.
func netVoids(tickets []*partTicket) {
	var voids, finished, awaited []*netItem
	for _, p := range tickets {
		for _, d := range p.items {
			switch {
			case d.void && p.isCopy(tickets):
				d.usedUp = true // the card of which this is a copy has voided already
			case d.void:
				voids = append(voids, d)
			case d.finished:
				finished = append(finished, d)
			default:
				awaited = append(awaited, d)
			}
		}
	}

	dishes := append(finished, awaited...)
	if len(voids)+len(dishes) > maxNetted {
		return
	}

	for _, void := range voids {
		for _, d := range dishes {
			if void.id == "" || d.id != void.id {
				continue
			}
			void.matchedByID = true // also if an earlier void has used up that dish
			if void.canMean(d) {
				void.subtractFrom(d)
			}
		}
	}

	for _, void := range voids {
		for _, d := range dishes {
			if d.name == void.name && !void.hasNoDishName && !void.matchedByID && void.canMean(d) {
				void.subtractFrom(d)
			}
		}
	}
}

// canMean says whether a void can mean a dish: one of its check that came before it, with another request, because one
// request can void a dish and order it anew. A void that a person cancelled means none.
func (void *netItem) canMean(d *netItem) bool {
	v, of := void.of, d.of
	return !void.usedUp && !d.usedUp && !v.isCancelled() &&
		of.station == v.station && of.t.Request != v.t.Request && of.t.SameCheck(v.t) &&
		!of.t.Received.After(v.t.Received)
}

// isCopy says whether the card is a reprint, and the card that it repeats is there too.
func (p *partTicket) isCopy(tickets []*partTicket) bool {
	return p.card != nil && p.card.Reprint && slices.ContainsFunc(tickets, func(of *partTicket) bool {
		return of.job < p.job && of.station == p.station && of.t.Request == p.t.Request &&
			reflect.DeepEqual(of.t.Lines, p.t.Lines)
	})
}

// isCancelled says whether a person has cancelled it before it came out.
func (p *partTicket) isCancelled() bool {
	return p.sibling != nil && p.sibling.State == ticket.Cancelled
}

// subtractFrom takes from a dish the quantity that the void still voids. A quantity that is no number is voided by the
// same text.
func (void *netItem) subtractFrom(d *netItem) {
	has, isNumber := parseQuantity(d.quantity)
	voided, alsoNumber := parseQuantity(void.quantity)
	switch {
	case !isNumber || !alsoNumber:
		d.usedUp = d.quantity == void.quantity
		void.usedUp = d.usedUp
	case has > 0 && voided > 0:
		d.usedUp, void.usedUp = has <= voided, has >= voided
		d.quantity = formatQuantity(max(has-voided, voided-has)) // of the one that is not gone
		void.quantity = d.quantity
	}
}

// lines are the dishes that are still wanted, and what is left of the voids, which matches no dish.
func (p *partTicket) lines() (out []PartLine) {
	for _, d := range p.items {
		if !d.usedUp {
			out = append(out, PartLine{Text: d.quantity + " " + d.name, Void: d.void})
		}
	}

	if p.t.Void && len(p.t.Lines) == 0 {
		out = append(out, PartLine{Void: true})
	}

	return out
}

// nothingWanted reports whether nothing of a ticket with a card is wanted: all its lines are voids or voided, or it is
// a change that lists no dish. A ticket with only notes is wanted.
func (p *partTicket) nothingWanted() bool {
	wanted, _, _ := p.count()
	return wanted == 0 && (p.card.Changed || len(p.card.Items) > 0)
}

// hasWanted says whether an order that left a board has something that was not voided.
func (g *group) hasWanted(o *Order) bool {
	tickets := partTickets(g, o, nil)
	netVoids(tickets)
	return o.Kind == ticket.Order && slices.ContainsFunc(tickets, func(p *partTicket) bool {
		return !p.t.Void && !p.nothingWanted()
	})
}

// count says how many dishes of a ticket are wanted, how many of these are still to be made, and how many were
// voided.
func (p *partTicket) count() (wanted, left, voided int) {
	for _, d := range p.items {
		switch {
		case d.void:
		case d.usedUp:
			voided++
		case d.finished:
			wanted++
		default:
			wanted++
			left++
		}
	}

	return wanted, left, voided
}
