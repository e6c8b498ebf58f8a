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

// transcribe writes s, which is normalized, in characters the printer has.
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
	last rune   // last character written; 0 at the start, fractionEnd after a fraction
	run  []rune // pending letters of a script the printer lacks
	// incomplete are the alphabets of which the printer lacks a letter of this text. All of their
	// letters are transliterated: CP437 has a few Greek letters for formulas, and a word half of
	// them (Mou~s~ακ~as~) is unreadable.
	incomplete []*unicode.RangeTable
}

// alphabet returns the script of a letter if a printer may have only part of that script, else nil.
// Every printer has the basic Latin letters, and a Chinese character can be read by itself.
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
			w.run = append(w.run, r) // words in one script share a pair of tildes
			return
		}
	}
	s, ok := w.ownLetters(r)
	ok = ok && !slices.Contains(w.incomplete, alphabet(r)) // nil is never in the list
	if !ok && isWordRune(r) {
		w.run = append(w.run, r)
		return
	}
	w.flushRun()
	switch {
	case !ok && w.last == ']' && r >= 0x1f3fb && r <= 0x1f3ff: // a skin tone means nothing to a cook
	case !ok:
		w.put(bracketedName(r))
	case s != "":
		// Keep a digit apart from a fraction: 2⅓ must not become 21/3.
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

// fractionEnd is the value of last after a fraction written as several characters.
const fractionEnd = -1

// ownLetters returns r in the printer's own characters, so that no number changes its value; ""
// with true for an accent that can be left out.
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
	if unicode.Is(unicode.Nd, r) && r < 0x1d7ce { // mathematical digits have decompositions
		parts = string(raster.Digit(r))
	}
	switch {
	case parts == "" || parts == string(r) || !w.hasAll(parts):
		return "", false
	case unicode.Is(unicode.No, r) && !strings.Contains(parts, "/") && parts[0] != '(':
		return "(" + parts + ")", true // keep 10⁴ from becoming 104
	}
	return parts, true
}

// isWordRune reports whether r is part of a word, so that it is transliterated and not named.
func isWordRune(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.N) }

// flushRun writes the pending letters: transliterated between tildes, and by name if they have no
// transliteration.
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
	var unnamed []rune // combining marks, named only if nothing else can be written
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

// isAccent reports whether r is a mark that any letter can carry, so that it can be left out
// without losing the letter.
func isAccent(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) && unicode.Is(unicode.Inherited, r)
}

// bracketedName returns the Unicode name of r in brackets, because a cook can read that, or its
// number if the name is too long for a ticket.
func bracketedName(r rune) string {
	if r != unicode.ReplacementChar {
		if name := runenames.Name(r); name != "" && name[0] != '<' && len(name) <= 40 {
			return "[" + strings.ToLower(name) + "]"
		}
	}
	return fmt.Sprintf("[U+%04X]", r)
}
