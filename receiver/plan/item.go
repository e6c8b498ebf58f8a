package plan

import (
	"fmt"
	"maps"
	"strings"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// header reads what stands above the lines.
func (s *splitter) header(rec *contract.Record, tr *RecordTrace) ticket.Ticket {
	r := reader{fields: &s.plan.fields, obj: rec.Fields}
	if tr != nil {
		r.found = &tr.Fields
	}
	t := s.base
	t.Record = rec.ID
	t.Number = r.text(fieldNumber, true)
	t.Table = r.text(fieldTable, true)
	t.Server = s.server(r)
	t.Type = r.text(fieldType, false)
	t.Guests = r.text(fieldGuests, true)
	t.Destination = r.text(fieldStation, true)
	t.Course = r.text(fieldCourse, true)
	t.Notes = r.notes(fieldRecordNote)
	q, _ := r.number(fieldQuantity)
	t.Void = r.void(q)
	t.Refire = r.flag(fieldRefire)
	return t
}

// empty says that nothing on the ticket would tell a cook what it is about.
func empty(t ticket.Ticket) bool {
	return t.Number == "" && t.Table == "" && t.Server == "" && t.Type == "" && t.Guests == "" &&
		t.Destination == "" && t.Course == "" && len(t.Notes) == 0 && !t.Void && !t.Refire
}

// server is a name as sent, or the name of the employee, or the end of the employee's id,
// which two people can at least compare.
func (s *splitter) server(r reader) string {
	if name := r.text(fieldServer, false); name != "" {
		return name
	}
	id := r.text(fieldEmployee, true)
	if id == "" {
		return ""
	}
	if s.names != nil {
		if name, ok := s.names.Name(s.venue.ID, id); ok && !blank(name) {
			return strings.TrimSpace(name)
		}
	}
	runes := []rune(id)
	return string(runes[max(0, len(runes)-4):])
}

// Where a record or an item may say that it is a cancellation.
var (
	voidFlags = [...]string{contract.FieldIsVoid, contract.FieldVoid, contract.FieldVoided}
	statuses  = [...]string{"status", "kdsStatus"}
)

// void says whether a record or an item is a cancellation, by any of the spellings that
// services have for it. What is true for one is true for all below it.
func (r reader) void(quantity decimal) bool {
	for _, k := range voidFlags {
		if yes, _ := truth(r.obj[k]); yes {
			return r.isVoid(k)
		}
	}
	for _, k := range statuses {
		v, _ := r.obj[k].(string)
		v = strings.TrimSpace(v)
		for _, word := range [...]string{"VOID", "VOIDED", "CANCELED", "CANCELLED"} {
			if strings.EqualFold(v, word) {
				return r.isVoid(k)
			}
		}
	}
	return quantity.neg && r.isVoid("a quantity below zero")
}

func (r reader) isVoid(why string) bool {
	if r.found != nil {
		*r.found = append(*r.found, Found{Field: "void", Path: why, Value: "true"})
	}
	return true
}

// unread quotes what may mean a cancellation and cannot be read as a yes or no under flags or
// as a word under words. It prints beside what is not void, so that a person decides.
func unread(obj map[string]any, flags, words []string) (notes []string) {
	for _, k := range flags {
		v := obj[k]
		if _, ok := truth(v); v == nil || ok {
			continue
		}
		if s, ok := v.(string); ok && blank(s) {
			continue
		}
		notes = append(notes, k+": "+quote(v))
	}
	for _, k := range words {
		if _, ok := obj[k].(string); obj[k] != nil && !ok {
			notes = append(notes, k+": "+quote(obj[k]))
		}
	}
	return notes
}

// A flattener turns the items of one record into lines, parents before their children.
type flattener struct {
	fields *fieldSet
	lines  []ticket.Line
	trace  *RecordTrace // nil: nobody asks
}

// add appends an item and all below it. It returns the item's place in the trace.
func (f *flattener) add(item map[string]any, depth int, void, refire bool, at string) int {
	r := reader{fields: f.fields, obj: item}
	place := 0
	var found []Found
	if f.trace != nil {
		r.found = &found
		place = len(f.trace.Items)
		f.trace.Items = append(f.trace.Items, ItemTrace{})
	}
	l := ticket.Line{Depth: depth, Quantity: "1"}
	q, counted := r.number(fieldQuantity)
	if counted {
		l.Quantity = q.magnitude()
	}
	if l.Name = r.text(fieldName, false); l.Name == "" {
		l.Name, l.Raw = rawItem(item), true
	}
	l.Notes = r.notes(fieldNote)
	if !counted {
		if odd := r.oddity(fieldQuantity); odd != "" {
			l.Notes = append(l.Notes, "quantity "+odd)
		}
	}
	l.Seat = r.text(fieldSeat, true)
	l.Course = r.text(fieldCourse, true)
	if l.Void = r.void(q) || void; !l.Void {
		l.Notes = append(l.Notes, unread(item, voidFlags[:], statuses[:])...)
	}
	l.Refire = r.flag(fieldRefire) || refire
	if f.trace != nil {
		r.number(fieldSort)
		f.trace.Items[place] = ItemTrace{Path: at, Line: l, Fields: found}
	}
	f.lines = append(f.lines, l)
	f.children(item[contract.FieldChildItems], l, at)
	return place
}

// children appends what hangs below a line.
func (f *flattener) children(v any, parent ticket.Line, at string) {
	list, ok := v.([]any)
	if !ok {
		if v == nil {
			return
		}
		list = []any{v} // the contract refuses that; whatever it is, it comes out
	}
	for i, c := range list {
		sub := ""
		if f.trace != nil {
			sub = fmt.Sprintf("%s.%s[%d]", at, contract.FieldChildItems, i)
		}
		child, ok := c.(map[string]any)
		if !ok {
			f.lines = append(f.lines, ticket.Line{
				Depth: parent.Depth + 1, Quantity: "1", Name: asJSON(c), Raw: true,
				Void: parent.Void, Refire: parent.Refire,
			})
			continue
		}
		f.add(child, parent.Depth+1, parent.Void, parent.Refire, sub)
	}
}

// rawItem is the item as JSON without its children, which print themselves.
func rawItem(item map[string]any) string {
	if _, ok := item[contract.FieldChildItems]; ok {
		item = maps.Clone(item)
		delete(item, contract.FieldChildItems)
	}
	return asJSON(item)
}
