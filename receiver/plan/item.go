package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// header reads what a ticket says above its lines, and what is unread beside it. Texts that people also number, as a
// table or a course, may be JSON numbers; in a name or a type a number would be an internal id that says nothing to a
// cook.
func (s *splitter) header(rec *contract.Record, tr *RecordTrace) (ticket.Ticket, remainder) {
	r := &reader{paths: &s.plan.paths, obj: rec.Fields}
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
	t.Course = r.textBeforeNumber(fieldCourse)
	t.Notes = r.notes(fieldRecordNote)
	// A negative quantity of a record means a void; the number itself is not printed.
	q, _ := r.number(fieldQuantity)
	t.Void = r.void(q, false)
	t.Refire = r.flag(fieldRefire)
	t.Rush = r.rush()

	said := append([]string{t.Number, t.Table, t.Server, t.Type, t.Guests, t.Destination, t.Course}, t.Notes...)
	return t, r.remainder(said...)
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
func (s *splitter) serverName(r *reader) string {
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
	var found []Found
	r := newReader(f.paths, item, nil)
	index := 0
	if f.trace != nil {
		r.found = &found
		index = len(f.trace.Items)
		// The place is taken now, before the children take theirs, and filled at the end.
		f.trace.Items = append(f.trace.Items, ItemTrace{})
	}

	l, lists := f.line(r, depth, void, refire)
	if f.trace != nil {
		f.trace.Items[index] = ItemTrace{Path: at, Line: l, Fields: found}
	}
	f.lines = append(f.lines, l)

	children, _ := item[contract.FieldChildItems].([]any) // contract.Open has checked these types
	for i, c := range children {
		f.addItem(c.(map[string]any), depth+1, l.Void, l.Refire, f.below(at, contract.FieldChildItems, i))
	}
	for _, list := range lists {
		f.addList(list, depth+1, l, at)
	}
	return index
}

// line reads an item without what is nested below it. It returns the lists that are unread children too.
func (f *flattener) line(r *reader, depth int, void, refire bool) (ticket.Line, []childList) {
	l := ticket.Line{ID: itemID(r.obj), Depth: depth, Quantity: "1"}
	q, hasQuantity := r.number(fieldQuantity)
	if hasQuantity {
		l.Quantity = q.magnitude() // the sign is in Void: "-2" on paper is easily read as 2
	}

	l.Name = r.text(fieldName)
	l.Notes = r.notes(fieldNote)
	l.Seat = r.textOrNumber(fieldSeat)
	l.Course = r.textBeforeNumber(fieldCourse)
	l.Void = r.void(q, depth > 0) || void
	// Unlike a void, a refire that cannot be read is not quoted: the dish is made in either case.
	l.Refire = r.flag(fieldRefire) || refire
	r.number(fieldSort) // read before, by sortedIndices, which records no trace

	// A cook may recognise a dish in its JSON; an item that is left out is never made. The JSON has the remainder too.
	if l.Name == "" {
		l.Name, l.Raw = itemJSON(r.obj), true
		return l, nil
	}
	rest := r.remainder(append([]string{l.Name, l.Seat, l.Course}, l.Notes...)...)
	l.Name = rest.takeRemoval() + l.Name
	l.Notes = append(l.Notes, rest.notes(maxItemRemainder)...)
	return l, rest.lists
}

// addList appends a list of children that no path has read, headed by its key.
func (f *flattener) addList(list childList, depth int, parent ticket.Line, at string) {
	if depth >= contract.MaxDepth || len(f.lines)+len(list.items) > contract.MaxItems {
		f.lines = append(f.lines, ticket.Line{
			Depth: depth, Quantity: "1", Name: list.key + ": " + asJSON(list.items), Raw: true, Void: parent.Void,
		})
		return
	}

	head := ticket.Line{Depth: depth, Quantity: "1", Name: list.key + ":", Void: parent.Void, Refire: parent.Refire}
	f.lines = append(f.lines, head)
	if f.trace != nil {
		f.trace.Items = append(f.trace.Items, ItemTrace{Path: at + "." + list.key, Line: head})
	}
	for i, c := range list.items {
		f.addItem(c, depth+1, parent.Void, parent.Refire, f.below(at, list.key, i))
	}
}

// below is the path of a child, for the trace.
func (f *flattener) below(at, key string, i int) string {
	if f.trace == nil {
		return ""
	}
	return fmt.Sprintf("%s.%s[%d]", at, key, i)
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
