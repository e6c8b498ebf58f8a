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
	// FreshIDs gives requests random ids. Without it a second run with the same seed repeats the ids
	// of the first, and an endpoint takes its orders for duplicates.
	FreshIDs bool
}

// Orders generates the orders of an evening. It is safe for concurrent use.
type Orders struct {
	o OrderOptions

	mu     sync.Mutex // guards the fields below
	rng    *rand.Rand
	number int            // the last one that was called out
	last   map[string]any // the record of the last order: only ordered lines can be voided or made again
}

// NewOrders starts a sequence of orders.
func NewOrders(o OrderOptions) *Orders {
	return &Orders{o: o, rng: newRand(o.Seed, "orders"), number: 17}
}

// Next returns the next order. 8 % are voids and 5 % refires of an item of the order before: more than in a kitchen, so
// that a short run has each kind.
func (s *Orders) Next() Order {
	s.mu.Lock()
	defer s.mu.Unlock()

	kind, draw := "order", s.rng.IntN(100)
	if s.last == nil || draw >= 13 {
		s.last = s.record()
	}

	record := maps.Clone(s.last)
	if draw < 13 {
		it := maps.Clone(pick(s.rng, record[contract.FieldItems].([]any)).(map[string]any))
		if kind = "refire"; draw < 8 {
			kind = "void"
			s.void(it)
		} else {
			it["isRefire"], it["note"] = true, pick(s.rng, []string{"was cold", "dropped", "hair"})
		}
		record[contract.FieldItems] = list(it)
	}

	record[contract.FieldID] = newID(s.rng)
	if s.o.FreshIDs {
		record[contract.FieldID] = uuid.NewString()
	}
	return orderOf(kind, record[contract.FieldVenueID].(string), record["destinationPosDeviceId"].(string), record)
}

// record is the order of one table. The fields are those that deployed services send; the contract does not state
// them.
func (s *Orders) record() map[string]any {
	s.number++
	venueID := s.o.Venues[s.number%len(s.o.Venues)]
	r := map[string]any{
		contract.FieldVenueID: venueID, contract.FieldRetryCount: 0, contract.FieldStatus: "PENDING",
		"checkId": newID(s.rng), "checkNumber": s.number, "checkName": pick(s.rng, tables()),
		"orderType": pick(s.rng, []string{"Dine in", "Take away", "Delivery"}), "guests": 1 + s.rng.IntN(6),
		"printSessionId": newID(s.rng), "kdsStatus": "PENDING", "destinationType": "KDS",
		"destinationPosDeviceId": cmp.Or(s.o.Device, pick(s.rng, []string{"BW-E-Tablet-01", "POS-TERRACE-1"})),
	}

	// A quarter of the orders have only the id of who took them, so that the daemon has to ask for the name. At most
	// the first twelve: a shift has few servers, and they exist in every service with that many employees.

	employee := Staff(s.o.Seed, venueID, s.rng.IntN(12))
	r["checkOwnerEmployeeId"] = employee.ID
	if s.rng.IntN(4) > 0 {
		r["checkOwner"] = employee.Name
	}

	if s.rng.IntN(8) == 0 {
		r["note"] = pick(s.rng, []string{"Birthday at 8", "VIP", "guests in a hurry, théâtre à 20 h"})
	}

	items := []any{s.item(pick(s.rng, menu()))}
	for _, d := range menu() {
		if s.rng.IntN(6) == 0 {
			items = append(items, s.item(d))
		}
	}
	r[contract.FieldItems] = items

	return r
}

// item is a dish with its modifiers: one of each choice, and some of the extras. Optional fields are left out at
// random, as services do.
func (s *Orders) item(line string) map[string]any {
	dish := strings.Split(line, ";")

	it := map[string]any{
		contract.FieldName:   dish[2],
		"quantity":           1 + max(0, s.rng.IntN(6)-3),
		"menuItemId":         uuid.NewSHA1(uuid.NameSpaceOID, []byte(dish[2])).String(),
		"courseName":         dish[0],
		"price":              19.5,
		"isRefire":           false,
		contract.FieldIsVoid: false,
		"printerDeviceId":    dish[1],
	}

	if s.rng.IntN(6) == 0 {
		it["note"] = pick(s.rng, notes())
	}
	if s.rng.IntN(5) == 0 {
		it["seat"] = 1 + s.rng.IntN(4)
	}

	children := []any{}
	for _, part := range dish[3:] {
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

// void cancels an item, in one of the three ways that services use. isVoid is the usual one, so it comes twice as often
// as each of the others.
func (s *Orders) void(it map[string]any) {
	switch s.rng.IntN(4) {
	case 0:
		it["quantity"] = -it["quantity"].(int)
	case 1:
		it[contract.FieldStatus] = "VOIDED"
	default:
		it[contract.FieldIsVoid] = true
	}

	it["note"] = pick(s.rng, []string{"guest left", "entered twice", "86’d"})
}

// list converts objects to a JSON array.
func list(objects ...map[string]any) []any {
	all := make([]any, len(objects))
	for i, o := range objects {
		all[i] = o
	}
	return all
}

// orderOf is a request with records. As in the contract, the first record's id names the request.
func orderOf(kind, venueID, device string, records ...map[string]any) Order {
	return Order{
		ID: records[0][contract.FieldID].(string), Venue: venueID, Device: device, Kind: kind,
		request: map[string]any{
			contract.FieldRecords: list(records...), contract.FieldCount: len(records),
			contract.FieldStatus: contract.ValueSuccess,
		},
	}
}
