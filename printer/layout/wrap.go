package layout

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// A paragraph is text that goes on over as many lines as it needs.
type paragraph struct {
	mark   Span   // at the left edge of every line, "" for none: says VOID, so no line is without it
	indent int    // columns before the label
	label  []Span // before the first line; the lines that follow stand below the text, not the label
	text   string // as [composer.text] gives it
	style  Style
	fill   bool // the rest of each line in the style too: a bar from edge to edge
}

const minLettersPerLine = 8 // printable that a line of wide text must have room for

// flow prints a paragraph.
func (c *composer) flow(p paragraph) {
	room := c.columns - Width(p.mark.Text)*p.mark.widthFactor()
	p.indent = min(p.indent, c.columns/3)
	room -= p.indent
	label := Line{Spans: p.label}.Width()
	if label > room/2 { // a number of a hundred digits is text like any other
		p.text = strings.TrimSpace(spanText(p.label) + p.text)
		p.label, label = nil, 0
	}
	room -= label
	for p.style.Width > 1 && room/p.style.Width < minLettersPerLine {
		p.style.Width-- // one syllable a line reads worse than small letters
	}
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
		l.space((widestLine-Width(s))*p.style.widthFactor(), p.style) // such lines begin below each other on the right
		l.Spans = append(l.Spans, Span{Text: s, Style: p.style, Direction: direction})
		if p.fill {
			l.space(c.columns-l.Width(), p.style)
		}
		c.add(l)
	}
}

// space adds n columns of nothing, which in an inverted line is black.
func (l *Line) space(n int, s Style) {
	if n > 0 {
		s.Width = 1
		l.Spans = append(l.Spans, Span{Text: spaces(n), Style: s})
	}
}

func spaces(n int) string { return strings.Repeat(" ", n) }

func spanText(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// wrap breaks text, whose words are parted by single spaces, into lines of at most
// room columns (at least 2). Only a word longer than a line is broken: where its script
// puts no spaces, as Chinese and Japanese do, else between two characters as people count
// them. Text is never lost; no text is one empty line.
func wrap(text string, room int) []string {
	if Width(text) <= room {
		return []string{text}
	}
	var lines []string
	line, width := 0, 0 // where the current line starts, and how wide it is
	pos := 0
	for pos < len(text) {
		end := pos + wordLength(text[pos:])
		word := text[pos:end]
		w := Width(word)
		switch {
		case pos == line && w <= room: // first on its line
			width = w
		case pos > line && width+1+w <= room:
			width += 1 + w
		default:
			if pos > line {
				head := text[line : pos-1]
				if n, taken := breakWithoutHyphen(word, room-width-1); w > room && n > 0 {
					head, word, w = text[line:pos+n], word[n:], w-taken
				}
				lines = append(lines, head)
			}
			for w > room {
				n, taken := breakWithoutHyphen(word, room)
				if n == 0 {
					n, taken = fittingPrefix(word, room)
				}
				lines = append(lines, word[:n])
				word = word[n:]
				w -= taken // not measured anew: a word may be a megabyte long
			}
			line, width = end-len(word), w
		}
		pos = end + 1 // over the space
	}
	return append(lines, text[line:])
}

func wordLength(s string) int {
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return i
	}
	return len(s)
}

// fittingPrefix is how many bytes of word fit into room, and how wide they are: whole
// characters with all their marks, one at least. Only a character with more marks than a line
// holds, which no language has, is parted from some of them.
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
