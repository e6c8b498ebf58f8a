package virtual

import "bytes"

// The lengths come from Epson's ESC/POS command reference. They are complete for every command that
// printers of this family know, not only for those that the daemon sends: after a command of
// unknown length, everything that follows would be decoded from the wrong byte, and one mistake
// would be reported as many.

// A command is a command with a fixed number of argument bytes.
type command struct {
	args int
	// allowed: the daemon may send it. Any other command is decoded too, so that the next one is decoded
	// correctly, and recorded as a problem.
	allowed bool
	do      func(d *decoder, arg []byte)
}

// lookup finds a command of fixed length.
func lookup(lead, code byte) (command, bool) {
	key := string([]byte{lead, code})
	if known, ok := commands[key]; ok {
		return known, true
	}

	for args, codes := range skipped {
		for ; codes != ""; codes = codes[2:] {
			if codes[:2] == key {
				return command{args: args, do: skip}, true
			}
		}
	}
	return command{}, false
}

// skip does nothing: the command changes nothing that is shown.
func skip(*decoder, []byte) {}

// skipped are commands that the daemon must not send, by their number of arguments: fonts, national character sets
// (which turn # into £), margins, positions, line spacing, underlines, obsolete cuts, settings of bar codes. They
// change nothing in the output.
var skipped = [...]string{
	0: "\x1b2\x1bi\x1bm",
	1: "\x1bM\x1bR\x1b \x1b{\x1bV\x1bU\x1bG\x1b-\x1bJ\x1b3\x1be\x1bK" + "\x1db\x1dh\x1dw\x1dH\x1df" + "\x1c!\x1c-\x1cW\x1cC",
	2: "\x1bc\x1b$\x1b\\" + "\x1dL\x1dW\x1dP\x1d$\x1d\\\x1dz" + "\x1cS\x1cp",
}

var commands = map[string]command{
	// Selects the printer, or a display that takes everything up to the next one.
	"\x1b=": {1, true, func(d *decoder, a []byte) { d.deselected = a[0]&1 == 0 }},
	// Page mode: nothing is printed until it is left.
	"\x1bL": {0, false, func(d *decoder, _ []byte) { d.pageMode = true }},
	"\x1bS": {0, false, func(d *decoder, _ []byte) { d.pageMode = false }},
	"\x1b@": {0, true, func(d *decoder, _ []byte) { d.restart() }},
	"\x1bt": {1, true, func(d *decoder, a []byte) { d.selectPage(a[0]) }},
	// Styles: ESC E bold, ESC r ribbon colour, ESC ! several in one byte.
	"\x1bE": {1, true, func(d *decoder, a []byte) { d.style.Bold = a[0]&1 == 1 }},
	"\x1br": {1, true, func(d *decoder, a []byte) { d.style.Red = a[0]&1 == 1 }},
	"\x1b!": {1, true, (*decoder).printMode},
	// Paper: ESC d lines, ESC a alignment.
	"\x1bd": {1, true, func(d *decoder, a []byte) { d.feedLines(int(a[0])) }},
	"\x1ba": {1, true, func(d *decoder, a []byte) { d.align = a[0] & 3 }},
	// Sound: ESC p is the pulse that opens a cash drawer, ESC B the buzzer of other makers.
	"\x1bp": {3, true, func(d *decoder, a []byte) { d.buzz(append([]byte{esc, 'p'}, a...)) }},
	"\x1bB": {2, true, func(d *decoder, a []byte) { d.buzz(append([]byte{esc, 'B'}, a...)) }},
	// Size, and white on black.
	"\x1d!": {1, true, func(d *decoder, a []byte) {
		d.style.Width, d.style.Height = int(a[0]>>4&7)+1, int(a[0]&7)+1
	}},
	"\x1dB": {1, true, func(d *decoder, a []byte) { d.style.Invert = a[0]&1 == 1 }},
	"\x1da": {1, true, skip}, // executed by query
	"\x1dr": {1, true, skip}, // executed by query
	"\x1dI": {1, true, skip}, // executed by query
	// Two-byte characters: off, on.
	"\x1c.": {0, true, func(d *decoder, _ []byte) { d.kanji = false }},
	"\x1c&": {0, true, func(d *decoder, _ []byte) { d.selectTwoByte() }},
}

// commandLength returns the length in bytes of the command that begins with b, as far as b tells: a length
// above len(b) means that more bytes are needed, 0 that the command is unknown.
func commandLength(b []byte) int {
	if len(b) < 2 {
		return 2
	}
	if known, ok := lookup(b[0], b[1]); ok {
		return 2 + known.args
	}

	switch {
	case b[0] == dle:
		return dleLength(b)
	case b[1] == '(' && b[0] != dle: // ESC ( x, GS ( x, FS ( x: a length and that many bytes
		if len(b) < 5 {
			return 5
		}
		return 5 + word(b, 3)
	case b[0] == esc && b[1] == 'D': // tab stops, up to a NUL
		// At most 32 stops.
		if at := bytes.IndexByte(b[2:], 0); at >= 0 || len(b) >= 34 {
			return len(b)
		}
		return len(b) + 1
	case b[0] == esc && b[1] == '*': // column image
		if len(b) < 5 {
			return 5
		}
		// The modes with 24 dots in a column have three bytes for each.
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

// dleLength is commandLength for the real-time commands. Their bytes stand in the queue like any
// other, although they were executed on receipt.
func dleLength(b []byte) int {
	switch b[1] {
	case 0x04: // DLE EOT
		if len(b) < 3 {
			return 3
		}
		if function := b[2]; function == 7 || function == 8 || function == 18 {
			return 4
		}
		return 3
	case 0x05: // DLE ENQ
		return 3
	case 0x14: // DLE DC4
		if len(b) < 3 {
			return 3
		}
		// Function 3 is the buzzer, 8 clears the buffers, the others are pulses and power off.
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
