package layout

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// Clean makes a string from the service safe to show on a printer, in a terminal or on a page: one
// line without anything that acts as a command or hides text. Control characters and invalid UTF-8
// become U+FFFD, which is visible. Line breaks, tabs and characters without a width of their own
// (byte-order marks, joiners, changes of direction) become spaces. Clean returns its own results
// unchanged.
func Clean(s string) string { return strings.Map(cleanRune, s) } // Map decodes invalid UTF-8 as U+FFFD

// cleanRune returns a character as Clean shows it. ASCII comes first because most text is ASCII.
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

// OneLine makes a string from the service safe to show on a screen: one line without control characters,
// see [Clean], and without space at its ends. Unlike on paper, joiners within a word stay: a screen can
// render them, and words of many languages are misspelt without them.
func OneLine(s string) string {
	return strings.Join(strings.Fields(cleanButJoiners(s)), " ")
}

// cleanButJoiners is [Clean], but it removes soft hyphens and word joiners, and keeps U+200C and U+200D
// (zero width non-joiner and joiner).
func cleanButJoiners(s string) string {
	if !strings.ContainsAny(s, "\u00ad\u200c\u200d\u2060") {
		return Clean(s)
	}

	var b strings.Builder
	start := 0
	for i, r := range s {
		if r != 0xad && r != 0x200c && r != 0x200d && r != 0x2060 {
			continue
		}
		b.WriteString(Clean(s[start:i]))
		start = i + utf8.RuneLen(r)
		if r == 0x200c || r == 0x200d {
			b.WriteRune(r)
		}
	}

	b.WriteString(Clean(s[start:]))
	return b.String()
}

// Notes makes the wishes of guests safe to show on a screen. Each note keeps the line breaks that were
// typed; empty lines and empty notes are left out.
func Notes(in []string) (out []string) {
	for _, s := range in {
		var lines []string
		for l := range strings.FieldsFuncSeq(s, lineBreak) {
			if l = OneLine(l); l != "" {
				lines = append(lines, l)
			}
		}
		if len(lines) > 0 {
			out = append(out, strings.Join(lines, "\n"))
		}
	}
	return out
}

// upperCase writes s in capitals the way people do: ß becomes SS, and i becomes İ in text that
// contains ı, İ or ğ, which only the Turkic languages use. Letters whose capitals no font has
// (Georgian), or whose capital means something else (µ is not a Greek M), stay as they are.
func upperCase(s string) string {
	tag := language.Und
	if strings.ContainsAny(s, "ıİğĞ") {
		tag = language.Turkish
	}
	upper := cases.Upper(tag) // a Caser has state and must not be shared
	return upperCasable.ReplaceAllStringFunc(s, upper.String)
}

// upperCasable matches the text between letters that must stay as they are.
var upperCasable = regexp.MustCompile(`[^µ\x{10d0}-\x{10ff}]+`)

// notes prints notes in the manner of p. The last of them are fields that nothing has read: they are small, so that
// they are not taken for a wish of the guest, unless they name an allergy. A cancelled line has no alarms.
func (c *composer) notes(p paragraph, label string, notes []string, unread int) {
	for i, n := range notes {
		shown, mark, alarm := p, label, p.mark.Text == "" && c.Alarms.Match(n)
		if i >= len(notes)-unread && !alarm {
			shown.style, mark = voidStyle(Style{}, p.fill), ""
		}
		c.alarmIf(alarm, func() { c.note(shown, mark, n) })
	}
}

// note prints the guest's wish in the manner of p, and keeps the line breaks that the waiter typed. The label
// stands for the exclamation marks of the waiter's, which are at the same edge if they end a text from right to left.
func (c *composer) note(p paragraph, label, note string) {
	for s := range strings.FieldsFuncSeq(note, lineBreak) {
		s = c.cookText(s)
		bare := strings.TrimLeft(s, "! ")
		if directionOf(bare) == RightToLeft {
			bare = strings.TrimRight(bare, "! ")
		}
		s = cmp.Or(bare, s)
		if s == "" {
			continue
		}
		p.text, p.label = s, []Span{{Text: label, Style: p.style}}
		c.flow(p)
		label = spaces(len(label))
	}
}

// lineBreak reports whether r ends a line of a note, however the waiter's terminal encodes that.
func lineBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029'
}
