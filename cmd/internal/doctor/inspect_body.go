package doctor

import (
	"strconv"
	"strings"

	"ticketrail/printer/layout"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// widestText is where the marks begin at most: behind a longer line they follow it.
const widestText = 60

// A bodyMarker collects the lines of a body, one value on each, with the use of the value.
type bodyMarker struct {
	leaves       []plan.Leaf // of the next values
	lines, marks []string
}

// markBody returns a body with the use of each of its values. The leaves are in the order of the body; one that cannot
// be read has none.
func markBody(body contract.Value, leaves []plan.Leaf, colour bool) string {
	marker := bodyMarker{leaves: leaves}
	marker.value(body, "", "", "")

	column := 0
	for i, line := range marker.lines {
		if width := layout.Width(line); marker.marks[i] != "" && width <= widestText {
			column = max(column, width)
		}
	}

	var out strings.Builder
	for i, line := range marker.lines {
		out.WriteString(line)
		if mark := marker.marks[i]; mark != "" {
			if colour && mark == plan.NotRead {
				mark = "\x1b[1;31m" + mark + "\x1b[0m"
			}
			out.WriteString(strings.Repeat(" ", max(0, column-layout.Width(line))) + "  " + mark)
		}
		out.WriteByte('\n')
	}

	return out.String()
}

// value adds a value behind its key, with a comma unless it is the last one around it.
func (m *bodyMarker) value(v contract.Value, indent, key, comma string) {
	kind, left := v.Kind(), v.Len()
	switch {
	case left > 0:
		m.line(indent, key+string(kind), "")
		for e := range v.All() {
			key, comma := "", ""
			if kind == '{' {
				key = strconv.Quote(e.Key()) + ": "
			}
			if left--; left > 0 {
				comma = ","
			}
			m.value(e, indent+"  ", key, comma)
		}
		m.line(indent, string(kind+2)+comma, "") // the other bracket
	case kind == '{' || kind == '[' || len(m.leaves) == 0:
		m.line(indent, key+v.JSON()+comma, "")
	default:
		mark := m.leaves[0].Use.Text(m.leaves[0].As)
		if m.leaves[0].Use == plan.Read {
			mark = "→ " + mark
		}
		m.line(indent, key+v.JSON()+comma, mark)
		m.leaves = m.leaves[1:]
	}
}

func (m *bodyMarker) line(indent, text, mark string) {
	m.lines, m.marks = append(m.lines, indent+layout.OneLine(text)), append(m.marks, mark)
}
