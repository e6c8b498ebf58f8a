package escpos

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/runenames"

	"ticketrail/printer/raster"
)

// transcribe writes s, which is composed, in letters the printer has.
func (t *charset) transcribe(s string) string {
	s = fullKana(s)
	w := transcriber{charset: t}
	for _, r := range s {
		if a := alphabet(r); a != nil && !slices.Contains(w.incomplete, a) {
			if _, ok := w.ownLetters(r); !ok {
				w.incomplete = append(w.incomplete, a)
			}
		}
	}
	for _, r := range s {
		w.rune(r)
	}
	w.flushRun()
	return w.String()
}

type transcriber struct {
	strings.Builder
	*charset
	last rune   // written last; 0 at the start
	run  []rune // letters of a script the printer does not have, not yet written
	// incomplete are alphabets of which a letter is missing. All of it is transliterated then:
	// CP437 has some Greek letters, for formulas, and Mou~s~ακ~as~ is nobody's language.
	incomplete []*unicode.RangeTable
}

// alphabet is the script of a letter, where a word of it can be one the printer has in
// part; else nil. Of Latin every printer has the letters, and a Chinese one says
// something alone.
func alphabet(r rune) *unicode.RangeTable {
	switch {
	case r < 0x370 || r > 0x1fff || !unicode.IsLetter(r):
		return nil
	case unicode.Is(unicode.Greek, r):
		return unicode.Greek
	case unicode.Is(unicode.Cyrillic, r):
		return unicode.Cyrillic
	}
	return nil
}

func (w *transcriber) put(s string) {
	w.WriteString(s)
	w.last, _ = utf8.DecodeLastRuneInString(s)
}

func (w *transcriber) rune(r rune) {
	if len(w.run) > 0 {
		if r == ' ' || isWordRune(r) && !w.has(r) && unicode.Is(unicode.M, r) {
			w.run = append(w.run, r) // words of one language stay between one pair of tildes
			return
		}
	}
	s, ok := w.ownLetters(r)
	ok = ok && !slices.Contains(w.incomplete, alphabet(r)) // nil is not among them
	if !ok && isWordRune(r) {
		w.run = append(w.run, r)
		return
	}
	w.flushRun()
	switch {
	case !ok && w.last == ']' && r >= 0x1f3fb && r <= 0x1f3ff: // the colour of somebody's skin
	case !ok:
		w.put(bracketedName(r))
	case s != "":
		// A number stays apart from a fraction: 2⅓ is not 21/3.
		part := unicode.Is(unicode.No, r) && strings.Contains(s, "/")
		if w.last == fractionEnd && isDigit(rune(s[0])) || part && isDigit(w.last) {
			w.put(" ")
		}
		w.put(s)
		if part {
			w.last = fractionEnd
		}
	}
}

// fractionEnd is what last holds after a fraction that was written in several letters.
const fractionEnd = -1

// ownLetters is r in the printer's own letters, in such a way that no number changes its value;
// "" for an accent that none of them carries.
func (w *transcriber) ownLetters(r rune) (string, bool) {
	if w.has(r) {
		return string(r), true
	}
	switch s := approximation(r); {
	case s != "" && w.hasAll(s):
		return s, true
	case unicode.IsSpace(r):
		return " ", true
	case isAccent(r):
		return "", true
	}
	parts := strings.ReplaceAll(norm.NFKD.String(string(r)), "⁄", "/")
	parts = strings.Map(func(r rune) rune {
		if isAccent(r) {
			return -1
		}
		return r
	}, parts)
	if unicode.Is(unicode.Nd, r) && r < 0x1d7ce { // mathematical digits decompose
		parts = string(raster.Digit(r))
	}
	switch {
	case parts == "" || parts == string(r) || !w.hasAll(parts):
		return "", false
	case unicode.Is(unicode.No, r) && !strings.Contains(parts, "/") && parts[0] != '(':
		return "(" + parts + ")", true // 10⁴ is not 104
	}
	return parts, true
}

// isWordRune says that r belongs to a word, so it is transliterated rather than named.
func isWordRune(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.N) }

// flushRun writes what is waiting in run: transliterated, between tildes; what has no
// transliteration, as its name.
func (w *transcriber) flushRun() {
	if len(w.run) == 0 {
		return
	}
	end := len(w.run)
	for end > 0 && w.run[end-1] == ' ' {
		end--
	}
	run, spaces := w.run[:end], len(w.run)-end
	w.run = w.run[:0]
	var b romanizer
	var unnamed []rune // marks that say nothing alone
	flush := func() {
		if s := strings.Join(strings.Fields(string(b.out)), " "); s != "" {
			w.put("~" + s + "~")
		} else {
			for _, r := range unnamed {
				w.put(bracketedName(r))
			}
		}
		b, unnamed = romanizer{}, unnamed[:0]
	}
	for _, r := range run {
		switch {
		case b.write(r):
		case unicode.Is(unicode.M, r):
			unnamed = append(unnamed, r)
		default:
			flush()
			w.put(bracketedName(r))
		}
	}
	flush()
	w.put(strings.Repeat(" ", spaces))
}

// isAccent says that r only changes the letter before it, in a script whose letters can
// do without.
func isAccent(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) && unicode.Is(unicode.Inherited, r)
}

// bracketedName is the name of r, for that is what a cook can read, or its number.
func bracketedName(r rune) string {
	if r != unicode.ReplacementChar {
		if name := runenames.Name(r); name != "" && name[0] != '<' && len(name) <= 40 {
			return "[" + strings.ToLower(name) + "]"
		}
	}
	return fmt.Sprintf("[U+%04X]", r)
}
