package plan

import (
	"fmt"
	"strings"

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
	Fields     []Found     // in the order of the ticket's header
	Items      []ItemTrace // in the order of the ticket's lines, children after their parent
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
func hasPath(obj map[string]any, keys []string) bool {
	v, ok := obj[keys[0]]
	if !ok || len(keys) == 1 {
		return ok
	}
	sub, ok := v.(map[string]any)
	return ok && hasPath(sub, keys[1:])
}

// String is the trace as text for a terminal. What the service sent is quoted, so that it cannot
// hold terminal control sequences.
//
// Its lines are in the order of the tickets, so that it can be read beside them.
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
	fmt.Fprintf(b, "%s %s × %q", it.Path, it.Line.Quantity, it.Line.Name)
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
		fmt.Fprintf(b, "  %-11s %q from %s\n", f.Field, f.Value, f.Path)
	}
}
