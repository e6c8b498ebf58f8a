package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxList is more entries than any restaurant has of anything.
const maxList = 10_000

// document parses the file; root is nil when there is nothing in it, ok false when it is
// no YAML.
func (f *findings) document(name string, data []byte) (root *yaml.Node, ok bool) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		return nil, true
	}
	if err == nil {
		if err = dec.Decode(&second); errors.Is(err, io.EOF) {
			return doc.Content[0], true
		}
	}
	p := Problem{Path: fmt.Sprintf("%s:%d", name, second.Line), Line: second.Line}
	if err != nil {
		p = syntax(name, data, err)
	} else { // what stands there would be ignored without a word
		p.Msg = "a second document begins here; put everything into one, without ---"
	}
	f.problems = append(f.problems, p)
	return nil, false
}

// syntax makes a problem with file:line of what the YAML parser says.
func syntax(name string, data []byte, err error) Problem {
	line, msg := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.HasPrefix(msg, "unknown anchor") { // where is not told
		return Problem{Path: name, Msg: clean("is not YAML: " + msg)}
	}
	if m := regexp.MustCompile(`(?s)^line (\d+): (.*)$`).FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = m[2]
		if strings.HasPrefix(msg, "did not find expected") {
			line++ // the parser counts these from zero
		}
	}
	hint := ""
	if strings.Contains(msg, "tab character") || strings.Contains(msg, "cannot start any token") {
		hint = "; indent with spaces, not tabs"
		// The parser tells where the value began that the tab ended.
		for i, l := range bytes.Split(data, []byte("\n")) {
			if i+1 >= line && bytes.HasPrefix(bytes.TrimLeft(l, " "), []byte("\t")) {
				line = i + 1
				break
			}
		}
	}
	return Problem{Path: fmt.Sprintf("%s:%d", name, line), Line: line, Msg: clean("is not YAML: " + msg + hint)}
}

// value reads n as a value of type t. What is wrong is noted and left out, so that the
// rest can still be checked; ok is false when nothing is left.
func (f *findings) value(path string, t reflect.Type, n *yaml.Node) (v any, ok bool) {
	f.lines[path] = n.Line
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		f.add(path, "anchors and aliases (& and *) are not understood here; write the value out")
		return nil, false
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return nil, false // as if it were not there
	case section(t):
		return f.section(path, t, n)
	case t == reflect.TypeFor[Override]():
		return f.override(path, n)
	case t.Kind() == reflect.Map:
		return f.paths(path, t, n)
	case t.Kind() == reflect.Slice:
		return f.list(path, t, n)
	}
	return f.scalar(path, t, n)
}

// section reads a mapping with known keys.
func (f *findings) section(path string, t reflect.Type, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.MappingNode {
		f.add(path, "want %s, got %s", kind(t), shown(n))
		return nil, false
	}
	known := keysOf(t)
	m := defaultsOf(t)
	for name, at := range f.pairs(path, n) {
		full := join(path, name)
		i := slices.IndexFunc(known, func(k key) bool { return k.name == name })
		if i < 0 {
			f.lines[full] = at.Line
			f.add(full, "unknown key%s", f.hint(name, known))
			continue
		}
		if v, ok := f.value(full, known[i].typ, at); ok {
			m[name] = v
		}
	}
	return m, true
}

// hint is what may have been meant by a key that is not known.
func (f *findings) hint(name string, known []key) string {
	if len(f.problems) >= maxProblems {
		return "" // nobody will read it
	}
	if s := didYouMean(name, names(known)); s != "" {
		return s
	}
	return elsewhere(name)
}

// pairs goes through a mapping. Keys that are no plain words or come twice are problems.
func (f *findings) pairs(path string, n *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		word := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
		seen := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			name := k.Value
			if k.Kind != yaml.ScalarNode || !word.MatchString(name) {
				odd := join(path, "?")
				if k.Kind == yaml.ScalarNode {
					odd = join(path, quote(name))
				}
				f.lines[odd] = k.Line
				f.add(odd, "unknown key")
				continue
			}
			if first := seen[name]; first != 0 {
				f.add(join(path, name), "stands twice, in lines %d and %d", first, k.Line)
				continue
			}
			seen[name] = k.Line
			if !yield(name, v) {
				return
			}
		}
	}
}

// paths reads ticket.fields, names of fields with lists of paths, and the keys of a screen.
func (f *findings) paths(path string, t reflect.Type, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.MappingNode {
		want := "names of fields, each with a list of paths"
		if t == reflect.TypeFor[KeyMap]() {
			want = "what keys can do, each with a list of keys"
		}
		f.add(path, "want %s, got %s", want, shown(n))
		return nil, false
	}
	m := map[string][]string{}
	for name, at := range f.pairs(path, n) {
		if v, ok := f.value(join(path, name), reflect.TypeFor[[]string](), at); ok {
			m[name] = v.([]string)
		}
	}
	return m, true
}

// list reads a list. One of sections keeps its length, so that printers[2] is the third
// printer whatever is wrong with the second.
func (f *findings) list(path string, t reflect.Type, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.SequenceNode {
		hint := ""
		if n.Kind == yaml.ScalarNode {
			hint = fmt.Sprintf("; write [%s]", n.Value)
			if !plain(n.Value) {
				hint = "; put it in [ ]"
			}
		}
		f.add(path, "want a list, got %s%s", shown(n), hint)
		return nil, false
	}
	if len(n.Content) > maxList {
		f.add(path, "has %d entries; %d are the most", len(n.Content), maxList)
		return nil, false
	}
	sections := []any{}
	values := reflect.MakeSlice(t, 0, len(n.Content))
	for i, at := range n.Content {
		here := fmt.Sprintf("%s[%d]", path, i)
		v, ok := f.value(here, t.Elem(), at)
		if !ok {
			f.add(here, "is empty")
		}
		if section(t.Elem()) {
			if !ok {
				v = map[string]any{}
			}
			sections = append(sections, v)
		} else if ok {
			values = reflect.Append(values, reflect.ValueOf(v))
		}
	}
	switch {
	case section(t.Elem()):
		return sections, true
	case values.Len() == 0 && len(n.Content) > 0: // not empty, only unreadable
		values = reflect.Append(values, reflect.Zero(t.Elem()))
	}
	return values.Interface(), true
}

// scalar reads one word. YAML's own idea of what it is must be ours: a device 0012 that
// YAML takes for the number ten is a mistake nobody would find.
func (f *findings) scalar(path string, t reflect.Type, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.ScalarNode {
		f.add(path, "want %s, got %s", kind(t), shown(n))
		return nil, false
	}
	tag := n.ShortTag()
	numeric := tag == "!!int" || tag == "!!float"
	var fits bool
	switch t.Kind() {
	case reflect.Bool:
		fits = tag == "!!bool" || tag == "!!str" && n.Style == 0
	case reflect.Int:
		fits = tag == "!!int" || tag == "!!float"
	case reflect.String:
		if fits = tag == "!!str"; !fits && plain(n.Value) {
			f.add(path, "%s is not text to YAML; put it in quotes: %q", n.Value, n.Value)
			return nil, false
		}
	default: // a number there has no unit, and parse says so
		fits = tag == "!!str" || numeric
	}
	if !fits {
		f.add(path, "want %s, got %s", kind(t), shown(n))
		return nil, false
	}
	v, err := parse(t, n.Value)
	if err != nil {
		f.add(path, "%v", err)
		return nil, false
	}
	return v, true
}

// shown is a node as a message names it.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys with values"
	case yaml.SequenceNode:
		return "a list"
	}
	return quote(n.Value)
}

func plain(s string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9._:+-]{1,40}$`).MatchString(s)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// defaultsOf is what a section inside a list says where the file says nothing, as the file
// would say it. Those outside lists have theirs from [Default].
func defaultsOf(t reflect.Type) map[string]any {
	p := DefaultPrinter()
	for _, v := range []any{p, p.Buzzer, p.Layout, DefaultScreen(), DefaultKDS()} {
		if reflect.TypeOf(v) == t {
			return said(reflect.ValueOf(v))
		}
	}
	return map[string]any{}
}

// said is a section as the file would say it, without what is zero.
func said(v reflect.Value) map[string]any {
	m := map[string]any{}
	for _, k := range keysOf(v.Type()) {
		switch f := v.Field(k.index); {
		case f.IsZero():
		case section(k.typ):
			m[k.name] = said(f)
		default:
			m[k.name] = f.Interface()
		}
	}
	return m
}
