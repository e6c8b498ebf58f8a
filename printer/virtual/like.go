package virtual

import (
	"strings"

	"ticketrail/printer/profile"
)

// Like is a printer of a model: its paper, its letters, its cutter, and the answers it
// can be expected to give.
func Like(p profile.Profile) Options {
	pages := make(map[byte]string, len(p.CodePages))
	for _, c := range p.CodePages {
		pages[c.Number] = c.Name
	}
	o := Options{
		Columns: p.Columns, Dots: p.Dots, CodePages: pages, Kanji: p.Kanji, TwoByte: p.TwoByte,
		NoCutter: p.Cutter == profile.NoCutter, Drawer: p.Buzzer == profile.Drawer, Can: Everything,
		Identity: identityOf(p),
	}
	switch p.Confirm {
	case profile.ByStatus:
		o.Can &^= ProcessID
	case profile.NoConfirm:
		o.Can = 0
	}
	return o
}

// identityOf is what a printer of the model says of itself. A nameless one says that it
// is an Epson of twenty years ago, as nameless ones do.
func identityOf(p profile.Profile) Identity {
	i := Identity{Model: 0x20, ROM: 0x01, Firmware: "1.00 ESC/POS", Maker: "EPSON", Name: "TM-T88III", Serial: "00000000"}
	maker, name, _ := strings.Cut(p.Name, "-")
	switch maker {
	case "epson", "star", "citizen", "bixolon":
		i.Maker, i.Name = strings.ToUpper(maker), strings.ToUpper(name)
	}
	i.Font = map[profile.TwoByte]string{
		profile.GB18030: "CHINA GB18030", profile.ShiftJIS: "KANJI JAPANESE",
		profile.Big5: "TAIWAN BIG-5", profile.KSX1001: "KOREA C-5601C",
	}[p.TwoByte]
	if i.Font != "" {
		i.Type |= 0x01
	}
	if p.Cutter != profile.NoCutter {
		i.Type |= 0x02
	}
	return i
}
