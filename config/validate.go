package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"ticketrail/printer/layout"
)

// viper silently accepts mistakes that cost orders: it reads the first of two documents and ignores
// the other, reads 0012 as ten, lets a key without a value hide the default, and ignores misspelt
// keys. So the nodes of the file are validated before viper gets them. Mistakes are reported and
// removed; the rest is passed on as text, as if from the environment, and the hooks decode it.

// Decoder makes f the decoder that viper uses for files.
func (f *findings) Decoder(string) (viper.Decoder, error) { return f, nil }

// Decode is called by viper. Its error is [Problems] if the file cannot be read as a configuration
// at all.
func (f *findings) Decode(data []byte, into map[string]any) error {
	root, err := f.document(data)
	if err != nil || root == nil {
		return err
	}

	if !f.validate("", f.schema, root) {
		return Problems{{Path: fmt.Sprintf("%s:%d", f.file, root.Line), Msg: f.problems[len(f.problems)-1].Msg}}
	}
	return root.Decode(&into)
}

// document parses the file; root is nil if the file is empty.
func (f *findings) document(data []byte) (root *yaml.Node, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err = dec.Decode(&doc); err == nil {
		err = dec.Decode(&second)
	}

	switch {
	case err == nil: // viper would silently ignore the second document
		return nil, Problems{{Path: fmt.Sprintf("%s:%d", f.file, second.Line),
			Msg: "a second document begins here; put everything into one, without ---"}}
	case !errors.Is(err, io.EOF):
		return nil, Problems{f.syntax(data, err)}
	case len(doc.Content) == 0 || isNull(doc.Content[0]):
		return nil, nil
	}

	return doc.Content[0], nil
}

// syntax makes a problem with file:line from an error of the YAML parser.
func (f *findings) syntax(data []byte, err error) Problem {
	line, msg := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.HasPrefix(msg, "unknown anchor") { // the parser does not say where
		return Problem{Path: f.file, Msg: layout.Clean("is not YAML: " + msg +
			"; put a value that begins with * in quotes")}
	}
	if match := regexp.MustCompile(`(?s)^line (\d+): (.*)$`).FindStringSubmatch(msg); match != nil {
		line, _ = strconv.Atoi(match[1])
		msg = match[2]
		if strings.HasPrefix(msg, "did not find expected") {
			line++ // the parser counts these lines from zero
			msg += "; look at the indentation, quotes and colons of this line, those beside it and those below"
		}
	}

	hint := ""
	if strings.Contains(msg, "tab character") || strings.Contains(msg, "cannot start any token") {
		hint = "; indent with spaces, not tabs"
		// The parser reports where the value before the tab began, not the tab.
		for i, l := range bytes.Split(data, []byte("\n")) {
			if i+1 >= line && bytes.HasPrefix(bytes.TrimLeft(l, " "), []byte("\t")) {
				line = i + 1
				break
			}
		}
	}

	return Problem{Path: fmt.Sprintf("%s:%d", f.file, line), Msg: layout.Clean("is not YAML: " + msg + hint)}
}

// validate reports the mistakes in n as a value of type t, and removes them from n. It reports
// whether anything is left to decode.
func (f *findings) validate(path string, t reflect.Type, n *yaml.Node) bool {
	f.lines[path] = n.Line
	free := t.Kind() == reflect.Interface // a value inside printers[].override
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		f.add(path, "anchors and aliases (& and *) are not supported; write the value out")
		return false
	case isNull(n):
		return false // same as a missing key
	case isSection(t) || t.Kind() == reflect.Map || free && n.Kind == yaml.MappingNode:
		return f.mapping(path, t, n)
	case t.Kind() == reflect.Slice || free && n.Kind == yaml.SequenceNode:
		return f.list(path, t, n)
	case free:
		return f.untypedScalar(path, n)
	}

	return f.scalar(path, t, n)
}

// mapping validates a section, or a map whose keys the file defines. Keys must be plain words and
// may occur once.
func (f *findings) mapping(path string, t reflect.Type, n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode {
		f.add(path, "expected keys with values, got %s", describe(n))
		return false
	}

	known := map[string]reflect.Type{}
	if isSection(t) {
		for field := range fieldsOf(reflect.Zero(t)) {
			known[field.Tag.Get("mapstructure")] = field.Type
		}
	}

	var kept []*yaml.Node
	seen := map[string]int{}
	var meant []string // by unknown keys
	for pair := range slices.Chunk(n.Content, 2) {
		key, value := pair[0], pair[1]
		name, of, hint := key.Value, known[key.Value], ""
		switch {
		case !isKeyName(name): // nor has a key that is a list or a section
			name, of = quote(name), nil
		case t.Kind() == reflect.Map && name != strings.ToLower(name): // viper would change it
			hint = ": keys are written in small letters"
		case t.Kind() == reflect.Map:
			of = t.Elem()
		case t.Kind() == reflect.Interface:
			of = t
		case of == nil && len(f.problems) < maxProblems: // further problems are not shown
			here := slices.Sorted(maps.Keys(known))
			if near := suggest(name, here); near != "" {
				meant = append(meant, near)
			}
			hint = cmp.Or(DidYouMean(name, here), otherSections(name, pathsOf(f.keys)),
				"; known here: "+strings.Join(here, ", "))
		}

		full := join(path, name)
		first := seen[name]
		switch seen[name] = key.Line; {
		case f.env[full] != "": // the variable takes precedence
		case first != 0:
			f.add(full, "is defined twice, on lines %d and %d", first, key.Line)
		case of == nil:
			f.lines[full] = key.Line
			f.add(full, "unknown key%s", hint)
		case f.validate(full, of, value):
			key.Tag = "!!str" // a ticket field may be called null
			kept = append(kept, key, value)
		}
	}

	n.Content = kept
	for _, name := range meant {
		if seen[name] == 0 {
			f.meant = append(f.meant, join(path, name))
		}
	}
	return true
}

func isKeyName(s string) bool { return s != "" && len(s) <= 64 && strings.Trim(s, wordLetters) == "" }

const wordLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// list validates a list. It keeps the length of the list, so that printers[2] is the third printer
// whatever is wrong with the second.
func (f *findings) list(path string, t reflect.Type, n *yaml.Node) bool {
	if n.Kind != yaml.SequenceNode {
		f.add(path, "expected a list, got %s; write it in [ ]", describe(n))
		return false
	}

	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}

	for i, at := range n.Content {
		here := fmt.Sprintf("%s[%d]", path, i)
		if isSection(t) {
			f.elements[here] = elementName(at)
		}
		if f.validate(here, t, at) {
			continue
		}

		f.add(here, "is empty")
		n.Content[i] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}
		if isSection(t) {
			n.Content[i] = &yaml.Node{Kind: yaml.MappingNode}
		}
	}

	return true
}

// elementName returns the name of a list element, or "" if it has none that can be shown.
func elementName(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode {
		for pair := range slices.Chunk(n.Content, 2) {
			if name := pair[1].Value; pair[0].Value == "name" && nameProblem(name) == "" {
				return name
			}
		}
	}
	return ""
}

// scalar validates a single value. Text must be text for YAML too: a device id 0012 that YAML reads as the number ten
// is a mistake that no message would ever show. The value is then passed on as text, as if from the environment, for
// the decoding hooks to parse.
func (f *findings) scalar(path string, t reflect.Type, n *yaml.Node) bool {
	switch {
	case n.Kind != yaml.ScalarNode:
		f.add(path, "expected one value, got %s", describe(n))
		return false
	case t.Kind() == reflect.String && n.ShortTag() != "!!str":
		f.add(path, "YAML does not read it as text; put it in quotes: %s", quote(n.Value))
		return false
	}

	n.Tag = "!!str"
	return true
}

// untypedScalar validates a value of a profile, whose type only package profile knows.
func (f *findings) untypedScalar(path string, n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!bool", "!!int", "!!float":
		// YAML reads 010 as eight, people read it as ten. Hexadecimal is allowed: manuals use it.
		if octal := regexp.MustCompile(`^[-+]?0[0-9_]`); octal.MatchString(n.Value) {
			f.add(path, "%s begins with 0, and YAML may read it as an octal number; write it without the 0",
				quote(n.Value))
			return false
		}
	default: // dates and the like are text here
		n.Tag = "!!str"
	}

	return true
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// describe is the name of a YAML node in messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys with values"
	case yaml.SequenceNode:
		return "a list"
	}
	return quote(n.Value)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
