package printertest

// Codes that begin commands.
const (
	dle = 0x10
	esc = 0x1B
	fs  = 0x1C
	gs  = 0x1D
)

// parameters is the number of parameter bytes of the commands in which it is always the same. ESC B is
// of Xprinter, Rongta and Bixolon, the others are Epson's.
var parameters = map[string]int{
	"\x1b\x0c": 0, "\x1b ": 1, "\x1b!": 1, "\x1b$": 2, "\x1b%": 1, "\x1b-": 1, "\x1b2": 0, "\x1b3": 1,
	"\x1b=": 1, "\x1b?": 1, "\x1b@": 0, "\x1bB": 2, "\x1bE": 1, "\x1bG": 1, "\x1bJ": 1, "\x1bK": 1,
	"\x1bL": 0, "\x1bM": 1, "\x1bR": 1, "\x1bS": 0, "\x1bT": 1, "\x1bU": 1, "\x1bV": 1, "\x1bW": 8,
	"\x1b\\": 2, "\x1ba": 1, "\x1bc": 2, "\x1bd": 1, "\x1be": 1, "\x1bi": 0, "\x1bm": 0, "\x1bp": 3,
	"\x1br": 1, "\x1bt": 1, "\x1bu": 1, "\x1bv": 0, "\x1b{": 1,
	"\x1c!": 1, "\x1c&": 0, "\x1c-": 1, "\x1c.": 0, "\x1c2": 74, "\x1c?": 2, "\x1cC": 1, "\x1cS": 2,
	"\x1cW": 1, "\x1cp": 2,
	"\x1d!": 1, "\x1d$": 2, "\x1d/": 1, "\x1d:": 0, "\x1dB": 1, "\x1dE": 1, "\x1dH": 1, "\x1dI": 1,
	"\x1dL": 2, "\x1dP": 2, "\x1dT": 1, "\x1dW": 2, "\x1d\\": 2, "\x1d^": 3, "\x1da": 1, "\x1db": 1,
	"\x1dc": 0, "\x1df": 1, "\x1dg": 4, "\x1dh": 1, "\x1dr": 1, "\x1dw": 1, "\x1dz": 3,
}

// length returns how many bytes the command that begins with c has, as far as c tells: a number above
// len(c) asks for more. It is 0 if there is no such command.
func (p *Printer) length(c []byte) int {
	switch b := c[0]; {
	case b == dle:
		return realTimeLength(c)
	case b == esc || b == fs || b == gs:
		if len(c) == 1 {
			return 2
		}
		if n, ok := parameters[string(c[:2])]; ok {
			return 2 + n
		}
		return p.longer(c)
	case p.in.twoByte && b >= 0x81 && b != 0xFF:
		if len(c) > 1 && '0' <= c[1] && c[1] <= '9' {
			return 4
		}
		return 2
	}
	return 1
}

// longer is length for commands that tell their size in their parameters.
func (p *Printer) longer(c []byte) int {
	switch string(c[:2]) {
	case "\x1b(", "\x1c(", "\x1d(":
		return sized(c, 5, func() int { return number(c[3:5]) })
	case "\x1d8": // GS 8 L
		return sized(c, 7, func() int { return number(c[3:7]) })
	case "\x1b*":
		return sized(c, 5, func() int { return number(c[3:5]) * columnBytes(c[2]) })
	case "\x1d*":
		return sized(c, 4, func() int { return int(c[2]) * int(c[3]) * 8 })
	case "\x1b&":
		return defined(c)
	case "\x1bD": // at most 32 tab stops, up to a NUL
		return untilNUL(c, 2, 32)
	case "\x1dV":
		return sized(c, 3, func() int {
			switch c[2] {
			case 65, 66, 97, 98, 103, 104:
				return 1
			}
			return 0
		})
	case "\x1dC":
		return sized(c, 3, func() int { return map[byte]int{'0': 2, '1': 6, '2': 2, 0: 2, 1: 6, 2: 2}[c[2]] })
	case "\x1dk":
		if len(c) > 2 && c[2] > 6 {
			return sized(c, 4, func() int { return int(c[3]) })
		}
		return untilNUL(c, 3, 255)
	case "\x1dv":
		if !p.model.Raster || len(c) > 2 && c[2] != '0' {
			return 0
		}
		return 8
	}
	return 0
}

// sized is the length of a command whose first header bytes tell how many follow.
func sized(c []byte, header int, more func() int) int {
	if len(c) < header {
		return header
	}
	return header + more()
}

// untilNUL is the length of a command that ends with a NUL, or after most bytes behind its header.
func untilNUL(c []byte, header, most int) int {
	if len(c) > header && (c[len(c)-1] == 0 || len(c) == header+most) {
		return len(c)
	}
	return len(c) + 1
}

// defined is the length of ESC & y c1 c2 [x d1 ... d(y*x)] for each character from c1 to c2.
func defined(c []byte) int {
	if len(c) < 5 {
		return 5
	}
	n := 5
	for range int(c[4]) - int(c[3]) + 1 {
		if len(c) <= n {
			return n + 1
		}
		n += 1 + int(c[2])*int(c[n])
	}
	return n
}

// realTimeLength is length for real-time commands; c begins anywhere.
func realTimeLength(c []byte) int {
	switch {
	case c[0] != dle:
		return 0
	case len(c) < 2:
		return 2
	case c[1] == 0x04 && len(c) > 2 && (c[2] == 7 || c[2] == 8 || c[2] == 18):
		return 4
	case c[1] == 0x04, c[1] == 0x05:
		return 3
	case c[1] != 0x14:
		return 0
	case len(c) < 3:
		return 3
	}
	return map[byte]int{1: 5, 2: 5, 3: 8, 7: 4, 8: 10}[c[2]]
}

// columnBytes is the number of bytes for one column of ESC * m.
func columnBytes(m byte) int {
	if m == 32 || m == 33 {
		return 3
	}
	return 1
}

// number reads a number whose lowest byte comes first.
func number(b []byte) (n int) {
	for i, d := range b {
		n |= int(d) << (8 * i)
	}
	return n
}
