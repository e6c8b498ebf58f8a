package virtual

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Draw draws the ticket in a box, for a terminal. With colour, styles are escape sequences; without, inverted
// text is between ▐ and ▌. Images are drawn with half blocks, at most 76 columns wide. The text itself contains no
// control characters. head is in the upper edge.
func (t Ticket) Draw(head string, colour bool) string {
	var lines []string
	var widths []int
	width := displaywidth.String(head) + 2
	add := func(line string, w int) {
		lines, widths = append(lines, line), append(widths, w)
		width = max(width, w)
	}
	pictures := t.pictures()
	for i, l := range t.Lines {
		picture, ok := pictures[i]
		if !ok {
			add(l.draw(colour))
		}
		for _, line := range picture {
			add(line, displaywidth.String(line))
		}
	}
	var b strings.Builder
	b.WriteString("┌")
	edge := 0
	if head != "" {
		b.WriteString(" " + head + " ")
		edge = displaywidth.String(head) + 2
	}
	b.WriteString(strings.Repeat("─", width+2-edge) + "┐\n")
	for i, l := range lines {
		b.WriteString("│ " + l + strings.Repeat(" ", width-widths[i]) + " │\n")
	}
	bottom := map[End]string{Cut: "╌", Closed: "─", Broken: "~"}[t.End]
	b.WriteString("└" + strings.Repeat(bottom, width+2) + "┘\n")
	return b.String()
}

// draw returns the line and its width on a terminal.
func (l Line) draw(colour bool) (string, int) {
	var b strings.Builder
	width := 0
	for i, s := range l {
		text := s.Text
		if i == len(l)-1 && !s.Invert {
			text = strings.TrimRight(text, " ")
		}
		width += displaywidth.String(text)
		switch codes := s.codes(); {
		case colour && codes != "":
			b.WriteString("\x1b[" + codes + "m" + text + "\x1b[0m")
		case !colour && s.Invert:
			// A block of several sizes is one block on the paper.
			if i == 0 || !l[i-1].Invert {
				text, width = "▐"+text, width+1
			}
			if i == len(l)-1 || !l[i+1].Invert {
				text, width = text+"▌", width+1
			}
			b.WriteString(text)
		default:
			b.WriteString(text)
		}
	}
	return b.String(), width
}

// codes are the terminal's codes for a style (SGR). Larger text is bold.
func (s Style) codes() string {
	var c []string
	if s.Bold || s.Width > 1 || s.Height > 1 {
		c = append(c, "1")
	}
	if s.Underline {
		c = append(c, "4")
	}
	if s.Invert {
		c = append(c, "7")
	}
	if s.Red {
		c = append(c, "31")
	}
	return strings.Join(c, ";")
}
