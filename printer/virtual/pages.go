package virtual

import (
	"strings"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
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
