package escpos

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
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

// twoByte writes the two-byte characters of a model, which are two columns wide. Nil has none.
type twoByte struct {
	encoder *encoding.Encoder
	has     func(lead, tail byte) bool
	shift   bool // Shift-JIS, which a Japanese model reads after FS C 1
}

func twoByteOf(t profile.TwoByte) *twoByte {
	switch t {
	case profile.GB18030:
		// The two-byte part of GB18030 is GBK. Its user-defined areas encode only private-use
		// characters, which letter refuses.
		return &twoByte{encoder: simplifiedchinese.GB18030.NewEncoder(), has: func(lead, tail byte) bool {
			return lead >= 0x81 && lead <= 0xfe && tail >= 0x40 && tail <= 0xfe && tail != 0x7f
		}}
	case profile.ShiftJIS:
		// JIS X 0208: signs and letters in rows 1 to 8, then kanji. Manufacturers put signs of
		// their own in the gaps.
		return &twoByte{encoder: japanese.ShiftJIS.NewEncoder(), shift: true, has: func(lead, tail byte) bool {
			row := lead >= 0x81 && lead <= 0x84 || lead == 0x88 && tail >= 0x9f || lead >= 0x89 && lead <= 0x9f ||
				lead >= 0xe0 && lead <= 0xea
			return row && tail >= 0x40 && tail <= 0xfc && tail != 0x7f
		}}
	case profile.Big5:
		// Levels 1 and 2. The Hong Kong characters before them and the ETEN characters between them
		// are not in every ROM.
		return &twoByte{encoder: traditionalchinese.Big5.NewEncoder(), has: func(lead, tail byte) bool {
			etens := lead == 0xc6 && tail >= 0xa1 || lead == 0xc7 || lead == 0xc8
			row := lead >= 0xa1 && lead <= 0xf8 || lead == 0xf9 && tail <= 0xd5
			return row && !etens && (tail >= 0x40 && tail <= 0x7e || tail >= 0xa1 && tail <= 0xfe)
		}}
	case profile.KSX1001:
		// KS X 1001 without its two user-defined rows and without the syllables that only the
		// Windows code page has.
		return &twoByte{encoder: korean.EUCKR.NewEncoder(), has: func(lead, tail byte) bool {
			return lead >= 0xa1 && lead <= 0xfd && lead != 0xc9 && tail >= 0xa1 && tail <= 0xfe
		}}
	}
	return nil
}

// letter returns the two bytes of r. Characters that layout measures as one column, such as
// Cyrillic, are refused: they would take two columns on paper.
func (t *twoByte) letter(r rune) (lead, tail byte, ok bool) {
	if t == nil || r < 0x1100 || unicode.Is(unicode.C, r) || unicode.Is(unicode.Z, r) {
		return 0, 0, false
	}

	if layout.Width(string(r)) != 2 {
		return 0, 0, false
	}

	var src, dst [8]byte
	size := copy(src[:], string(r))
	t.encoder.Reset()
	written, read, err := t.encoder.Transform(dst[:], src[:size], true)
	if err != nil || read != size || written != 2 || !t.has(dst[0], dst[1]) {
		return 0, 0, false
	}

	return dst[0], dst[1], true
}
