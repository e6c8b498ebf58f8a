package board

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// Texts on the paper that lists the tickets of a dark screen, which are not of a ticket.
const (
	wasOnTheScreen  = "WAS ON THE SCREEN and is not bumped: may be in preparation"
	doneOnTheScreen = "done on the screen"
)

// openOrders is the kind of the order that such a list is, if its backup is a screen.
const openOrders ticket.Kind = "open_orders"

// NeedPaper reports whether a ticket that was shown is open and not on paper.
func (b *Board) NeedPaper() bool { return len(b.unprinted()) > 0 }

// unprinted are the jobs of the cards that need paper.
func (b *Board) unprinted() (jobs []uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for job, e := range b.cards {
		if e.needsPaper() {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// needsPaper: a card that no page has confirmed still has its job in the queue, which brings it to the backup.
func (e *entry) needsPaper() bool { return e.rec.State == Open && e.rec.Shown && e.rec.Paper == "" }

// ToPaper sends one ticket with all open orders that were shown to station, because the screen is dark, and returns how
// many tickets it lists. The cards stay open, since no cook has said that they are done, and say that they are on
// paper.
//
// send stores the ticket and the cards, by their keys, in one transaction. A crash before its commit: nothing has
// happened. A crash after it: the ticket prints, and the cards need no other paper. After an error it is unknown which
// of the two is true; the next call reads it from the storage.
func (b *Board) ToPaper(ctx context.Context, station string,
	send func(ctx context.Context, t ticket.Ticket, cards map[string][]byte) error) (int, error) {
	b.write.Lock()
	defer b.write.Unlock()
	cards, err := b.readUnprinted()
	if err != nil || len(cards) == 0 {
		return 0, err
	}

	values := map[string][]byte{}
	for _, e := range cards {
		e.rec = e.rec.clone()
		e.rec.Paper = station
		e.rec.Version++
		e.rec.note(onPaper, 0)
		if values[cardKey(e.rec.Job)], err = json.Marshal(&e.rec); err != nil {
			return 0, fmt.Errorf("store card of job %d: %w", e.rec.Job, err)
		}
	}

	if err := send(ctx, paperOf(cards), values); err != nil {
		b.paperUnknown = true
		return 0, fmt.Errorf("send the open tickets to %s: %w", station, err)
	}

	b.mu.Lock()
	for _, e := range cards {
		b.cards[e.rec.Job] = e
	}
	b.mu.Unlock()
	b.publish()
	return len(cards), nil
}

// readUnprinted takes over the cards that the storage says are on paper, because an earlier ToPaper may have failed and
// been stored all the same, and publishes them. It returns copies of the others that need paper, in the order of the
// board, as they are stored. write is held.
func (b *Board) readUnprinted() (out []*entry, err error) {
	for _, job := range b.unprinted() {
		value, found, err := b.o.KV.Get(cardKey(job))
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}

		card, err := decodeRecord(value)
		if err != nil {
			return nil, err
		}
		if card.needsPaper() {
			out = append(out, card)
			continue
		}

		b.mu.Lock()
		b.cards[job] = card
		b.mu.Unlock()
		b.publish()
	}

	slices.SortFunc(out, func(x, y *entry) int { return int(x.rec.Place) - int(y.rec.Place) })
	return out, nil
}

// paperOf is one ticket with the orders of cards, each under its name.
func paperOf(cards []*entry) ticket.Ticket {
	first := cards[0].t
	t := ticket.Ticket{
		Number: "OPEN ORDERS", Venue: first.Venue, VenueName: first.VenueName, Zone: first.Zone,
		Received: time.Now().UTC(), Notes: []string{wasOnTheScreen}, IsList: true,
	}

	for _, e := range cards {
		t.Lines = append(t.Lines, e.paperLines()...)
	}
	return t
}

// paperLines are the lines of a card under the name of its order. Those that a cook has marked as done say so.
func (e *entry) paperLines() []ticket.Line {
	t := e.t
	lines := slices.Clone(t.Lines)
	whole := ticket.Line{Quantity: "1", Name: "no items", Void: t.Void, Refire: t.Refire, Hold: t.Hold}
	if t.Raw != "" {
		whole.Name, whole.Raw = t.Raw, true
	}
	if len(lines) == 0 || whole.Raw {
		lines = []ticket.Line{whole}
	}

	name := []string{ticket.NumberLabel(t.Number), ticket.TableLabel(t.Table, t.Type), t.Type,
		ticket.Clock(t.Received, t.Zone), layout.Wanted(t)}
	for i := range lines {
		lines[i].More = 0 // a note says it, with the job of this ticket
		parts := append(slices.Clone(name), cmp.Or(lines[i].Course, t.Course))
		lines[i].Course = strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
		if lines[i].Depth == 0 && slices.Contains(e.rec.Done, i) {
			lines[i].Notes = append([]string{doneOnTheScreen}, lines[i].Notes...)
		}
	}

	heads := slices.Concat(t.Later.Texts(), t.Heads(), t.Notes)
	if t.Rush && !t.Void {
		heads = append([]string{"RUSH"}, heads...)
	}
	if t.MayCancel != "" {
		heads = append(heads, ticket.Question(t.MayCancel))
	}
	if e.rec.Duplicate {
		heads = append(heads, "POSSIBLE DUPLICATE")
	}
	if e.rec.Reprint {
		heads = append(heads, "REPRINT")
	}

	lines[0].Notes = append(heads, lines[0].Notes...)
	return lines
}

// ComesOut records that a ticket is about to come out at another station, because the screen is dark and no
// page has confirmed it. Its card is taken off the board; if there is none, one is made that was never on
// it. It can be recalled, so that the cooks find the tickets that went to paper when the screen is back.
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
			d.For, d.Down = "", "" // the paper says that
		}
		var err error
		if r, err = b.newRecord(d, nil); err != nil {
			return err
		}
	}

	b.depart(&r, Elsewhere)
	r.LastChange = nil
	r.Paper = station
	r.note(wentOut, 0)
	return b.storeNew(ctx, &r, t)
}
