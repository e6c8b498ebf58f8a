package escpos

import (
	"unicode"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
)

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
	n := copy(src[:], string(r))
	t.encoder.Reset()
	written, read, err := t.encoder.Transform(dst[:], src[:n], true)
	if err != nil || read != n || written != 2 || !t.has(dst[0], dst[1]) {
		return 0, 0, false
	}
	return dst[0], dst[1], true
}
