package board

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// Which cards are one order is never stored: it follows from the cards, with the same rule on a board and
// at the pass. So it can change with the program, and no crash can leave it half done.

// A member is a card as one screen sees it.
type member struct {
	*entry
	departure  uint64 // counts the departures of this screen; 0: it is here
	departedAt int64
	with       string // cards that left with the same value left together
	state      State
}

// ref names the card.
func (m *member) ref() Ref { return Ref{m.rec.Station, m.rec.Job} }

// A group is the cards of one order.
type group struct {
	key           string
	members       []member
	check, number string   // of the first card that has one
	tables        []string // one after the other; the guests are at the last
}

// wasAt says whether the guests are or were at a table, as far as is known.
func (g *group) wasAt(table string) bool {
	return table == "" || len(g.tables) == 0 || slices.Contains(g.tables, table)
}

// isAt says whether they are there now.
func (g *group) isAt(table string) bool {
	return len(g.tables) > 0 && g.tables[len(g.tables)-1] == table
}

// grouped puts cards into orders. cards are in the order in which they came; a card joins the latest order
// before it that is of the same check, whatever its number and table: guests change tables. If one of the two names no
// check, it joins the latest that
//
//   - came with the same request, and not with another record, number or table; or
//   - has the same number, and no other table, and was here in the last recallFor; or
//   - has no number either and is at the same table, with a card that is here: as soon as the cards of a
//     table are bumped it may have new guests.
func grouped(cards []member, recallFor time.Duration) []*group {
	var all []*group
	by := map[string][]*group{} // by check, request, number and table
	for _, c := range cards {
		t, number, table := c.t, c.number, c.table
		var g *group
		if ordinary(t) {
			same := func(g *group) bool {
				return !differ(g.check, t.Check) && !differ(g.number, number) && g.wasAt(table)
			}

			if t.Check != "" {
				g = latest(by[c.byCheck], func(*group) bool { return true })
			}
			if g == nil {
				g = latest(by[c.byRequest], func(g *group) bool {
					return same(g) && slices.ContainsFunc(g.members, func(m member) bool {
						return m.t.Request == t.Request && !differ(m.t.Record, t.Record)
					})
				})
			}

			if g == nil && number != "" {
				g = latest(by[c.byNumber], func(g *group) bool { return same(g) && g.wasHere(c.rec.CameAt, recallFor) })
			}
			if g == nil && number == "" && table != "" {
				g = latest(by[c.byTable], func(g *group) bool {
					return same(g) && g.number == "" && g.isAt(table) && g.wasHere(c.rec.CameAt, 0)
				})
			}
		}

		if g == nil {
			g = &group{key: c.key}
			all = append(all, g)
		}

		g.members = append(g.members, c)
		g.check, g.number = cmp.Or(g.check, t.Check), cmp.Or(g.number, number)
		if table != "" && !g.isAt(table) {
			g.tables = append(g.tables, table)
		}
		if !ordinary(t) {
			continue
		}

		for _, k := range []string{c.byCheck, c.byRequest, c.byNumber, c.byTable} {
			if !slices.Contains(by[k], g) {
				by[k] = append(by[k], g)
			}
		}
	}

	return all
}

// latest is the last group for which f is true.
func latest(list []*group, f func(*group) bool) *group {
	for _, g := range slices.Backward(list) {
		if f(g) {
			return g
		}
	}
	return nil
}

// differ says that two texts contradict: both are given, and they are not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// wasHere says whether a card of the group was here at a time, or had left less than within before it.
func (g *group) wasHere(at int64, within time.Duration) bool {
	return slices.ContainsFunc(g.members, func(m member) bool {
		left := m.departedAt
		if m.state == Replaced { // it left when its board took it off; at a pass departedAt is when it was sent out
			left = m.rec.DepartedAt
		}
		return m.departure == 0 && m.state == Open || left > at-within.Milliseconds()
	})
}

// ordinary says whether a ticket belongs to an order. A slip and a test do not.
func ordinary(t *ticket.Ticket) bool { return t.Kind == ticket.Order }

func number(t *ticket.Ticket) string { return ticket.NumberLabel(layout.OneLine(t.Number)) }

func table(t *ticket.Ticket) string { return ticket.TableLabel(layout.OneLine(t.Table), t.Type) }

// tableKey is the table without the word that depends on the type of the order.
func tableKey(t *ticket.Ticket) string {
	return strings.ToLower(ticket.TableLabel(layout.OneLine(t.Table), ""))
}

// names are the keys by which an order is found. They are computed once, because every change of a board looks at all
// its cards.
type names struct {
	number, table                         string
	byCheck, byRequest, byNumber, byTable string
	key                                   string // of an order whose first card this is
}

// namesOf computes the names of a card. The station is not part of them, so that boards agree.
func namesOf(t *ticket.Ticket, job uint64) names {
	found := names{number: number(t), table: tableKey(t)}
	found.byCheck = "c\x00" + t.Venue + "\x00" + t.Check
	found.byRequest, found.byNumber = "r\x00"+t.Venue+"\x00"+t.Request, "n\x00"+t.Venue+"\x00"+found.number
	found.byTable = "t\x00" + t.Venue + "\x00" + found.table
	words := []string{t.Venue, t.Request, t.Record, found.number, found.table}
	if !ordinary(t) {
		words = append(words, strconv.FormatUint(job, 10))
	}

	found.key = ticket.Hash(words...)
	return found
}

// An assembler makes orders of groups. It keeps them: most changes concern one order of many.
type assembler struct {
	look   Look
	groups map[string]assembled // by key
}

// assembled is a group with the orders that were made of it.
type assembled struct {
	members []member
	orders  []*Order
}

// Look is how tickets are shown, as configured. The zero value marks nothing.
type Look struct {
	Alarms   func(text string) bool       // reports whether a text names an allergy; nil: none does
	AckAlarm bool                         // an allergy must be acknowledged before its order is bumped
	Colour   func(modifier string) string // the colour of a modifier; nil: none has one
	Ahead    time.Duration                // how long before it is wanted an order is to be begun
}

// orders makes the orders of all groups. finish, if given, completes each: the open ones anew each time,
// because they also depend on the parts that no card has.
func (a *assembler) orders(groups []*group, finish func(*group, *Order)) (out []*Order) {
	now := make(map[string]assembled, len(groups))
	for _, g := range groups {
		current, ok := a.groups[g.key]
		if !ok || !slices.Equal(current.members, g.members) {
			current = a.assemble(g, finish)
		}

		now[g.key] = current
		for i, o := range current.orders {
			if finish != nil && o.State == Open {
				next := *o
				finish(g, &next)
				// Most have the same parts as before, and need no new version. An order that was just assembled
				// needs none either: assemble has finished it.
				if next.Ready != o.Ready || next.Cancelled != o.Cancelled ||
					next.unknown != o.unknown || !reflect.DeepEqual(next.Parts, o.Parts) {
					next.seal()
					o, current.orders[i] = &next, &next
				}
			}
			out = append(out, o)
		}
	}

	a.groups = now
	return out
}

// assemble makes the orders of a group: one of the cards that are here, and one of those that left at one time.
func (a *assembler) assemble(g *group, finish func(*group, *Order)) assembled {
	result := assembled{members: g.members}
	var orders [][]int // by their cards
	first := map[string]int{}
	for i, c := range g.members {
		if _, ok := first[c.t.Request]; !ok {
			first[c.t.Request] = i
		}
		if c.state == Replaced { // it is not shown, and stays in its group, so that later cards join it
			continue
		}

		j := slices.IndexFunc(orders, func(l []int) bool {
			like := g.members[l[0]]
			return like.state == c.state && like.with == c.with
		})

		if j < 0 {
			orders, j = append(orders, nil), len(orders)
		}

		orders[j] = append(orders[j], i)
	}

	for _, cards := range orders {
		build := builder{look: &a.look, g: g, first: first, cards: cards}
		order := build.order()
		if finish != nil {
			finish(g, order)
		} else {
			order.Ready = order.State == Bumped && g.hasWanted(order)
		}
		order.seal()
		result.orders = append(result.orders, order)
	}

	return result
}

// seal gives an order its version. It is not changed after that.
func (o *Order) seal() {
	o.Version = versionOf(o)
	o.sum = sumOf(o)
	// Unknown is not in the JSON. Whoever waits for Changed, such as outcomes, must learn it all the same.
	if o.unknown {
		o.sum++
	}
}
