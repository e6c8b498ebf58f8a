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
	profile.CodePage
	table *charmap.Charmap
}

// pages returns a model's code pages, best first. Names that this package does not know are left
// out; with no page left, only ASCII prints.
func pages(p profile.Profile) []page {
	var out []page
	for _, cp := range p.CodePages {
		if table := charmaps()[cp.Name]; table != nil {
			out = append(out, page{cp, table})
		}
	}

	return out
}

// ianaNames converts the names of code pages in profiles to names of the IANA registry. For the
// pages that no profile can name (katakana, CP737, CP857, Thai …) there is no table in the Go
// libraries.
var ianaNames = strings.NewReplacer("CP858", "IBM00858", "CP", "IBM", "WPC", "windows-", "ISO8859", "ISO-8859")

// charmaps has the table of every page that a profile can name. It is built once, when first
// needed.
var charmaps = sync.OnceValue(func() map[string]*charmap.Charmap {
	out := map[string]*charmap.Charmap{}
	for _, name := range profile.PageNames() {
		found, _ := ianaindex.IANA.Encoding(ianaNames.Replace(name))
		out[name], _ = found.(*charmap.Charmap)
	}
	return out
})

// code returns the byte of r on the page. It has only characters that can be relied on: no control characters or
// disguised spaces; nothing from a right-to-left script, because a printer sets text from left to right; no combining
// marks, which a printer sets beside their letter; nothing that layout does not measure as one column.
func (p page) code(r rune) (b byte, ok bool) {
	b, ok = p.table.EncodeRune(r)
	return b, ok && r != utf8.RuneError && sameInAllFirmware(p.Name, r) &&
		!unicode.In(r, unicode.M, unicode.C, unicode.Z) && !isRightToLeft(r) && layout.Width(string(r)) == 1
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
		if code, ok := pp[current].code(r); ok {
			return current, code, true
		}
	}

	for i := range pp {
		if code, ok := pp[i].code(r); ok {
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
