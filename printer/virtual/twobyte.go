package virtual

import (
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"ticketrail/printer/profile"
)

// rom is the printer's set of two-byte characters.
type rom struct {
	code encoding.Encoding
	lead func(b byte) bool
	long bool // GB18030: some characters have four bytes
	sjis bool // two-byte characters only after FS C 1; single bytes may be katakana
}

func romOf(t profile.TwoByte) *rom {
	// A printer decides by the first byte alone. In all three of these it is 81h to FEh.
	high := func(b byte) bool { return b > 0x80 && b < 0xFF }

	switch t {
	case profile.GB18030:
		return &rom{code: simplifiedchinese.GB18030, lead: high, long: true}
	case profile.Big5:
		return &rom{code: traditionalchinese.Big5, lead: high}
	case profile.KSX1001:
		return &rom{code: korean.EUCKR, lead: high}
	case profile.ShiftJIS:
		return &rom{code: japanese.ShiftJIS, sjis: true, lead: func(b byte) bool {
			return b >= 0x81 && b <= 0x9F || b >= 0xE0 && b <= 0xFC
		}}
	}
	return nil
}

// isLead reports whether b is the first byte of a two-byte character.
func (d *decoder) isLead(b byte) bool { return d.kanji && d.rom != nil && d.rom.lead(b) }

// katakana is the half-width katakana of a Japanese ROM for b, or 0.
func (d *decoder) katakana(b byte) rune {
	if d.kanji && d.rom != nil && d.rom.sjis && b >= 0xA1 && b <= 0xDF {
		return rune(b) - 0xA1 + 0xFF61
	}
	return 0
}

// twoByte takes the next byte of a character of two bytes, or four.
func (d *decoder) twoByte(b byte) {
	d.pending = append(d.pending, b)
	// In GB18030 a digit as the second byte means four bytes in all.
	if length := len(d.pending); d.rom.long && d.pending[1] >= '0' && d.pending[1] <= '9' && length < 4 {
		return
	}
	if d.rom.sjis && !d.sjis {
		d.problem("two-byte character % X before FS C 1 selected Shift-JIS", d.pending)
	}
	decoded, err := d.rom.code.NewDecoder().Bytes(d.pending)
	letter, size := utf8.DecodeRune(decoded)
	// No encoding has a second byte below 30h. A decoder that returns ASCII has skipped the first
	// byte.
	if err != nil || letter == utf8.RuneError || size != len(decoded) || b < 0x30 || letter < 0xA0 {
		d.problem("bytes % X are no character of this printer", d.pending)
		letter = '�'
	}
	d.pending = d.pending[:0]
	d.printRune(letter, 2*d.style.Width)
}

// selectTwoByte is FS & ("Select Kanji character mode").
func (d *decoder) selectTwoByte() {
	if d.rom == nil {
		d.problem("FS &, but this printer has no two-byte characters")
	}
	d.kanji = d.rom != nil
}

// codeSystem is FS C n ("Select Kanji character code system"): JIS or Shift-JIS.
func (d *decoder) codeSystem(n byte) {
	if d.rom == nil || !d.rom.sjis || n&^'0' > 1 {
		d.problem("FS C %d, but this printer has no Japanese code systems", n)
		return
	}
	d.sjis = n&1 == 1
}
