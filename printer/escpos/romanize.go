package escpos

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"

	"github.com/mozillazg/go-unidecode"
	"golang.org/x/text/unicode/norm"
)

// A romanizer writes the letters of a word in ASCII, one after the other.
type romanizer struct {
	out        []byte
	last       rune // previous letter of the original word
	doubleNext bool // a small tsu: the next consonant is doubled
}

// write adds r and reports whether there is a way to write it.
func (w *romanizer) write(r rune) bool {
	s := romanize(r)
	if s == "" {
		return false
	}
	switch {
	case r == 'っ' || r == 'ッ':
		w.doubleNext = true
		w.last = r
		return true
	case w.doubleNext && strings.IndexByte("kstcpgdbzjfhmrwy", s[0]) >= 0:
		s = s[:1] + s
	}
	w.doubleNext = false
	if strings.ContainsRune("ゃゅょャュョ", r) && isKana(w.last) {
		if short, ok := bytes.CutSuffix(w.out, []byte("i")); ok { // chi + small ya is cha, gi + small yo is gyo
			if bytes.HasSuffix(short, []byte("sh")) || bytes.HasSuffix(short, []byte("ch")) ||
				bytes.HasSuffix(short, []byte("j")) {
				s = s[1:]
			}
			w.out = short
		}
	}
	if unicode.Is(unicode.Han, r) && isKana(w.last) {
		w.out = append(w.out, ' ') // Chinese characters are separate syllables
	}
	w.out = append(w.out, s...)
	w.last = r
	return true
}

// isKana reports whether r is a letter of the Japanese syllabaries.
func isKana(r rune) bool { return r == 'ー' || unicode.In(r, unicode.Hiragana, unicode.Katakana) }

// romanize returns r in ASCII letters, or "".
func romanize(r rune) string {
	if r == ' ' {
		return " "
	}
	s := unidecode.Unidecode(string(r))
	switch { // letters that the table lacks, or has in a scholarly spelling
	case r == 'ا' || r == 'إ':
		s = "a"
	case r == 'ة':
		s = "ah"
	case r == 'ء':
		s = "'"
	case r == 'ー' || r == 'ｰ': // lengthens the vowel
		s = "-"
	case unicode.Is(unicode.Hebrew, r):
		s = strings.ToLower(strings.ReplaceAll(s, "`", "'"))
	case s == "":
		s = unidecode.Unidecode(norm.NFKD.String(string(r)))
	}
	if strings.Contains(s, "?") { // the table's mark for unknown letters
		return ""
	}
	return strings.Map(func(r rune) rune {
		if !isASCII(r) || r == '~' {
			return ' '
		}
		return r
	}, s)
}

// halfKana matches half-width katakana and their marks.
var halfKana = regexp.MustCompile(`[\x{ff66}-\x{ff9f}]+`)

// fullKana returns s with full-width katakana, in which a letter and its mark are one character.
func fullKana(s string) string { return halfKana.ReplaceAllStringFunc(s, norm.NFKC.String) }
