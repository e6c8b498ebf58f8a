package board

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// An Order is one order at the expo: its cards on all boards. An Order is never changed after it
// was made.
type Order struct {
	Key      string    `json:"key"`     // opaque; a bumped order has another key than the open one had
	Version  uint64    `json:"version"` // changes when one of its cards changes
	State    CardState `json:"state"`   // "open" or "bumped", at the expo
	Off      uint64    `json:"off,omitempty"`
	OffAt    int64     `json:"off_at,omitempty"`
	Number   string    `json:"number,omitempty"`
	Table    string    `json:"table,omitempty"`
	Server   string    `json:"server,omitempty"`
	Type     string    `json:"type,omitempty"`
	Guests   string    `json:"guests,omitempty"`
	Venue    string    `json:"venue,omitempty"`
	Received int64     `json:"received"` // of its oldest card
	Clock    string    `json:"clock,omitempty"`
	// Ready is true when every station has bumped its cards.
	Ready     bool           `json:"ready"`
	Stations  []OrderStation `json:"stations"`
	UndoUntil int64          `json:"undo_until,omitempty"`
}

// An OrderStation is the part of an order at one station.
type OrderStation struct {
	Station string  `json:"station"`
	Done    bool    `json:"done"`           // all its cards are bumped
	Left    int     `json:"left,omitempty"` // items that are not done
	Cards   []*Card `json:"cards"`          // sorted by place
}

// publish groups the cards of all boards anew and records an event for each order that changed.
// Comparing whole orders instead of following single changes is simple, and a kitchen has few.
// write is held.
func (x *Pass) publish() {
	now := time.Now()
	cards := map[cardRef]*Card{}
	var refs []cardRef // in the order of the boards
	for _, b := range x.boards {
		for _, c := range b.cardsForPass(now) {
			p := cardRef{b.Station(), c.Job}
			cards[p], refs = c, append(refs, p)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	current := x.groupByOrder(refs, cards)
	changed := false
	for key := range x.orders {
		if _, ok := current[key]; !ok {
			x.history.add(x.run, Event{Kind: "forget_order", Order: key})
			changed = true
		}
	}
	for key, o := range current {
		// An unchanged order keeps its value, so pages that hold it see no difference.
		if was, ok := x.orders[key]; ok && was.Version == o.Version {
			current[key] = was
			continue
		}
		x.history.add(x.run, Event{Kind: "order", Order: key, View: o})
		changed = true
	}
	x.orders = current
	if changed {
		close(x.changed)
		x.changed = make(chan struct{})
	}
}

// cardsForPass returns every card the expo may show: open ones, and bumped ones not older than
// maxKeptFor.
func (b *Board) cardsForPass(now time.Time) []*Card {
	b.mu.RLock()
	defer b.mu.RUnlock()
	cards := b.open()
	for _, e := range b.notOpen() {
		if e.card.State == Bumped && now.Sub(time.UnixMilli(e.rec.OffAt)) < maxKeptFor {
			cards = append(cards, e.card)
		}
	}
	slices.SortFunc(cards, func(x, y *Card) int { return compareTwo(x.Place, y.Place, x.Job, y.Job) })
	return cards
}

// groupByOrder makes the orders: one for each bump of the expo, of the cards that were in it, and
// one of the remaining cards for each open order. So a ticket that arrives after its order was sent
// out begins an open order of its own. mu is held.
func (x *Pass) groupByOrder(refs []cardRef, cards map[cardRef]*Card) map[string]*Order {
	orders := map[string]*Order{}
	sent := map[cardRef]bool{}
	for _, s := range x.sent {
		if s.Recalled {
			continue
		}
		for _, p := range s.Cards {
			if x.lastSent[p] != s { // it was recalled and is in a later sent order
				continue
			}
			sent[p] = true
			if c := cards[p]; c != nil {
				key := fmt.Sprintf("%s~%d", s.Key, s.Off)
				o := orderFor(orders, key, c)
				o.State, o.Off, o.OffAt, o.UndoUntil = Bumped, s.Off, s.At, s.At+x.o.UndoFor.Milliseconds()
				o.add(p.Station, c)
			}
		}
	}
	for _, p := range refs {
		c := cards[p]
		// Slips and test tickets belong to no order; a station shows them, the pass need not.
		if sent[p] || c.Kind == "slip" || c.Kind == "test" {
			continue
		}
		orderFor(orders, c.Order, c).add(p.Station, c)
	}
	for _, o := range orders {
		o.finish()
	}
	return orders
}

// orderFor returns the order with that key, made from the card if there is none, and fills in what
// the earlier cards did not say. One till sends the server's name, another does not; the pass sees
// all that is known.
func orderFor(orders map[string]*Order, key string, c *Card) *Order {
	o := orders[key]
	if o == nil {
		o = &Order{Key: key, State: Open, Received: c.Received, Clock: c.Clock}
		orders[key] = o
	}
	if c.Received < o.Received {
		o.Received, o.Clock = c.Received, c.Clock
	}
	for _, f := range []struct {
		to   *string
		from string
	}{{&o.Number, c.Number}, {&o.Table, c.Table}, {&o.Server, c.Server}, {&o.Type, c.Type},
		{&o.Guests, c.Guests}, {&o.Venue, c.Venue}} {
		if *f.to == "" {
			*f.to = f.from
		}
	}
	return o
}

// add puts a card under its station.
func (o *Order) add(station string, c *Card) {
	i := slices.IndexFunc(o.Stations, func(s OrderStation) bool { return s.Station == station })
	if i < 0 {
		o.Stations = append(o.Stations, OrderStation{Station: station, Done: true})
		i = len(o.Stations) - 1
	}
	s := &o.Stations[i]
	s.Cards = append(s.Cards, c)
	if c.State != Open {
		return
	}
	s.Done = false
	for _, it := range c.Items {
		if it.Depth == 0 && !it.Done && !it.Void {
			s.Left++
		}
	}
}

// finish computes what follows from the cards. The version is a hash of everything that can change,
// cut to 53 bits because pages compute in floating point.
func (o *Order) finish() {
	o.Ready = !slices.ContainsFunc(o.Stations, func(s OrderStation) bool { return !s.Done })
	h := fnv.New64a()
	var b [8]byte
	sum := func(v uint64) { binary.BigEndian.PutUint64(b[:], v); h.Write(b[:]) }
	sum(o.Off)
	for _, s := range o.Stations {
		h.Write([]byte(s.Station))
		for _, c := range s.Cards {
			sum(c.Job)
			sum(c.Version)
		}
	}
	o.Version = h.Sum64() >> 11
}
