package plan

import (
	"encoding/json"
	"slices"

	"github.com/expr-lang/expr/ast"

	"ticketrail/receiver/contract"
)

// A sight is what rules can see of a record and its items. Most look at a field or two by name,
// and then the others need not be made into what expressions work on.
type sight struct {
	whole        bool     // a rule takes hold of record or item as such: all of both
	record, item []string // else the fields that some rule names
}

func (s *sight) add(other sight) {
	s.whole = s.whole || other.whole
	for _, k := range other.record {
		s.record = with(s.record, k)
	}
	for _, k := range other.item {
		s.item = with(s.item, k)
	}
}

func with(keys []string, k string) []string {
	if slices.Contains(keys, k) {
		return keys
	}
	return append(keys, k)
}

// A watcher finds the sight of one expression.
type watcher struct {
	sight
	bare int // times that record and item stand there without a field
}

func (w *watcher) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case "record", "item":
			w.bare++
		case "$env":
			w.whole = true
		}
	case *ast.PredicateNode: // it walks a list, and what that costs is reckoned by all there is
		w.whole = true
	case *ast.MemberNode:
		base, named := n.Node.(*ast.IdentifierNode)
		field, constant := n.Property.(*ast.StringNode)
		switch {
		case !named || !constant:
		case base.Value == "record":
			w.record = with(w.record, field.Value)
			w.bare--
		case base.Value == "item":
			w.item = with(w.item, field.Value)
			w.bare--
		}
	}
}

func sightOf(tree *ast.Node) sight {
	var w watcher
	ast.Walk(tree, &w)
	w.whole = w.whole || w.bare > 0
	return w.sight
}

// show puts the record, once, and the item in front of the rules.
func (s *splitter) show(rec *contract.Record, item int) {
	if s.inEnv == item {
		return
	}
	see := &s.plan.sight
	if s.env == nil {
		s.elements = 0
		s.env = map[string]any{
			"venue":  venueEnv{ID: s.venue.ID, Name: s.venue.Name},
			"device": s.base.Device,
		}
		if see.whole {
			s.env["record"] = withFloats(rec.Fields, &s.elements)
		} else {
			record := make(map[string]any, len(see.record))
			some(record, rec.Fields, see.record)
			s.env["record"] = record
			s.dish = make(map[string]any, len(see.item))
			s.env["item"] = s.dish
		}
	}
	s.inEnv = item
	if !see.whole {
		clear(s.dish)
		some(s.dish, rec.Items[item], see.item)
		return
	}
	if items, ok := s.env["record"].(map[string]any)[contract.FieldItems].([]any); ok && len(items) == len(rec.Items) {
		if _, ok := items[item].(map[string]any); ok {
			s.env["item"] = items[item]
			return
		}
	}
	s.env["item"] = withFloats(rec.Items[item], &s.elements)
}

// some gives to the fields of from that keys name.
func some(to, from map[string]any, keys []string) {
	var elements int
	for _, k := range keys {
		if v, there := from[k]; there {
			to[k] = withFloats(v, &elements)
		}
	}
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
