package virtual

import (
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// epsonPages is the number table of Epson's TM-T88V, which most others follow.
var epsonPages = sync.OnceValue(func() map[byte]string {
	return map[byte]string{
		0: "CP437", 1: "Katakana", 2: "CP850", 3: "CP860", 4: "CP863", 5: "CP865", 15: "ISO8859-7", 16: "WPC1252", 17: "CP866",
		18: "CP852", 19: "CP858", 34: "CP855", 36: "CP862", 39: "ISO8859-2", 40: "ISO8859-15",
		45: "WPC1250", 46: "WPC1251", 47: "WPC1253", 48: "WPC1254", 49: "WPC1255", 50: "WPC1256", 51: "WPC1257", 52: "WPC1258",
	}
})

// A page is the letters of the bytes from 80h on.
type page struct {
	name   string
	letter func(b byte) rune // utf8.RuneError where there is none
}

// pageOf finds a page by its name; ok is false when nobody knows it.
func pageOf(name string) (p page, ok bool) {
	if name == "Katakana" {
		return page{name, katakana}, true
	}
	m := charmaps()[name]
	if m == nil {
		return page{}, false
	}
	return page{name, m.DecodeByte}, true
}

// katakana is Epson's page 1: half-width Japanese letters between lines and signs.
func katakana(b byte) rune {
	const before, behind = "▁▂▃▄▅▆▇█▏▎▍▌▋▊▉┼┴┬┤├▔─│▕┌┐└┘╭╮╰╯", "═╞╪╡◢◣◥◤♠♥♦♣●○╱╲╳円年月日時分秒〒市区町村人▒"
	switch {
	case b < 0x80:
		return rune(b)
	case b < 0xA0:
		return []rune(before)[b-0x80]
	case b > 0xA0 && b < 0xE0:
		return rune(b) - 0xA1 + 0xFF61
	case b >= 0xE0 && b < 0xFE:
		return []rune(behind)[b-0xE0]
	}
	return utf8.RuneError
}

// charmaps are the letters of the pages.
var charmaps = sync.OnceValue(func() map[string]*charmap.Charmap {
	return map[string]*charmap.Charmap{
		"CP437": charmap.CodePage437, "CP850": charmap.CodePage850, "CP852": charmap.CodePage852,
		"CP855": charmap.CodePage855, "CP858": charmap.CodePage858, "CP860": charmap.CodePage860,
		"CP862": charmap.CodePage862, "CP863": charmap.CodePage863, "CP865": charmap.CodePage865,
		"CP866": charmap.CodePage866, "ISO8859-2": charmap.ISO8859_2, "ISO8859-7": charmap.ISO8859_7,
		"ISO8859-15": charmap.ISO8859_15, "WPC1250": charmap.Windows1250, "WPC1251": charmap.Windows1251,
		"WPC1252": charmap.Windows1252, "WPC1253": charmap.Windows1253, "WPC1254": charmap.Windows1254,
		"WPC1255": charmap.Windows1255, "WPC1256": charmap.Windows1256, "WPC1257": charmap.Windows1257,
		"WPC1258": charmap.Windows1258, "WPC874": charmap.Windows874, "KOI8-R": charmap.KOI8R, "KOI8-U": charmap.KOI8U,
		"ISO8859-1": charmap.ISO8859_1, "ISO8859-3": charmap.ISO8859_3, "ISO8859-4": charmap.ISO8859_4,
		"ISO8859-5": charmap.ISO8859_5, "ISO8859-6": charmap.ISO8859_6, "ISO8859-8": charmap.ISO8859_8,
		"ISO8859-9": charmap.ISO8859_9, "ISO8859-13": charmap.ISO8859_13,
	}
})
