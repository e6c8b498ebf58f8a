package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ticketrail/queue/ticket"
)

// Slips are tickets that the daemon makes itself: about tickets that are too old, that a dark screen shows, or that a
// damaged file may have lost.

// enqueueSlip enqueues a slip, in front of its station's tickets if a cook must ask about it before the orders that
// are still wanted.
func (b *batch) enqueueSlip(s jobState, slip ticket.Ticket, front bool) {
	s.FromDaemon, s.Enqueued, s.Received = true, int64(b.now), slip.Received.UnixMilli()
	b.enqueue(s, b.encodeTicket(slip), front)
	b.books(s.Station).Enqueued++
}

// encodeTicket encodes a slip, a copy or a changed ticket. An error fails the batch: an expired ticket without its
// slip would be lost.
func (b *batch) encodeTicket(t ticket.Ticket) []byte {
	payload, err := ticket.Marshal(t)
	b.fail(err)
	return seal(payload)
}

// slipLine names an expired ticket as people call it: number, table, type, server. Without the note
// of a doubt, a cook would ask for a dish that is already on the pass.
func slipLine(t ticket.Ticket, job uint64, doubt bool) ticket.Line {
	labels := []string{ticket.NumberLabel(t.Number), ticket.TableLabel(t.Table, t.Type), t.Type, t.Server}
	labels = slices.DeleteFunc(labels, func(s string) bool { return s == "" })
	name := cmp.Or(strings.Join(labels, " · "), fmt.Sprint("job ", job))

	what := ticket.Plural(len(t.Lines), "line")
	if t.Changed != nil {
		what = "changed, " + what
	}

	notes := []string{fmt.Sprintf("%s, %s, id %s", ticket.Clock(t.Received, t.Zone), what, ticket.Short(t.Request))}
	if items := slipItems(t.Lines); items != "" {
		notes = append(notes, items)
	}
	if doubt {
		notes = append(notes, "a copy may have come out: check the rail")
	}

	return ticket.Line{Quantity: "1", Name: name, Notes: notes, Void: t.Void, Refire: t.Refire}
}

// slipItems lists the dishes: the first items by the beginnings of their names, because a slip has up to 500 tickets
// and the names are from the network.
func slipItems(lines []ticket.Line) string {
	const most, letters = 12, 60
	var items []string
	for _, l := range lines {
		if l.Depth > 0 {
			continue
		}

		name := l.Quantity + "x " + l.Name
		if l.Void {
			name = "VOID " + name
		}

		if runes := []rune(name); len(runes) > letters {
			name = string(runes[:letters]) + "…"
		}
		items = append(items, name)
	}

	if more := len(items) - most; more > 0 {
		items = append(items[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(items, ", ")
}

// PrintShown enqueues t, which lists the tickets of the dark screen from, at the end of station to, and puts values
// into the map kv of the screen's cards, which say that they are on paper.
//
// Both are one transaction. A crash before its commit changed nothing; after it, the ticket prints as any other. The
// error is as for [KV.Put]: after ErrStorageFailed either may be true, so the caller reads its
// cards again.
func (q *Queue) PrintShown(ctx context.Context, from, to string, t ticket.Ticket, kv *KV,
	values map[string][]byte) error {
	size := copyOp
	for key, value := range values {
		size += len(key) + len(value)
	}

	return wrap(q.do(ctx, opOnce, size, func(b *batch) error {
		if err := b.putAll(kv, values); err != nil {
			return err
		}

		b.enqueueSlip(jobState{
			Station: to, DarkScreen: from, Why: "it was on the screen " + from + ", and no page of it is open",
		}, t, false)
		return nil
	}), "print what is on the screen %s", from)
}

// noticeOf is in a file that took the place of a damaged one, until the stations were told.
type noticeOf struct {
	Before time.Time `json:"before,omitzero"` // orders from before may be missing; zero: none are
}

var keyNotice = []byte("notice")

const restored = "The database was damaged. Tickets that are marked POSSIBLE DUPLICATE may have come out before: " +
	"look at the rail first."

// TellStations puts a slip in front of the tickets of stations if the file took the place of a damaged one: each
// station where something waits or, if orders may be missing, each. Call it before anything is taken. zone is for the
// time on it.
//
// The slips are one transaction with the end of the notice. A crash before its commit: the next start does it. After
// it: they print first.
func (q *Queue) TellStations(ctx context.Context, stations []string, zone string) error {
	return wrap(q.do(ctx, opOnce, copyOp*len(stations), func(b *batch) error {
		raw := b.bucket(bucketMeta).Get(keyNotice)
		if raw == nil {
			return nil
		}

		var n noticeOf
		if err := unsealJSON(raw, &n); err != nil {
			return q.foundDamage("what took the place of a file", err)
		}

		text := restored
		if !n.Before.IsZero() {
			text = "Orders before " + ticket.Clock(n.Before, zone) + " may be missing: check the till"
		}

		isPending := func(e entry) bool { return !e.held }
		for _, station := range stations {
			if !n.Before.IsZero() || slices.ContainsFunc(q.openOf(station), isPending) {
				b.enqueueSlip(jobState{Station: station}, ticket.Ticket{
					Number: "NOTICE", Zone: zone, Notes: []string{text}, Received: b.wall.UTC(),
				}, true)
			}
		}

		b.del(b.bucket(bucketMeta), keyNotice)
		return nil
	}), "tell the stations that the database was damaged")
}
