package escpos

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mozillazg/go-unidecode"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/runenames"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
)

// Printable replaces the characters in s that the printer cannot print. Characters in one of its code pages or its
// two-byte character set stay. If it prints images, every character that a font has stays too: its line will be drawn.
// The rest is replaced:
//
//   - A word of which a letter is lacking is transliterated as a whole, because a word half in its own letters is
//     unreadable. If it is not Latin, it stands between tildes (~Gong Bao Ji Ding~), which show the cook that the dish
//     is written differently.
//   - Digits and fractions keep their value, signs become similar ones, and emoji their names in brackets.
//
// It never becomes a question mark, which would say nothing.
//
// A replacement may be longer than the original, so lines must be composed from the result: pass
// this function as layout.Options.Printable. The result takes as many columns on paper as
// layout.Width measures, and Printable returns its own results unchanged.
func Printable(s string, o Options) string {
	chars := charsetOf(o)
	return chars.printable(s)
}

// A charset has a printer's means to print characters.
type charset struct {
	pages   []page
	twoByte *twoByte
	drawer  *raster.Drawer // nil if nothing is drawn
}

func charsetOf(o Options) charset {
	chars := charset{pages: pages(o.Profile)}
	if o.Profile.TwoByte == profile.GB18030 {
		chars.twoByte = &twoByte{simplifiedchinese.GB18030.NewEncoder()}
	}
	if o.Profile.Raster != profile.NoRaster {
		chars.drawer = o.Drawer
	}
	return chars
}

// has reports whether the printer's own characters include r.
func (t *charset) has(r rune) bool {
	if isASCII(r) { // first, because most text is ASCII and no page has it
		return true
	}
	_, _, inPage := findInPages(t.pages, -1, r)
	return inPage || t.twoByte.letter(r) != nil
}

func (t *charset) hasAll(s string) bool { return all(s, t.has) }

func all(s string, has func(rune) bool) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !has(r) })
}

// printable is the method behind [Printable].
func (t *charset) printable(s string) string {
	// A replacement may combine with the next character: after 👍 with an accent has become [thumbs up
	// sign] and the accent, the accent belongs to the bracket. So repeat until nothing changes; two
	// rounds are enough for any text that means something.

	for range 8 {
		if t.hasAll(s) { // then it holds neither control characters nor combining marks
			return s
		}

		next := t.printableOnce(s)
		if next == s {
			return s
		}
		s = next
	}

	// The text changes in every round, which no real text does. Plain ASCII is stable.
	return replaceWhere(s, isASCII)
}

// printableOnce is one round of printable.
func (t *charset) printableOnce(s string) string {
	s = nameEmoji(normalize(s))
	if t.drawer == nil {
		return replaceWhere(s, t.has)
	}

	// Quotes and dashes need no image, and a fraction that is drawn one column wide cannot be read.
	plain := replaceWhere(s, func(r rune) bool {
		return t.has(r) || (r < 0x2010 || r > 0x203a) && fraction(r) == ""
	})

	if t.hasAll(plain) {
		return plain
	}
	return t.drawable(plain)
}

// drawable returns s as the drawer can draw it.
func (t *charset) drawable(s string) string { return replaceWhere(s, t.draws) }

// draws reports whether r is drawn. An emoji is named instead, because [hot pepper] can be read from across the kitchen
// and a pepper 24 dots high cannot; a mathematical letter, which people type for its look, becomes an ordinary one.
func (t *charset) draws(r rune) bool {
	if isASCII(r) {
		return true
	}
	mathematical := r >= 0x1d400 && r <= 0x1d7ff
	return !isEmoji(r) && !mathematical && r != unicode.ReplacementChar && normalize(string(r)) == string(r) &&
		t.drawer.Has(r)
}

// normalize returns s without control characters, with each letter and its accents composed where
// Unicode has a composed form.
func normalize(s string) string {
	s = norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Variation_Selector, r) { // only selects how the character before it looks
			return -1
		}
		return r
	}, layout.Clean(s)))
	return micro.Replace(s)
}

// micro has the sign for the letter in units: as a letter, 5 μl would become 5 ml.
var micro = strings.NewReplacer("μl", "µl", "μL", "µL", "μg", "µg", "μm", "µm")

// replaceWhere returns s with only characters that the printer has, see [Printable].
func replaceWhere(s string, has func(rune) bool) string {
	writer := replacer{has: has}

	for s != "" {
		length := wordLength(s)
		if word := s[:length]; length == 0 {
			first, size := utf8.DecodeRuneInString(s)
			writer.sign(first)
			length = size
		} else if plain := norm.NFKC.String(word); all(word, has) {
			writer.put(word)
		} else if similar := lookalikes.Replace(plain); all(similar, has) {
			writer.put(similar)
		} else {
			writer.transliterate(plain)
		}

		s = s[length:]
	}
	return writer.String()
}

// lookalikes are the Ukrainian letters that CP866 lacks: half of the words have one.
var lookalikes = strings.NewReplacer("і", "i", "І", "I", "ґ", "г", "Ґ", "Г")

// wordLength is how many bytes of s are one word: letters and marks. A character that is two columns wide is a word of
// its own, because it can be read alone.
func wordLength(s string) (n int) {
	wide := false

	for i, r := range s {
		mark := unicode.Is(unicode.M, r)
		isWide := layout.Width(string(r)) > 1
		if !mark && (!unicode.IsLetter(r) || i > 0 && (wide || isWide)) {
			return n
		}
		wide, n = wide || isWide, i+utf8.RuneLen(r)
	}
	return n
}

type replacer struct {
	strings.Builder
	has  func(rune) bool
	last rune // last character written; fractionEnd after a fraction
	// Where the last transliterated word ended, behind its tilde, and whether in a Chinese character.
	tilde int
	han   bool
}

// fractionEnd is the value of last after a fraction written as several characters.
const fractionEnd = -1

func (w *replacer) put(s string) {
	w.WriteString(s)
	w.last, _ = utf8.DecodeLastRuneInString(s)
}

// transliterate writes a word in ASCII letters. Words that follow each other share a pair of tildes.
func (w *replacer) transliterate(word string) {
	ascii := ""
	for _, r := range letters.Replace(word) {
		switch s := decoded(r); {
		case s != "":
			ascii += s
		case !unicode.Is(unicode.M, r):
			ascii += bracketedName(r)
		}
	}

	ascii = strings.TrimSpace(ascii)
	first, _ := utf8.DecodeRuneInString(word)
	latin := all(word, func(r rune) bool {
		return r != 'ー' && unicode.In(r, unicode.Latin, unicode.Inherited, unicode.Common)
	})

	wasHan := w.han
	w.han = unicode.Is(unicode.Han, first)

	switch text := w.String(); {
	case ascii == "":
		for _, r := range word {
			w.put(bracketedName(r))
		}
	case latin || ascii[0] == '[':
		w.put(ascii)
	case w.tilde > 0 && strings.TrimRight(text[w.tilde:], " ") == "":
		between := ""
		if len(text) > w.tilde || w.han || wasHan { // each Chinese character is a syllable of its own
			between = " "
		}
		w.Reset()
		w.put(text[:w.tilde-1] + between + ascii + "~")
		w.tilde = w.Len()
	default:
		w.put("~" + ascii + "~")
		w.tilde = w.Len()
	}
}

// letters are those that unidecode leaves out, so that dishes would become each other: كباب (a kebab) and كبب
// (dumplings) are both kbb without the alef. The last two are Thai and Lao, as NFKC has taken them apart.
var letters = strings.NewReplacer("ا", "a", "إ", "a", "ى", "a", "ة", "ah", "ء", "'", "ー", "-", "ৎ", "t",
	"ൺ", "n", "ൻ", "n", "ർ", "r", "ൽ", "l", "ൾ", "l", "ൿ", "k", "\u0e4d\u0e32", "\u0e33", "\u0ecd\u0eb2", "\u0eb3")

// decoded is r in ASCII; "" if go-unidecode has none.
func decoded(r rune) string {
	text := unidecode.Unidecode(string(r))
	if strings.ContainsAny(text, "?~") || !all(text, isASCII) { // an unknown letter
		return ""
	}
	return text
}

// sign writes a character that is no letter, so that no number changes its value.
func (w *replacer) sign(r rune) {
	parts := norm.NFKC.String(string(r))

	switch part := fraction(r); {
	case w.has(r):
		if w.last == fractionEnd && isDigit(r) { // 2⅓5 is not 2 1/35
			w.put(" ")
		}
		w.put(string(r))
	case unicode.IsSpace(r):
		w.put(" ")
	case part != "":
		if isDigit(w.last) || w.last == fractionEnd { // 2⅓ is not 21/3
			w.put(" ")
		}
		w.put(part)
		w.last = fractionEnd
	case unicode.Is(unicode.No, r) && all(parts, isDigit): // 10⁴ is not 104
		w.put("(" + parts + ")")
	case parts != string(r) && all(parts, w.has):
		w.put(parts)
	case r == unicode.ReplacementChar && w.has('■'):
		w.put("■")
	case strings.TrimSpace(decoded(r)) != "":
		w.put(decoded(r))
	default:
		w.put(bracketedName(r))
	}
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

// bracketedName returns the name of r in brackets, because a cook can read that.
func bracketedName(r rune) string {
	if r == unicode.ReplacementChar {
		return "[U+FFFD]"
	}
	return "[" + nameOf(r, 40) + "]"
}

// nameOf returns the Unicode name of r, or its number if it has none of so many letters.
func nameOf(r rune, most int) string {
	if name := runenames.Name(r); name != "" && name[0] != '<' && len(name) <= most {
		return strings.ToLower(name)
	}
	return fmt.Sprintf("U+%04X", r)
}
