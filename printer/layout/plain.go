package layout

import (
	"slices"
	"strings"
)

// Plain draws lines as text in a frame as wide as the paper, for terminals, ticketrail inspect and
// tests. Characters keep their normal size, so that words can be read and searched for; the edges
// show the rest: ║ beside text of more than normal height, █ beside white on black. A
// QR code is drawn as [QR].
func Plain(lines []Line, columns int) string {
	var b strings.Builder
	columns = min(max(columns, minColumns), maxColumns)
	b.WriteString("┌" + strings.Repeat("─", columns) + "┐\n")

	for _, l := range lines {
		if l.QR != "" {
			const code = "[QR]"
			free := columns - len(code)
			b.WriteString("│" + spaces(free/2) + code + spaces(free-free/2) + "│\n")
		}

		edge := "│"
		if l.Height() > 1 {
			edge = "║"
		}
		if slices.ContainsFunc(l.Spans, func(s Span) bool { return s.Invert }) {
			edge = "█"
		}

		b.WriteString(edge)
		used := 0
		for i, s := range l.Spans {
			text := Clean(s.Text)
			wide := Width(text)
			used += wide * s.widthFactor()
			before, after := l.slack(i, wide*(s.widthFactor()-1), columns)
			b.WriteString(spaces(before) + text + spaces(after))
		}
		b.WriteString(spaces(max(columns-used, 0)))
		b.WriteString(edge + "\n")
	}

	b.WriteString("└" + strings.Repeat("─", columns) + "┘\n")
	return b.String()
}

// slack divides the columns that span i leaves over when it is drawn in normal size. They go where
// the paper is blank anyway, so that aligned text stays aligned.
func (l Line) slack(i, free, columns int) (before, after int) {
	// A span of several spaces is padding, a single space may separate words.
	empty := func(i int) bool {
		return i >= 0 && i < len(l.Spans) && len(l.Spans[i].Text) > 1 && strings.TrimSpace(l.Spans[i].Text) == ""
	}
	switch left, right := empty(i-1), empty(i+1); {
	case left && right, len(l.Spans) == 1 && l.Spans[i].Invert:
		return free / 2, free - free/2
	case left && i == len(l.Spans)-1 && l.Width() == columns: // right-aligned text stays at the right edge
		return free, 0
	default:
		return 0, free
	}
}
