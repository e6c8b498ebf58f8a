package board

import (
	"math/big"

	"ticketrail/queue/ticket"
)

// A partTicket is a ticket of a part, and what of it is still wanted. It has a card or a sibling.
type partTicket struct {
	station string
	job     uint64
	t       *ticket.Ticket
	card    *Ticket
	sibling *Sibling
	dishes  []dish
}

// A dish is an item of a ticket, or a void.
type dish struct {
	quantity, name string
	void           bool
	unnamed        bool // it names no dish, so it voids none: a modifier alone, or an item without a name
	made           bool // nobody waits for it
	gone           bool // a dish was voided, or a void has voided a dish
}

// newPartTicket reads the dishes of a ticket. made says that nobody waits for any of them.
func newPartTicket(station string, job uint64, t *ticket.Ticket, items []Item, made bool) partTicket {
	p := partTicket{station: station, job: job, t: t}
	isVoid := false // the line above, to which modifiers belong
	for i := range items {
		it := &items[i]
		if it.Depth == 0 || it.Void && !isVoid {
			d := dish{quantity: it.Quantity, name: it.Name, void: it.Void, made: made || it.Done,
				unnamed: it.Depth > 0 || it.Name == noName}
			p.dishes = append(p.dishes, d)
		}
		isVoid = it.Void
	}
	return p
}

// maxNetted limits how many dishes and voids of an order are compared, each with each, at every change of a board.
const maxNetted = 1000

// netVoids takes what was voided off the dishes of the same part. A void that a person cancelled takes nothing. Of an
// order with more than maxNetted dishes all voids stay.
func netVoids(tickets []partTicket) {
	count := 0
	for i := range tickets {
		count += len(tickets[i].dishes)
	}
	if count > maxNetted {
		return
	}

	for i := range tickets {
		v := &tickets[i]
		if v.sibling != nil && v.card == nil && v.sibling.State == ticket.Cancelled {
			continue
		}
		for j := range v.dishes {
			if d := &v.dishes[j]; d.void && !d.unnamed {
				v.take(d, tickets)
			}
		}
	}
}

// take takes a void off the dishes that it can mean: those of its name and check that came before it, with another
// request, because one request can void a dish and order it anew. Those that nobody waits for are first, then the
// oldest: if it meant another one, the order is ready too late, not too early. A tick does not count, or the void
// would move to what was just ticked.
func (v *partTicket) take(void *dish, tickets []partTicket) {
	for _, made := range []bool{true, false} {
		for i := range tickets {
			of := &tickets[i]
			if of.station != v.station || of.t.Request == v.t.Request || !of.t.SameCheck(v.t) ||
				of.t.Received.After(v.t.Received) {
				continue
			}
			for j := range of.dishes {
				d := &of.dishes[j]
				if !void.gone && !d.void && !d.gone && d.made == made && d.name == void.name {
					d.less(void)
				}
			}
		}
	}
}

// less takes from the dish what a void still voids. A quantity that is no number is voided by the same text.
func (d *dish) less(void *dish) {
	has, isNumber := parseQuantity(d.quantity)
	voided, alsoNumber := parseQuantity(void.quantity)
	if !isNumber || !alsoNumber {
		same := d.quantity == void.quantity
		d.gone, void.gone = same, same
		return
	}

	both := new(big.Rat).Set(has)
	if voided.Cmp(has) < 0 {
		both.Set(voided)
	}
	if both.Sign() == 0 {
		return
	}
	has.Sub(has, both)
	voided.Sub(voided, both)
	d.quantity, d.gone = formatQuantity(has), has.Sign() == 0
	void.quantity, void.gone = formatQuantity(voided), voided.Sign() == 0
}

// lines are what is still wanted, and the voids that have voided nothing.
func (p *partTicket) lines() (out []string) {
	for _, d := range p.dishes {
		switch text := d.quantity + " " + d.name; {
		case d.gone:
		case d.void:
			out = append(out, "VOID "+text)
		default:
			out = append(out, text)
		}
	}
	if p.t.Void && len(p.t.Lines) == 0 {
		out = append(out, "VOID all of it")
	}
	return out
}

// wanted says how many dishes a ticket has that were not voided; voided says that it had some, and has none.
func (p *partTicket) wanted() (wanted, left int, voided bool) {
	for _, d := range p.dishes {
		if d.void {
			continue
		}
		voided = true
		if !d.gone {
			wanted++
			if !d.made {
				left++
			}
		}
	}
	return wanted, left, voided && wanted == 0
}
