package layout

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Clean makes a string from the service safe to show on a printer, in a terminal or on a page: one
// line without anything that acts as a command or hides text. Control characters and invalid UTF-8
// become U+FFFD, which is visible. Line breaks, tabs and characters without a width of their own
// (byte-order marks, joiners, changes of direction) become spaces. Clean returns its own results
// unchanged.
func Clean(s string) string { return strings.Map(cleanRune, s) } // Map decodes invalid UTF-8 as U+FFFD

// cleanRune returns what Clean makes of a character. ASCII comes first because most text is ASCII.
func cleanRune(r rune) rune {
	switch {
	case r >= 0x20 && r < 0x7f:
		return r
	case r == '\t' || r == '\n' || r == '\v' || r == '\f' || r == '\r' || r == 0x85:
		return ' '
	case unicode.Is(unicode.Cc, r):
		return unicode.ReplacementChar
	// Cf are the format characters, among them the bidirectional overrides, which could make a text
	// read as another one. Zl and Zp are line and paragraph separators. Fillers are letters that
	// show nothing.
	case unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp), isFiller(r):
		return ' '
	}
	return r
}

// isFiller reports whether r is a letter or mark that shows nothing: the Hangul fillers, the blank
// Braille pattern, the combining grapheme joiner and two Khmer vowels.
func isFiller(r rune) bool {
	return r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x2800 || r == 0x034f || r == 0x17b4 ||
		r == 0x17b5
}

// normalize cleans s and composes each letter with its accents (NFC), so that a word prints alike
// whichever keyboard it was typed on. Characters that only tell software where to join or break a
// word leave no gap in it.
func normalize(s string) string {
	// NFC inserts U+034F into long runs of accents; it must not print.
	return strings.ReplaceAll(norm.NFC.String(Clean(dropJoiners(s))), "\u034f", "")
}

// dropJoiners removes soft hyphens, word joiners and zero-width joiners. A zero-width non-joiner
// separates words in Persian, where [Clean] makes it a space; after a virama it only chooses the
// shape of an Indic letter, and is removed.
func dropJoiners(s string) string {
	var before rune
	return strings.Map(func(r rune) rune {
		last := before
		before = r
		switch {
		case r == 0xad || r == 0x200d || r == 0x2060, r == 0x200c && unicode.Is(unicode.Mn, last):
			return -1
		}
		return r
	}, s)
}
