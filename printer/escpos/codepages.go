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

// A page is a code page this package can write, and how this model selects it.
type page struct {
	number byte
	chars  charTable
}

// table are what a code page prints, by rune. Only what can be trusted is among them: never a
// control character or a space in disguise; nothing that is set from right to left, for a printer
// sets from left to right; no combining mark, for a printer puts it beside its letter; nothing
// that layout measures otherwise than as one column.
type charTable map[rune]byte

// pages are a model's code pages, best first. Names that this package does not know
// are left out; with no page left, only ASCII prints.
func pages(p profile.Profile) []page {
	var out []page
	for _, cp := range p.CodePages {
		if l := codePageTables()[cp.Name]; l != nil {
			out = append(out, page{cp.Number, l})
		}
	}
	return out
}

// ianaNames turns the names that profiles give pages into those of the registry. Of the pages that
// printers have and that no profile can name (katakana, CP737, CP857, Thai, …) no table could be had.
var ianaNames = strings.NewReplacer("CP858", "IBM00858", "CP", "IBM", "WPC", "windows-", "ISO8859", "ISO-8859")

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

// sameInAllFirmware says that r has its place on the page in every firmware. The euro came late:
// only two pages were made with it, and where others got it, old firmware has something
// else there. ISO 8859-7 got three signs in 2003.
func sameInAllFirmware(name string, r rune) bool {
	switch r {
	case '€':
		return name == "CP858" || name == "WPC1252"
	case '₯', 'ͺ':
		return name != "ISO8859-7"
	}
	return true
}

// isRightToLeft says that r is set from right to left, as Hebrew and Arabic are.
func isRightToLeft(r rune) bool {
	p, _ := bidi.LookupRune(r)
	switch p.Class() {
	case bidi.R, bidi.AL, bidi.AN:
		return true
	}
	return false
}

func isASCII(r rune) bool { return r >= 0x20 && r < 0x7f }

// findInPages is the first page that has r, the current one (an index, -1 for none) before all others.
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
