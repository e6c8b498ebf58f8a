package escpos

import (
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
)

// The commands of a ticket, all of them:
//
//	ESC @          reset (also discards an interrupted ticket's rest in the line buffer)
//	FS .           single-byte characters
//	FS &           two-byte characters, from here to FS .
//	GS a n         automatic status back
//	ESC t n        code page
//	ESC E n        bold
//	GS ! n         size                    (Scaled models)
//	ESC ! n        size, bold and font     (Doubled models)
//	GS B n         white on black
//	ESC r n        colour
//	ESC a n        centred, around a QR code
//	GS ( k         QR code                 (qr.go)
//	GS v 0, GS ( L images                  (dots.go)
//	ESC ( A, ESC B, ESC p  buzzer
//	ESC d n        feed n lines
//	GS V A/B n     feed to the blade and cut, full or partial
//	LF             end of line
const (
	esc = 0x1b
	fs  = 0x1c
	gs  = 0x1d
)

func (e *encoder) command(b ...byte) { e.out = append(e.out, b...) }

// start resets the printer. The order matters: the reset turns on two-byte characters in a Chinese
// ROM and turns off automatic status, and selecting a code page may work only with single-byte
// characters.
func (e *encoder) start(asb bool) {
	e.command(esc, '@')
	if e.p.Kanji || e.twoByte != nil {
		e.command(fs, '.')
	}

	if asb {
		e.command(AutoStatus(true)...)
	}

	e.page = -1
	if len(e.pages) > 0 {
		e.selectPage(0)
	}

	if e.p.Sizing == profile.Doubled {
		e.selectPrintMode(plain) // a DIP switch in the printer may have selected another font
	}
}

// maxBuzz is the most that ESC B accepts; more is a nuisance on any printer.
const maxBuzz = 9

// buzz sounds the buzzer, short for an order and long for a cancellation.
func (e *encoder) buzz(times int, void bool) {
	count := min(times, maxBuzz)
	if count <= 0 {
		return
	}

	kind := byteIf(void, 1) // which of two sounds
	switch e.p.Buzzer {
	case profile.EscParenA:
		// The short form of function 97: pattern A or E of the optional buzzer, n times. The long
		// form, with its own times, is for the TM-U230.
		e.command(esc, '(', 'A', 3, 0, 97, [...]byte{1, 5}[kind], byte(count))
	case profile.EscB:
		e.command(esc, 'B', byte(count), [...]byte{2, 8}[kind]) // units of 50 or 100 ms, depending on the manufacturer
	case profile.DrawerPort:
		for range count { // units of 2 ms on and off; off must be longer (Epson TM-U220 specification, ESC p)
			e.command(esc, 'p', 0, [...]byte{50, 120}[kind], [...]byte{100, 200}[kind])
		}
	}
}

func (e *encoder) feed() {
	if lines := min(max(e.p.FeedBeforeCut, 0), 255); lines > 0 {
		e.command(esc, 'd', byte(lines))
	}
}

// cut cuts the paper, behind a sticker or the ticket. Function B (or A) also feeds it to the blade.
func (e *encoder) cut() {
	switch e.p.Cutter {
	case profile.PartialCut:
		e.command(gs, 'V', 'B', 0)
	case profile.FullCut:
		e.command(gs, 'V', 'A', 0)
	}
}

func (e *encoder) selectPage(i int) {
	if i != e.page {
		e.page = i
		e.command(esc, 't', e.pages[i].Number)
	}
}

// style sends the differences from the current style.
func (e *encoder) style(s layout.Style) {
	was := e.current
	if s == was {
		return
	}

	e.current = s
	if s.Red != was.Red {
		e.command(esc, 'r', byteIf(s.Red, 1))
	}
	if s.Invert != was.Invert {
		e.command(gs, 'B', byteIf(s.Invert, 1))
	}

	sized := s.Width != was.Width || s.Height != was.Height
	if e.p.Sizing == profile.Doubled {
		if sized || s.Bold != was.Bold {
			e.selectPrintMode(s)
		}
		return
	}

	if s.Bold != was.Bold {
		e.command(esc, 'E', byteIf(s.Bold, 1))
	}
	if sized {
		e.command(gs, '!', byte((s.Width-1)<<4|(s.Height-1)))
	}
}

// selectPrintMode sets font, bold and size in one command, for models without GS !.
func (e *encoder) selectPrintMode(s layout.Style) {
	const small, bold, tall, wide = 0x01, 0x08, 0x10, 0x20
	e.command(esc, '!', byteIf(e.p.SmallFont, small)|byteIf(s.Bold, bold)|
		byteIf(s.Height > 1, tall)|byteIf(s.Width > 1, wide))
}

func byteIf(on bool, b byte) byte {
	if on {
		return b
	}
	return 0
}
