package layout

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// capitals writes s in capital letters, as people write them: ß becomes SS, and i
// becomes İ in a text with ı, İ or ğ in it, for those only Turkish and its sisters have.
// Letters whose capital no font has, or that would then mean something else, stay:
// Georgian's, and µ, which is no Greek M.
func capitals(s string) string {
	tag := language.Und
	if strings.ContainsAny(s, "ıİğĞ") {
		tag = language.Turkish
	}
	upper := cases.Upper(tag) // it has a state, so it is made anew
	if !strings.ContainsFunc(s, uncapital) {
		return upper.String(s)
	}
	var b strings.Builder
	for s != "" {
		n := strings.IndexFunc(s, uncapital)
		if n < 0 {
			n = len(s)
		}
		b.WriteString(upper.String(s[:n]))
		rest := strings.TrimLeftFunc(s[n:], uncapital)
		b.WriteString(s[n : len(s)-len(rest)])
		s = rest
	}
	return b.String()
}

func uncapital(r rune) bool {
	return r == 'µ' || r >= 0x10d0 && r <= 0x10ff && unicode.Is(unicode.Georgian, r)
}
