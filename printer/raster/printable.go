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

// Printable makes of s what [Drawer.Line] can draw. What no font has becomes, by the first of
// these that is possible: the letters or figures it consists of (𝓟 is P, ㎏ is kg); for a
// Korean syllable, its letters in brackets; its Unicode name in brackets, in lower case. So
// does every emoji, whatever the fonts have: [hot pepper] is read from across the kitchen,
// and a pepper of 24 dots is guessed at. Emoji that belong together are one bracket,
// without colours of skin and of hair.
//
// Line breaks and odd spaces become spaces; other control characters and what shows nothing
// are left out; half a character becomes ■. The answer is in Unicode's form NFC, may be
// longer than s, and is given back unchanged when it is asked for again. No question
// mark is in it that is not in s.
func (d *Drawer) Printable(s string) string {
	if ascii(s) {
		return s
	}
	// What is left out may bring together what then becomes one character, which
	// may be one that no font has.
	for range 4 {
		out := norm.NFC.String(d.printable(norm.NFC.String(strings.ToValidUTF8(s, "■"))))
		if out == s {
			break
		}
		s = out
	}
	return s
}

func (d *Drawer) printable(s string) string {
	w := textBuilder{drawer: d}
	w.Grow(len(s) + 16)
	for len(s) > 0 {
		if name, n := emoji(s); n > 0 {
			w.name(name)
			s = s[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		w.rune(r)
	}
	w.flush()
	return w.String()
}

// A writer writes what can be drawn, and gathers the names of letters that cannot.
type textBuilder struct {
	strings.Builder
	drawer *Drawer
	last   rune     // written last; 0 at the start
	names  []string // of letters in a row that no font has
}

func (w *textBuilder) put(s string) {
	w.flush()
	w.WriteString(s)
	w.last, _ = utf8.DecodeLastRuneInString(s)
}

func (w *textBuilder) name(s string) { w.put("[" + s + "]") }

// flush writes the names of letters that stood together in one bracket.
func (w *textBuilder) flush() {
	if len(w.names) > 0 {
		s := "[" + shortenNames(w.names) + "]"
		w.names = w.names[:0]
		w.WriteString(s)
		w.last = ']'
	}
}

// shortenNames leaves out of names what the one before began with in as many words.
func shortenNames(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
			words := strings.Fields(n)
			before := strings.Fields(names[i-1])
			for len(words) > 1 && len(before) > 1 && words[0] == before[0] {
				words, before = words[1:], before[1:]
			}
			n = strings.Join(words, " ")
		}
		b.WriteString(n)
	}
	return b.String()
}

func (w *textBuilder) rune(r rune) {
	switch {
	case r >= ' ' && r <= '~':
		w.put(string(r))
	case r == unicode.ReplacementChar:
		w.put("■")
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector):
		// Joiners choose the shape of letters where there are several.
		if (r == nonJoiner || r == joiner) && usesJoiners(w.last) {
			w.WriteRune(r)
		}
	case layout.Clean(string(r)) == " ": // line breaks among them, and letters that show nothing
		w.put(" ")
	case unicode.Is(unicode.Cc, r):
	case w.drawer.draws(r):
		w.put(string(r))
	case unicode.In(r, unicode.Mn, unicode.Me) && unicode.Is(unicode.Inherited, r):
		// Its letter is there already, and no font has anything to put on it.
	default:
		w.replace(r)
	}
}

const joiner = '\u200d'

// usesJoiners says that r is a letter of a script whose letters join.
func usesJoiners(r rune) bool {
	return unicode.IsLetter(r) && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian) ||
		r >= 0x900 && r < 0xe00 // the scripts of India
}

// draws says that a font has r, or the letter and the marks it consists of.
func (d *Drawer) draws(r rune) bool {
	return !isEmoji(r) && !isStyledLetter(r) && d.fontFor([]rune{r}) != noFont
}

// isStyledLetter says that r is a letter in another typeface, which people type to stand out.
func isStyledLetter(r rune) bool { return r >= 0x1d400 && r <= 0x1d7ff }

func (w *textBuilder) replace(r rune) {
	parts := norm.NFKC.String(string(r))
	switch {
	case unicode.Is(unicode.Hangul, r) && r >= 0xac00:
		if s := jamo(r); w.drawsAll(s) {
			w.name(s)
			return
		}
	case unicode.Is(unicode.Nd, r):
		w.put(string(Digit(r)))
		return
	case parts == string(r) || strings.ContainsRune(parts, '?') || !w.drawsAll(parts):
	case unicode.Is(unicode.No, r) && parts[0] != '(': // 10⁴ is not 104
		w.put("(" + strings.ReplaceAll(parts, "⁄", "/") + ")")
		return
	default:
		w.put(parts)
		return
	}
	n := nameOf(r)
	if !unicode.In(r, unicode.L, unicode.M) {
		w.name(n)
		return
	}
	if len(w.names) > 0 && !sameScript(w.names[0], n) {
		w.flush()
	}
	w.names = append(w.names, n)
}

// sameScript compares the words with which Unicode's names begin.
func sameScript(a, b string) bool {
	a, _, _ = strings.Cut(a, " ")
	b, _, _ = strings.Cut(b, " ")
	return a == b
}

func (w *textBuilder) drawsAll(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' && !w.drawer.draws(r) {
			return false
		}
	}
	return s != ""
}

// Digit is the decimal figure r, of any script, as the world writes it: 0 to 9.
func Digit(r rune) rune {
	if r >= 0x1d7ce && r <= 0x1d7ff { // five kinds of mathematical ones, with nothing between
		return '0' + (r-0x1d7ce)%10
	}
	n := rune(0)
	for n < 9 && unicode.Is(unicode.Nd, r-n-1) {
		n++
	}
	return '0' + n
}

// nameOf is the name of r, or its number when it has none.
func nameOf(r rune) string {
	if n := runenames.Name(r); n != "" && n[0] != '<' {
		return strings.ToLower(n)
	}
	return fmt.Sprintf("U+%04X", r)
}

// jamo spells a Korean syllable in the letters that are typed for it.
func jamo(r rune) string {
	const (
		leads  = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
		vowels = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
		tails  = "ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
	)
	i := r - 0xac00
	if i < 0 || i >= 19*21*28 {
		return ""
	}
	s := string([]rune(leads)[i/28/21]) + string([]rune(vowels)[i/28%21])
	if t := i % 28; t > 0 {
		s += string([]rune(tails)[t-1])
	}
	return s
}
