package escpos

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"

	"github.com/mozillazg/go-unidecode"
	"golang.org/x/text/unicode/norm"
)

// A romaniser writes a word in ASCII letters, one of its own after the other.
type romanizer struct {
	out        []byte
	last       rune // of the word's own letters
	doubleNext bool // the next consonant is twice as long
}

// write adds r; false says that there is no way to write it.
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
		if short, ok := bytes.CutSuffix(w.out, []byte("i")); ok { // chi, ya: cha; gi, yo: gyo
			if bytes.HasSuffix(short, []byte("sh")) || bytes.HasSuffix(short, []byte("ch")) || bytes.HasSuffix(short, []byte("j")) {
				s = s[1:]
			}
			w.out = short
		}
	}
	if unicode.Is(unicode.Han, r) && isKana(w.last) {
		w.out = append(w.out, ' ') // Chinese syllables are words
	}
	w.out = append(w.out, s...)
	w.last = r
	return true
}

// isKana says that r is a letter of the Japanese syllabaries.
func isKana(r rune) bool { return r == 'ー' || unicode.In(r, unicode.Hiragana, unicode.Katakana) }

// romanize is r in ASCII letters, or "".
func romanize(r rune) string {
	if r == ' ' {
		return " "
	}
	s := unidecode.Unidecode(string(r))
	switch { // what the table lacks, or has for scholars
	case r == 'ا' || r == 'إ':
		s = "a"
	case r == 'ة':
		s = "ah"
	case r == 'ء':
		s = "'"
	case r == 'ー' || r == 'ｰ': // makes the vowel long
		s = "-"
	case unicode.Is(unicode.Hebrew, r):
		s = strings.ToLower(strings.ReplaceAll(s, "`", "'"))
	case s == "":
		s = unidecode.Unidecode(norm.NFKD.String(string(r)))
	}
	if strings.Contains(s, "?") { // how the table says that it does not know
		return ""
	}
	return strings.Map(func(r rune) rune {
		if !isASCII(r) || r == '~' {
			return ' '
		}
		return r
	}, s)
}

// halfKana is katakana letters, and their accents, half as wide as the others.
var halfKana = regexp.MustCompile(`[\x{ff66}-\x{ff9f}]+`)

// fullKana is s with those in full width, where a letter and its accent are one.
func fullKana(s string) string { return halfKana.ReplaceAllStringFunc(s, norm.NFKC.String) }
