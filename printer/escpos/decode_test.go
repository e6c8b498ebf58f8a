package escpos

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/text/encoding/charmap"
)

// A reading is what a strict printer makes of a stream. It was written from the makers'
// manuals, not from the encoder, and refuses whatever is not on its list.
type reading struct {
	ops   []string // one a command or run of text
	lines []readLine
	fed   int // lines fed at the end
	cuts  int
}

type readLine struct {
	text    string
	columns int  // that it took
	black   bool // all of it is white on black
	red     bool // any of it
	height  int
}

func read(b []byte) (reading, error) {
	// Epson's numbers.
	tables := map[byte]*charmap.Charmap{
		0: charmap.CodePage437, 2: charmap.CodePage850, 3: charmap.CodePage860, 4: charmap.CodePage863, 5: charmap.CodePage865,
		16: charmap.Windows1252, 17: charmap.CodePage866, 18: charmap.CodePage852, 19: charmap.CodePage858,
	}
	var (
		out                reading
		table              *charmap.Charmap
		width, height      = 1, 1
		invert, red, begun bool
		text               strings.Builder // run of text not yet in ops
		line               = readLine{black: true, height: 1}
	)
	flush := func() {
		if text.Len() > 0 {
			out.ops = append(out.ops, fmt.Sprintf("text %q", text.String()))
			text.Reset()
		}
	}
	op := func(format string, args ...any) { flush(); out.ops = append(out.ops, fmt.Sprintf(format, args...)) }
	letter := func(r rune) {
		text.WriteRune(r)
		line.text += string(r)
		line.columns += width
		line.black = line.black && invert
		line.red = line.red || red
		line.height = max(line.height, height)
	}
	// Some printers obey these wherever they stand, inside other commands too.
	for _, realtime := range []string{"\x10\x04", "\x10\x05", "\x10\x14"} {
		if bytes.Contains(b, []byte(realtime)) {
			return out, fmt.Errorf("the stream holds the realtime command % X", realtime)
		}
	}
	for i := 0; i < len(b); {
		arg := func(n int) (byte, error) {
			if i+n >= len(b) {
				return 0, fmt.Errorf("byte %d: the stream ends inside a command", i)
			}
			return b[i+n], nil
		}
		if len(out.ops) == 0 && text.Len() == 0 && (len(b) < 2 || b[0] != 0x1b || b[1] != '@') {
			return out, fmt.Errorf("the stream does not begin with a reset")
		}
		if out.cuts > 0 {
			return out, fmt.Errorf("byte %d: something follows the cut", i)
		}
		c := b[i]
		switch {
		case c == '\n':
			op("LF")
			out.lines = append(out.lines, line)
			line = readLine{black: true, height: 1}
			i++
			continue
		case c >= 0x20 && c <= 0x7e:
			letter(rune(c))
			i++
			continue
		case c >= 0x80:
			if table == nil {
				return out, fmt.Errorf("byte %d: %02X before a code page was chosen", i, c)
			}
			r := table.DecodeByte(c)
			if r < 0xa1 || r == 0xad || r == 0xfffd {
				return out, fmt.Errorf("byte %d: %02X is no letter on its page", i, c)
			}
			letter(r)
			i++
			continue
		}
		n, err := arg(1)
		if err != nil {
			return out, err
		}
		var v byte
		two := uint16(c)<<8 | uint16(n)
		if two != 0x1b40 && two != 0x1c2e {
			if v, err = arg(2); err != nil {
				return out, err
			}
		}
		size := 3
		switch two {
		case 0x1b40:
			if begun {
				return out, fmt.Errorf("byte %d: a second reset", i)
			}
			begun, size = true, 2
			op("ESC @")
		case 0x1c2e:
			size = 2
			op("FS .")
		case 0x1b74:
			if table = tables[v]; table == nil {
				return out, fmt.Errorf("byte %d: unknown code page %d", i, v)
			}
			op("ESC t %d", v)
		case 0x1b45:
			if v > 1 {
				return out, fmt.Errorf("byte %d: ESC E %d", i, v)
			}
			op("ESC E %d", v)
		case 0x1d21:
			if v&0x88 != 0 {
				return out, fmt.Errorf("byte %d: GS ! %02X", i, v)
			}
			width, height = int(v>>4)+1, int(v&7)+1
			op("GS ! %02X", v)
		case 0x1b21:
			if v&0xc6 != 0 {
				return out, fmt.Errorf("byte %d: ESC ! %02X", i, v)
			}
			width, height = 1+int(v>>5&1), 1+int(v>>4&1)
			op("ESC ! %02X", v)
		case 0x1d42:
			if v > 1 {
				return out, fmt.Errorf("byte %d: GS B %d", i, v)
			}
			invert = v == 1
			op("GS B %d", v)
		case 0x1b72:
			if v > 1 {
				return out, fmt.Errorf("byte %d: ESC r %d", i, v)
			}
			if line.columns > 0 {
				return out, fmt.Errorf("byte %d: the colour changes inside a line", i)
			}
			red = v == 1
			op("ESC r %d", v)
		case 0x1b64:
			out.fed += int(v)
			op("ESC d %d", v)
		case 0x1d56:
			w, err := arg(3)
			if err != nil {
				return out, err
			}
			if (v != 'A' && v != 'B') || w != 0 {
				return out, fmt.Errorf("byte %d: GS V %02X %02X", i, v, w)
			}
			size = 4
			out.cuts++
			op("GS V %c %d", v, w)
		default:
			return out, fmt.Errorf("byte %d: %02X %02X is not a command that is ever sent", i, c, n)
		}
		i += size
	}
	flush()
	if line.columns > 0 {
		return out, fmt.Errorf("the last line is not ended")
	}
	return out, nil
}
