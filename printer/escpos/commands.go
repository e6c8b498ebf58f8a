package escpos

import "ticketrail/printer/profile"

// The commands that are ever sent, all of them:
//
//	ESC @        reset (also throws away what a broken ticket left in the line buffer)
//	FS .         no two-byte characters
//	ESC t n      code page
//	ESC E n      bold
//	GS ! n       size                    (Scaled models)
//	ESC ! n      size, bold and font     (Doubled models)
//	GS B n       white on black
//	ESC r n      colour
//	ESC d n      feed n lines
//	GS V A/B n   feed to the blade and cut, full or partial
//	LF           end of line
const (
	esc = 0x1b
	fs  = 0x1c
	gs  = 0x1d
)

func (e *encoder) command(b ...byte) { e.out = append(e.out, b...) }

func (e *encoder) start() {
	e.command(esc, '@')
	if e.p.Kanji {
		e.command(fs, '.') // after the reset, which switches it on again
	}
	e.page = -1
	if len(e.pages) > 0 {
		e.selectPage(0)
	}
	if e.p.Sizing == profile.Doubled {
		e.mode(style{}) // the font, which a switch in the printer may have changed
	}
}

func (e *encoder) finish() {
	if n := min(max(e.p.FeedBeforeCut, 0), 255); n > 0 {
		e.command(esc, 'd', byte(n))
	}
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

func (e *encoder) style(s style) {
	was := e.now
	if s == was {
		return
	}
	e.now = s
	if s.red != was.red {
		e.command(esc, 'r', bit(s.red, 1))
	}
	if s.invert != was.invert {
		e.command(gs, 'B', bit(s.invert, 1))
	}
	sized := s.width != was.width || s.height != was.height
	if e.p.Sizing == profile.Doubled {
		if sized || s.bold != was.bold {
			e.mode(s)
		}
		return
	}
	if s.bold != was.bold {
		e.command(esc, 'E', bit(s.bold, 1))
	}
	if sized {
		e.command(gs, '!', byte(s.width<<4|s.height))
	}
}

// mode is everything at once, for models that know no GS !.
func (e *encoder) mode(s style) {
	const small, bold, tall, wide = 0x01, 0x08, 0x10, 0x20
	e.command(esc, '!', bit(e.p.SmallFont, small)|bit(s.bold, bold)|bit(s.height > 0, tall)|bit(s.width > 0, wide))
}

func bit(on bool, b byte) byte {
	if on {
		return b
	}
	return 0
}
