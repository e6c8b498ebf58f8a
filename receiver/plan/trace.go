package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// A Trace explains a plan. ticketrail inspect prints it for a body that the operator has, so that
// routes and field paths can be corrected without sending orders.
type Trace struct {
	Records []RecordTrace
	// Missing lists the fields that the expressions for this venue read and that nothing in this body has.
	// A misspelt field raises no error, its route just never matches; here it is found.
	Missing []Reference
}

// A RecordTrace is about one record.
type RecordTrace struct {
	Path string // records[0]
	ID   string // empty if the record has none
	// Unreadable: an object in it has a key twice. It has no fields or items then.
	Unreadable bool
	Fields     []Found     // in the order of the body
	Items      []ItemTrace // in the order of the body, children after their parent
	value      contract.Value
}

// An ItemTrace is about one item or modifier.
type ItemTrace struct {
	Path   string      // records[0].items[2].childItems[0]
	Line   ticket.Line // as it will print, but for NoRoute
	Fields []Found
	// Set only for items at depth 0, because their children go where they go:
	Routes   []RouteTrace
	Stations []string // that get it
	NoRoute  bool     // no route matched it, so the fallback gets it
	value    contract.Value
}

// Found says at which path a field was found. Field is the key under ticket.fields, "void", or "NOT READ" for what no
// path reads.
type Found struct{ Field, Path, Value string }

// RouteTrace says what a route did with an item.
type RouteTrace struct {
	Route   string // routes[2]
	Outcome Outcome
	Error   string // of ExpressionFailed
}

// Outcome is what a route did with an item. Its values are text for people.
type Outcome string

const (
	Matched          Outcome = "matched"
	NoMatch          Outcome = "no match"
	ExpressionFailed Outcome = "failed"
	OtherVenue       Outcome = "for another venue"
	NotReached       Outcome = "not reached" // an earlier route matched the item
)

// A Reference is a field that an expression reads.
type Reference struct {
	Route string // routes[2]
	Field string // item.courseName
}

// traceRecord begins the trace of a record, if one is wanted.
func (s *splitter) traceRecord(rec *contract.Record) {
	if s.res.Trace == nil {
		return
	}
	s.res.Trace.Records = append(s.res.Trace.Records, RecordTrace{
		Path: fmt.Sprintf("records[%d]", s.record), ID: rec.ID, Unreadable: rec.Unreadable != "", value: rec.Fields})
}

// traceLine adds a line to the trace, if one is wanted.
func (s *splitter) traceLine(item contract.Value, l ticket.Line) {
	if s.res.Trace != nil {
		r := &s.res.Trace.Records[s.record]
		r.Items = append(r.Items, ItemTrace{Line: l, value: item})
	}
}

// itemTrace is the trace of an item of the record.
func (s *splitter) itemTrace(item contract.Value) *ItemTrace {
	if s.res.Trace == nil {
		return nil
	}
	items := s.res.Trace.Records[s.record].Items
	return &items[slices.IndexFunc(items, func(it ItemTrace) bool { return it.value.Index() == item.Index() })]
}

// found fills the fields of the trace, once everything is read.
func (s *splitter) found() {
	for i := range s.res.Trace.Records {
		r := &s.res.Trace.Records[i]
		if r.Unreadable {
			continue
		}
		r.Fields = s.fieldsOf(r.value)
		for j := range r.Items {
			it := &r.Items[j]
			it.Path, it.Fields = s.indexedPath(it.value), s.fieldsOf(it.value)
		}
	}
}

// fieldsOf lists the leaves of an object that are read or unread, without those of its items.
func (s *splitter) fieldsOf(obj contract.Value) (found []Found) {
	for member := range obj.All() {
		key := member.Key()
		if key == contract.FieldItems || key == contract.FieldChildItems || s.marks[member.Index()] == markItems {
			continue
		}
		s.leaves(member, key, markNothing, isNoise(member), func(l Leaf) {
			switch l.Use {
			case Read:
				found = append(found, Found{l.As, l.Path, l.Example})
			case Unread:
				found = append(found, Found{notRead, l.Path, l.Example})
			}
		})
	}
	return found
}

// notRead is in the place of a field's name in a trace.
const notRead = "NOT READ"

// indexedPath is the path of a value with the indices of lists: records[0].items[2].
func (s *splitter) indexedPath(v contract.Value) (path string) {
	for at := s.envelope; at.Index() != v.Index(); {
		i := 0
		for e := range at.All() {
			if v.Index() >= e.Index()+len(e) {
				i++
				continue
			}
			if at.Kind() == '{' {
				path = strings.TrimPrefix(path+"."+e.Key(), ".")
			} else {
				path += fmt.Sprintf("[%d]", i)
			}
			at = e
			break
		}
	}
	return path
}

// missing finds the fields that expressions read and no record or item has. They are a hint, not an
// error: another order may well have the field.
func (s *splitter) missing(req contract.PrintRequest) (out []Reference) {
	for i := range s.plan.routes {
		r := &s.plan.routes[i]
		if r.when == nil || !r.serves(s.venue) {
			continue
		}
		for _, ref := range r.when.refs {
			if !anyHas(req, strings.Split(ref, ".")) {
				out = append(out, Reference{Route: r.path, Field: ref})
			}
		}
	}
	return out
}

// anyHas says whether any record, or any item at depth 0, has the field. Expressions see no other items.
func anyHas(req contract.PrintRequest, ref []string) bool {
	for i := range req.Records {
		rec := &req.Records[i]
		if ref[0] == "record" {
			if hasPath(rec.Fields, ref[1:]) {
				return true
			}
			continue
		}
		for _, item := range rec.Items {
			if hasPath(item, ref[1:]) {
				return true
			}
		}
	}
	return false
}

// hasPath says whether there is anything at the path, null included. A field that is null is not
// missing: the service knows it.
func hasPath(obj contract.Value, keys []string) bool {
	for _, k := range keys {
		obj = obj.Get(k)
	}
	return obj != nil
}

// String is the trace as text for a terminal. What the service sent is quoted, so that it cannot
// hold terminal control sequences.
func (t *Trace) String() string {
	var b strings.Builder
	for i := range t.Records {
		t.Records[i].write(&b)
	}
	for _, n := range t.Missing {
		fmt.Fprintf(&b, "%s.when reads %s, which nothing in this body has\n", n.Route, n.Field)
	}
	return b.String()
}

func (r *RecordTrace) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s", r.Path)
	if r.ID != "" {
		fmt.Fprintf(b, " %q", r.ID)
	}
	b.WriteByte('\n')
	writeFound(b, r.Fields)
	switch {
	case r.Unreadable:
		b.WriteString("  a key occurs twice: printed as JSON at the fallback, under the heading UNREADABLE\n")
	case len(r.Items) == 0:
		b.WriteString("  no items: one ticket at the fallback\n")
	}
	for i := range r.Items {
		r.Items[i].write(b)
	}
}

// write writes one item. The marks are those of the ticket, so that a line of the trace can be
// found on the paper.
func (it *ItemTrace) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s %s × %q", printable(it.Path), it.Line.Quantity, it.Line.Name)
	for _, f := range []struct {
		is   bool
		word string
	}{{it.Line.Raw, "NO NAME"}, {it.Line.Void, "VOID"}, {it.Line.Refire, "REFIRE"}, {it.NoRoute, "NO ROUTE"}} {
		if f.is {
			b.WriteString(" " + f.word)
		}
	}
	if len(it.Stations) > 0 {
		fmt.Fprintf(b, " → %s", strings.Join(it.Stations, ", "))
	}
	b.WriteByte('\n')
	writeFound(b, it.Fields)
	for _, r := range it.Routes {
		fmt.Fprintf(b, "  %s %s", r.Route, r.Outcome)
		if r.Error != "" {
			fmt.Fprintf(b, ": %q", r.Error)
		}
		b.WriteByte('\n')
	}
}

func writeFound(b *strings.Builder, found []Found) {
	for _, f := range found {
		fmt.Fprintf(b, "  %-11s %q from %s\n", f.Field, f.Value, printable(f.Path))
	}
}

// printable is a path without control characters, which the keys in it may have.
func printable(path string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, path)
}
