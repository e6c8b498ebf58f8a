package virtual

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// epsonPages are the numbers of ESC t on Epson's TM-T88V, which most other printers use too.
// Source: escpos-printer-db, profile TM-T88V.
var epsonPages = map[byte]string{
	0: "CP437", 2: "CP850", 3: "CP860", 4: "CP863", 5: "CP865", 15: "ISO8859-7", 16: "WPC1252",
	17: "CP866", 18: "CP852", 19: "CP858", 34: "CP855", 36: "CP862", 39: "ISO8859-2", 40: "ISO8859-15",
	45: "WPC1250", 46: "WPC1251", 47: "WPC1253", 48: "WPC1254", 49: "WPC1255", 50: "WPC1256", 51: "WPC1257",
	52: "WPC1258",
}

// A codePage is a character table for the bytes from 80h on.
type codePage struct {
	name  string
	table *charmap.Charmap
}

// ianaNames converts the names in printer manuals to names of the IANA registry.
var ianaNames = strings.NewReplacer("CP858", "IBM00858", "CP", "IBM", "WPC", "windows-", "ISO8859", "ISO-8859")

// pageOf finds a page by its name.
func pageOf(name string) (p codePage, ok bool) {
	encoding, _ := ianaindex.IANA.Encoding(ianaNames.Replace(name))
	table, ok := encoding.(*charmap.Charmap)
	return codePage{name, table}, ok
}

// selectPage is ESC t ("Select character code table").
func (d *decoder) selectPage(n byte) {
	pages := d.o.CodePages
	if pages == nil {
		pages = epsonPages
	}

	name := pages[n]
	page, ok := pageOf(name)
	if !ok {
		d.problem("the printer has no code page %d (%q)", n, name)
		return
	}

	d.page = page
}

// letter prints a character of one byte.
func (d *decoder) letter(b byte) {
	r := d.page.table.DecodeByte(b)
	// Code pages have undefined bytes, and a printer's choice for them differs from model to model.
	if r == utf8.RuneError || r < 0x20 || r >= 0x7F && r < 0xA0 {
		d.problem("byte %02X is no character in %s", b, d.page.name)
		r = '�'
	}

	d.printRune(r, d.style.Width)
}

// twoByte takes the next byte of a character of two bytes, or four.
func (d *decoder) twoByte(b byte) {
	d.pending = append(d.pending, b)
	// In GB18030 a digit as the second byte means four bytes in all.
	if length := len(d.pending); d.pending[1] >= '0' && d.pending[1] <= '9' && length < 4 {
		return
	}

	decoded, err := simplifiedchinese.GB18030.NewDecoder().Bytes(d.pending)
	letter, size := utf8.DecodeRune(decoded)
	// No second byte is below 30h. A decoder that returns ASCII has skipped the first byte.
	if err != nil || letter == utf8.RuneError || size != len(decoded) || b < 0x30 || letter < 0xA0 {
		d.problem("bytes % X are no character of this printer", d.pending)
		letter = '�'
	}
	d.pending = d.pending[:0]
	d.printRune(letter, 2*d.style.Width)
}

// selectTwoByte is FS & ("Select Kanji character mode").
func (d *decoder) selectTwoByte() {
	if d.kanji = d.o.Kanji; !d.kanji {
		d.problem("FS &, but this printer has no two-byte characters")
	}
}
