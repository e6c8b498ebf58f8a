package layout

import (
	"cmp"
	_ "embed" // alarms.txt
	"fmt"
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

// OneLine makes a string from the service safe to show on a screen: one line without control characters, see [Clean],
// and without space at its ends. Unlike on paper, U+200C and U+200D (zero width non-joiner and joiner) stay: a screen
// can render them, and words of many languages are misspelt without them.
func OneLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch r {
		case 0x200c, 0x200d:
			return r
		case 0xad, 0x2060: // soft hyphen, word joiner
			return -1
		}
		return cleanRune(r)
	}, s)), " ")
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

// note prints the guest's wish in the manner of p, and keeps the line breaks that the waiter typed. The label replaces
// the waiter's own exclamation marks at the edge where it prints: in a text from right to left that is its end.
func (c *composer) note(p paragraph, label, note string) {
	for s := range strings.FieldsFuncSeq(note, lineBreak) {
		s = c.cookText(s)
		bare := strings.TrimLeft(s, "! ")
		if DirectionOf(bare) == RightToLeft {
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

// Alarms are the words that mark an allergy. A text in which one of them is found prints so that no
// cook overlooks it. Nil finds none. It never changes and is safe for concurrent use.
type Alarms struct{ words, exceptions []string }

// NewAlarms reads the entries of ticket.alarms. Each is a word or a phrase, which is found where a
// word of a text begins with it (allerg in allergic); with * in front, also inside a word
// (Nussallergie). An entry that begins with - is an exception: it is taken out of a text before
// words are searched in it. Case, accents and full width do not count. Chinese, Japanese, Korean
// and the scripts of South-East Asia, which join words, are searched without regard to words.
func NewAlarms(entries []string) *Alarms {
	alarms := &Alarms{}
	for _, e := range entries {
		word, exception := strings.CutPrefix(e, "-")
		to := &alarms.words
		if exception {
			to = &alarms.exceptions
		}
		if word = searched(word); word != "" {
			*to = append(*to, word)
		}
	}

	return alarms
}

//go:embed alarms.txt
var usualAlarms string

// UsualAlarms are the entries of alarms.txt, which says how they were chosen.
func UsualAlarms() (words []string) {
	for line := range strings.Lines(usualAlarms) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			words = append(words, strings.Split(line, ", ")...)
		}
	}
	return words
}

// MaxAlarms is how many entries a list has at most: every line of every ticket is searched for each of them.
const MaxAlarms = 1000

// CheckAlarm says why an entry cannot be found in any text, or "".
func CheckAlarm(entry string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimPrefix(strings.TrimPrefix(entry, "-"), "*"))

	switch {
	case first == utf8.RuneError || !unicode.In(first, unicode.L, unicode.N, unicode.So): // So: emoji
		return fmt.Sprintf("%.80q does not begin with a letter; write a word or a phrase, \"*word\" to find it inside "+
			"words too, or -phrase for an exception", entry)
	case len(entry) > 100:
		return fmt.Sprintf("%.80q… has %d bytes; at most 100 are allowed", entry, len(entry))
	}
	return ""
}

// searched returns an entry as it is searched for in the result of [fold], where a space stands before each word and
// nowhere else. Without that space it is found inside a word too: with *, or if a letter is of a script that joins
// words.
func searched(entry string) string {
	part, inside := strings.CutPrefix(entry, "*")

	part = strings.Trim(fold(part), "\n")
	if inside || strings.ContainsFunc(part, joinsWords) {
		return strings.TrimPrefix(part, " ")
	}
	return part
}

// Match reports whether s has a word that marks an allergy. The time it takes grows with the length
// of s and no faster: s may be a megabyte from the network.
func (a *Alarms) Match(s string) bool {
	if a == nil || len(a.words) == 0 {
		return false
	}

	for line := range strings.FieldsFuncSeq(s, lineBreak) {
		line = fold(line)
		for _, e := range a.exceptions {
			line = strings.ReplaceAll(line, e, "\n")
		}
		for _, w := range a.words {
			if strings.Contains(line, w) {
				return true
			}
		}
	}
	return false
}

// fold returns the words of s in small letters of normal width without accents, each after a space.
// Punctuation becomes a line feed, which no phrase contains: "onion no, allergy" does not say "no
// allergy". But a hyphen or an apostrophe after a letter separates words as a space does: nut-free is
// "nut free", d'allergie is "d allergie".
func fold(s string) string {
	var b strings.Builder
	inWord := false
	for _, r := range norm.NFKD.String(cases.Fold().String(normalize(s))) {
		switch {
		// Accents, and the vowel points of Hebrew and Arabic. The marks of Thai are not among them:
		// they tell an allergy from a goat.
		case unicode.Is(unicode.Mn, r) && unicode.In(r, unicode.Inherited, unicode.Hebrew):
		case unicode.In(r, unicode.L, unicode.M, unicode.N):
			if !inWord {
				b.WriteByte(' ')
			}
			b.WriteRune(r)
			inWord = true
		case unicode.Is(unicode.So, r): // an emoji is a word of its own
			b.WriteString(" " + string(r))
			inWord = false
		case r == ' ' || inWord && (unicode.Is(unicode.Pd, r) || r == '\'' || r == '’'):
			inWord = false
		default:
			b.WriteByte('\n')
			inWord = false
		}
	}

	return b.String()
}

// joinsWords reports whether r is of a script that is written without spaces between words, or, as
// Korean is, with fewer spaces than other languages.
func joinsWords(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}
