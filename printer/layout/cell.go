package layout

import (
	"strings"
	"unicode"
)

// Cell makes a value of a CSV file safe for a spreadsheet and for a terminal. Names come from the service, and any of
// its users may have typed them there: a value that begins like a formula, also in full-width characters or behind
// blanks, gets an apostrophe; control characters and text direction marks, which can make a value read as another one,
// become spaces. An employee named "=HYPERLINK(…)" would otherwise run in the accountant's spreadsheet (CSV injection).
func Cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
		// Some spreadsheets refuse a whole file with one invalid byte.
	}, strings.ToValidUTF8(s, "\ufffd"))
	first := strings.TrimLeftFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	if first != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(first)[0]) {
		return "'" + s
	}

	return s
}
