package sim

import (
	"maps"

	"github.com/google/uuid"

	"ticketrail/receiver/contract"
)

// How a check becomes requests. A check is what a table has ordered; a request is what the service
// sends of it: the check itself, a record for each printer, a void or a refire of one item.

// order is a request with one record.
func (s *Orders) order(kind string, c check, items []map[string]any) Order {
	return s.request(kind, c, s.record(c, items))
}

// record is one record of a check, with a new id. A clone, because later requests of the check
// share its fields.
func (s *Orders) record(c check, items []map[string]any) map[string]any {
	r := maps.Clone(c.fields)
	r[contract.FieldID] = s.newID()
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

func (s *Orders) newID() string {
	id := newID(s.rng) // always drawn, so that FreshIDs does not change the rest of the order
	if s.o.FreshIDs {
		id = uuid.NewString()
	}
	return id
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
	// In the order of the items: a map alone would change it from run to run, and the seed must
	// decide everything.
	var names []string
	by := map[string][]map[string]any{}
	for _, it := range c.items {
		p := it["printerDeviceId"].(string)
		if by[p] == nil {
			names = append(names, p)
		}
		by[p] = append(by[p], it)
	}
	var records []map[string]any
	for _, p := range names {
		r := s.record(c, by[p])
		r["printerDeviceId"] = p
		records = append(records, r)
	}
	kind := "split"
	if len(records) == 1 {
		kind = "order"
	}
	return s.request(kind, c, records...)
}

// void cancels an item of an open check, in one of the three ways that services use.
//
// isVoid is the usual one, so it comes twice as often as each of the others.
func (s *Orders) void() Order {
	c, it := s.openItem()
	switch s.rng.IntN(4) {
	case 0:
		it["quantity"] = -it["quantity"].(int)
	case 1:
		it[contract.FieldStatus] = "VOIDED"
	default:
		it[contract.FieldIsVoid] = true
	}
	it["note"] = pick(s.rng, voidReasons())
	return s.order("void", c, []map[string]any{it})
}

// refire orders an item of an open check a second time.
func (s *Orders) refire() Order {
	c, it := s.openItem()
	it["isRefire"] = true
	it["note"] = pick(s.rng, refireReasons())
	return s.order("refire", c, []map[string]any{it})
}

// openItem is a random open check and a copy of one of its items. A copy, because the open check
// must stay as it was ordered: it may be voided or refired again.
func (s *Orders) openItem() (check, map[string]any) {
	c := pick(s.rng, s.open)
	return c, maps.Clone(pick(s.rng, c.items))
}
