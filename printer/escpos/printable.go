package escpos

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/runenames"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
)

// Printable replaces in s what the model has no letter for, each time by the first of
// these that it has: the same letter typed otherwise (straight quotes for curly ones),
// the letter without its accents, its name or number in brackets. A cook then sees that
// something stood there, and what; a question mark would say neither.
//
// A replacement may be longer than what it replaces, so lines must be composed from the
// answer: give this function to layout.ComposeFor. In the answer every rune takes one
// column and one byte, and there are no control characters. Printable gives back its own
// answers unchanged.
func Printable(s string, p profile.Profile) string {
	if plain(s) {
		return s
	}
	return printable(s, pages(p))
}

// plain says that every printer has all of s.
func plain(s string) bool {
	for i := range len(s) {
		if !ascii(rune(s[i])) {
			return false
		}
	}
	return true
}

func printable(s string, pp []page) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	w := writer{&b, pp, 0}
	for _, r := range norm.NFC.String(layout.Clean(s)) {
		w.rune(r)
	}
	return b.String()
}

type writer struct {
	*strings.Builder
	pages []page
	last  rune // written last; 0 at the start
}

func (w *writer) put(s string) {
	w.WriteString(s)
	w.last, _ = utf8.DecodeLastRuneInString(s)
}

func (w *writer) has(r rune) bool {
	if ascii(r) {
		return true
	}
	_, _, ok := find(w.pages, -1, r)
	return ok
}

func (w *writer) hasAll(s string) bool {
	for _, r := range s {
		if !w.has(r) {
			return false
		}
	}
	return s != ""
}

func (w *writer) rune(r rune) {
	// A number stays apart from a fraction: 2⅓ is not 21/3.
	if w.last == fractionEnd && r >= '0' && r <= '9' {
		w.put(" ")
	}
	switch s := likeness(r); {
	case w.has(r):
		w.WriteRune(r)
		w.last = r
	case s != "" && w.hasAll(s):
		w.put(s)
	case unicode.IsSpace(r):
		w.put(" ")
	case accent(r):
		// Its letter is there already, and no letter of the model carries it.
	default:
		w.decompose(r)
	}
}

// fractionEnd is what last holds after a fraction that was written in several letters.
const fractionEnd = -1

// decompose writes what r is made of, in such a way that no number changes its value.
func (w *writer) decompose(r rune) {
	parts := strings.ReplaceAll(norm.NFKD.String(string(r)), "⁄", "/")
	parts = strings.Map(func(r rune) rune {
		if accent(r) {
			return -1
		}
		return r
	}, parts)
	if d, ok := digit(r); ok {
		parts = string(d)
	}
	changed := parts != string(r) && w.hasAll(parts)
	switch {
	case changed && strings.Contains(parts, "/") && unicode.Is(unicode.No, r):
		if w.last >= '0' && w.last <= '9' {
			w.WriteByte(' ')
		}
		w.WriteString(parts)
		w.last = fractionEnd
	case changed && unicode.Is(unicode.No, r) && parts[0] != '(':
		w.put("(" + parts + ")") // 10⁴ is not 104
	case changed:
		w.put(parts)
	default:
		w.put(bracketed(r))
	}
}

// digit is the value of a decimal digit of any script.
func digit(r rune) (rune, bool) {
	if !unicode.Is(unicode.Nd, r) || r >= 0x1d7ce { // mathematical digits decompose
		return 0, false
	}
	n := rune(0)
	for n < 9 && unicode.Is(unicode.Nd, r-n-1) {
		n++
	}
	return '0' + n, true
}

// accent says that r only changes the letter before it, in a script whose letters can
// do without.
func accent(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) && unicode.Is(unicode.Inherited, r)
}

// bracketed is the name of a symbol, for that is what a cook can read, and the number
// of a letter, whose name says less than its script.
func bracketed(r rune) string {
	if r != unicode.ReplacementChar && unicode.In(r, unicode.S, unicode.P) {
		if name := runenames.Name(r); name != "" && name[0] != '<' && len(name) <= 40 {
			return "[" + name + "]"
		}
	}
	return fmt.Sprintf("[U+%04X]", r)
}

// likeness is the same sign as people type it, or "".
func likeness(r rune) string {
	switch r {
	case '‘', '’', '‚', '‛', '′', 'ʼ', 'ʻ', '´':
		return "'"
	case '“', '”', '„', '‟', '″':
		return `"`
	case '‹':
		return "<"
	case '›':
		return ">"
	case '«':
		return "<<"
	case '»':
		return ">>"
	case '‐', '‑', '‒', '–', '—', '―', '−', '⁃':
		return "-"
	case '…':
		return "..."
	case '•', '‣', '◦', '∙', '●':
		return "*"
	case '·':
		return "."
	case '×', '✕', '✖':
		return "x"
	case '÷', '⁄', '∕':
		return "/"
	case '€':
		return "EUR"
	case '£':
		return "GBP"
	case '¥':
		return "JPY"
	case '™':
		return "(TM)"
	case '©':
		return "(C)"
	case '®':
		return "(R)"
	case '℃':
		return "°C"
	case '°', 'º':
		return "deg"
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'Æ':
		return "AE"
	case 'œ':
		return "oe"
	case 'Œ':
		return "OE"
	case 'ø':
		return "o"
	case 'Ø':
		return "O"
	case 'đ', 'ð':
		return "d"
	case 'Đ', 'Ð':
		return "D"
	case 'ł':
		return "l"
	case 'Ł':
		return "L"
	case 'ı':
		return "i"
	case 'þ':
		return "th"
	case 'Þ':
		return "Th"
	case '✓', '✔', '☑', '✅':
		return "[x]"
	case 'μ':
		return "µ"
	case unicode.ReplacementChar:
		return "■"
	}
	if r >= 0x1f1e6 && r <= 0x1f1ff { // flags are spelt in these
		return string('A' + r - 0x1f1e6)
	}
	return ""
}
