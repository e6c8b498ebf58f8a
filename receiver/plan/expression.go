package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"ticketrail/receiver/contract"
)

// The `when` of a route is an expression of expr-lang.org, compiled when the configuration is read. Two things are
// added to expr: a missing field is nil and nil is false (nilSafe), and the cost of an expression is limited, whatever
// the request is (maxLoopSteps). An expression over its limit fails: its route does not match, and the next routes are
// tried.

// Limits of the cost of an expression, beside the limits of expr itself. The operator writes the expressions, but a
// caller chooses the request that they run on, and an answer is due within seconds.
const (
	// maxLoopSteps limits an expression that loops over a list for each item. At most it takes as many steps as a
	// record has items, times the elements of all its lists; the records of a request are added up. A thousand items
	// with three modifiers each just fit: 1000 items × (1000 + 3000) elements, and 10,000 more for ten elements in
	// other lists of the record. Ten thousand items would take minutes.
	maxLoopSteps  = 4_010_000
	snippetColumn = 100 // longest line of an expression that an error quotes
)

// A route is a compiled [Route].
type route struct {
	path      string      // routes[2]
	venue     string      // canonical UUID or name; empty: every venue
	when      *expression // nil: always
	to        []string
	continues bool // Route.Continue
}

// An expression is the compiled `when` of a route.
type expression struct {
	// Read-only once compiled: requests evaluate it concurrently, each with a machine of its own.
	program *vm.Program
	// perItem says that the expression reads item. Any other is evaluated once for each record, so
	// that one that loops over record.items does not do so again for each of them.
	perItem bool
	loops   bool     // it calls any, filter or the like: its cost grows with the record
	whole   bool     // it reads records and items by more than the plain paths in refs
	refs    []string // the fields it reads by a plain path: record.a.b, item.c
}

// venueEnv is the venue as expressions see it. It is a struct and not a map, so that expr reports a
// misspelt member when the configuration is read.
type venueEnv struct {
	ID   string `expr:"id"`
	Name string `expr:"name"`
}

// compileRoute checks the route with index i. bad gets all of its mistakes, not only the first.
func compileRoute(i int, r Route, bad func(path, format string, args ...any)) route {
	out := route{path: fmt.Sprintf("routes[%d]", i), to: r.To, continues: r.Continue}
	out.venue, _ = contract.CanonicalID(r.Venue) // a name is returned as it is

	if when := strings.TrimSpace(r.When); when != "" {
		var err error
		if out.when, err = compileExpression(when); err != nil {
			bad(out.path+".when", "%v", err)
		}
	}

	if len(r.To) == 0 {
		bad(out.path+".to", "empty; name at least one station")
	}
	return out
}

// compileExpression compiles an expression and finds the fields that it reads. It does so when the configuration is
// read, so that a mistake is reported by the check of the configuration and not by the first order.
func compileExpression(when string) (*expression, error) {
	found := &referenceCollector{}
	program, err := expr.Compile(when,
		expr.Env(map[string]any{"venue": venueEnv{}, "device": "", "record": map[string]any{},
			"item": map[string]any{}}),
		expr.AsBool(),
		expr.DisableBuiltin("now"), // a retry must be planned like the first request
		expr.Patch(found),          // before nilSafe, which rewrites the expression
		expr.Patch(nilSafe{}),
	)
	if err != nil {
		return nil, conciseError(err)
	}

	// The fields decide how often the expression is evaluated, and a trace names those that are missing.
	compiled := &expression{program: program, perItem: found.item, loops: found.loops,
		whole: found.loops || found.others != 0}

	// item.a is visited too where the expression has item.a.b; only the longest path is kept.
	slices.Sort(found.refs)
	for i, ref := range found.refs {
		if i+1 == len(found.refs) || !strings.HasPrefix(found.refs[i+1]+".", ref+".") {
			compiled.refs = append(compiled.refs, ref)
		}
	}
	return compiled, nil
}

// conciseError is an error of expr on one line, with the position of the mistake, without Go types, and quoting
// the expression only where it is short. The people who write routes are no Go programmers.
func conciseError(err error) error {
	mistake, ok := errors.AsType[*file.Error](err)
	if !ok {
		return err
	}

	msg := strings.ReplaceAll(strings.ReplaceAll(mistake.Message, "\n", " "), "type plan.venueEnv", "venue")
	if msg == `unexpected token Operator("=")` {
		msg = `"=" is not an operator: write == to compare, and text in quotes`
	}
	msg = fmt.Sprintf("%s (%d:%d)", msg, mistake.Line, mistake.Column+1)

	// expr quotes the line and draws an arrow below it, which makes no sense in a list of problems.
	_, quoted, _ := strings.Cut(mistake.Snippet, "| ")
	quoted, _, _ = strings.Cut(quoted, "\n")
	if quoted != "" && utf8.RuneCountInString(quoted) <= snippetColumn {
		msg += " in " + quoted
	}

	return errors.New(msg)
}

// nilSafe rewrites an expression so that a missing field is nil and nil is false: a.b.c is nil if a has
// no b, and nil is false where a boolean is needed. Services leave fields out freely; an expression
// must not fail on the items that lack one.
type nilSafe struct{}

func (nilSafe) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	// The first member of a chain needs nothing: record and item are never nil.
	case *ast.MemberNode:
		switch n.Node.(type) {
		case *ast.MemberNode, *ast.ChainNode:
			n.Optional = true
			ast.Patch(node, &ast.ChainNode{Node: n})
		}
	// Only where the language wants a boolean: in a comparison nil must stay nil, or item.seat ==
	// nil would be false for an item without a seat.
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||":
			orFalse(&n.Left)
			orFalse(&n.Right)
		}
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			orFalse(&n.Node)
		}
	case *ast.ConditionalNode:
		orFalse(&n.Cond)
	case *ast.BuiltinNode:
		switch n.Name {
		case "all", "none", "any", "one", "filter", "count", "find", "findIndex", "findLast", "findLastIndex":
			for _, a := range n.Arguments {
				if predicate, ok := a.(*ast.PredicateNode); ok {
					orFalse(&predicate.Node)
				}
			}
		}
	}
}

// orFalse appends ?? false to a node that may be nil.
func orFalse(node *ast.Node) {
	switch (*node).(type) {
	case *ast.MemberNode, *ast.ChainNode:
		ast.Patch(node, &ast.BinaryNode{Operator: "??", Left: *node, Right: &ast.BoolNode{}})
	}
}

// A referenceCollector finds the fields that an expression reads. It errs on the safe side: item that is
// hidden behind $env counts as read, and a path with a computed key is no reference.
type referenceCollector struct {
	item   bool
	loops  bool
	others int // places that read record, item or $env, and no member of it by its name
	refs   []string
}

func (c *referenceCollector) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		c.item = c.item || n.Value == "item" || n.Value == "$env" // $env["item"] is item too
		if n.Value == "record" || n.Value == "item" || n.Value == "$env" {
			c.others++
		}
	case *ast.PredicateNode:
		c.loops = true
	case *ast.MemberNode:
		if ref, ok := plainPath(n); ok {
			c.refs = append(c.refs, ref)
			if strings.Count(ref, ".") == 1 { // its record or item was counted before it
				c.others--
			}
		}
	}
}

// plainPath is record.a.b for a member that is reached from record or item by constant names. With
// record["a"] too, which the parser turns into the same tree.
func plainPath(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value, n.Value == "record" || n.Value == "item"
	case *ast.ChainNode:
		return plainPath(n.Node)
	case *ast.MemberNode:
		name, ok := n.Property.(*ast.StringNode)
		if !ok {
			return "", false
		}
		base, ok := plainPath(n.Node)
		return base + "." + name.Value, ok
	}
	return "", false
}

// An expressionError says why an expression failed on an item.
type expressionError struct {
	at  string // line:column in the expression
	msg string // of expr, on one line; may quote the order
}

func (e *expressionError) Error() string { return fmt.Sprintf("%s (%s)", e.msg, e.at) }

const tooManySteps = "the expression loops over a list for every item, and this request is too large for that"

// setEnv makes the item and its record visible to the expressions: the members that they read, or all of them if an
// expression reads more than members. The record is converted once, when the first expression needs it.
func (s *splitter) setEnv(rec *contract.Record, item int) {
	if s.env == nil {
		elements := 0
		s.env = map[string]any{
			"venue":  venueEnv{ID: s.venue.ID, Name: s.venue.Name},
			"device": s.base.Device,
			"record": s.plan.read.members("record", rec.Fields, &elements),
		}
		s.loopSteps += len(rec.Items) * elements
		s.envItem = -1
	}

	switch {
	case s.envItem == item:
		return
	case s.plan.read.all: // item and record.items[n] are then one object, which takes half of the memory
		s.env["item"] = s.env["record"].(map[string]any)[contract.FieldItems].([]any)[item]
	default:
		s.env["item"] = s.plan.read.members("item", rec.Items[item], new(int))
	}
	s.envItem = item
}

// A readMembers is which members of records and items the expressions of a plan read.
type readMembers struct {
	all   bool
	named map[string]map[string]bool // of "record" and of "item"
}

func (r *readMembers) add(e *expression) {
	r.all = r.all || e.whole
	for _, ref := range e.refs {
		keys := strings.Split(ref, ".")
		if r.named == nil {
			r.named = map[string]map[string]bool{"record": {}, "item": {}}
		}
		r.named[keys[0]][keys[1]] = true
	}
}

// members are the read members of a record or an item, as expressions see them.
func (r *readMembers) members(of string, v contract.Value, elements *int) map[string]any {
	out, named := map[string]any{}, r.named[of]
	for member := range v.All() {
		if r.all || named[member.Key()] {
			out[member.Key()] = native(member, elements)
		}
	}
	return out
}

// native is v as expressions see it: with all numbers as float64, the type that expressions compare and calculate with.
// It counts the elements of lists.
func native(v contract.Value, elements *int) any {
	switch v.Kind() {
	case '0':
		return toFloat(v.Text())
	case '"':
		return v.Text()
	case '{':
		out := make(map[string]any, v.Len())
		for member := range v.All() {
			out[member.Key()] = native(member, elements)
		}
		return out
	case '[':
		out := make([]any, 0, v.Len())
		*elements += cap(out)
		for e := range v.All() {
			out = append(out, native(e, elements))
		}
		return out
	case 'n':
		return nil
	}
	return v.Kind() == 't'
}

// eval evaluates the expression. expr.AsBool makes nil false and any other value that is no boolean an error.
// An expression that panics is an error too: expr recovers from it.
func (r *expression) eval(machine *vm.VM, env map[string]any) (bool, *expressionError) {
	out, err := machine.Run(r.program, env)
	if failed, ok := errors.AsType[*file.Error](err); ok {
		at := fmt.Sprintf("%d:%d", failed.Line, failed.Column+1)
		return false, &expressionError{at, strings.ReplaceAll(failed.Message, "\n", " ")}
	}
	if err != nil {
		return false, &expressionError{"1:1", err.Error()}
	}

	matched, _ := out.(bool)
	return matched, nil
}
