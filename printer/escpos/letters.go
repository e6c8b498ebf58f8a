package escpos

import (
	"golang.org/x/text/encoding/charmap"

	"ticketrail/printer/profile"
)

// A page is a code page this package can write, and how this model selects it.
type page struct {
	number byte
	euro   bool // may be trusted with €
	*charmap.Charmap
}

// pages are a model's code pages, best first. Names that this package does not know
// are left out; with no page left, only ASCII prints.
func pages(p profile.Profile) []page {
	out := make([]page, 0, len(p.CodePages))
	for _, cp := range p.CodePages {
		if m := table(cp.Name); m != nil {
			// Where other pages have a euro sign, old firmware has something else there.
			out = append(out, page{cp.Number, cp.Name == "CP858" || cp.Name == "WPC1252", m})
		}
	}
	return out
}

func table(name string) *charmap.Charmap {
	switch name {
	case "CP437":
		return charmap.CodePage437
	case "CP850":
		return charmap.CodePage850
	case "CP852":
		return charmap.CodePage852
	case "CP855":
		return charmap.CodePage855
	case "CP858":
		return charmap.CodePage858
	case "CP860":
		return charmap.CodePage860
	case "CP862":
		return charmap.CodePage862
	case "CP863":
		return charmap.CodePage863
	case "CP865":
		return charmap.CodePage865
	case "CP866":
		return charmap.CodePage866
	case "WPC1250":
		return charmap.Windows1250
	case "WPC1251":
		return charmap.Windows1251
	case "WPC1252":
		return charmap.Windows1252
	case "WPC1253":
		return charmap.Windows1253
	case "WPC1254":
		return charmap.Windows1254
	case "WPC1257":
		return charmap.Windows1257
	}
	return nil
}

// letter is the byte for a rune that is not ASCII. Only bytes that print are given out:
// never a control character, never a space in disguise.
func (g page) letter(r rune) (byte, bool) {
	if r < 0xa1 || r == 0xad || (r == '€' && !g.euro) {
		return 0, false
	}
	b, ok := g.EncodeRune(r)
	return b, ok && b >= 0x80
}

func ascii(r rune) bool { return r >= 0x20 && r < 0x7f }

// find is the first page that has r, the current one (an index, -1 for none) before all others.
func find(pp []page, current int, r rune) (at int, b byte, ok bool) {
	if current >= 0 {
		if b, ok := pp[current].letter(r); ok {
			return current, b, true
		}
	}
	for i := range pp {
		if b, ok := pp[i].letter(r); ok {
			return i, b, true
		}
	}
	return 0, 0, false
}
