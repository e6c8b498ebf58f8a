package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// header reads the head of a ticket, and the unread fields beside it. Texts that people also number, as a
// table or a course, may be JSON numbers; in a name or a type a number would be an internal id that says nothing to a
// cook.
func (s *splitter) header(rec *contract.Record) (ticket.Ticket, remainder) {
	if items := rec.Fields.Get(contract.FieldItems); items != nil {
		s.marks[items.Index()] = markItems // they are read one by one
	}

	fields := s.reader(rec.Fields)
	t := s.base
	t.Record = rec.ID
	t.Number = fields.textOrNumber(fieldNumber)
	t.Table = fields.textOrNumber(fieldTable)
	t.Server = s.serverName(fields)
	t.Type = fields.text(fieldType)
	t.Guests = fields.textOrNumber(fieldGuests)
	t.Customer = fields.text(fieldCustomer)
	t.Promised = fields.promised()
	t.Check = fields.textOrNumber(fieldCheck)

	// The printer that the service has in mind is shown, so that a person can see where the routes
	// differ from it; only the routes decide where the ticket goes.
	t.Destination = fields.textOrNumber(fieldDestination)
	t.Course = fields.course()
	t.Notes = fields.notes(fieldRecordNote)

	// A negative quantity of a record means a void; the number itself is not printed.
	quantity, _ := fields.number(fieldQuantity)
	t.Void = fields.void(quantity, false)
	t.Refire = fields.flag(fieldRefire)
	t.Rush = fields.isRushOrHold(fieldRush, rushWords)
	t.Hold = fields.isRushOrHold(fieldHold, holdWords)
	t.Notes = append(t.Notes, fields.allergens()...) // the last field, because it makes other readers: see reader

	rest := fields.remainder(append([]string{
		t.Number, t.Table, t.Server, t.Type, t.Guests, t.Customer, t.Destination, t.Course}, t.Notes...)...)
	return t, rest
}

// emptyHeader says that nothing in the header would tell a cook the subject of the ticket. Without
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

	// Four characters are few enough to read out, and enough to tell the people of one restaurant apart.
	runes := []rune(id)
	return string(runes[max(0, len(runes)-4):])
}

// Lines are flat, parents before their children, because paper is, and because a stored ticket must stay readable for
// later versions; Depth keeps the nesting.

// addItem appends the lines of an item and of everything nested below it. parent is the line, or the header, that it
// belongs to. It recurses at most contract.MaxDepth deep. It returns the item's sort key, if it has one.
func (s *splitter) addItem(item contract.Value, depth int, parent ticket.Line) (key decimal, hasKey bool) {
	fields := s.reader(item)
	key, hasKey = fields.number(fieldSort)
	children := fields.children()
	line, lists := s.line(fields, children, depth, parent)
	s.lines = append(s.lines, line)

	for _, list := range children {
		s.addList(childList{items: list}, depth+1, line)
	}
	for _, list := range lists {
		s.addList(list, depth+1, line)
	}
	return key, hasKey
}

// line reads an item, but not the items nested below it, which are its children. It returns the unread lists that look
// like children.
func (s *splitter) line(
	r *reader, children []contract.Value, depth int, parent ticket.Line,
) (ticket.Line, []childList) {
	l := ticket.Line{Depth: depth, Quantity: "1"}
	if id, isUUID := contract.CanonicalID(r.obj.Get(contract.FieldID).Text()); isUUID {
		l.ID = id
	}
	quantity, hasQuantity := r.number(fieldQuantity)
	if hasQuantity {
		l.Quantity = quantity.magnitude // the sign is in Void: "-2" on paper is easily read as 2
	}

	l.Name = r.text(fieldName)
	l.Notes = r.notes(fieldNote)
	l.Seat = r.textOrNumber(fieldSeat)
	l.Course = r.course()
	l.Void = r.void(quantity, depth > 0) || parent.Void
	l.Hold = r.isRushOrHold(fieldHold, holdWords) || parent.Hold
	// Unlike a void, a refire that cannot be read is no question (MayCancel): the dish is made in either case, and the
	// field prints as an unread one.
	l.Refire = r.flag(fieldRefire) || parent.Refire

	// A cook may recognise a dish in its JSON; an item that is left out is never made. The JSON has the remainder too.
	if l.Name == "" {
		rest := r.remainder()
		l.Name, l.Raw, l.MayCancel = r.obj.JSON(children...), true, rest.takeCancelling()
		return l, nil
	}

	removal := r.removal()
	l.Notes = append(l.Notes, r.allergens()...) // the last field, because it makes other readers: see reader
	rest := r.remainder(append([]string{l.Name, l.Seat, l.Course}, l.Notes...)...)
	l.MayCancel = rest.takeCancelling()
	l.Name = removal + rest.takeRemoval() + l.Name

	rest.addTo(&l.Notes, &l.Unread, &l.More, maxItemRemainder)
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
			Refire: parent.Refire, Hold: parent.Hold, Name: list.items.Key() + ": " + list.items.JSON()})
		return
	}

	if list.key != "" && depth > 0 {
		s.lines = append(s.lines, ticket.Line{Depth: depth, Quantity: "1", Name: list.key + ":", Void: parent.Void,
			Refire: parent.Refire, Hold: parent.Hold})
		depth++
	}

	for child := range list.items.All() {
		at := len(s.lines)
		s.addItem(child, depth, parent)
		if depth == 0 { // beside the items a heading would be read as a dish
			s.lines[at].Course = cmp.Or(s.lines[at].Course, list.key)
		}
	}
}

// contractFields are the fields of the envelope that the contract has and that say nothing to a cook. An error and an
// odd status print.
var contractFields = []string{
	contract.FieldCount, contract.FieldLength, contract.FieldDuration, contract.FieldClientDrift,
	contract.FieldRequestStamp, contract.FieldResponseStamp,
}

// envelopeRemainder is the unread part of the envelope beside the records. The first record prints it.
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

// void says whether a record or an item is a cancellation, in any of the spellings that services use. modifier says
// that it belongs to an item. The caller applies it to everything nested below. All of them are read, and one is
// enough: an order that is mistaken for a void is noticed at the table, a void that is mistaken for an order is cooked.
func (r *reader) void(quantity decimal, modifier bool) bool {
	isVoid := quantity.neg
	for _, h := range r.of(fieldVoid) {
		if saysVoid(h.kind, h.v, modifier) {
			isVoid = true
			if kind := h.v.Kind(); kind != '{' && kind != '[' { // its members say more than that
				r.markRead(h.v, fieldVoid)
			}
		} else if yes, readable := parseBool(h.v); h.kind != voidStatus && readable && !yes {
			r.markRead(h.v, fieldVoid)
		}
	}

	return isVoid
}

// saysVoid says whether a field is a cancellation.
func saysVoid(kind flagKind, v contract.Value, modifier bool) bool {
	switch kind {
	case voidFlag:
		yes, _ := parseBool(v)
		return yes
	case voidTime:
		return v.Kind() != 'f' && !isEmpty(v) && !isZeroTime(v)
	case voidStatus:
		if v.Kind() != '"' {
			return false
		}
		word := folded(v.Text()) // of a modifier, removed means without it: see reader.removal
		return slices.Contains(voidStatuses, word) || !modifier && slices.Contains(removedStatuses, word)
	}

	// A path of ticket.fields.void says it in any of these ways.
	isTime := v.Kind() == '"' && timeValue.MatchString(strings.TrimSpace(v.Text())) && !isZeroTime(v)
	return isTime || saysVoid(voidFlag, v, modifier) || saysVoid(voidStatus, v, modifier)
}

func isZeroTime(v contract.Value) bool {
	return (v.Kind() == '"' || v.Kind() == '0') && zeroTime.MatchString(strings.TrimSpace(v.Text()))
}

// maxPlainDigits limits how long a number may get by writing out its exponent: 1e999999999 is eleven
// bytes in the request and a gigabyte on paper. Real quantities have a few digits.
const maxPlainDigits = 32

// A decimal is a number with exactly the digits that were sent. A float64 would print a
// check number of 17 digits wrong.
//
// Equal numbers are equal, however they were written: 1, 1.0 and 10e-1 print alike. Only one that would get longer
// than maxPlainDigits keeps its exponent, as it came.
type decimal struct {
	neg       bool   // never for zero
	magnitude string // as people write it: 18, 0.5, 1000
}

// minusSigns are hyphen-minus, minus, en dash, hyphen and non-breaking hyphen. A quantity typed with
// any of them is a void; taken for an order it would be cooked.
var minusSigns = [...]string{"-", "\u2212", "\u2013", "\u2010", "\u2011"}

// toDecimal reads a JSON number or a string that holds one. Beyond JSON's grammar, a string may have a
// plus, a typographic minus, leading zeros and a decimal point at either end.
func toDecimal(v contract.Value) (decimal, bool) {
	if kind := v.Kind(); kind != '0' && kind != '"' {
		return decimal{}, false
	}
	return parseDecimal(strings.TrimSpace(v.Text()))
}

// parseDecimal is toDecimal for text without blanks around it.
func parseDecimal(s string) (d decimal, ok bool) {
	s, plus := strings.CutPrefix(s, "+")
	// Not after a plus: "+-2" is not a number.
	for _, minus := range minusSigns {
		if rest, ok := strings.CutPrefix(s, minus); ok && !plus {
			d.neg, s = true, rest
			break
		}
	}

	mantissa, exponent := s, "0"
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		mantissa, exponent = s[:at], s[at+1:]
	}

	whole, fraction, _ := strings.Cut(mantissa, ".")
	signBytes := min(1, len(exponent)) // at most: there may be no sign
	if !allDigits(strings.TrimLeft(exponent[:signBytes], "+-")+exponent[signBytes:]) || !allDigits(whole+fraction) {
		return decimal{}, false
	}

	if strings.Trim(mantissa, "0.") == "" {
		return decimal{magnitude: "0"}, true // "-0" is no void
	}

	shift, err := strconv.Atoi(exponent)
	if err != nil || shift >= maxPlainDigits || shift <= -maxPlainDigits {
		d.magnitude = s
		return d, true
	}

	if shift != 0 { // the point moves
		digits, point := whole+fraction, len(whole)+shift
		digits = strings.Repeat("0", max(0, -point)) + digits
		digits += strings.Repeat("0", max(0, point-len(digits)))
		whole, fraction = digits[:max(0, point)], digits[max(0, point):]
	}

	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	d.magnitude = cmp.Or(whole, "0")
	if fraction != "" {
		d.magnitude += "." + fraction
	}
	return d, true
}

// allDigits says whether s is one or more ASCII digits.
func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func (d decimal) String() string {
	if d.neg {
		return "-" + d.magnitude
	}
	return d.magnitude
}

// float is the nearest float64, or ±Inf. It is for sorting, where rounding does no harm. Of numbers
// with more digits than a float64 holds, the order may be lost, not the item.
func (d decimal) float() float64 { return toFloat(d.String()) }

// toFloat is a JSON number as expressions see it. A number that is too large is ±Inf. A check
// number of 17 digits is rounded in an expression; on the ticket it is exact.
func toFloat(n string) float64 {
	number, _ := strconv.ParseFloat(n, 64) // on a range error number is ±Inf or 0, which is right
	return number
}
