package virtual

import (
	"bytes"
	"sync"
)

// A command is an instruction with a fixed number of argument bytes.
type command struct {
	args int
	// ours says that the daemon may send it. Any other one is understood, so that what
	// follows is read right, and recorded as a problem.
	ours bool
	do   func(d *decoder, arg []byte)
}

func skip(*decoder, []byte) {}

// lookup finds a command of fixed length.
func lookup(lead, code byte) (c command, ok bool) {
	switch lead {
	case esc:
		c, ok = escCommands()[code]
	case gs:
		c, ok = gsCommands()[code]
	case fs:
		c, ok = fsCommands()[code]
	}
	return c, ok
}

var escCommands = sync.OnceValue(func() map[byte]command {
	return map[byte]command{
		'@':  {0, true, func(d *decoder, _ []byte) { d.restart() }},
		't':  {1, true, func(d *decoder, a []byte) { d.selectPage(a[0]) }},
		'E':  {1, true, func(d *decoder, a []byte) { d.style.Bold = a[0]&1 == 1 }},
		'G':  {1, false, func(d *decoder, a []byte) { d.style.Bold = a[0]&1 == 1 }},
		'-':  {1, false, func(d *decoder, a []byte) { d.style.Underline = a[0]&3 != 0 }},
		'r':  {1, true, func(d *decoder, a []byte) { d.style.Red = a[0]&1 == 1 }},
		'!':  {1, true, (*decoder).printMode},
		'd':  {1, true, func(d *decoder, a []byte) { d.feedLines(int(a[0])) }},
		'J':  {1, false, func(d *decoder, a []byte) { d.feedLines((int(a[0]) + dotsPerLine/2) / dotsPerLine) }},
		'a':  {1, true, func(d *decoder, a []byte) { d.align = a[0] & 3 }},
		'M':  {1, false, skip}, // font
		'2':  {0, false, func(d *decoder, _ []byte) { d.pitch = dotsPerLine }},
		'3':  {1, false, func(d *decoder, a []byte) { d.pitch = int(a[0]) }},
		'R':  {1, false, skip}, // national characters: would turn # into £
		' ':  {1, false, skip},
		'$':  {2, false, func(d *decoder, a []byte) { d.moveTo(word(a, 0) / d.cell()) }},
		'\\': {2, false, func(d *decoder, a []byte) { d.moveTo(d.used + int(int16(word(a, 0)))/d.cell()) }},
		'{':  {1, false, skip},
		'V':  {1, false, skip},
		'e':  {1, false, func(d *decoder, a []byte) { d.feedLines(0) }},
		'K':  {1, false, func(d *decoder, a []byte) { d.feedLines(0) }},
		'c':  {2, false, skip},
		'p':  {3, true, func(d *decoder, a []byte) { d.buzz(append([]byte{esc, 'p'}, a...)) }}, // drawer
		'B':  {2, true, func(d *decoder, a []byte) { d.buzz(append([]byte{esc, 'B'}, a...)) }}, // buzzer of clones
		'U':  {1, false, skip},
		'=':  {1, false, skip},
		'i':  {0, false, func(d *decoder, _ []byte) { d.cut(0) }},
		'm':  {0, false, func(d *decoder, _ []byte) { d.cut(0) }},
	}
})

var gsCommands = sync.OnceValue(func() map[byte]command {
	return map[byte]command{
		'!': {1, true, func(d *decoder, a []byte) {
			d.style.Width, d.style.Height = int(a[0]>>4&7)+1, int(a[0]&7)+1
		}},
		'B':  {1, true, func(d *decoder, a []byte) { d.style.Invert = a[0]&1 == 1 }},
		'a':  {1, true, skip}, // status pushed on change
		'r':  {1, true, skip}, // status asked for in line
		'I':  {1, true, skip}, // identity
		'b':  {1, false, skip},
		'L':  {2, false, skip},
		'W':  {2, false, skip},
		'P':  {2, false, skip},
		'$':  {2, false, skip},
		'\\': {2, false, skip},
		'h':  {1, false, skip},
		'w':  {1, false, skip},
		'H':  {1, false, skip},
		'f':  {1, false, skip},
		'z':  {2, false, skip},
	}
})

var fsCommands = sync.OnceValue(func() map[byte]command {
	return map[byte]command{
		'.': {0, true, func(d *decoder, _ []byte) { d.kanji = false }},
		'&': {0, true, func(d *decoder, _ []byte) { d.selectTwoByte() }},
		'!': {1, false, skip},
		'-': {1, false, skip},
		'C': {1, true, func(d *decoder, a []byte) { d.codeSystem(a[0]) }},
		'W': {1, false, skip},
		'S': {2, false, skip},
		'p': {2, false, skip},
	}
})

// extent returns how many bytes the command that begins with b has in all, as far as b
// tells: more than len(b) means that more are needed. 0 means that nobody knows it.
func extent(b []byte) int {
	if len(b) < 2 {
		return 2
	}
	if c, ok := lookup(b[0], b[1]); ok {
		return 2 + c.args
	}
	switch {
	case b[0] == dle:
		return dleExtent(b)
	case b[1] == '(' && b[0] != dle: // ESC ( x, GS ( x, FS ( x: a length and that many
		if len(b) < 5 {
			return 5
		}
		return 5 + word(b, 3)
	case b[0] == esc && b[1] == 'D': // tab stops, up to a NUL
		if i := bytes.IndexByte(b[2:], 0); i >= 0 || len(b) >= 34 {
			return len(b)
		}
		return len(b) + 1
	case b[0] == esc && b[1] == '*': // bit image
		if len(b) < 5 {
			return 5
		}
		if b[2] >= 32 {
			return 5 + 3*word(b, 3)
		}
		return 5 + word(b, 3)
	case b[0] == gs && b[1] == 'V': // cut; from 65 on with a feed
		if len(b) < 3 || b[2] < 65 {
			return 3
		}
		return 4
	case b[0] == gs && b[1] == 'v': // raster image
		if len(b) < 8 {
			return 8
		}
		return 8 + word(b, 4)*word(b, 6)
	case b[0] == gs && b[1] == 'k': // bar code: up to a NUL, or counted
		if len(b) < 4 {
			return 4
		}
		if b[2] >= 65 {
			return 4 + int(b[3])
		}
		if b[len(b)-1] == 0 {
			return len(b)
		}
		return len(b) + 1
	case b[0] == gs && b[1] == '8': // the long form of GS ( L
		if len(b) < 7 {
			return 7
		}
		return 7 + word(b, 3) + word(b, 5)<<16
	}
	return 0
}

func dleExtent(b []byte) int {
	switch b[1] {
	case 0x04: // DLE EOT: status at once
		if len(b) < 3 {
			return 3
		}
		if n := b[2]; n == 7 || n == 8 || n == 18 {
			return 4
		}
		return 3
	case 0x05: // DLE ENQ: recover
		return 3
	case 0x14: // DLE DC4
		if len(b) < 3 {
			return 3
		}
		switch b[2] {
		case 3:
			return 8
		case 8:
			return 10
		default:
			return 5
		}
	}
	return 0
}
