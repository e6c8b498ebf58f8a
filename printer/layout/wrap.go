package layout

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// A paragraph is text that continues over as many lines as it needs.
type paragraph struct {
	mark   Span   // at the left edge of every line; VOID, so that no line is without it
	indent int    // columns before the label
	label  []Span // before the first line; further lines begin below the text, not below the label
	text   string // as returned by [composer.text] or [composer.cookText]
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
		p.text = strings.TrimSpace(Line{Spans: p.label}.Text() + p.text)
		p.label, label = nil, 0
	}

	room -= label
	if c.alarm {
		p.style.Height = max(p.style.Height, 2)
	}

	p.style = p.style.legible(p.text).narrowed(p.text, room)
	if c.alarm && Width(p.text)*p.style.widthFactor() > 2*room {
		p.style.Width = 1 // a sentence is read faster in two lines than one word a line
	}
	p.mark.Height = max(p.mark.Height, p.style.Height)
	for i, l := range p.label {
		// It is as tall as the text, and not wider: else the quantity of a modifier would look like an item's.
		if l.Height < p.style.Height {
			p.label[i].Width, p.label[i].Height = min(l.Width, p.style.Width), p.style.Height
		}
	}
	room += label
	label = Line{Spans: p.label}.Width()
	room -= label

	// Only right-to-left text needs the width of its widest line: its lines end at the same column.
	direction, widestLine := FirstStrong, 0
	lines := wrap(p.text, room/p.style.widthFactor())
	if len(lines) > 1 {
		if direction = DirectionOf(p.text); direction == RightToLeft {
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

// wrap breaks text, whose words are separated by single spaces, into lines of at most room columns
// (room is at least 2). Only a word longer than a line is broken: behind a hyphen, at a soft hyphen, behind the comma
// of a JSON object or where its script allows it, as Chinese and Japanese do, else between two user-perceived
// characters. No text is lost; empty text is one empty line. It takes time linear in the length of the text, because a
// single name may have a megabyte.
func wrap(text string, room int) []string {
	if Width(text) <= room {
		return []string{showHyphen(text)}
	}

	var lines []string
	line, width := 0, 0 // byte offset where the current line starts, and its width
	pos := 0

	for pos < len(text) {
		word, _, _ := strings.Cut(text[pos:], " ")
		end, wide := pos+len(word), Width(word)

		switch {
		case pos == line && wide <= room: // first word of its line
			width = wide
		case pos > line && width+1+wide <= room:
			width += 1 + wide
		default:
			if pos > line {
				head := text[line : pos-1]
				// A word longer than a line may begin on the current line, if its script can be
				// broken there. Other long words start on a line of their own.
				if fits, taken := breakInside(word, room-width-1); wide > room && fits > 0 {
					head, word, wide = text[line:pos+fits], word[fits:], wide-taken
				}
				lines = append(lines, showHyphen(head))
			}
			// Break the word line by line until the rest fits.
			for wide > room {
				fits, taken := breakInside(word, room)
				part := word[:fits]
				if fits == 0 {
					fits, taken = fittingPrefix(word, room)
					part = strings.TrimRight(word[:fits], softHyphen)
				}
				lines = append(lines, showHyphen(part))
				word = word[fits:]
				wide -= taken // measuring the rest again each time would be quadratic
			}
			line, width = end-len(word), wide
		}

		pos = end + 1 // skip the space
	}
	return append(lines, showHyphen(text[line:]))
}

// softHyphen marks where a word may be broken. It shows only where it is.
const softHyphen = "\u00ad"

// showHyphen returns a line with a hyphen if it ends at a soft one, and without those inside it.
func showHyphen(line string) string {
	if head, ok := strings.CutSuffix(line, softHyphen); ok {
		line = head + "-"
	}
	return strings.ReplaceAll(line, softHyphen, "")
}

// fittingPrefix returns how many bytes of word fit into room columns, and their width. It keeps
// characters together with their marks and returns at least one. Only a character with more marks
// than a line holds, which no language has, is separated from some of them.
func fittingPrefix(word string, room int) (n, width int) {
	graphemes := displaywidth.StringGraphemes(word)
	for graphemes.Next() {
		wide := Width(graphemes.Value())
		if n == 0 && wide > room {
			return fittingRunePrefix(graphemes.Value(), room)
		}
		if n > 0 && width+wide > room {
			break
		}
		n += len(graphemes.Value())
		width += wide
	}
	return n, width
}

// fittingRunePrefix is fittingPrefix for a character too wide for a whole line.
func fittingRunePrefix(s string, room int) (n, width int) {
	for i, r := range s {
		wide := displaywidth.Rune(r)
		if i > 0 && width+wide > room {
			break
		}
		n = i + utf8.RuneLen(r)
		width += wide
	}
	return n, width
}

// breakInside returns how many bytes of word fit into room columns up to a place where the
// word may be broken, and their width; 0 if there is no such place.
func breakInside(word string, room int) (n, width int) {
	before, wide := rune(0), 0
	for i, r := range word {
		if canBreakBetween(before, r) && wide+hyphenWidth(before) <= room {
			n, width = i, wide
		}
		if wide += displaywidth.Rune(r); wide > room {
			return n, width
		}
		before = r
	}
	return n, width
}

// hyphenWidth is the width of the hyphen that shows if a line ends with r.
func hyphenWidth(r rune) int {
	if string(r) == softHyphen {
		return 1
	}
	return 0
}

// canBreakBetween reports whether a line may end after a and the next line begin with b.
//
// Beside Han and kana it may, except before closing punctuation and small kana and after opening
// punctuation (the kinsoku rules of Japanese typesetting). Thai and Lao words are separated by
// neither spaces nor marks, and only a dictionary finds them; before the vowels that begin a
// syllable is the best guess without one.
func canBreakBetween(a, b rune) bool {
	if b >= 0x0e40 && b <= 0x0e44 || b >= 0x0ec0 && b <= 0x0ec4 {
		return a >= 0x0e01 && a <= 0x0eff && (a < 0x0e40 || a > 0x0e44) && (a < 0x0ec0 || a > 0x0ec4)
	}

	if a == '-' || string(a) == softHyphen {
		return unicode.IsLetter(b)
	}

	if a == ',' { // JSON that prints as it came has no spaces
		return strings.ContainsRune(`"{[`, b)
	}
	return (isEastAsian(a) || isEastAsian(b)) && displaywidth.Rune(b) > 0 &&
		!strings.ContainsRune("、。，．・：；？！ー々〻ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ）］｝」』】〉》〕”’)]},.:;!?%…", b) &&
		!strings.ContainsRune("（［｛「『【〈《〔“‘([{$€£¥￥＄#", a)
}

// isEastAsian reports whether r belongs to the scripts that are written without spaces between
// words.
func isEastAsian(r rune) bool {
	return r >= 0x2e80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) ||
		strings.ContainsRune("ー、。，．・！？）」』】》", r))
}

// widestWord returns the width of the widest part of s that should stay in one piece: a word, with the mark before it
// such as [NO] or [selected: false], because the word alone would be read as an order.
func widestWord(s string) int {
	most, wide := 0, 0

	before, inMark := ' ', false
	for _, r := range s {
		inMark = r == '[' || inMark && before != ']'
		marked := r == ' ' && (before == ']' || inMark && before == ':')
		if r == ' ' && !marked || canBreakBetween(before, r) {
			most, wide = max(most, wide+hyphenWidth(before)), 0
		}
		if r != ' ' || marked {
			wide += displaywidth.Rune(r)
			most = max(most, wide)
		}
		before = r
	}
	return most
}

// Size is a multiple of the normal width and height, 1 to 8 each; 0 is 1 if the other is not 0. The
// zero Size is the default of its option.
type Size struct{ Width, Height int }

func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Width, s.Height) }

// UnmarshalText parses a size such as 2x2: width, then height.
func (s *Size) UnmarshalText(b []byte) error {
	match := regexp.MustCompile(`^([1-8])x([1-8])$`).FindSubmatch(b)
	if match == nil {
		return fmt.Errorf("%.80q is not a size of letters; write width and height as 2x2, 1x1 to 8x8", b)
	}
	*s = Size{int(match[1][0] - '0'), int(match[2][0] - '0')}
	return nil
}

// sized returns the style of text of size s, which is limited by the printer.
func (c *composer) sized(s, byDefault Size) Style {
	if s == (Size{}) {
		s = byDefault
	}

	most := 8
	if c.MaxSize > 0 {
		most = min(c.MaxSize, most)
	}
	return Style{Bold: true, Width: min(max(s.Width, 1), most), Height: min(max(s.Height, 1), most)}
}

// minLettersPerLine is how many letters a line of wide text must have room for. With fewer, most
// words break, and one syllable a line reads worse than narrow letters.
const minLettersPerLine = 8

// narrowed returns s, narrow enough for each word of text to stay in one piece in so many columns. It becomes tall
// instead of wide and low: an order must not be the smallest text on the paper because of one long word.
func (s Style) narrowed(text string, room int) Style {
	word := max(widestWord(text), minLettersPerLine)
	for s.Width > 1 && s.Width*word > room {
		s.Width, s.Height = s.Width-1, max(s.Height, 2)
	}
	return s
}

// legible returns s, tall instead of wide if text has letters that cannot be read when they are wide and low: the
// letters of Thai, Han and all other scripts with more strokes or marks than Latin.
func (s Style) legible(text string) Style {
	plain := func(r rune) bool {
		return !unicode.IsLetter(r) || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
	}

	if s.Height < s.Width && strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		s.Width, s.Height = s.Height, s.Width
	}
	return s
}
