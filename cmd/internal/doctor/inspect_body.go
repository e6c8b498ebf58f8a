package doctor

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ticketrail/printer/layout"
	"ticketrail/receiver/plan"
)

// widestText is where the marks begin at most: behind a longer line they follow it.
const widestText = 60

// markBody returns a body, one value on each line, with the use of each. The leaves are in the order of the body; one
// that cannot be read has none. A body that is no JSON stays as it is.
func markBody(raw []byte, leaves []plan.Leaf, colour bool) string {
	body := jsontext.Value(bytes.TrimPrefix(raw, []byte("\ufeff")))
	_ = body.Format(jsontext.WithIndent("  "), jsontext.PreserveRawStrings(false),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

	column := 0
	lines := strings.Split(strings.TrimSpace(body.String()), "\n")
	marks := make([]string, len(lines))
	for i, line := range lines {
		line = layout.Clean(line)
		lines[i] = line
		if isValue(line) && len(leaves) > 0 {
			marks[i], leaves = markOf(leaves[0]), leaves[1:]
			if width := layout.Width(line); width <= widestText {
				column = max(column, width)
			}
		}
	}

	var out strings.Builder
	for i, line := range lines {
		out.WriteString(line)
		if mark := marks[i]; mark != "" {
			if colour && mark == plan.NotRead {
				mark = "\x1b[1;31m" + mark + "\x1b[0m"
			}
			out.WriteString(strings.Repeat(" ", max(0, column-layout.Width(line))) + "  " + mark)
		}
		out.WriteByte('\n')
	}

	return out.String()
}

// isValue is false for a line with the beginning or the end of an object or of a list, or with an empty one.
func isValue(line string) bool {
	text := strings.TrimSuffix(line, ",")
	return !strings.ContainsAny(text[max(0, len(text)-1):], "{}[]")
}

func markOf(leaf plan.Leaf) string {
	mark := leaf.Use.Text(leaf.As)
	if leaf.Use == plan.Read {
		return "→ " + mark
	}
	return mark
}
