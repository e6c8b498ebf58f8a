package plan

import (
	"slices"
	"strings"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// header reads what a ticket says above its lines, and what is unread beside it. Texts that people also number, as a
// table or a course, may be JSON numbers; in a name or a type a number would be an internal id that says nothing to a
// cook.
func (s *splitter) header(rec *contract.Record) (ticket.Ticket, remainder) {
	if items := rec.Fields.Get(contract.FieldItems); items != nil {
		s.marks[items.Index()] = markItems // they are read one by one
	}
	r := s.reader(rec.Fields)
	t := s.base
	t.Record = rec.ID
	t.Number = r.textOrNumber(fieldNumber)
	t.Table = r.textOrNumber(fieldTable)
	t.Server = s.serverName(r)
	t.Type = r.text(fieldType)
	t.Guests = r.textOrNumber(fieldGuests)
	t.Customer = r.text(fieldCustomer)
	t.Promised = r.promised()
	t.Check = r.textOrNumber(fieldCheck)
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
	t.Notes = append(t.Notes, r.allergens()...)

	rest := r.remainder(append([]string{
		t.Number, t.Table, t.Server, t.Type, t.Guests, t.Customer, t.Destination, t.Course}, t.Notes...)...)
	return t, rest
}

// emptyHeader says that nothing in the header would tell a cook what the ticket is about. Without
// items, such a record prints as its JSON.
func emptyHeader(t ticket.Ticket) bool {
	return t.Number == "" && t.Table == "" && t.Server == "" && t.Type == "" && t.Guests == "" && t.Customer == "" &&
		t.Destination == "" && t.Course == "" && len(t.Notes) == 0 && !t.Void && !t.Refire
}

// serverName is a name as sent, or the name of the employee with the id that was sent, or else the
// end of that id, which two people can at least compare.
//
// The name is decided here, before the 200, so a ticket that is printed again tomorrow has the name
// of today. The look-up must not wait: see [Names].
func (s *splitter) serverName(r *reader) string {
	name, id := r.text(fieldServer), r.textOrNumber(fieldEmployee)
	if name != "" || id == "" {
		return name
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

// Lines are flat, parents before their children, because paper is, and because a stored ticket must stay readable for
// later versions; Depth keeps the nesting.

// addItem appends the lines of an item and of everything nested below it. parent is the line, or the header, that it
// belongs to. It recurses at most contract.MaxDepth deep. It returns the item's sort key, if it has one.
func (s *splitter) addItem(item contract.Value, depth int, parent ticket.Line) (key decimal, hasKey bool) {
	r := s.reader(item)
	key, hasKey = r.number(fieldSort)
	children := r.children()
	l, lists := s.line(r, children, depth, parent)
	s.lines = append(s.lines, l)
	for _, list := range children {
		s.addList(childList{items: list}, depth+1, l)
	}
	for _, list := range lists {
		s.addList(list, depth+1, l)
	}
	return key, hasKey
}

// line reads an item without what is nested below it. It returns the lists that are unread children too.
func (s *splitter) line(
	r *reader, children []contract.Value, depth int, parent ticket.Line,
) (ticket.Line, []childList) {
	l := ticket.Line{Depth: depth, Quantity: "1"}
	q, hasQuantity := r.number(fieldQuantity)
	if hasQuantity {
		l.Quantity = q.magnitude() // the sign is in Void: "-2" on paper is easily read as 2
	}

	l.Name = r.text(fieldName)
	l.Notes = r.notes(fieldNote)
	l.Seat = r.textOrNumber(fieldSeat)
	l.Course = r.textBeforeNumber(fieldCourse)
	l.Void = r.void(q, depth > 0) || parent.Void
	// Unlike a void, a refire that cannot be read is not quoted: the dish is made in either case.
	l.Refire = r.flag(fieldRefire) || parent.Refire

	// A cook may recognise a dish in its JSON; an item that is left out is never made. The JSON has the remainder too.
	if l.Name == "" {
		rest := r.remainder()
		l.Name, l.Raw, l.MayCancel = r.obj.JSON(children...), true, rest.takeCancelling()
		return l, nil
	}
	removal := r.removal()
	l.Notes = append(l.Notes, r.allergens()...)
	rest := r.remainder(append([]string{l.Name, l.Seat, l.Course}, l.Notes...)...)
	l.MayCancel = rest.takeCancelling()
	l.Name = removal + rest.takeRemoval() + l.Name
	rest.addTo(&l.Notes, &l.More, maxItemRemainder)
	return l, rest.lists
}

// children are childItems, and the lists of objects that ticket.fields names as children. It marks them.
func (r *reader) children() (lists []contract.Value) {
	add := func(v contract.Value) {
		if v.Kind() == '[' && !r.isRead(v) {
			lists = append(lists, v)
			r.marks[v.Index()] = markItems
		}
	}
	add(r.obj.Get(contract.FieldChildItems))
	for _, h := range r.of(fieldChildren) {
		allObjects := true
		for e := range h.v.All() {
			allObjects = allObjects && e.Kind() == '{'
		}
		if allObjects {
			add(h.v)
		}
	}
	return lists
}

// addList appends a list of children. One that no path has read is headed by its key.
func (s *splitter) addList(list childList, depth int, parent ticket.Line) {
	if depth >= contract.MaxDepth || len(s.lines)+list.items.Len() > contract.MaxItems {
		s.lines = append(s.lines, ticket.Line{Depth: depth, Quantity: "1", Raw: true, Void: parent.Void,
			Name: list.items.Key() + ": " + list.items.JSON()})
		return
	}

	if list.key != "" {
		s.lines = append(s.lines,
			ticket.Line{Depth: depth, Quantity: "1", Name: list.key + ":", Void: parent.Void, Refire: parent.Refire})
		depth++
	}
	for child := range list.items.All() {
		s.addItem(child, depth, parent)
	}
}

// contractFields are the fields of the envelope that the contract has.
var contractFields = []string{
	contract.FieldCount, contract.FieldLength, contract.FieldDuration, contract.FieldClientDrift,
	contract.FieldRequestStamp, contract.FieldResponseStamp,
}

// envelopeRemainder is what the envelope says beside the records. The first record prints it.
func (s *splitter) envelopeRemainder() remainder {
	r := &reader{splitter: s, obj: s.envelope}
	for member := range s.envelope.All() {
		switch key := member.Key(); {
		case key == contract.FieldRecords:
			s.marks[member.Index()] = markItems
		case slices.Contains(contractFields, key):
			s.marks[member.Index()] = markContract
		}
	}
	return r.remainder()
}
