package escpos

import "ticketrail/printer/profile"

// The commands that a ticket consists of, all of them:
//
//	ESC @          reset (also throws away what a broken ticket left in the line buffer)
//	FS .           no two-byte characters
//	FS &           two-byte characters, between here and FS .
//	FS C 1         these are Shift-JIS
//	GS a n         push the status on change
//	ESC t n        code page
//	ESC E n        bold
//	GS ! n         size                    (Scaled models)
//	ESC ! n        size, bold and font     (Doubled models)
//	GS B n         white on black
//	ESC r n        colour
//	ESC a n        centred, around a QR code
//	GS ( k         QR code                 (qr.go)
//	GS v 0, GS ( L dots                    (dots.go)
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

// start resets, in an order that matters: the reset switches two-byte characters on in a
// Chinese ROM and the pushed status off, and the code page may depend on the former.
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
		e.selectPrintMode(style{}) // the font, which a switch in the printer may have changed
	}
}

// maxBuzz is what ESC B takes; more is a nuisance on any printer.
const maxBuzz = 9

// buzz rings, short for an order and long for a cancellation.
func (e *encoder) buzz(times int, void bool) {
	n := min(times, maxBuzz)
	if n <= 0 {
		return
	}
	choose := func(order, cancel byte) byte {
		if void {
			return cancel
		}
		return order
	}
	switch e.p.Buzzer {
	case profile.EscParenA:
		// The short form of function 97: pattern A or E of the optional buzzer, n times. The long
		// one with its own times is the TM-U230's.
		e.command(esc, '(', 'A', 3, 0, 97, choose(1, 5), byte(n))
	case profile.EscB:
		e.command(esc, 'B', byte(n), choose(2, 8)) // × 50 or 100 ms, by the maker
	case profile.Drawer:
		for range n { // × 2 ms on and off; longer off than on (Epson TM-U220 specification, ESC p)
			e.command(esc, 'p', 0, choose(50, 120), choose(100, 200))
		}
	}
}

func (e *encoder) feed() {
	if n := min(max(e.p.FeedBeforeCut, 0), 255); n > 0 {
		e.command(esc, 'd', byte(n))
	}
}

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
		e.command(esc, 't', e.pages[i].number)
	}
}

// beginTwoByte and singleBytes change how the bytes that follow are read; on is how they are now.
func (e *encoder) beginTwoByte(on *bool) {
	if *on {
		return
	}
	*on = true
	if e.twoByte.shift && !e.shift {
		e.shift = true
		e.command(fs, 'C', 1)
	}
	e.command(fs, '&')
}

func (e *encoder) endTwoByte(on *bool) {
	if *on {
		*on = false
		e.command(fs, '.')
	}
}

func (e *encoder) style(s style) {
	was := e.current
	if s == was {
		return
	}
	e.current = s
	if s.red != was.red {
		e.command(esc, 'r', flagByte(s.red, 1))
	}
	if s.invert != was.invert {
		e.command(gs, 'B', flagByte(s.invert, 1))
	}
	sized := s.width != was.width || s.height != was.height
	if e.p.Sizing == profile.Doubled {
		if sized || s.bold != was.bold {
			e.selectPrintMode(s)
		}
		return
	}
	if s.bold != was.bold {
		e.command(esc, 'E', flagByte(s.bold, 1))
	}
	if sized {
		e.command(gs, '!', byte(s.width<<4|s.height))
	}
}

// mode is everything at once, for models that know no GS !.
func (e *encoder) selectPrintMode(s style) {
	const small, bold, tall, wide = 0x01, 0x08, 0x10, 0x20
	e.command(esc, '!', flagByte(e.p.SmallFont, small)|flagByte(s.bold, bold)|flagByte(s.height > 0, tall)|flagByte(s.width > 0, wide))
}

func flagByte(on bool, b byte) byte {
	if on {
		return b
	}
	return 0
}
