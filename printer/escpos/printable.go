package escpos

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
)

// Printable replaces in s what the printer cannot print. Characters in one of its code pages or its
// two-byte character set stay, and so do their plain forms (straight quotes for curly ones). The
// rest depends on the printer:
//
//   - If it prints images, every character that a font has stays, and its line will be drawn.
//   - If it does not, text is written as closely as the printer's characters allow, without accents.
//
// Words in other letters are transliterated between tildes (~Gong Bao Ji Ding~: the tildes show the cook that the
// dish is written differently), other characters become their Unicode names in brackets.
//
// It never becomes a question mark, which would say nothing.
//
// A replacement may be longer than the original, so lines must be composed from the result: pass
// this function as layout.Options.Printable. The result takes as many columns on paper as
// layout.Width measures, and Printable returns its own results unchanged.
func Printable(s string, o Options) string {
	t := charsetOf(o)
	return t.printable(s)
}

// A charset is what a printer can print characters with.
type charset struct {
	pages   []page
	twoByte *twoByte
	drawer  *raster.Drawer // nil if nothing is drawn
}

func charsetOf(o Options) charset {
	t := charset{pages: pages(o.Profile), twoByte: twoByteOf(o.Profile.TwoByte)}
	if o.Profile.Raster != profile.NoRaster {
		t.drawer = o.Drawer
	}
	return t
}

// has reports whether the printer's own characters include r.
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

// printable is the method behind [Printable].
func (t *charset) printable(s string) string {
	if t.hasAll(s) { // then it holds neither control characters nor combining marks
		return s
	}
	// A replacement may combine with what follows: after 👍 with an accent has become [thumbs up
	// sign] and the accent, the accent belongs to the bracket. So repeat until nothing changes; two
	// rounds are enough for any text that means something.
	for range 8 {
		next := t.printableOnce(s)
		if next == s {
			return s
		}
		s = next
	}
	// The text changes in every round, which no real text does. Plain ASCII is stable.
	return (&charset{}).transcribe(s)
}

// printableOnce is one round of printable.
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

// normalize returns s without control characters, with each letter and its accents composed where
// Unicode has a composed form.
func normalize(s string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Variation_Selector, r) { // only selects how the character before it looks
			return -1
		}
		return r
	}, layout.Clean(s)))
}

// plainPunctuation writes quotes, dashes and dots that the printer lacks in their plain forms, and
// single-character fractions as digits: drawn one column wide, ⅓ cannot be read.
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
			b.WriteByte(' ') // keep 2⅓5 from becoming 2 1/35
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

// fraction returns a single-character fraction as digits with a slash, or "".
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

// drawable returns s as the drawer can draw it.
func (t *charset) drawable(s string) string {
	s = strings.Map(func(r rune) rune {
		// Box-drawing characters are in every code page but not in every font. Their names would say less.
		if r >= 0x2500 && r <= 0x257f && t.drawer.Printable(string(r)) != string(r) {
			return boxDrawingASCII(r)
		}
		return r
	}, s)
	return t.drawer.Printable(t.transliterate(s))
}

// transliterate writes the letters that no font has in ASCII, words in one script between one pair of tildes.
func (t *charset) transliterate(s string) string {
	w := transcriber{charset: t}
	for _, r := range s {
		if len(w.run) > 0 && r == ' ' || t.lacks(r) {
			w.run = append(w.run, r)
			continue
		}
		w.flushRun()
		w.put(string(r))
	}
	w.flushRun()
	return w.String()
}

// lacks reports whether r is a letter or its mark of which the drawer can only tell the name.
func (t *charset) lacks(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M) && !unicode.Is(unicode.Hangul, r) && !t.has(r) &&
		strings.HasPrefix(t.drawer.Printable(string(r)), "[")
}

// boxDrawingASCII returns the ASCII character closest to a box-drawing character.
func boxDrawingASCII(r rune) rune {
	switch r {
	case '─', '━', '═', '╌', '╍', '┄', '┅', '┈', '┉', '╴', '╶', '╸', '╺', '╼', '╾':
		return '-'
	case '│', '┃', '║', '╎', '╏', '┆', '┇', '┊', '┋', '╵', '╷', '╹', '╻', '╽', '╿':
		return '|'
	}
	return '+'
}
