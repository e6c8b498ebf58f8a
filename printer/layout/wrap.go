package layout

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// A paragraph is text that continues over as many lines as it needs.
type paragraph struct {
	mark   Span   // at the left edge of every line; VOID, so that no line is without it
	indent int    // columns before the label
	label  []Span // before the first line; further lines begin below the text, not below the label
	text   string // as returned by [composer.text]
	style  Style
	fill   bool // continue the style to the right edge: a bar across the paper
}

// flow prints a paragraph.
func (c *composer) flow(p paragraph) {
	room := c.columns - Width(p.mark.Text)*p.mark.widthFactor()
	p.indent = min(p.indent, c.columns/3)
	room -= p.indent
	label := Line{Spans: p.label}.Width()
	if label > room/2 { // a label this wide (a quantity of a hundred digits) wraps with the text
		p.text = strings.TrimSpace(spanText(p.label) + p.text)
		p.label, label = nil, 0
	}
	room -= label
	// A label or an indent may leave too few columns for wide letters.
	p.style = p.style.narrowed("", room)
	// Only right-to-left text needs the width of its widest line: its lines end at the same column.
	direction, widestLine := FirstStrong, 0
	lines := wrap(p.text, room/p.style.widthFactor())
	if len(lines) > 1 {
		if direction = directionOf(p.text); direction == RightToLeft {
			for _, s := range lines {
				widestLine = max(widestLine, Width(s))
			}
		}
	}
	for i, s := range lines {
		var l Line
		if p.mark.Text != "" {
			l.Spans = append(l.Spans, p.mark)
		}
		pad := p.indent
		if i > 0 {
			pad += label
		}
		l.space(pad, p.style)
		if i == 0 {
			l.Spans = append(l.Spans, p.label...)
		}
		// right-to-left lines begin below each other at the right
		l.space((widestLine-Width(s))*p.style.widthFactor(), p.style)
		l.Spans = append(l.Spans, Span{Text: s, Style: p.style, Direction: direction})
		if p.fill {
			l.space(c.columns-l.Width(), p.style)
		}
		c.add(l)
	}
}

// space adds n blank columns. In an inverted line they are black.
func (l *Line) space(n int, s Style) {
	if n > 0 {
		s.Width = 1
		l.Spans = append(l.Spans, Span{Text: spaces(n), Style: s})
	}
}

func spaces(n int) string { return strings.Repeat(" ", n) }

// spanText returns the text of spans without their styles.
func spanText(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// wrap breaks text, whose words are separated by single spaces, into lines of at most room columns
// (room is at least 2). Only a word longer than a line is broken: where its script allows it, as
// Chinese and Japanese do, else between two user-perceived characters. No text is lost; empty text
// is one empty line. It takes time linear in the length of the text, because a single name may have
// a megabyte.
func wrap(text string, room int) []string {
	if Width(text) <= room {
		return []string{text}
	}
	var lines []string
	line, width := 0, 0 // byte offset where the current line starts, and its width
	pos := 0
	for pos < len(text) {
		end := pos + wordLength(text[pos:])
		word := text[pos:end]
		w := Width(word)
		switch {
		case pos == line && w <= room: // first word of its line
			width = w
		case pos > line && width+1+w <= room:
			width += 1 + w
		default:
			if pos > line {
				head := text[line : pos-1]
				// A word longer than a line may begin on the current line, if its script can be
				// broken there. Other long words start on a line of their own.
				if n, taken := breakWithoutHyphen(word, room-width-1); w > room && n > 0 {
					head, word, w = text[line:pos+n], word[n:], w-taken
				}
				lines = append(lines, head)
			}
			// Break the word line by line until the rest fits.
			for w > room {
				n, taken := breakWithoutHyphen(word, room)
				if n == 0 {
					n, taken = fittingPrefix(word, room)
				}
				lines = append(lines, word[:n])
				word = word[n:]
				w -= taken // measuring the rest again each time would be quadratic
			}
			line, width = end-len(word), w
		}
		pos = end + 1 // skip the space
	}
	return append(lines, text[line:])
}

func wordLength(s string) int {
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return i
	}
	return len(s)
}

// fittingPrefix returns how many bytes of word fit into room columns, and their width. It keeps
// characters together with their marks and returns at least one. Only a character with more marks
// than a line holds, which no language has, is separated from some of them.
func fittingPrefix(word string, room int) (n, width int) {
	g := displaywidth.StringGraphemes(word)
	for g.Next() {
		w := Width(g.Value())
		if n == 0 && w > room {
			return fittingRunePrefix(g.Value(), room)
		}
		if n > 0 && width+w > room {
			break
		}
		n += len(g.Value())
		width += w
	}
	return n, width
}

// fittingRunePrefix is fittingPrefix for a character too wide for a whole line.
func fittingRunePrefix(s string, room int) (n, width int) {
	for i, r := range s {
		w := displaywidth.Rune(r)
		if i > 0 && width+w > room {
			break
		}
		n = i + utf8.RuneLen(r)
		width += w
	}
	return n, width
}
