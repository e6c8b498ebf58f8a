package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"ticketrail/receiver/contract"
)

// An Order is one print request, with the venue and device that send it.
//
// It never changes: Again and WithID return copies, so several goroutines may send the same order.
type Order struct {
	ID            string // records[0].id; empty when the body has none
	Venue, Device string
	Kind          string // order, void, refire, split (several records) or file

	request map[string]any // nil: raw is not JSON
	raw     []byte         // the text of a file, sent unchanged in the first attempt
	before  int            // attempts made so far
}

// Again is the order as the service sends it again when the answer was lost.
func (o Order) Again() Order {
	o.before++
	return o
}

// Body is the request of an attempt, counted from 0: the same id, a retryCount that is higher by
// the attempt, the current time in the envelope.
//
// The request is encoded anew for each attempt, as the service does it: a receiver that compares
// bytes takes every retry for another order, and this shows it.
func (o Order) Body(attempt int) []byte {
	attempt += o.before
	if o.request == nil || attempt == 0 && o.raw != nil {
		return o.raw
	}
	request, records := o.copied()
	request[contract.FieldRequestStamp] = stamp(time.Now())
	for _, r := range records {
		if record, ok := r.(map[string]any); ok {
			// A file may start with any retryCount; without one it counts from 0.
			before, _ := strconv.Atoi(fmt.Sprint(record[contract.FieldRetryCount]))
			record[contract.FieldRetryCount] = before + attempt
		}
	}
	return encode(request)
}

// copied is the request and its records, of which the fields may be changed.
func (o Order) copied() (request map[string]any, records []any) {
	request = maps.Clone(o.request)
	if old, ok := request[contract.FieldRecords].([]any); ok {
		records = slices.Clone(old)
		request[contract.FieldRecords] = records
	}
	for i, r := range records {
		if record, ok := r.(map[string]any); ok {
			records[i] = maps.Clone(record)
		}
	}
	return request, records
}

// decode reads exactly one JSON object. Numbers keep their text, so that 1.50 stays 1.50.
func decode(b []byte) (request map[string]any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&request) != nil {
		return nil, false
	}
	_, err := d.Token()
	return request, err == io.EOF
}

// encode writes JSON without HTML escapes, as the service does: & and < stay readable in a log.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a bug: the value was made here or decoded from JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// FileOrder is an order whose request was written by hand. The first attempt sends it unchanged,
// even if it is not JSON. So an endpoint can be tested with bodies that are wrong on purpose.
func FileOrder(body []byte, venueID, device string) Order {
	o := Order{Venue: venueID, Device: device, Kind: "file", raw: body}
	if request, ok := decode(body); ok { // else each retry, too, sends the text unchanged
		o.request = request
	}
	if first, ok := o.first(); ok {
		o.ID, _ = first[contract.FieldID].(string)
	}
	return o
}

// first is records[0], if the request has one.
func (o Order) first() (map[string]any, bool) {
	records, _ := o.request[contract.FieldRecords].([]any)
	if len(records) == 0 {
		return nil, false
	}
	first, ok := records[0].(map[string]any)
	return first, ok
}

// WithID is the order with another id: to the endpoint it is a new order. An order without records
// is returned unchanged.
func (o Order) WithID(id string) Order {
	if _, ok := o.first(); !ok {
		return o
	}
	request, records := o.copied()
	records[0].(map[string]any)[contract.FieldID] = id
	o.ID, o.request = id, request
	if o.raw != nil {
		o.raw = encode(o.request)
	}
	return o
}

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

// Orders generates orders. It is safe for concurrent use.
//
// It remembers open checks, because a void or a refire must be of something that was ordered.
type Orders struct {
	o    OrderOptions
	menu []course

	mu  sync.Mutex // guards what follows
	rng *rand.Rand
	// The last number that was called out.
	number int
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
	return &Orders{o: o, menu: menu(), rng: newRand(o.Seed, "orders"), number: 17}
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
	if len(s.open) > 0 {
		switch n := s.rng.IntN(100); {
		case n < 8:
			return s.void()
		case n < 13:
			return s.refire()
		}
	}
	c := s.newCheck()
	s.open = append(s.open, c)
	if len(s.open) > maxOpen {
		s.open = s.open[1:]
	}
	if s.rng.IntN(6) == 0 {
		return s.split(c)
	}
	return s.order("order", c, c.items)
}

// newCheck is the order of one table. The fields are those that deployed services send; the
// contract does not state them.
func (s *Orders) newCheck() check {
	venueID := s.o.Venues[s.number%len(s.o.Venues)]
	c := check{
		venue: venueID,
		device: cmp.Or(s.o.Device,
			pick(s.rng, []string{"BW-E-Tablet-01", "BW-E-Tablet-02", "POS-TERRACE-1", "POS-BAR-1"})),
	}
	c.fields = map[string]any{
		contract.FieldVenueID: venueID,
		"checkId":             newID(s.rng),
		"checkNumber":         s.number,
		"checkName":           pick(s.rng, tables()),
		"orderType":           pick(s.rng, orderTypes()),
		"guests":              1 + s.rng.IntN(6),
		"printSessionId":      newID(s.rng),
		"kdsStatus":           "PENDING",
	}
	s.server(c)
	if s.rng.IntN(8) == 0 {
		c.fields["note"] = pick(s.rng, orderNotes())
	}
	for _, course := range s.menu {
		for range s.rng.IntN(3) {
			c.items = append(c.items, s.item(course))
		}
	}
	// An order needs an item: this one gets a main course.
	if len(c.items) == 0 {
		c.items = append(c.items, s.item(s.menu[2]))
	}
	return c
}

// server sets who took the order. If the service knows the employees, a quarter of the orders have
// only an id, so that the daemon has to ask for the name.
func (s *Orders) server(c check) {
	if s.o.Employees <= 0 {
		c.fields["checkOwner"] = Staff(s.o.Seed, c.venue, s.rng.IntN(12)).Name
		return
	}
	// At most the first twelve: a shift has few servers, and they exist in every service with that
	// many employees.
	e := Staff(s.o.Seed, c.venue, s.rng.IntN(min(s.o.Employees, 12)))
	c.fields["checkOwnerEmployeeId"] = e.ID
	if s.rng.IntN(4) > 0 {
		c.fields["checkOwner"] = e.Name
	}
}

// item is a random dish of a course with its modifiers. Optional fields are left out at random, as
// services do.
func (s *Orders) item(c course) map[string]any {
	d := pick(s.rng, c.dishes)
	it := map[string]any{
		contract.FieldName:   d.name,
		"quantity":           1 + max(0, s.rng.IntN(6)-3),
		"menuItemId":         uuid.NewSHA1(uuid.NameSpaceOID, []byte(d.name)).String(),
		"courseName":         c.name,
		"categoryPriority":   c.sort,
		"price":              d.price,
		"isRefire":           false,
		contract.FieldIsVoid: false,
		"printerDeviceId":    c.printer,
	}
	if s.rng.IntN(6) == 0 {
		it["note"] = pick(s.rng, itemNotes())
	}
	if s.rng.IntN(5) == 0 {
		it["seat"] = 1 + s.rng.IntN(4)
	}
	children := s.modifiers(d.choices)
	for _, e := range d.extras {
		if s.rng.IntN(4) == 0 {
			children = append(children, map[string]any{contract.FieldName: e, "quantity": 1})
		}
	}
	it[contract.FieldChildItems] = children
	return it
}

// modifiers takes one modifier of each group, and of its own groups.
func (s *Orders) modifiers(groups []choice) []any {
	children := []any{}
	for _, g := range groups {
		it := map[string]any{contract.FieldName: pick(s.rng, g.of), "quantity": 1}
		if len(g.below) > 0 {
			it[contract.FieldChildItems] = s.modifiers(g.below)
		} else if s.rng.IntN(2) == 0 {
			it[contract.FieldChildItems] = nil // services send null, or leave the field out
		}
		children = append(children, it)
	}
	return children
}
