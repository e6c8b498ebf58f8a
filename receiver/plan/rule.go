package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"ticketrail/receiver/contract"
)

// What an expression may cost. The rules come from the operator, but what they run on
// does not.
const (
	maxRuleBytes = 4096
	maxRuleNodes = 1000
	memoryBudget = 1_000_000 // elements an expression may create, as expr counts them
	// maxWalk bounds, for each rule and request, what a rule that walks a list for each item
	// may walk: items times the elements of their record's lists. A thousand items with three
	// modifiers each just fit; ten thousand do not hold a worker for minutes.
	maxWalk       = 4_010_000
	snippetColumn = 100 // longest line of an expression that an error quotes
)

// A route is a compiled [Route].
type route struct {
	path    string // routes[2]
	venue   string // canonical UUID or name; empty: every venue
	rule    *rule  // nil: always
	to      []string
	forward bool // Continue
}

// A rule is a compiled expression.
type rule struct {
	program *vm.Program
	// perItem says that the expression looks at item. One that does not is asked once a
	// record, so that a rule that walks record.items does not walk them once for each.
	perItem bool
	walks   bool     // any, filter and their like: the cost grows with the record
	refs    []string // record.a.b and item.c, as far as they are plain paths
}

// venueEnv is what rules see of the venue. A struct, so that a misspelt member is found
// when the config is read.
type venueEnv struct {
	ID   string `expr:"id"`
	Name string `expr:"name"`
}

func compileRoute(i int, r Route) (route, []error) {
	out := route{path: fmt.Sprintf("routes[%d]", i), forward: r.Continue}
	var problems []error
	bad := func(where, msg string) {
		problems = append(problems, &Problem{Path: out.path + "." + where, Msg: msg})
	}
	out.venue, _ = contract.CanonicalID(strings.TrimSpace(r.Venue))
	if when := strings.TrimSpace(r.When); when != "" {
		var err error
		if out.rule, err = compileRule(when); err != nil {
			bad("when", err.Error())
		}
	}
	if len(r.To) == 0 {
		bad("to", "empty; name at least one station")
	}
	for j, name := range r.To {
		name = strings.TrimSpace(name)
		if name == "" {
			bad(fmt.Sprintf("to[%d]", j), "blank; name a station")
			continue
		}
		if !slices.Contains(out.to, name) {
			out.to = append(out.to, name)
		}
	}
	return out, problems
}

func compileRule(when string) (*rule, error) {
	if len(when) > maxRuleBytes {
		return nil, fmt.Errorf("%d bytes long; %d is the most", len(when), maxRuleBytes)
	}
	program, err := expr.Compile(when,
		expr.Env(map[string]any{"venue": venueEnv{}, "device": "", "record": map[string]any{}, "item": map[string]any{}}),
		expr.AsBool(),
		expr.MaxNodes(maxRuleNodes),
		expr.DisableBuiltin("now"), // the plan is a function of the request alone
		expr.Patch(lenient{}),
	)
	if err != nil {
		return nil, readable(err)
	}
	tree, err := parser.Parse(when)
	if err != nil {
		return nil, readable(err)
	}
	r := &rule{program: program}
	c := &collector{}
	ast.Walk(&tree.Node, c)
	r.perItem, r.walks = c.item, c.walks
	// A path that another begins with is a step on the way, not what was meant.
	slices.Sort(c.refs)
	for i, ref := range c.refs {
		if i+1 == len(c.refs) || !strings.HasPrefix(c.refs[i+1]+".", ref+".") {
			r.refs = append(r.refs, ref)
		}
	}
	return r, nil
}

// readable keeps what expr says about where the mistake is, and crops what it quotes.
func readable(err error) error {
	e, ok := errors.AsType[*file.Error](err)
	if !ok {
		return err
	}
	msg := strings.ReplaceAll(strings.ReplaceAll(e.Message, "\n", " "), "type plan.venueEnv", "venue")
	if e.Line == 0 {
		return errors.New(msg)
	}
	msg = fmt.Sprintf("%s (%d:%d)", msg, e.Line, e.Column+1)
	for l := range strings.Lines(e.Snippet) {
		if utf8.RuneCountInString(l) > snippetColumn {
			return errors.New(msg)
		}
	}
	return errors.New(msg + e.Snippet)
}

// lenient makes a missing field nil and nil false: a.b.c is nil where a has no b, and
// where true or false is wanted nil is false. Services leave fields out as they please; a
// rule must not break on the items that lack one.
type lenient struct{}

func (lenient) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.MemberNode:
		switch n.Node.(type) {
		case *ast.MemberNode, *ast.ChainNode:
			if n.Optional {
				return
			}
			n.Optional = true
			ast.Patch(node, &ast.ChainNode{Node: n})
		}
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
				if p, ok := a.(*ast.PredicateNode); ok {
					orFalse(&p.Node)
				}
			}
		}
	}
}

// orFalse puts ?? false behind what may be nil.
func orFalse(node *ast.Node) {
	switch (*node).(type) {
	case *ast.MemberNode, *ast.ChainNode:
		ast.Patch(node, &ast.BinaryNode{Operator: "??", Left: *node, Right: &ast.BoolNode{}})
	}
}

// collector finds what an expression looks at.
type collector struct {
	item  bool
	walks bool
	refs  []string
}

func (c *collector) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		c.item = c.item || n.Value == "item" || n.Value == "$env"
	case *ast.PredicateNode:
		c.walks = true
	case *ast.MemberNode:
		if ref, ok := plainPath(n); ok {
			c.refs = append(c.refs, ref)
		}
	}
}

// plainPath is record.a.b for a member that hangs on record or item by names alone.
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

// A ruleError is an expression that failed on an item.
type ruleError struct {
	at  string // line:column in the expression
	msg string // expr's, on one line; may quote the order
}

func (e *ruleError) Error() string { return fmt.Sprintf("%s (%s)", e.msg, e.at) }

// aboutTypes are the messages of expr that quote types and never values: "invalid
// operation: int(…)" quotes what could not be converted, so a bracket is let through only
// for bool, which does not.
var aboutTypes = regexp.MustCompile(`^(invalid operation: (bool\([^()]*\)|[^()]*)|interface conversion: [^()]*|` + wrongType + `.*|` + wrongSize + `)$`)

// loggable is the error without anything the service sent.
func (e *ruleError) loggable() string {
	if len(e.msg) < 200 && aboutTypes.MatchString(e.msg) {
		return e.Error()
	}
	return "failed at " + e.at
}

const (
	wrongType = "gives a "
	wrongSize = "too many items for a rule that walks a list for each of them"
)

// show puts the record, once, and the item in front of the rules.
func (s *splitter) show(rec *contract.Record, item int) {
	if s.env == nil {
		s.elements = 0
		s.env = map[string]any{
			"venue":  venueEnv{ID: s.venue.ID, Name: s.venue.Name},
			"device": s.base.Device,
			"record": withFloats(rec.Fields, &s.elements),
		}
	}
	s.env["item"] = s.env["record"].(map[string]any)[contract.FieldItems].([]any)[item]
}

// withFloats copies v with numbers as float64, as expressions want them, and counts the
// elements of its lists.
func withFloats(v any, elements *int) any {
	switch v := v.(type) {
	case json.Number:
		return toFloat(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = withFloats(e, elements)
		}
		return out
	case []any:
		*elements += len(v)
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withFloats(e, elements)
		}
		return out
	}
	return v
}

// ask evaluates the rule. Nil is false.
func (r *rule) ask(machine *vm.VM, env map[string]any) (bool, *ruleError) {
	machine.MemoryBudget = memoryBudget
	out, err := machine.Run(r.program, env)
	if e, ok := errors.AsType[*file.Error](err); ok {
		return false, &ruleError{fmt.Sprintf("%d:%d", e.Line, e.Column+1), strings.ReplaceAll(e.Message, "\n", " ")}
	}
	if err != nil {
		return false, &ruleError{"1:1", err.Error()}
	}
	switch out := out.(type) {
	case bool:
		return out, nil
	case nil:
		return false, nil
	}
	return false, &ruleError{"1:1", fmt.Sprintf(wrongType+"%T, want true or false", out)}
}
