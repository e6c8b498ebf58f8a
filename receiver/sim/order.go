package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"ticketrail/receiver/contract"
)

// An Order is one print request and where it comes from.
type Order struct {
	ID            string // records[0].id; empty when the body has none
	Venue, Device string
	Kind          string // what it is: order, void, refire, split (several records), file

	request map[string]any // nil: raw cannot be read
	raw     []byte         // as a file had it, for the first attempt
	before  int            // attempts that were made already
}

// Again is the order as it comes when the answer to it got lost.
func (o Order) Again() Order {
	o.before++
	return o
}

// Body is the request as the service sends it for the nth time, from 0: the id stays, the
// retryCount rises, the envelope's timestamp is of now.
func (o Order) Body(attempt int) []byte {
	attempt += o.before
	if o.request == nil || attempt == 0 && o.raw != nil {
		return o.raw
	}
	return encode(o.changed(func(request map[string]any) {
		request[contract.FieldRequestStamp] = stamp(time.Now())
		records, _ := request[contract.FieldRecords].([]any)
		for _, r := range records {
			if record, ok := r.(map[string]any); ok {
				n, _ := record[contract.FieldRetryCount].(json.Number)
				before, _ := n.Int64()
				record[contract.FieldRetryCount] = before + int64(attempt)
			}
		}
	}))
}

// changed is a copy of the request with something else in it.
func (o Order) changed(change func(request map[string]any)) map[string]any {
	request, ok := decode(encode(o.request))
	if !ok {
		panic("a request that was encoded cannot be decoded")
	}
	change(request)
	return request
}

// decode reads one object and nothing behind it, numbers as they are written.
func decode(b []byte) (request map[string]any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&request) != nil {
		return nil, false
	}
	_, err := d.Token()
	return request, err == io.EOF
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // made here, or came from JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// FileOrder is a request somebody wrote. The first attempt sends it as it is, even if it is no
// JSON.
func FileOrder(body []byte, venueID, device string) Order {
	o := Order{Venue: venueID, Device: device, Kind: "file", raw: body}
	if request, ok := decode(body); ok { // what is behind it a retry has as well
		o.request = request
	}
	if first, ok := o.first(); ok {
		o.ID, _ = first[contract.FieldID].(string)
	}
	return o
}

func (o Order) first() (map[string]any, bool) {
	records, _ := o.request[contract.FieldRecords].([]any)
	if len(records) == 0 {
		return nil, false
	}
	first, ok := records[0].(map[string]any)
	return first, ok
}

// WithID is the order under another id, and so another order. One that has no records stays as
// it is.
func (o Order) WithID(id string) Order {
	if _, ok := o.first(); !ok {
		return o
	}
	o.ID, o.request = id, o.changed(func(request map[string]any) {
		request[contract.FieldRecords].([]any)[0].(map[string]any)[contract.FieldID] = id
	})
	if o.raw != nil {
		o.raw = encode(o.request)
	}
	return o
}

// OrderOptions say what is ordered and by whom.
type OrderOptions struct {
	// Seed decides everything but the time.
	Seed uint64
	// Venues take turns. At least one is required.
	Venues []string
	// Device triggers all orders. Default: one of a few of the venue's.
	Device string
	// Employees is how many work at a venue, as in [Venue]; [Options.Seed] must be the same for
	// the service to know them. 0: servers are always named.
	Employees int
	// FreshIDs gives requests ids that no other run of this seed has.
	FreshIDs bool
}

// Orders is an evening of orders without end. It is safe for concurrent use.
type Orders struct {
	o    OrderOptions
	menu []course

	mu     sync.Mutex // guards what follows
	rng    *rand.Rand
	number int
	open   []check // may still be voided or refired
}

// A check is what a table has ordered.
type check struct {
	venue, device string
	fields        map[string]any // of its records, without id and items
	items         []map[string]any
}

// NewOrders begins an evening.
func NewOrders(o OrderOptions) *Orders {
	return &Orders{o: o, menu: menu(), rng: newRand(o.Seed, "orders"), number: 17}
}

// maxOpen is how many checks are remembered.
const maxOpen = 20

// Next is the next order: mostly something to make, at times a void or a refire of what was
// ordered before, or a request with a record for each printer.
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

// seat has a table order.
func (s *Orders) newCheck() check {
	venueID := s.o.Venues[s.number%len(s.o.Venues)]
	c := check{venue: venueID, device: cmp.Or(s.o.Device, pick(s.rng, []string{"BW-E-Tablet-01", "BW-E-Tablet-02", "POS-TERRACE-1", "POS-BAR-1"}))}
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
	if len(c.items) == 0 {
		c.items = append(c.items, s.item(s.menu[2]))
	}
	return c
}

// server says who took the order. Now and then there is only an id, which the service knows.
func (s *Orders) server(c check) {
	if s.o.Employees <= 0 {
		c.fields["checkOwner"] = Staff(s.o.Seed, c.venue, s.rng.IntN(12)).Name
		return
	}
	e := Staff(s.o.Seed, c.venue, s.rng.IntN(min(s.o.Employees, 12)))
	c.fields["checkOwnerEmployeeId"] = e.ID
	if s.rng.IntN(4) > 0 {
		c.fields["checkOwner"] = e.Name
	}
}

// item is a dish with what was chosen for it.
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

func (s *Orders) modifiers(groups []choice) []any {
	children := []any{}
	for _, g := range groups {
		it := map[string]any{contract.FieldName: pick(s.rng, g.of), "quantity": 1}
		if len(g.below) > 0 {
			it[contract.FieldChildItems] = s.modifiers(g.below)
		} else if s.rng.IntN(2) == 0 {
			it[contract.FieldChildItems] = nil // services send either, or nothing
		}
		children = append(children, it)
	}
	return children
}
