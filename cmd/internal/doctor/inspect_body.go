package doctor

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"ticketrail/printer/layout"
	"ticketrail/receiver/plan"
)

// A bodyMarker writes a print request with the use of each value beside it.
type bodyMarker struct {
	body   *json.Decoder
	leaves map[string][]plan.Leaf // by path
	lines  []markedLine
}

type markedLine struct {
	text string // of the body, indented
	mark string
}

// widestText is where the marks begin at most: behind a longer line they follow it.
const widestText = 60

// markUnread is red on a terminal.
const markUnread = "NOT READ"

// markBody returns the body, which contract.Open has read, one value on a line.
func markBody(body []byte, leaves []plan.Leaf, colour bool) string {
	marker := bodyMarker{body: json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff")))),
		leaves: map[string][]plan.Leaf{}}
	marker.body.UseNumber()
	for _, l := range leaves {
		marker.leaves[l.Path] = append(marker.leaves[l.Path], l)
	}
	if err := marker.value("", "", ""); err != nil && err != io.EOF {
		return layout.Clean(string(body)) + "\n" // one that contract.Open has cut
	}

	column := 0
	for _, l := range marker.lines {
		if width := layout.Width(l.text); l.mark != "" && width <= widestText {
			column = max(column, width)
		}
	}

	var out strings.Builder
	for _, l := range marker.lines {
		out.WriteString(l.text)
		if l.mark != "" {
			mark := l.mark
			if colour && mark == markUnread {
				mark = "\x1b[1;31m" + mark + "\x1b[0m"
			}
			out.WriteString(strings.Repeat(" ", max(0, column-layout.Width(l.text))) + "  " + mark)
		}
		out.WriteByte('\n')
	}

	return out.String()
}

// value adds the lines of the next value. label is its key with a colon, path the keys from the root.
func (m *bodyMarker) value(indent, label, path string) error {
	token, err := m.body.Token()
	if err != nil {
		return err
	}

	open, nested := token.(json.Delim)
	if !nested {
		m.lines = append(m.lines, markedLine{indent + label + scalar(token), m.mark(path)})
		return nil
	}

	m.lines = append(m.lines, markedLine{text: indent + label + open.String()})
	empty := !m.body.More()
	for m.body.More() {
		label, below := "", path
		if open == '{' {
			key, err := m.body.Token()
			if err != nil {
				return err
			}
			label = scalar(key) + ": "
			below = strings.TrimPrefix(path+"."+key.(string), ".")
		}
		if err := m.value(indent+"  ", label, below); err != nil {
			return err
		}

		if m.body.More() {
			m.lines[len(m.lines)-1].text += ","
		}
	}

	end, err := m.body.Token()
	switch {
	case err != nil:
		return err
	case empty:
		m.lines[len(m.lines)-1].text += end.(json.Delim).String()
	default:
		m.lines = append(m.lines, markedLine{text: indent + end.(json.Delim).String()})
	}

	return nil
}

// mark is the use of the next scalar with a path. The leaves are in the order of the body.
func (m *bodyMarker) mark(path string) string {
	all := m.leaves[path]
	if len(all) == 0 {
		return "" // it is in a record that cannot be read
	}
	m.leaves[path] = all[1:]
	return markOf(all[0])
}

func markOf(l plan.Leaf) string {
	switch l.Use {
	case plan.Read:
		return "→ " + l.As
	case plan.Unread:
		return markUnread
	}
	return strings.TrimSuffix(string(l.Use)+": "+layout.OneLine(l.As), ": ")
}

// scalar is a scalar as JSON, without control characters.
func scalar(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // a token of JSON
	return layout.OneLine(strings.TrimSpace(b.String()))
}
