package doctor

import (
	"bytes"
	"encoding/json"
	"strings"

	"ticketrail/printer/layout"
	"ticketrail/receiver/plan"
)

// widestText is where the marks begin at most: behind a longer line they follow it.
const widestText = 60

// markUnread is red on a terminal.
const markUnread = "NOT READ"

// markBody returns the body, which contract.Open has read, one value on a line with its use.
func markBody(body []byte, leaves []plan.Leaf, colour bool) string {
	var indented bytes.Buffer
	if err := json.Indent(&indented, bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff"))), "", "  "); err != nil {
		return layout.Clean(string(body)) + "\n" // one that contract.Open has cut
	}

	byPath := map[string][]plan.Leaf{} // of one path in the order of the body
	for _, l := range leaves {
		byPath[l.Path] = append(byPath[l.Path], l)
	}
	lines, marks, column := strings.Split(indented.String(), "\n"), []string{}, 0
	above := []string{""} // the paths of the objects and lists around a line
	for i, line := range lines {
		key, value := keyAndValue(line)
		path := strings.Trim(above[len(above)-1]+"."+key, ".")
		mark := ""
		switch value {
		case "{", "[":
			above = append(above, path)
		case "}", "]":
			above = above[:len(above)-1]
		case "{}", "[]":
		default:
			if all := byPath[path]; len(all) > 0 { // else it is in a record that cannot be read
				mark, byPath[path] = markOf(all[0]), all[1:]
			}
		}

		text := strings.TrimLeft(line, " ")
		lines[i], marks = line[:len(line)-len(text)]+layout.OneLine(text), append(marks, mark)
		if width := layout.Width(lines[i]); mark != "" && width <= widestText {
			column = max(column, width)
		}
	}

	var out strings.Builder
	for i, line := range lines {
		out.WriteString(line)
		if mark := marks[i]; mark != "" {
			if colour && mark == markUnread {
				mark = "\x1b[1;31m" + mark + "\x1b[0m"
			}
			out.WriteString(strings.Repeat(" ", max(0, column-layout.Width(line))) + "  " + mark)
		}
		out.WriteByte('\n')
	}

	return out.String()
}

// keyAndValue divides a line of indented JSON: `"name": "Pie",` has the key name and the value "Pie". An element of a
// list has no key.
func keyAndValue(line string) (key, value string) {
	value = strings.TrimSuffix(strings.TrimSpace(line), ",")
	text := json.NewDecoder(strings.NewReader(value))
	token, _ := text.Token()
	name, isText := token.(string)
	if rest, isKey := strings.CutPrefix(value[text.InputOffset():], ": "); isText && isKey {
		return name, rest
	}
	return "", value
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
