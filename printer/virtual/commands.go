package virtual

// A command describes the commands that begin with the same two bytes.
type command struct {
	head   int                        // how many bytes tell the length
	length func(b []byte) int         // in bytes; nil: head
	do     func(d *decoder, b []byte) // b is the whole command; nil: it must not be sent
}

// skip does nothing: the command changes nothing that is shown, or is executed by query or atReceipt.
func skip(*decoder, []byte) {}

// commands are those that the daemon sends, and those that another program may leave unfinished. After any other,
// the following bytes are decoded as text.
var commands = map[string]command{
	// Selects the printer, or a display that takes everything up to the next one.
	"\x1b=": {head: 3, do: func(d *decoder, b []byte) { d.deselected = b[2]&1 == 0 }},
	"\x1bL": {head: 2, do: (*decoder).selectPageMode},
	"\x1b@": {head: 2, do: func(d *decoder, _ []byte) { d.restart() }},
	"\x1bt": {head: 3, do: func(d *decoder, b []byte) { d.selectPage(b[2]) }},
	// Styles: ESC E bold, ESC r ribbon colour, ESC ! several in one byte.
	"\x1bE": {head: 3, do: func(d *decoder, b []byte) { d.style.Bold = b[2]&1 == 1 }},
	"\x1br": {head: 3, do: func(d *decoder, b []byte) { d.style.Red = b[2]&1 == 1 }},
	"\x1b!": {head: 3, do: (*decoder).printMode},
	// Size, and white on black.
	"\x1d!": {head: 3, do: func(d *decoder, b []byte) {
		d.style.Width, d.style.Height = int(b[2]>>4&7)+1, int(b[2]&7)+1
	}},
	"\x1dB": {head: 3, do: func(d *decoder, b []byte) { d.style.Invert = b[2]&1 == 1 }},
	// Paper: ESC d lines, ESC a alignment, GS V cut, from 65 on with a feed.
	"\x1bd": {head: 3, do: func(d *decoder, b []byte) { d.feedLines(int(b[2])) }},
	"\x1ba": {head: 3, do: func(d *decoder, b []byte) { d.align = b[2] & 3 }},
	"\x1dV": {3, cutLength, (*decoder).cutter},
	// Sound: ESC p is the pulse that opens a cash drawer, ESC B the buzzer of other makers.
	"\x1bp": {head: 5, do: (*decoder).buzz},
	"\x1bB": {head: 4, do: (*decoder).buzz},
	"\x1b(": {5, counted, (*decoder).buzz},
	// Questions.
	"\x1da":    {head: 3, do: skip},
	"\x1dr":    {head: 3, do: skip},
	"\x1dI":    {head: 3, do: skip},
	"\x10\x04": {head: 3, do: skip},
	// Two-byte characters: off, on.
	"\x1c.": {head: 2, do: func(d *decoder, _ []byte) { d.kanji = false }},
	"\x1c&": {head: 2, do: func(d *decoder, _ []byte) { d.selectTwoByte() }},
	// Images, codes, and the question GS ( H.
	"\x1dv": {8, func(b []byte) int { return 8 + word(b, 4)*word(b, 6) }, (*decoder).raster},
	"\x1d(": {5, counted, (*decoder).graphics},
	// Column images, the long form of GS ( L, bar codes.
	"\x1b*": {head: 5, length: columnImage},
	"\x1d8": {head: 7, length: func(b []byte) int { return 7 + word(b, 3) + word(b, 5)<<16 }},
	"\x1dk": {head: 4, length: barCode},
}

// counted is the length of a command that has the number of its bytes in it.
func counted(b []byte) int { return 5 + word(b, 3) }

// cutLength is the length of GS V: from 65 on the command has a feed.
func cutLength(b []byte) int {
	if b[2] < 65 {
		return 3
	}
	return 4
}

// columnImage is the length of ESC *: the modes with 24 dots in a column have three bytes for each.
func columnImage(b []byte) int {
	if b[2] < 32 {
		return counted(b)
	}
	return 5 + 3*word(b, 3)
}

// barCode is the length of GS k: counted, or up to a NUL.
func barCode(b []byte) int {
	switch {
	case b[2] >= 65:
		return 4 + int(b[3])
	case b[len(b)-1] == 0:
		return len(b)
	}
	return len(b) + 1
}

// commandLength returns the length in bytes of the command that begins with b, as far as b tells: a length
// above len(b) means that more bytes are needed, 0 that the command is unknown.
func commandLength(b []byte) int {
	if len(b) < 2 {
		return 2
	}

	known := commands[string(b[:2])]
	if known.length == nil || len(b) < known.head {
		return known.head
	}
	return known.length(b)
}
