// Package plan decides what the kitchen will read: which station gets which lines of
// a print request, and what each line says.
//
// It is a pure function of a request, the rules and a look-up of names: no clock, no
// network, no file, no log. What it decides is stored before the service hears 200,
// so a change of the rules cannot move an order that was accepted.
//
// Two things hold for whatever a service sends and whatever the rules say. Every item
// comes out on at least one ticket: what no rule wants goes to the fallback station,
// and what has no name prints as the JSON it came as. And what is a cancellation in
// any of its spellings is one on every ticket, with everything that hangs below it.
package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// Config is the rules, as configured.
type Config struct {
	Routes []Route
	// Fallback is the station for items that no route takes. A [Venue] may have its own.
	Fallback string
	// Fields overrides where to look for a field: dotted paths by the name of the field,
	// see [Fields]. The names that are not there keep their defaults.
	Fields map[string][]string
}

// A Route takes items to stations. Routes are asked in order and the first that matches
// an item takes it; with Continue, the ones after it are asked too.
type Route struct {
	// Venue is a venue's name or UUID, in any case; empty means every venue.
	Venue string
	// When is an expression over venue (id, name), device, record and item; empty means always.
	// A field that is missing is nil, and nil where true or false is wanted is false.
	When string
	// To names the stations. At least one.
	To       []string
	Continue bool
}

// A Venue is what the plan has to know of the venue that a request is for.
type Venue struct {
	ID       string // UUID
	Name     string // as configured
	Zone     string // tz database name, frozen into the tickets; empty: see [Zones]
	Fallback string // station; empty: that of the [Config]
}

// Names looks up what an employee is called. It must be quick and safe for concurrent use.
type Names interface {
	Name(venue, employeeID string) (name string, ok bool)
}

// Zones is what a [Names] may be too: it knows the time zone of a venue that has none
// configured, as a tz database name. It must be as quick, and safe for concurrent use.
type Zones interface {
	Zone(venue string) (zone string, ok bool)
}

// A Plan is compiled rules. It never changes and is safe for concurrent use.
type Plan struct {
	routes   []route
	fallback string
	fields   fieldSet
}

// A Problem is one thing wrong with a [Config].
type Problem struct {
	Path string // where, as the config file says it: routes[2].when
	Msg  string
}

func (p *Problem) Error() string { return p.Path + ": " + p.Msg }

// A Result is what became of a print request.
type Result struct {
	// Request is complete and ready for the queue. It has at least one draft.
	Request ticket.Request
	// Failures says which expressions failed on which item, for people. The item came out all
	// the same. Nothing of what the service sent is quoted. The first 32 are listed.
	Failures []string
	// Failed counts them all.
	Failed int
	// Trace says why things are as they are; nil unless [Plan.SplitTraced] made it.
	Trace *Trace
}

// maxFailures bounds Result.Failures: one rule that fails on each of a thousand items says
// nothing after the first few.
const maxFailures = 32

// Compile checks the rules and makes a [Plan] of them. The error joins one [Problem] for
// each thing that is wrong.
func Compile(c Config) (*Plan, error) {
	p := &Plan{fallback: strings.TrimSpace(c.Fallback)}
	var problems []error
	bad := func(path, format string, args ...any) {
		problems = append(problems, &Problem{Path: path, Msg: fmt.Sprintf(format, args...)})
	}
	for i, r := range c.Routes {
		compiled, errs := compileRoute(i, r)
		p.routes = append(p.routes, compiled)
		problems = append(problems, errs...)
	}
	if p.fallback == "" {
		bad("fallback", "missing; name the station for items that no route takes")
	}
	p.fields = defaultFields()
	for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
		if msg := p.fields.set(name, c.Fields[name]); msg != "" {
			bad("ticket.fields."+name, "%s", msg)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return p, nil
}

// Split plans a request: it reads the fields, flattens the items and gives every item to
// its stations. names may be nil; it is asked for the venue's time zone too if it is a [Zones].
func (p *Plan) Split(req contract.PrintRequest, v Venue, device string, received time.Time, names Names) Result {
	return p.split(req, v, device, received, names, nil)
}

// SplitTraced is [Plan.Split] that also tells, in Result.Trace, where each field was found
// and what each route did. It is for people who map an unfamiliar payload, and slow.
func (p *Plan) SplitTraced(req contract.PrintRequest, v Venue, device string, received time.Time, names Names) Result {
	return p.split(req, v, device, received, names, &Trace{})
}
