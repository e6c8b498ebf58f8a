package escpos

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/bidi"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
)

// A page is a code page this package can write, and how this model selects it.
type page struct {
	number byte
	letters
}

// letters are what a code page prints, by rune. Only what can be trusted is among them: never a
// control character or a space in disguise; nothing that is set from right to left, for a printer
// sets from left to right; no combining mark, for a printer puts it beside its letter; nothing
// that layout measures otherwise than as one column.
type letters map[rune]byte

// pages are a model's code pages, best first. Names that this package does not know
// are left out; with no page left, only ASCII prints.
func pages(p profile.Profile) []page {
	var out []page
	for _, cp := range p.CodePages {
		if l := alphabets()[cp.Name]; l != nil {
			out = append(out, page{cp.Number, l})
		}
	}
	return out
}

var alphabets = sync.OnceValue(func() map[string]letters {
	out := map[string]letters{}
	for name, table := range tables() {
		out[name] = trusted(name, table)
	}
	return out
})

// tables are the code pages by the names profiles give them. Of those that printers have
// and that are not here (katakana, CP737, CP857, Thai, …) no table could be had.
func tables() map[string]*charmap.Charmap {
	return map[string]*charmap.Charmap{
		"CP437": charmap.CodePage437, "CP850": charmap.CodePage850, "CP852": charmap.CodePage852, "CP855": charmap.CodePage855,
		"CP858": charmap.CodePage858, "CP860": charmap.CodePage860, "CP862": charmap.CodePage862, "CP863": charmap.CodePage863,
		"CP865": charmap.CodePage865, "CP866": charmap.CodePage866,
		"ISO8859-1": charmap.ISO8859_1, "ISO8859-2": charmap.ISO8859_2, "ISO8859-3": charmap.ISO8859_3, "ISO8859-4": charmap.ISO8859_4,
		"ISO8859-5": charmap.ISO8859_5, "ISO8859-6": charmap.ISO8859_6, "ISO8859-7": charmap.ISO8859_7, "ISO8859-8": charmap.ISO8859_8,
		"ISO8859-9": charmap.ISO8859_9, "ISO8859-15": charmap.ISO8859_15,
		"WPC1250": charmap.Windows1250, "WPC1251": charmap.Windows1251, "WPC1252": charmap.Windows1252,
		"WPC1253": charmap.Windows1253, "WPC1254": charmap.Windows1254, "WPC1255": charmap.Windows1255,
		"WPC1256": charmap.Windows1256, "WPC1257": charmap.Windows1257, "WPC1258": charmap.Windows1258,
	}
}

func trusted(name string, table *charmap.Charmap) letters {
	out := letters{}
	for b := 0x80; b <= 0xff; b++ {
		r := table.DecodeByte(byte(b))
		if r < 0xa1 || r == 0xad || r == utf8.RuneError || !settled(name, r) {
			continue
		}
		if unicode.In(r, unicode.M, unicode.C, unicode.Z) || backwards(r) || layout.Width(string(r)) != 1 {
			continue
		}
		out[r] = byte(b)
	}
	return out
}

// settled says that r has its place on the page in every firmware. The euro came late:
// only two pages were made with it, and where others got it, old firmware has something
// else there. ISO 8859-7 got three signs in 2003.
func settled(name string, r rune) bool {
	switch r {
	case '€':
		return name == "CP858" || name == "WPC1252"
	case '₯', 'ͺ':
		return name != "ISO8859-7"
	}
	return true
}

// backwards says that r is set from right to left, as Hebrew and Arabic are.
func backwards(r rune) bool {
	p, _ := bidi.LookupRune(r)
	switch p.Class() {
	case bidi.R, bidi.AL, bidi.AN:
		return true
	}
	return false
}

func ascii(r rune) bool { return r >= 0x20 && r < 0x7f }

// find is the first page that has r, the current one (an index, -1 for none) before all others.
func find(pp []page, current int, r rune) (at int, b byte, ok bool) {
	if current >= 0 {
		if b, ok := pp[current].letters[r]; ok {
			return current, b, true
		}
	}
	for i := range pp {
		if b, ok := pp[i].letters[r]; ok {
			return i, b, true
		}
	}
	return 0, 0, false
}
