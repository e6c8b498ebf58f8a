// Package plan decides the content of tickets: which station gets which items of a print request,
// and the text of each line.
//
// It is a pure function of the request, the routes and a look-up of names: no clock, no
// network, no file, no log. Its result is stored before the service gets its 200, so a later change
// of the routes cannot move an order that was accepted.
//
// Two promises hold for any request and any routes. Every item is on at least one ticket: an item
// that no route matches goes to the fallback station, and an item without a name prints as JSON. And
// a cancellation in any known spelling is marked as one on every ticket, together with everything
// nested below it.
//
// split.go is the entry point: for each record it reads the header and the items (item.go, with reader.go and
// field.go), and tries the routes (expression.go) for the stations of each item. remainder.go prints the fields that
// no path reads, unless noise.go lists them, which also says how each field was treated. field.go has the words by
// which fields are known. trace.go explains a plan to the person who writes the routes.
//
// A route is one entry of `routes` in the configuration, an expression is its `when`. A route matches an
// item if its expression is true for it.
package plan

import (
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// Config is the routes and field paths, as configured.
type Config struct {
	Routes []Route
	// Fallback is the station for items that no route matches. A [Venue] may have its own.
	Fallback string
	// Fields overrides the paths of fields: lists of dotted paths by the name of the field. Fields
	// that are not in it keep their default paths.
	Fields map[string][]string
	// Silenced are the paths of unread fields that do not print, as [Leaf.Path] has them. Names match as in Fields.
	Silenced []string
	// Logs are stations without a cook: the tickets of other stations do not name them.
	Logs []string
}

// A Route sends items to stations. Routes are tried in order; an item goes to the stations of the first
// that matches it. With Continue, the routes after it are tried too. A Route is an element of the list routes.
type Route struct {
	// Venue is a venue's name or UUID, in any case; empty means every venue.
	Venue string `mapstructure:"venue"`
	// When is an expression over venue (id, name), device, record and item; empty means always.
	// A missing field is nil, and nil where a boolean is needed is false.
	When string `mapstructure:"when"`
	// To names the stations. At least one.
	To       []string `mapstructure:"to"`
	Continue bool     `mapstructure:"continue"`
}

// A Venue is the venue of a request, as far as the plan needs it.
type Venue struct {
	ID       string // UUID
	Name     string // as configured
	Zone     string // tz database name, copied into the tickets; empty: see [Names]
	Fallback string // station; empty: Config.Fallback
}

// Names looks up the name of an employee, and the tz database name of a venue that has no time zone configured. It is
// called before the service is answered, so it must not wait for anything. It must be safe for concurrent use.
type Names interface {
	Name(venue, employeeID string) (name string, ok bool)
	Zone(venue string) (zone string, ok bool)
}

// A Plan is a compiled [Config]. It never changes and is safe for concurrent use. A reload compiles a
// new one; requests that have begun keep theirs.
type Plan struct {
	routes   []route
	read     readMembers // by the routes
	fallback string
	paths    fieldPaths
	silenced map[string]bool // paths, as [FoldPath] has them
	// longestSilenced is the length of the longest of them.
	longestSilenced int
	logs            []string
	isTraced        bool
}

// A Problem is one error in a [Config].
type Problem struct {
	Path string // where, as in the configuration file: routes[2].when
	Msg  string
}

func (p *Problem) Error() string { return p.Path + ": " + p.Msg }

// A Result is a planned print request.
type Result struct {
	// Request is complete and ready for the queue. It has at least one draft.
	Request ticket.Request
	// Failure says which expression failed first, and on which item, for people; "": none. Those items are on tickets
	// all the same. It quotes nothing that the service sent.
	Failure      string
	FailureCount int // each expression counts for each item on which it fails
	// Trace explains the plan, one line for each route of each item; empty unless the plan is [Plan.Traced].
	Trace string
}

// Compile checks c and makes a [Plan] of it. The error joins one [Problem] for each
// mistake, so that the operator can correct all of them at once.
//
// Package config has checked the names of stations and venues.
func Compile(c Config) (*Plan, error) {
	p := &Plan{fallback: c.Fallback, logs: slices.Clone(c.Logs), silenced: map[string]bool{}}
	var problems []error
	bad := func(path, format string, args ...any) {
		problems = append(problems, &Problem{Path: path, Msg: fmt.Sprintf(format, args...)})
	}

	for i, r := range c.Routes {
		compiled := compileRoute(i, r, bad)
		p.routes = append(p.routes, compiled)
		if compiled.when != nil {
			p.read.add(compiled.when)
		}
	}

	p.paths = compilePaths(c.Fields, func(name, format string, args ...any) {
		bad("ticket.fields."+name, format, args...)
	})
	for _, path := range c.Silenced {
		path = FoldPath(path)
		p.silenced[path], p.longestSilenced = true, max(p.longestSilenced, len(path))
	}

	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return p, nil
}

// Traced is the plan that also records, in Result.Trace, the outcome of each route. It is for people who write routes,
// and slow.
func (p *Plan) Traced() *Plan {
	traced := *p
	traced.isTraced = true
	return &traced
}

// nameStations sets AlsoAt of every ticket that has lines: the other stations at which its order has lines.
func (p *Plan) nameStations(drafts []ticket.Draft) {
	stations := map[string][]string{} // by order
	for i := range drafts {
		draft, order := &drafts[i], drafts[i].Ticket.OrderInRequest()
		cooks := len(draft.Ticket.Lines) > 0 && !slices.Contains(p.logs, draft.Station)
		if cooks && !slices.Contains(stations[order], draft.Station) {
			stations[order] = append(stations[order], draft.Station)
		}
	}

	for _, names := range stations {
		slices.Sort(names)
	}

	for i := range drafts {
		draft := &drafts[i]
		if len(draft.Ticket.Lines) == 0 {
			continue
		}
		for _, station := range stations[draft.Ticket.OrderInRequest()] {
			if station != draft.Station {
				draft.Ticket.AlsoAt = append(draft.Ticket.AlsoAt, station)
			}
		}
	}
}

// keyInstructions is the record's field that lays out the service's own receipt: a list of commands.
const keyInstructions = "instructions"

// isLayout says whether a value is such a list.
func isLayout(v contract.Value) bool {
	for command := range v.All() {
		if command.Get("command") == nil {
			return false
		}
	}
	return v.Kind() == '['
}

// instructionTexts returns the needed ones of the texts of the service's own receipt, and marks them as read.
func (s *splitter) instructionTexts(layout contract.Value, needed func(text string) bool) (all []string) {
	if !isLayout(layout) {
		return nil
	}

	for command := range layout.All() {
		value, more := command.Get("value"), command.Get("value2")
		text := plainText(value.Text() + " " + more.Text())
		if !strings.EqualFold(command.Get("command").Text(), "TEXT") || isBlank(text) || !needed(text) {
			continue
		}

		for _, v := range []contract.Value{value, more} {
			if v != nil {
				s.markRead(v, fieldRecordNote)
			}
		}
		all = append(all, text) // also an equal one: two coffees
	}
	return all
}

// receiptAllergies are the texts about allergies on the service's own receipt that nothing else in the record says.
// The other texts of a receipt repeat the items.
func (s *splitter) receiptAllergies(record contract.Value) []string {
	layout := record.Get(keyInstructions)
	var said map[string]bool // texts outside of the layout

	return s.instructionTexts(layout, func(text string) bool {
		if !hasWordLike(text, allergyWords) {
			return false
		}
		if said == nil {
			said = map[string]bool{}
			// Each value of the record that is not within the layout.
			for i := range record {
				value := record[i:]
				if at := value.Index() - layout.Index(); value.Kind() == '"' && (at < 0 || at >= len(layout)) {
					said[folded(plainText(value.Text()))] = true
				}
			}
		}

		isSaid := said[folded(text)]
		said[folded(text)] = true
		return !isSaid
	})
}

// sameName says whether two names differ only in case, underscores, hyphens and other punctuation.
func sameName(a, b string) bool {
	var x, y [64]byte
	return string(fold(x[:0], a)) == string(fold(y[:0], b))
}

// fold appends a name as names are compared: without case and punctuation.
func fold(b []byte, name string) []byte {
	start := len(b)
	for i := range len(name) {
		switch c := name[i]; {
		case 'A' <= c && c <= 'Z':
			b = append(b, c+'a'-'A')
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c >= 0x80:
			b = append(b, c)
		}
	}

	if len(b) == start { // of nothing but punctuation
		b = append(b, name...)
	}
	return b
}

func folded(name string) string { return string(fold(nil, name)) }

// plainText is text without blanks around it. Services whose tablets show HTML send its entities.
func plainText(s string) string { return strings.TrimSpace(html.UnescapeString(s)) }

// isBlank says that nothing of s would be visible on paper. A name of control characters and
// zero-width joiners is no name: the item prints as its JSON instead.
func isBlank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

// maxPrefix is how many bytes of a path are kept in front of its last key. A body may have one long key with as many
// values below it as it has room for.
const maxPrefix = 200

// joined is a dotted path: a key in an object at another path.
func joined(in, key string) string {
	switch {
	case in == "":
		return key
	case len(in) > maxPrefix:
		in = strings.ToValidUTF8(in[:maxPrefix], "") + "…"
	}
	return in + "." + key
}

// A mark is the use of a value: 1 + fieldID, that field has read it; else it is one of the constants below.
type mark uint8

const (
	markNothing  mark = 0          // nothing has read it
	markContract mark = 100 + iota // a field of the contract that no cook needs
	markItems                      // its parts are read one by one
	markSilenced                   // nothing has read it, and the configuration leaves it out
)

// markRead says that a field has read a value.
func (s *splitter) markRead(v contract.Value, id fieldID) { s.marks[v.Index()] = 1 + mark(id) }

func (s *splitter) isRead(v contract.Value) bool {
	own := s.marks[v.Index()]
	return own != markNothing && own != markSilenced
}

// FoldPath is a dotted path as paths are compared: its keys without case and punctuation.
func FoldPath(path string) string {
	var b []byte
	for key := range strings.SplitSeq(path, ".") {
		b = fold(append(b, '.'), key)
	}
	return string(b[1:])
}

// silence marks the values at silenced paths; path is the path of v, as [FoldPath] has it. A field that reads one of
// them marks it anew. Longer paths are not compared: a hostile body has many values at a long one.
func (s *splitter) silence(v contract.Value, path []byte) {
	switch kind := v.Kind(); {
	case len(v) == 0 || len(path) > s.plan.longestSilenced:
	case kind == '{':
		for member := range v.All() {
			below := path
			if len(path) > 0 {
				below = append(below, '.')
			}
			s.silence(member, fold(below, member.Key()))
		}
	case kind == '[':
		for e := range v.All() {
			s.silence(e, path)
		}
	case s.plan.silenced[string(path)]:
		s.marks[v.Index()] = markSilenced
	}
}
