package plan

import (
	"fmt"
	"strings"

	"ticketrail/receiver/contract"
)

// A Trace explains where the items of a request go. ticketrail inspect prints it for a body that the operator has,
// so that routes can be corrected without sending orders. [Plan.Leaves] says what became of the fields.
type Trace struct {
	Items []ItemTrace // of the records themselves, in the order of the tickets
	// Missing lists the fields that the expressions for this venue read and that nothing in this body has.
	// A misspelt field raises no error, its route just never matches; here it is found.
	Missing []Reference
}

// An ItemTrace is about one item. What is nested below it goes where it goes.
type ItemTrace struct {
	Path     string // records[0].items[2]
	Name     string
	Routes   []RouteTrace
	Stations []string // that get it
	NoRoute  bool     // no route matched it, so the fallback gets it
}

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

// itemTrace begins the trace of an item.
func (s *splitter) itemTrace(item int, name string) *ItemTrace {
	t := s.res.Trace
	t.Items = append(t.Items, ItemTrace{Path: fmt.Sprintf("records[%d].items[%d]", s.record, item), Name: name})
	return &t.Items[len(t.Items)-1]
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
	for _, it := range t.Items {
		fmt.Fprintf(&b, "%s %q → %s", it.Path, it.Name, strings.Join(it.Stations, ", "))
		if it.NoRoute {
			b.WriteString(" (NO ROUTE)")
		}
		b.WriteByte('\n')
		for _, r := range it.Routes {
			fmt.Fprintf(&b, "  %s %s", r.Route, r.Outcome)
			if r.Error != "" {
				fmt.Fprintf(&b, ": %q", r.Error)
			}
			b.WriteByte('\n')
		}
	}
	for _, n := range t.Missing {
		fmt.Fprintf(&b, "%s.when reads %s, which nothing in this body has\n", n.Route, n.Field)
	}
	return b.String()
}
