package escpos

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/unicode/bidi"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
)

// A page is a code page that this package can write, with the number that selects it on this model.
type page struct {
	number byte
	chars  charTable
}

// charTable maps the characters of a code page to bytes. It holds only characters that can be
// relied on: no control characters or disguised spaces; nothing from a right-to-left script,
// because a printer sets text from left to right; no combining marks, which a printer sets beside
// their letter; nothing that layout does not measure as one column.
type charTable map[rune]byte

// pages returns a model's code pages, best first. Names that this package does not know are left
// out; with no page left, only ASCII prints.
func pages(p profile.Profile) []page {
	var out []page
	for _, cp := range p.CodePages {
		if table := codePageTables()[cp.Name]; table != nil {
			out = append(out, page{cp.Number, table})
		}
	}

	return out
}

// ianaNames converts the names of code pages in profiles to names of the IANA registry. For the
// pages that no profile can name (katakana, CP737, CP857, Thai …) there is no table in the Go
// libraries.
var ianaNames = strings.NewReplacer("CP858", "IBM00858", "CP", "IBM", "WPC", "windows-", "ISO8859", "ISO-8859")

// codePageTables has the table of every page that a profile can name. It is built once, when first
// needed.
var codePageTables = sync.OnceValue(func() map[string]charTable {
	out := map[string]charTable{}
	for _, name := range profile.PageNames() {
		page, _ := ianaindex.IANA.Encoding(ianaNames.Replace(name))
		if table, ok := page.(*charmap.Charmap); ok {
			out[name] = safeTable(name, table)
		}
	}
	return out
})

// safeTable returns the characters of a page that can be relied on, see charTable.
func safeTable(name string, table *charmap.Charmap) charTable {
	out := charTable{}
	for b := 0x80; b <= 0xff; b++ {
		letter := table.DecodeByte(byte(b))
		if letter < 0xa1 || letter == 0xad || letter == utf8.RuneError || !sameInAllFirmware(name, letter) {
			continue
		}
		if unicode.In(letter, unicode.M, unicode.C, unicode.Z) || isRightToLeft(letter) ||
			layout.Width(string(letter)) != 1 {
			continue
		}
		out[letter] = byte(b)
	}

	return out
}

// sameInAllFirmware reports whether r has its place on the page in every firmware. The euro sign
// came late: only two pages were made with it, and where it was added to others, old firmware has
// another sign in its place. ISO 8859-7 got three signs in 2003.
func sameInAllFirmware(name string, r rune) bool {
	switch r {
	case '€':
		return name == "CP858" || name == "WPC1252"
	case '₯', 'ͺ':
		return name != "ISO8859-7"
	}
	return true
}

// isRightToLeft reports whether r is written from right to left, like Hebrew and Arabic. The Arabic comma has no
// direction of its own, and stands only in such text.
func isRightToLeft(r rune) bool {
	if r == '،' {
		return true
	}

	class, _ := bidi.LookupRune(r)
	switch class.Class() {
	case bidi.R, bidi.AL, bidi.AN:
		return true
	}
	return false
}

func isASCII(r rune) bool { return r >= 0x20 && r < 0x7f }

// findInPages returns the first page that has r, trying the current one first (an index, -1 for
// none), because each change of page costs a command.
func findInPages(pp []page, current int, r rune) (at int, b byte, ok bool) {
	if current >= 0 {
		if code, ok := pp[current].chars[r]; ok {
			return current, code, true
		}
	}

	for i := range pp {
		if code, ok := pp[i].chars[r]; ok {
			return i, code, true
		}
	}
	return 0, 0, false
}

// A twoByte writes the two-byte characters of a model, which are two columns wide. Nil has none.
type twoByte struct{ *encoding.Encoder }

// letter returns the two bytes of r, or nil. Characters that layout measures as one column, such as
// Cyrillic, are refused: they would take two columns on paper.
func (t *twoByte) letter(r rune) []byte {
	if t == nil || r < 0x1100 || unicode.In(r, unicode.C, unicode.Z) || layout.Width(string(r)) != 2 {
		return nil
	}

	coded, err := t.Bytes([]byte(string(r)))
	if err != nil || len(coded) != 2 { // GB18030 has characters of four bytes too, which are in few printers
		return nil
	}
	return coded
}
