package escpos

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

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
		if l := codePageTables()[cp.Name]; l != nil {
			out = append(out, page{cp.Number, l})
		}
	}
	return out
}

// ianaNames converts the names of code pages in profiles to those of the IANA registry. For the
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
		r := table.DecodeByte(byte(b))
		if r < 0xa1 || r == 0xad || r == utf8.RuneError || !sameInAllFirmware(name, r) {
			continue
		}
		if unicode.In(r, unicode.M, unicode.C, unicode.Z) || isRightToLeft(r) || layout.Width(string(r)) != 1 {
			continue
		}
		out[r] = byte(b)
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
	p, _ := bidi.LookupRune(r)
	switch p.Class() {
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
		if b, ok := pp[current].chars[r]; ok {
			return current, b, true
		}
	}
	for i := range pp {
		if b, ok := pp[i].chars[r]; ok {
			return i, b, true
		}
	}
	return 0, 0, false
}
