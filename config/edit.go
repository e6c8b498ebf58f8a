package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"ticketrail/printer/transport"
)

// A configuration file is written by people, so a change from the page for managers leaves everything in it as it is
// but the list element, or the section, that is changed: only its lines are written anew, by the YAML library, which
// keeps comments. The whole result is then read and compared with the intended one.

// errNotEditable says that a file cannot be changed without a person.
var errNotEditable = errors.New("the file is written in a way that only a person can change: edit it by hand, " +
	"then ticketrail check and systemctl reload ticketrail")

// SetPrinter returns the file with another address and profile of the printer called name. The hardware address of
// the printer that was at the old address is replaced by mac, if it is known.
func SetPrinter(data []byte, name, address, profile, mac string) ([]byte, error) {
	return edit(data, "printers", name, func(n *yaml.Node) error {
		if is := value(n, "address"); is == nil || is.Value != address {
			// A file would let a page write wherever the daemon may.
			at := transport.CanonicalAddress(address)
			if _, err := transport.Open(address); err == nil && !strings.HasPrefix(at, "tcp:") &&
				!strings.HasPrefix(at, "usb:") {
				return fmt.Errorf("%s is neither on the network nor on USB: such an address is set in the file",
					quote(address))
			}
			if mac != "" || value(n, "mac") != nil {
				setText(n, "mac", mac)
			}
		}

		setText(n, "address", address)
		setText(n, "profile", profile)
		return nil
	})
}

// SetHours returns the file with other opening hours of the venue called name.
func SetHours(data []byte, name string, hours []string) ([]byte, error) {
	return edit(data, "venues", name, func(n *yaml.Node) error {
		list := child(n, "hours", yaml.SequenceNode)
		was := list.Content
		list.Content = nil
		for _, h := range hours {
			one := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: h, Style: yaml.DoubleQuotedStyle}
			if i := slices.IndexFunc(was, func(w *yaml.Node) bool { return sameHours(w.Value, h) }); i >= 0 {
				one = was[i] // as it was written, with its comments
			}
			list.Content = append(list.Content, one)
		}

		return nil
	})
}

// sameHours reports whether two lines of opening hours mean the same.
func sameHours(a, b string) bool {
	var x, y Hours
	parsed := x.UnmarshalText([]byte(a)) == nil && y.UnmarshalText([]byte(b)) == nil
	x.Text, y.Text = "", ""
	return parsed && x == y
}

// AddRecipient returns the file with one more recipient of notices.
func AddRecipient(data []byte, name, url string) ([]byte, error) {
	return edit(data, "notify", "", func(n *yaml.Node) error {
		to := child(n, "to", yaml.SequenceNode)
		if element(to, name) >= 0 {
			return fmt.Errorf("%s is told already: remove it first, or choose another name", quote(name))
		}
		if len(to.Content) == 0 {
			to.Style = 0
		}

		one := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		setText(one, "name", name)
		setText(one, "url", url)
		to.Content = append(to.Content, one)
		return nil
	})
}

// RemoveRecipient returns the file without the recipient called name.
func RemoveRecipient(data []byte, name string) ([]byte, error) {
	return edit(data, "notify", "", func(n *yaml.Node) error {
		to := child(n, "to", yaml.SequenceNode)
		at := element(to, name)
		if at < 0 {
			return fmt.Errorf("nobody is told as %s", quote(name))
		}
		to.Content = slices.Delete(to.Content, at, at+1)
		return nil
	})
}

// edit changes the element called name of the list section, or with an empty name the section itself, which need not
// exist. change is called twice: for the lines that are written anew, and for the whole file that they must amount to.
func edit(data []byte, section, name string, change func(*yaml.Node) error) ([]byte, error) {
	var want yaml.Node
	if err := yaml.Unmarshal(data, &want); err != nil || len(want.Content) == 0 ||
		want.Content[0].Kind != yaml.MappingNode {
		return nil, errNotEditable
	}

	lines := slices.Collect(strings.Lines(strings.TrimRight(string(data), "\n") + "\n"))
	place, whole, err := findPart(want.Content[0], lines, section, name)
	if err != nil {
		return nil, err
	}

	for _, n := range []*yaml.Node{place.node, whole} {
		if err := change(n); err != nil {
			return nil, err
		}
	}

	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(place.document); err != nil {
		return nil, errNotEditable
	}

	var out strings.Builder
	out.WriteString(strings.Join(lines[:place.from], ""))
	for line := range strings.Lines(text.String()) {
		if line != "\n" {
			out.WriteString(place.indent)
		}
		out.WriteString(line)
	}
	out.WriteString(strings.Join(lines[place.to:], ""))

	var got yaml.Node
	if err := yaml.Unmarshal([]byte(out.String()), &got); err != nil || !sameValue(&got, &want) ||
		!slices.Equal(comments(&got), comments(&want)) {
		return nil, errNotEditable
	}
	if out.Len() > maxFile { // the next start would not read it
		return nil, fmt.Errorf("the file would have %d bytes, more than the %d bytes that are read", out.Len(), maxFile)
	}
	return []byte(out.String()), nil
}

// A part is the lines from, and before to, of a file, which are a document of their own.
type part struct {
	from, to int
	indent   string     // of its lines
	document *yaml.Node // of the lines alone, without indent
	node     *yaml.Node // the value to change, in document
}

// findPart finds the lines of an element, or else of its section, and the same value in root, the document of all
// lines. A section that is missing has no lines, at the end.
func findPart(root *yaml.Node, lines []string, section, name string) (place part, whole *yaml.Node, err error) {
	if whole = locate(root, section, name); whole == nil {
		return place, nil, fmt.Errorf("there is no %s in %s", quote(name), section)
	}

	place.from = len(lines)
	for pair := range slices.Chunk(root.Content, 2) {
		if pair[0].Value == section && pair[0].Line > 0 {
			place.from = pair[0].Line - 1
		}
	}
	if name != "" {
		if line := lines[whole.Line-1]; strings.HasPrefix(strings.TrimLeft(line, " "), "- ") {
			place.from, place.indent = whole.Line-1, line[:strings.Index(line, "-")]
		}
	}

	// Until the lines say the same as the node: a list may end with a bracket on a line of its own.
	for place.to = max(lastLine(whole), place.from); place.to <= len(lines); place.to++ {
		var text strings.Builder
		for _, line := range lines[place.from:place.to] {
			text.WriteString(strings.TrimPrefix(line, place.indent))
		}

		document := yaml.Node{Content: []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}}
		if err := yaml.Unmarshal([]byte(text.String()), &document); err != nil {
			continue
		}
		place.document = document.Content[0]
		if place.node = locate(place.document, section, name); place.node != nil && sameValue(place.node, whole) {
			return place, whole, nil
		}
	}

	return place, nil, errNotEditable
}

// locate is the value to change in a document, or in a list that has only its element; nil if there is none. A section
// is made if it is missing.
func locate(document *yaml.Node, section, name string) *yaml.Node {
	list := document
	if document.Kind == yaml.MappingNode {
		if name == "" {
			return child(document, section, yaml.MappingNode)
		}
		list = value(document, section)
	}

	if list != nil {
		if at := element(list, name); at >= 0 {
			return list.Content[at]
		}
	}
	return nil
}

// lastLine is the last line on which a value in n begins.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	return last
}

// sameValue reports whether two nodes mean the same, however they are written.
func sameValue(a, b *yaml.Node) bool {
	var x, y any
	return a.Decode(&x) == nil && b.Decode(&y) == nil && reflect.DeepEqual(x, y)
}

// comments are all lines of comments in n, sorted.
func comments(n *yaml.Node) (out []string) {
	for line := range strings.Lines(n.HeadComment + "\n" + n.LineComment + "\n" + n.FootComment) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}

	for _, c := range n.Content {
		out = append(out, comments(c)...)
	}
	slices.Sort(out)
	return out
}

// element is the index of the element of a list that has the name; -1: none has.
func element(list *yaml.Node, name string) int {
	return slices.IndexFunc(list.Content, func(n *yaml.Node) bool {
		is := value(n, "name")
		return is != nil && is.Value == name
	})
}

// value is the value of a key; nil if it is missing.
func value(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		for pair := range slices.Chunk(n.Content, 2) {
			if pair[0].Value == key {
				return pair[1]
			}
		}
	}
	return nil
}

// child is the value of a key, a list or a section, which is made if it is missing.
func child(n *yaml.Node, key string, kind yaml.Kind) *yaml.Node {
	node := value(n, key)
	if node == nil {
		node = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, node)
	}
	if isNull(node) {
		node.Kind, node.Tag, node.Value = kind, "", ""
	}
	return node
}

// setText sets a key to a text. It keeps quotes and comments.
func setText(n *yaml.Node, key, text string) {
	v := child(n, key, yaml.ScalarNode)
	v.Tag, v.Value = "!!str", text
}
