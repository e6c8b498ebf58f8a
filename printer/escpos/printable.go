package escpos

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
)

// Printable replaces in s what cannot come out. A letter of the printer's own, of one
// of its code pages or two bytes long, stays; so does its typewritten likeness (straight
// quotes for curly ones). The rest depends on what the printer can do:
//
//   - where dots are possible, everything that a font has stays, and the line it stands on
//     will be drawn; what no font has becomes its Unicode name in brackets;
//   - where they are not, it is written as nearly as the printer's letters allow: without
//     its accents, transliterated between tildes (~Gong Bao Ji Ding~: a cook sees that this is
//     not how the dish is written), or as its name in brackets.
//
// Never as a question mark, which would say nothing.
//
// A replacement may be longer than what it replaces, so lines must be composed from the
// answer: give this function to layout.Options.Printable. What layout.Width measures of the
// answer is what it takes on paper, and PrintableWith gives back its own answers
// unchanged.
func Printable(s string, o Options) string {
	t := charsetOf(o)
	return t.printable(s)
}

// charset are what a printer sets text with.
type charset struct {
	pages   []page
	twoByte *twoByte
	drawer  *raster.Drawer // nil where nothing is drawn as dots
}

func charsetOf(o Options) charset {
	t := charset{pages: pages(o.Profile), twoByte: twoByteOf(o.Profile.TwoByte)}
	if o.Profile.Raster != profile.NoRaster {
		t.drawer = o.Drawer
	}
	return t
}

func (t *charset) has(r rune) bool {
	if isASCII(r) {
		return true
	}
	if _, _, ok := findInPages(t.pages, -1, r); ok {
		return true
	}
	_, _, ok := t.twoByte.letter(r)
	return ok
}

func (t *charset) hasAll(s string) bool {
	for _, r := range s {
		if !t.has(r) {
			return false
		}
	}
	return true
}

func (t *charset) printable(s string) string {
	if t.hasAll(s) { // so it commands nothing, and nothing in it joins
		return s
	}
	// What replaces one rune may join the next one: after 👍 and its own accent have
	// become [thumbs up sign] and an accent, that accent is the bracket's. So it is done again
	// until nothing changes; twice is enough for any text that means something.
	for range 8 {
		next := t.printableOnce(s)
		if next == s {
			return s
		}
		s = next
	}
	// Somebody has found one that never rests. Plain ASCII does.
	return (&charset{}).transcribe(s)
}

func (t *charset) printableOnce(s string) string {
	s = normalize(s)
	if t.drawer == nil {
		return t.transcribe(s)
	}
	s = t.plainPunctuation(s)
	if t.hasAll(s) {
		return s
	}
	return t.drawable(s)
}

// normalize is s without anything that commands, and with each letter and its accents in
// one piece where Unicode has that.
func normalize(s string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Variation_Selector, r) { // which only chooses the look of the rune before it
			return -1
		}
		return r
	}, layout.Clean(s)))
}

// plainForms is s with quotes, dashes and dots that the printer lacks as people type
// them, and so with fractions: drawn in one column, ⅓ cannot be read.
func (t *charset) plainPunctuation(s string) string {
	var b strings.Builder
	var last rune // fractionEnd after a fraction
	for _, r := range s {
		if part := fraction(r); part != "" && !t.has(r) {
			if isDigit(last) || last == fractionEnd {
				b.WriteByte(' ')
			}
			b.WriteString(part)
			last = fractionEnd
			continue
		}
		if last == fractionEnd && isDigit(r) {
			b.WriteByte(' ') // 2⅓5 is not 2 1/35
		}
		if like := plainForms[r]; like != "" && !t.has(r) && t.hasAll(like) {
			b.WriteString(like)
		} else {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// fraction is a fraction in one letter as people type it, or "".
func fraction(r rune) string {
	if r < 0xbc || !unicode.Is(unicode.No, r) {
		return ""
	}
	whole, part, ok := strings.Cut(norm.NFKD.String(string(r)), "⁄")
	if !ok || part == "" {
		return ""
	}
	return whole + "/" + part
}

// drawable is s as the drawer can draw it.
func (t *charset) drawable(s string) string {
	s = strings.Map(func(r rune) rune {
		// Every printer has these, not every font. Their names would say less.
		if r >= 0x2500 && r <= 0x257f && t.drawer.Printable(string(r)) != string(r) {
			return boxDrawingASCII(r)
		}
		return r
	}, s)
	return t.drawer.Printable(s)
}

// boxDrawingASCII is a piece of a frame as people type it.
func boxDrawingASCII(r rune) rune {
	switch r {
	case '─', '━', '═', '╌', '╍', '┄', '┅', '┈', '┉', '╴', '╶', '╸', '╺', '╼', '╾':
		return '-'
	case '│', '┃', '║', '╎', '╏', '┆', '┇', '┊', '┋', '╵', '╷', '╹', '╻', '╽', '╿':
		return '|'
	}
	return '+'
}
