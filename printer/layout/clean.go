package layout

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Clean makes a string from the service safe to show on a printer, in a terminal or on
// a page: one line, with nothing in it that commands or hides. Control characters and
// broken UTF-8 become U+FFFD, which is visible; line breaks, tabs and everything that has no
// width of its own (byte-order marks, joiners, changes of writing direction) become a
// space. Clean gives back its own answers unchanged.
func Clean(s string) string { return strings.Map(cleanRune, s) } // broken UTF-8 arrives as U+FFFD

func cleanRune(r rune) rune {
	switch {
	case r >= 0x20 && r < 0x7f:
		return r
	case r == '\t' || r == '\n' || r == '\v' || r == '\f' || r == '\r' || r == 0x85:
		return ' '
	case unicode.Is(unicode.Cc, r):
		return unicode.ReplacementChar
	// Cf is the formatting characters, bidirectional overrides among them; Zl and Zp are
	// line and paragraph separators. The fillers are letters that show nothing.
	case unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp), isFiller(r):
		return ' '
	}
	return r
}

func isFiller(r rune) bool {
	return r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x2800 || r == 0x034f || r == 0x17b4 || r == 0x17b5
}

// normalize is s cleaned, the way a person would have typed it: an accent is one with its
// letter, so that a word prints alike whoever wrote it, and what only helps software to
// join or part the letters of one word leaves no gap in it.
func normalize(s string) string {
	// What norm puts into a tower of accents to keep it short is not ours to print.
	return strings.ReplaceAll(norm.NFC.String(Clean(dropJoiners(s))), "\u034f", "")
}

// dropJoiners leaves out soft hyphens and joiners. A non-joiner parts the words of Persian,
// where [Clean] makes it a space, but not the letters of an Indic word, where it follows
// a vowel killer.
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
