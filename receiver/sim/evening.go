package sim

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/google/uuid"

	"ticketrail/receiver/contract"
)

// OrderOptions configure [Orders].
type OrderOptions struct {
	// Seed determines everything but the time.
	Seed uint64
	// Venues send orders in turns. At least one is required.
	Venues []string
	// Device sends all orders. Default: one of four, at random.
	Device string
	// Employees is how many employees each venue has, as in [Venue]. Orders then name some servers
	// by id only; a [Service] knows them if its Seed is the same. 0: orders name servers by name.
	Employees int
	// FreshIDs gives requests random ids. Without it a second run with the same seed repeats the ids
	// of the first, and an endpoint takes its orders for duplicates.
	FreshIDs bool
}

// Orders generates the orders of an evening. It is safe for concurrent use.
//
// It remembers open checks, because a void or a refire must be of something that was ordered.
type Orders struct {
	o OrderOptions

	mu     sync.Mutex // guards what follows
	rng    *rand.Rand
	number int     // the last one that was called out
	open   []check // checks whose items may still be voided or refired
}

// A check is what a table has ordered.
type check struct {
	venue, device string
	fields        map[string]any // of its records, except id and items
	items         []map[string]any
}

// NewOrders starts a sequence of orders.
func NewOrders(o OrderOptions) *Orders {
	return &Orders{o: o, rng: newRand(o.Seed, "orders"), number: 17}
}

// maxOpen is how many checks are kept as open.
const maxOpen = 20

// Next returns the next order. 8 % are voids and 5 % refires of earlier items; a sixth of the
// others have one record for each printer.
//
// The shares are high, so that a short run has each kind.
func (s *Orders) Next() Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	if n := s.rng.IntN(100); len(s.open) > 0 && n < 13 {
		// A copy, because the open check must stay as it was ordered: it may be voided or refired again.
		c := pick(s.rng, s.open)
		it := maps.Clone(pick(s.rng, c.items))
		if n < 8 {
			return s.void(c, it)
		}
		it["isRefire"], it["note"] = true, pick(s.rng, []string{"was cold", "dropped", "wrong doneness", "hair"})
		return s.request("refire", c, s.record(c, it))
	}

	c := s.newCheck()
	if s.open = append(s.open, c); len(s.open) > maxOpen {
		s.open = s.open[1:]
	}
	if s.rng.IntN(6) == 0 {
		return s.split(c)
	}
	return s.request("order", c, s.record(c, c.items...))
}

// newCheck is the order of one table. The fields are those that deployed services send; the
// contract does not state them.
func (s *Orders) newCheck() check {
	venueID := s.o.Venues[s.number%len(s.o.Venues)]
	c := check{venue: venueID, device: cmp.Or(s.o.Device,
		pick(s.rng, []string{"BW-E-Tablet-01", "BW-E-Tablet-02", "POS-TERRACE-1", "POS-BAR-1"}))}
	c.fields = map[string]any{
		contract.FieldVenueID: venueID,
		"checkId":             newID(s.rng),
		"checkNumber":         s.number,
		"checkName":           pick(s.rng, tables()),
		"orderType":           pick(s.rng, []string{"Dine in", "Dine in", "Take away", "Delivery"}),
		"guests":              1 + s.rng.IntN(6),
		"printSessionId":      newID(s.rng),
		"kdsStatus":           "PENDING",
	}
	s.server(c)
	if s.rng.IntN(8) == 0 {
		c.fields["note"] = pick(s.rng, orderNotes())
	}
	dishes := menu()
	for _, d := range dishes {
		if s.rng.IntN(6) == 0 {
			c.items = append(c.items, s.item(d))
		}
	}
	if c.items == nil { // an order needs an item
		c.items = append(c.items, s.item(pick(s.rng, dishes)))
	}
	return c
}

// server sets who took the order. If the service knows the employees, a quarter of the orders have
// only an id, so that the daemon has to ask for the name.
func (s *Orders) server(c check) {
	// At most the first twelve: a shift has few servers, and they exist in every service with that many employees.
	most := min(s.o.Employees, 12)
	if most <= 0 {
		most = 12
	}
	e := Staff(s.o.Seed, c.venue, s.rng.IntN(most))
	if s.o.Employees > 0 {
		c.fields["checkOwnerEmployeeId"] = e.ID
	}
	if s.o.Employees <= 0 || s.rng.IntN(4) > 0 {
		c.fields["checkOwner"] = e.Name
	}
}

// item is a dish with its modifiers: one of each choice, and some of the extras. Optional fields are left out at
// random, as services do.
func (s *Orders) item(line string) map[string]any {
	d := strings.Split(line, ";")
	it := map[string]any{
		contract.FieldName:   d[2],
		"quantity":           1 + max(0, s.rng.IntN(6)-3),
		"menuItemId":         uuid.NewSHA1(uuid.NameSpaceOID, []byte(d[2])).String(),
		"courseName":         d[0],
		"price":              19.5,
		"isRefire":           false,
		contract.FieldIsVoid: false,
		"printerDeviceId":    d[1],
	}
	if s.rng.IntN(6) == 0 {
		it["note"] = pick(s.rng, itemNotes())
	}
	if s.rng.IntN(5) == 0 {
		it["seat"] = 1 + s.rng.IntN(4)
	}
	children := []any{}
	for _, part := range d[3:] {
		extra, optional := strings.CutPrefix(part, "+")
		if !optional || s.rng.IntN(4) == 0 {
			children = append(children, s.modifier(pick(s.rng, strings.Split(extra, "/"))))
		}
	}
	it[contract.FieldChildItems] = children
	return it
}

// modifier is one with its own modifiers. Without any, services send null or leave the field out.
func (s *Orders) modifier(path string) map[string]any {
	name, below, nested := strings.Cut(path, ">")
	it := map[string]any{contract.FieldName: name, "quantity": 1}
	if nested {
		it[contract.FieldChildItems] = list(s.modifier(below))
	} else if s.rng.IntN(2) == 0 {
		it[contract.FieldChildItems] = nil
	}
	return it
}

// record is one record of a check, with a new id. A clone, because later requests of the check
// share its fields.
func (s *Orders) record(c check, items ...map[string]any) map[string]any {
	r := maps.Clone(c.fields)
	id := newID(s.rng) // always drawn, so that FreshIDs does not change the rest of the order
	if s.o.FreshIDs {
		id = uuid.NewString()
	}
	r[contract.FieldID] = id
	r[contract.FieldItems] = list(items...)
	r[contract.FieldRetryCount] = 0
	r[contract.FieldStatus] = "PENDING"
	r["destinationPosDeviceId"] = c.device
	r["destinationType"] = "KDS"
	return r
}

// list converts objects to a JSON array.
func list(objects ...map[string]any) []any {
	all := make([]any, len(objects))
	for i, o := range objects {
		all[i] = o
	}
	return all
}

// request is an order of one or more records. As in the contract, the first record's id is that of the
// request.
func (s *Orders) request(kind string, c check, records ...map[string]any) Order {
	return Order{
		ID: records[0][contract.FieldID].(string), Venue: c.venue, Device: c.device, Kind: kind,
		request: map[string]any{
			contract.FieldRecords: list(records...),
			contract.FieldStatus:  contract.ValueSuccess,
			contract.FieldCount:   len(records),
		},
	}
}

// split is a request with one record for each printer, as some services send them.
func (s *Orders) split(c check) Order {
	var records []map[string]any
	var items []map[string]any // of one printer: the menu is in their order
	for i, it := range c.items {
		items = append(items, it)
		if printer := it["printerDeviceId"]; i == len(c.items)-1 || c.items[i+1]["printerDeviceId"] != printer {
			r := s.record(c, items...)
			r["printerDeviceId"] = printer
			records, items = append(records, r), nil
		}
	}
	kind := "split"
	if len(records) == 1 {
		kind = "order"
	}
	return s.request(kind, c, records...)
}

// void cancels an item of an open check, in one of the three ways that services use. isVoid is the usual one, so it
// comes twice as often as each of the others.
func (s *Orders) void(c check, it map[string]any) Order {
	switch s.rng.IntN(4) {
	case 0:
		it["quantity"] = -it["quantity"].(int)
	case 1:
		it[contract.FieldStatus] = "VOIDED"
	default:
		it[contract.FieldIsVoid] = true
	}
	it["note"] = pick(s.rng, []string{"guest left", "entered twice", "wrong table", "86’d", "changed their mind"})
	return s.request("void", c, s.record(c, it))
}
