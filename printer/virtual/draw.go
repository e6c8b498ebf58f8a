package virtual

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"ticketrail/printer/layout"
)

// Draw draws the ticket in a box, for a terminal. Inverted text is between ▐ and ▌. Of an image only the size is
// shown: [Ticket.PNG] has its dots. The text itself contains no control characters. head is in the upper edge.
func (t Ticket) Draw(head string) string {
	head = " " + head + " "
	width := displaywidth.String(head)
	lines := make([]string, len(t.Lines))
	for i, l := range t.Lines {
		lines[i] = draw(l.Spans)
		width = max(width, displaywidth.String(lines[i]))
	}

	fill := func(with string, to int, after string) string {
		return after + strings.Repeat(with, to-displaywidth.String(after))
	}

	var b strings.Builder
	b.WriteString("┌" + fill("─", width+2, head) + "┐\n")
	for _, l := range lines {
		b.WriteString("│ " + fill(" ", width, l) + " │\n")
	}

	bottom := map[End]string{Cut: "╌", Closed: "─", Broken: "~"}[t.End]
	b.WriteString("└" + fill(bottom, width+2, "") + "┘\n")
	return b.String()
}

func draw(l []layout.Span) string {
	var b strings.Builder
	for i, s := range l {
		// A block of several sizes is one block on the paper.
		if s.Invert && (i == 0 || !l[i-1].Invert) {
			b.WriteString("▐")
		}
		b.WriteString(s.Text)
		if s.Invert && (i == len(l)-1 || !l[i+1].Invert) {
			b.WriteString("▌")
		}
	}
	return strings.TrimRight(b.String(), " ")
}
