package plan

import (
	"fmt"
	"slices"
	"strings"

	"ticketrail/receiver/contract"
)

// A tracer writes the outcome of each route for each item. ticketrail inspect prints it for a body that the operator
// has, so that routes can be corrected without sending orders. [Plan.Leaves] says how the fields were treated.
type tracer struct {
	tried, text strings.Builder // the routes of the item at hand; all of the trace
}

// route notes the outcome of a route for the item at hand. The error of an expression may quote the order; it is quoted
// again, so that it cannot hold terminal control sequences.
func (t *tracer) route(r *route, outcome string, err *expressionError) {
	if err != nil {
		outcome = fmt.Sprintf("failed: %q", err.Error())
	}
	fmt.Fprintf(&t.tried, "  %s %s\n", r.path, outcome)
}

// item ends the trace of an item. Its modifiers go to the same stations.
func (t *tracer) item(record, item int, name string, stations []string, routed bool) {
	note := ""
	if !routed {
		note = " (NO ROUTE)"
	}
	fmt.Fprintf(&t.text, "records[%d].items[%d] %q → %s%s\n%s", record, item, name, strings.Join(stations, ", "), note,
		t.tried.String())
	t.tried.Reset()
}

// missing writes which fields the expressions for the venue read and no record or item has. A misspelt field raises no
// error, its route just never matches; here it is found. It is a hint: another order may well have the field.
func (t *tracer) missing(routes []route, v Venue, req contract.PrintRequest) {
	for i := range routes {
		r := &routes[i]
		if r.when == nil || !r.serves(v) {
			continue
		}
		for _, ref := range r.when.refs {
			if !anyHas(req, ref) {
				fmt.Fprintf(&t.text, "%s.when reads %s, which nothing in this body has\n", r.path, ref)
			}
		}
	}
}

// anyHas says whether any record, or any item at depth 0, has the field. Expressions see no other items. A field that
// is null is not missing: the service knows it.
func anyHas(req contract.PrintRequest, ref string) bool {
	of, path, _ := strings.Cut(ref, ".")
	has := func(v contract.Value) bool { return v.At(path) != nil }
	return slices.ContainsFunc(req.Records, func(rec contract.Record) bool {
		return of == "record" && has(rec.Fields) || of == "item" && slices.ContainsFunc(rec.Items, has)
	})
}

// A Use is how a field was treated.
type Use string

const (
	Unread   Use = "unread"   // no path reads it: it prints as it came
	Read     Use = "read"     // see Leaf.As
	Noise    Use = "noise"    // no cook needs it
	Silenced Use = "silenced" // no path reads it, and the configuration leaves it out
)

// NotRead is how people are told of a field that no path reads.
const NotRead = "NOT READ"

// Text is the use of a field for people. as is the As of the [Leaf].
func (u Use) Text(as string) string {
	switch {
	case u == Unread:
		return NotRead
	case u == Read:
		return as
	case as == "":
		return string(u)
	}
	return string(u) + ": " + as
}

// A Leaf is a value of a request that holds no others.
type Leaf struct {
	Path    string // its keys from the body's root with dots between them, without indices: records.items.note
	Use     Use
	As      string // the field that read it, by its key under ticket.fields, or "contract"; of noise, the reason
	Example string // its value, as [contract.OneLine]
}
