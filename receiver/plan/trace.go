package plan

import (
	"fmt"
	"strings"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// A Trace says why a plan is as it is.
type Trace struct {
	Records []RecordTrace
	// Never lists what the rules for this venue look at and nothing in this body has. A
	// misspelt field is false for ever.
	Never []Reference
}

// A RecordTrace is about one record.
type RecordTrace struct {
	Path string // records[0]
	ID   string
	// Unreadable: a key is there twice. It has no fields or items then.
	Unreadable bool
	Fields     []Found     // in the order of the ticket's header
	Items      []ItemTrace // in the order of the ticket's lines, children after their parent
}

// An ItemTrace is about one item or modifier.
type ItemTrace struct {
	Path   string      // records[0].items[2].childItems[0]
	Line   ticket.Line // as it will print, but for NoRoute
	Fields []Found
	// Of items that are nobody's children, for the children follow:
	Routes   []RouteTrace
	Stations []string // who gets it
	NoRoute  bool     // no route took it, so the fallback gets it
}

// Found says which path supplied a field.
type Found struct{ Field, Path, Value string }

// RouteTrace says what a route did with an item.
type RouteTrace struct {
	Route   string // routes[2]
	Outcome Outcome
	Error   string // of Failed
}

// Outcome is what a route did with an item.
type Outcome string

const (
	Took       Outcome = "took it"
	NoMatch    Outcome = "no match"
	Failed     Outcome = "failed"
	OtherVenue Outcome = "for another venue"
	NotAsked   Outcome = "not asked"
)

// A Reference is a field that a rule looks at.
type Reference struct {
	Route string // routes[2]
	Field string // item.courseName
}

// never finds the fields that rules look at and no record or item has.
func (s *splitter) never(req contract.PrintRequest) (out []Reference) {
	for i := range s.plan.routes {
		r := &s.plan.routes[i]
		if r.rule == nil || !r.serves(s.venue) {
			continue
		}
		for _, ref := range r.rule.refs {
			if !has(req, strings.Split(ref, ".")) {
				out = append(out, Reference{Route: r.path, Field: ref})
			}
		}
	}
	return out
}

func has(req contract.PrintRequest, ref []string) bool {
	for i := range req.Records {
		rec := &req.Records[i]
		if ref[0] == "record" {
			if holds(rec.Fields, ref[1:]) {
				return true
			}
			continue
		}
		for _, item := range rec.Items {
			if holds(item, ref[1:]) {
				return true
			}
		}
	}
	return false
}

// holds says whether there is anything at the path, null included.
func holds(obj map[string]any, keys []string) bool {
	v, ok := obj[keys[0]]
	if !ok || len(keys) == 1 {
		return ok
	}
	sub, ok := v.(map[string]any)
	return ok && holds(sub, keys[1:])
}

// String is the trace as text for a terminal: nothing the service sent can do more there
// than be read.
func (t *Trace) String() string {
	var b strings.Builder
	for i := range t.Records {
		t.Records[i].write(&b)
	}
	for _, n := range t.Never {
		fmt.Fprintf(&b, "%s.when looks at %s, which nothing in this body has\n", n.Route, n.Field)
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
		b.WriteString("  a key is there twice: printed as JSON at the fallback, headed UNREADABLE\n")
	case len(r.Items) == 0:
		b.WriteString("  no items: one ticket at the fallback\n")
	}
	for i := range r.Items {
		r.Items[i].write(b)
	}
}

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
