package virtual

import (
	"slices"
	"strings"

	"ticketrail/printer/profile"
)

// OptionsFor returns the options of a model: its paper, characters and cutter, and the questions
// that it is expected to answer. Columns, Dots and cutter are checked strictly, so a ticket
// composed for another paper shows up as problems.
func OptionsFor(p profile.Profile) Options {
	pages := make(map[byte]string, len(p.CodePages))
	for _, c := range p.CodePages {
		pages[c.Number] = c.Name
	}

	options := Options{
		Columns: p.Columns, Dots: p.Dots, CodePages: pages, Kanji: p.Kanji,
		NoCutter: p.Cutter == profile.NoCutter, Drawer: p.Buzzer == profile.DrawerPort, Can: Everything,
		identity: identityOf(p),
	}

	switch p.Confirm {
	case profile.ByStatus:
		options.Can &^= ProcessID
	case profile.NoConfirm:
		options.Can = 0
	}

	return options
}

// identityOf is a model's answer to GS I. A generic model claims to be an old Epson, as such printers do.
func identityOf(p profile.Profile) identity {
	maker, name, _ := strings.Cut(strings.ToUpper(p.Name), "-")
	if !slices.Contains([]string{"EPSON", "STAR", "CITIZEN", "BIXOLON"}, maker) {
		maker, name = "EPSON", "TM-T88III"
	}
	return identity{66: "_" + maker + "\x00", 67: "_" + name + "\x00"}
}
