package raster

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/runenames"

	"ticketrail/printer/layout"
)

// Printable replaces the characters in s that [Drawer.Line] cannot draw. A character that no font has becomes the
// first of these that is possible: the letters or digits it consists of (𝓟 is P, ㎏ is kg); for a
// Korean syllable, its letters in brackets; its Unicode name in brackets, in lower case.
//
// Every emoji becomes its name, whatever the fonts have: [hot pepper] can be read from across the
// kitchen, a pepper 24 dots high cannot. Emoji that belong together share a bracket; skin tones and
// hair styles are left out.
//
// Line breaks and unusual spaces become spaces; other control characters and characters that show
// nothing are left out; invalid UTF-8 becomes ■. The result is in Unicode's form NFC, may be longer
// than s, and is stable: Printable returns it unchanged. It contains no question mark that is not
// in s. It has to be stable, because text that went through it is measured, wrapped and drawn as it
// is.
func (d *Drawer) Printable(s string) string {
	// Nearly every text ends here.
	if ascii(s) {
		return s
	}

	// Leaving a character out may bring two others together that compose to one, which may be one
	// that no font has.
	for range 4 {
		out := norm.NFC.String(d.printable(NameEmoji(norm.NFC.String(strings.ToValidUTF8(s, "■")))))
		if out == s {
			break
		}
		s = out
	}
	return s
}

// printable is one round of Printable.
func (d *Drawer) printable(s string) string {
	builder := textBuilder{drawer: d}
	builder.Grow(len(s) + 16)
	for _, r := range s {
		builder.rune(r)
	}
	return builder.String()
}

// A textBuilder collects text that can be drawn.
type textBuilder struct {
	strings.Builder
	drawer *Drawer
	last   rune // last character written; 0 at the start
}

func (w *textBuilder) put(s string) {
	w.WriteString(s)
	w.last, _ = utf8.DecodeLastRuneInString(s)
}

// rune writes one character, or its replacement. The order of the cases matters: ASCII needs no
// font, and format characters must not be named.
func (w *textBuilder) rune(r rune) {
	switch {
	case r >= ' ' && r <= '~':
		w.put(string(r))
	// Not a question mark: that would look like a question of the guest's.
	case r == unicode.ReplacementChar:
		w.put("■")
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector):
		// In these scripts, joiners choose between shapes of a letter.
		if (r == nonJoiner || r == joiner) && usesJoiners(w.last) {
			w.WriteRune(r)
		}
	case layout.Clean(string(r)) == " ": // also line breaks, and letters that show nothing
		w.put(" ")
	case unicode.Is(unicode.Cc, r):
	case w.drawer.draws(r):
		w.put(string(r))
	case unicode.In(r, unicode.Mn, unicode.Me) && unicode.Is(unicode.Inherited, r):
		// The letter is written already; without a font for the mark, leave the mark out.
	default:
		w.replace(r)
	}
}

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// usesJoiners reports whether r is a letter of a script in which joiners matter.
func usesJoiners(r rune) bool {
	return unicode.IsLetter(r) && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian) ||
		r >= 0x900 && r < 0xe00 // Indic scripts
}

// draws reports whether a font has r, or the letter and the marks it consists of.
func (d *Drawer) draws(r rune) bool {
	return !isEmoji(r) && !isStyledLetter(r) && d.fontFor([]rune{r}) != noFont
}

// isStyledLetter reports whether r is a mathematical letter, which people type for its look.
func isStyledLetter(r rune) bool { return r >= 0x1d400 && r <= 0x1d7ff }

// replace writes the replacement of a character that no font has.
func (w *textBuilder) replace(r rune) {
	parts := norm.NFKC.String(string(r))

	switch {
	// A quantity must stay a number, whatever script it was typed in.
	case unicode.Is(unicode.Nd, r):
		w.put(string(Digit(r)))
		return
	case parts == string(r) || strings.ContainsRune(parts, '?') || !w.drawsAll(parts):
	case unicode.Is(unicode.No, r) && parts[0] != '(': // keep 10⁴ from becoming 104
		w.put("(" + strings.ReplaceAll(parts, "⁄", "/") + ")")
		return
	default:
		w.put(parts)
		return
	}

	w.put("[" + nameOf(r) + "]")
}

// drawsAll reports whether every character of s can be drawn; false if s is empty.
func (w *textBuilder) drawsAll(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' && !w.drawer.draws(r) {
			return false
		}
	}
	return s != ""
}

// Digit returns the decimal digit r, of any script, as an ASCII digit. Unicode keeps the digits of
// a script in one run of ten, zero first.
func Digit(r rune) rune {
	if r >= 0x1d7ce && r <= 0x1d7ff { // five consecutive sets of mathematical digits
		return '0' + (r-0x1d7ce)%10
	}

	value := rune(0)
	for value < 9 && unicode.Is(unicode.Nd, r-value-1) {
		value++
	}
	return '0' + value
}

// nameOf returns the Unicode name of r, or its number if it has none.
func nameOf(r rune) string {
	if name := runenames.Name(r); name != "" && name[0] != '<' {
		return strings.ToLower(name)
	}
	return fmt.Sprintf("U+%04X", r)
}
