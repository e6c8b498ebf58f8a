package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// header reads what a ticket says above its lines. Texts that people also number (a table, a
// course) may be JSON numbers; in a name or a type a number would be an internal id that says
// nothing to a cook.
func (s *splitter) header(rec *contract.Record, tr *RecordTrace) ticket.Ticket {
	r := reader{paths: &s.plan.paths, obj: rec.Fields}
	if tr != nil {
		r.found = &tr.Fields
	}
	t := s.base
	t.Record = rec.ID
	t.Number = r.textOrNumber(fieldNumber)
	t.Table = r.textOrNumber(fieldTable)
	t.Server = s.serverName(r)
	t.Type = r.text(fieldType)
	t.Guests = r.textOrNumber(fieldGuests)
	// The printer that the service has in mind is shown, so that a person can see where the routes
	// differ from it; only the routes decide where the ticket goes.
	t.Destination = r.textOrNumber(fieldDestination)
	t.Course = r.textOrNumber(fieldCourse)
	t.Notes = r.notes(fieldRecordNote)
	// A negative quantity of a record means a void; the number itself is not printed.
	q, _ := r.number(fieldQuantity)
	t.Void = r.void(q)
	t.Refire = r.flag(fieldRefire)
	t.Rush = r.rush()
	return t
}

// emptyHeader says that nothing in the header would tell a cook what the ticket is about. Without
// items, such a record prints as its JSON.
func emptyHeader(t ticket.Ticket) bool {
	return t.Number == "" && t.Table == "" && t.Server == "" && t.Type == "" && t.Guests == "" &&
		t.Destination == "" && t.Course == "" && len(t.Notes) == 0 && !t.Void && !t.Refire
}

// serverName is a name as sent, or the name of the employee with the id that was sent, or else the
// end of that id, which two people can at least compare.
//
// The name is decided here, before the 200, so a ticket that is printed again tomorrow has the name
// of today. The look-up must not wait: see [Names].
func (s *splitter) serverName(r reader) string {
	if name := r.text(fieldServer); name != "" {
		return name
	}
	id := r.textOrNumber(fieldEmployee)
	if id == "" {
		return ""
	}
	if s.names != nil {
		if name, ok := s.names.Name(s.venue.ID, id); ok && !isBlank(name) {
			return strings.TrimSpace(name)
		}
	}
	// Four characters are few enough to read out, and enough to tell the people of one restaurant
	// apart.
	runes := []rune(id)
	return string(runes[max(0, len(runes)-4):])
}

// The keys under which a record or an item may say that it is a cancellation. They cannot be
// configured: a path forgotten in the configuration would turn a void into an order.
var (
	voidFlags    = [...]string{contract.FieldIsVoid, contract.FieldVoid, contract.FieldVoided}
	statusFields = [...]string{"status", "kdsStatus"}
)

// void says whether a record or an item is a cancellation, in any of the spellings that services
// use. The caller applies it to everything nested below. All of them are read, and one is enough:
// an order that is mistaken for a void is noticed at the table, a void that is mistaken for an order
// is cooked.
func (r reader) void(quantity decimal) bool {
	for _, k := range voidFlags {
		if yes, _ := parseBool(r.obj[k]); yes {
			return r.traceVoid(k)
		}
	}
	for _, k := range statusFields {
		v, _ := r.obj[k].(string)
		v = strings.TrimSpace(v)
		for _, word := range [...]string{"VOID", "VOIDED", "CANCELED", "CANCELLED"} {
			if strings.EqualFold(v, word) {
				return r.traceVoid(k)
			}
		}
	}
	return quantity.neg && r.traceVoid("a quantity below zero")
}

// traceVoid records where a cancellation was found, and returns true. The trace has one entry, for
// the first spelling that was found.
func (r reader) traceVoid(path string) bool {
	if r.found != nil {
		*r.found = append(*r.found, Found{Field: "void", Path: path, Value: "true"})
	}
	return true
}

// unreadableVoids quotes values that may mean a cancellation but cannot be read: under voidFlags what
// is neither true nor false, under statusFields what is no text. They print as notes of a line that is
// not void, so that a person decides. A void in doubt must not silently stop the cooking, nor
// silently be cooked.
func unreadableVoids(obj map[string]any) (notes []string) {
	for _, k := range voidFlags {
		v := obj[k]
		if _, ok := parseBool(v); v == nil || ok {
			continue
		}
		if s, ok := v.(string); ok && isBlank(s) {
			continue
		}
		notes = append(notes, k+": "+asText(v))
	}
	for _, k := range statusFields {
		if _, ok := obj[k].(string); obj[k] != nil && !ok {
			notes = append(notes, k+": "+asText(obj[k]))
		}
	}
	return notes
}

// A flattener turns the nested items of one record into lines, parents before their children. Lines
// are flat because paper is, and because a stored ticket must stay readable for later versions;
// Depth keeps the nesting.
type flattener struct {
	paths *fieldPaths
	lines []ticket.Line
	trace *RecordTrace // nil: no trace is wanted
}

// addItem appends an item and everything nested below it. void and refire are those of its parent.
// It returns the item's index in the trace. It recurses at most contract.MaxDepth deep.
func (f *flattener) addItem(item map[string]any, depth int, void, refire bool, at string) int {
	r := reader{paths: f.paths, obj: item}
	index := 0
	var found []Found
	if f.trace != nil {
		r.found = &found
		index = len(f.trace.Items)
		// The place is taken now, before the children take theirs, and filled at the end.
		f.trace.Items = append(f.trace.Items, ItemTrace{})
	}
	l := ticket.Line{ID: itemID(item), Depth: depth, Quantity: "1"}
	q, hasQuantity := r.number(fieldQuantity)
	if hasQuantity {
		l.Quantity = q.magnitude() // the sign is in Void: "-2" on paper is easily read as 2
	}
	// A cook may recognise a dish in its JSON; an item that is left out is never made.
	if l.Name = r.text(fieldName); l.Name == "" {
		l.Name, l.Raw = itemJSON(item), true
	}
	l.Notes = r.notes(fieldNote)
	if !hasQuantity {
		if odd := r.unreadableNumber(fieldQuantity); odd != "" {
			l.Notes = append(l.Notes, "quantity "+odd)
		}
	}
	l.Seat = r.textOrNumber(fieldSeat)
	l.Course = r.textOrNumber(fieldCourse)
	if l.Void = r.void(q) || void; !l.Void {
		l.Notes = append(l.Notes, unreadableVoids(item)...)
	}
	// Unlike a void, a refire that cannot be read is not quoted: the dish is made in either case.
	l.Refire = r.flag(fieldRefire) || refire
	if f.trace != nil {
		r.number(fieldSort) // read before, by sortedIndices, which records no trace
		f.trace.Items[index] = ItemTrace{Path: at, Line: l, Fields: found}
	}
	f.lines = append(f.lines, l)
	children, _ := item[contract.FieldChildItems].([]any) // contract.Open has checked these types
	for i, c := range children {
		sub := ""
		if f.trace != nil {
			sub = fmt.Sprintf("%s.%s[%d]", at, contract.FieldChildItems, i)
		}
		f.addItem(c.(map[string]any), depth+1, l.Void, l.Refire, sub)
	}
	return index
}

// itemID is the item's own id, by which it is found again in other content under the id of the request.
func itemID(item map[string]any) string {
	switch v := item[contract.FieldID].(type) {
	case string:
		id, _ := contract.CanonicalID(v)
		return id
	case json.Number:
		return v.String()
	}
	return ""
}

// itemJSON is the item as JSON without its children, which have lines of their own. The item is
// copied because all readers share the request's maps.
func itemJSON(item map[string]any) string {
	if _, ok := item[contract.FieldChildItems]; ok {
		item = maps.Clone(item)
		delete(item, contract.FieldChildItems)
	}
	return asJSON(item)
}
