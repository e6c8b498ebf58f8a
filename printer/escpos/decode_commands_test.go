package escpos

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/text/encoding/charmap"

	"ticketrail/printer/profile"
)

// formats are the commands of fixed length that a ticket may contain, and how they are shown: each
// % is an argument of one byte.
var formats = map[string]string{
	"\x1b@": "ESC @", "\x1c.": "FS .", "\x1c&": "FS &", "\x1cC": "FS C %d", "\x1bt": "ESC t %d", "\x1bE": "ESC E %d",
	"\x1d!": "GS ! %02X", "\x1b!": "ESC ! %02X", "\x1dB": "GS B %d", "\x1br": "ESC r %d", "\x1ba": "ESC a %d",
	"\x1bd": "ESC d %d",
	"\x1da": "GS a %02X", "\x1dV": "GS V %c %d", "\x1bB": "ESC B %d %d", "\x1bp": "ESC p %d %d %d",
}

// command reads one command and refuses it if no ticket for this model may contain it.
func (r *reader) command() error {
	head, err := r.take(2)
	if err != nil {
		return err
	}
	switch c := string(head); c {
	case "\x1d(", "\x1b(":
		return r.long(uint16(head[0])<<8 | uint16(head[1]))
	case "\x1dv":
		return r.bitImage()
	default:
		format, ok := formats[c]
		if !ok {
			return fmt.Errorf("% X is not a command of a ticket", c)
		}
		a, err := r.take(strings.Count(format, "%"))
		if err != nil {
			return err
		}
		var told []any
		for _, b := range a {
			told = append(told, b)
		}
		if !r.obey(c, a) {
			return fmt.Errorf("not allowed here or on this model: "+format, told...)
		}
		r.op(format, told...)
		return nil
	}
}

// obey carries out a command of fixed length and reports whether it is allowed here.
func (r *reader) obey(c string, a []byte) (ok bool) {
	switch c {
	case "\x1b@":
		ok, r.begun = !r.begun, true
		return ok
	case "\x1c.":
		r.two = false
	case "\x1c&":
		r.two = true
	case "\x1cC":
		r.jis = true
		return a[0] == 1 && r.p.TwoByte == profile.ShiftJIS
	case "\x1bt":
		r.table = r.page(a[0])
		return r.table != nil
	case "\x1bE":
		return a[0] <= 1
	case "\x1d!":
		r.width, r.height = int(a[0]>>4)+1, int(a[0]&7)+1
		return a[0]&0x88 == 0 && r.p.Sizing != profile.Doubled
	case "\x1b!":
		r.width, r.height = 1+int(a[0]>>5&1), 1+int(a[0]>>4&1)
		return a[0]&0xc6 == 0 && r.p.Sizing == profile.Doubled
	case "\x1dB":
		r.invert = a[0] == 1
		return a[0] <= 1
	case "\x1br": // not allowed inside a line
		r.red = a[0] == 1
		return a[0] <= 1 && r.line.columns == 0
	case "\x1ba":
		r.centre = a[0] == 1
		return a[0] <= 1 && r.line.columns == 0
	case "\x1da":
		return a[0] == 0x0e && len(r.lines) == 0
	case "\x1dV":
		r.cuts++
		return (a[0] == 'A' || a[0] == 'B') && a[1] == 0
	case "\x1bB":
		return r.p.Buzzer == profile.EscB && a[0] >= 1 && a[0] <= 9 && a[1] >= 1 && a[1] <= 9
	case "\x1bp":
		return r.p.Buzzer == profile.Drawer && a[0] <= 1 && a[1] <= a[2]
	}
	return true
}

// long reads a command that contains its length.
func (r *reader) long(c uint16) error {
	head, err := r.take(3)
	if err != nil {
		return err
	}
	arg, err := r.take(int(head[1]) | int(head[2])<<8)
	if err != nil {
		return err
	}
	if len(arg) < 2 {
		return fmt.Errorf("%04X %c of %d bytes", c, head[0], len(arg))
	}
	switch {
	case c == 0x1b28 && head[0] == 'A' && r.p.Buzzer == profile.EscParenA && len(arg) == 3 && arg[0] == 97 &&
		arg[1] >= 1 && arg[1] <= 7 && arg[2] >= 1 && arg[2] <= 63:
		r.op("ESC ( A 97 %d %d", arg[1], arg[2])
		return nil
	case c == 0x1d28 && head[0] == 'k' && r.p.QR == profile.NativeQR:
		return r.symbol(arg)
	case c == 0x1d28 && head[0] == 'L' && r.p.Raster == profile.Graphics:
		return r.graphics(arg)
	}
	return fmt.Errorf("%04X %c % X is not sent to this model", c, head[0], arg[:2])
}

// symbol is GS ( k for QR codes.
func (r *reader) symbol(arg []byte) error {
	if arg[0] != '1' || len(arg) < 3 || !r.centre {
		return fmt.Errorf("GS ( k % X", arg)
	}
	switch string(arg[1:2]) {
	case "A":
		if string(arg[2:]) != "2\x00" {
			return fmt.Errorf("QR model % X", arg[2:])
		}
	case "C":
		if len(arg) != 3 || arg[2] < 3 || arg[2] > 16 {
			return fmt.Errorf("QR modules % X", arg[2:])
		}
	case "E":
		if string(arg[2:]) != "1" {
			return fmt.Errorf("QR error correction % X", arg[2:])
		}
	case "P":
		r.qr = string(arg[3:])
		for _, b := range arg[3:] {
			if b < 0x20 || b == 0x7f {
				return fmt.Errorf("%02X in a QR code", b)
			}
		}
	case "Q":
		r.qrs = append(r.qrs, r.qr)
		r.op("QR %q", r.qr)
		r.qr = ""
	default:
		return fmt.Errorf("GS ( k % X", arg)
	}
	return nil
}

func (r *reader) band(b readBand) error {
	if r.line.columns > 0 || r.centre {
		return errors.New("an image inside a line")
	}
	if b.rows < 1 || b.rows > 48 || b.wide < 1 || b.wide > (r.p.Dots+7)/8 {
		return fmt.Errorf("a band of %d rows of %d bytes", b.rows, b.wide)
	}
	if n := len(r.ops); r.text.Len() > 0 || n == 0 || r.ops[n-1] != "dots" { // the bands of one image count as one
		r.op("dots")
	}
	r.bands = append(r.bands, b)
	return nil
}

// bitImage is GS v 0.
func (r *reader) bitImage() error {
	h, err := r.take(6)
	if err != nil || h[0] != '0' || h[1] != 0 || r.p.Raster != profile.BitImage {
		return fmt.Errorf("GS v % X", h)
	}
	b := readBand{wide: int(h[2]) | int(h[3])<<8, rows: int(h[4]) | int(h[5])<<8}
	if b.bits, err = r.take(b.wide * b.rows); err != nil {
		return err
	}
	return r.band(b)
}

// graphics is GS ( L: function 112 stores, function 50 prints.
func (r *reader) graphics(arg []byte) error {
	if string(arg) == "02" && r.image.rows > 0 {
		b := r.image
		r.image = readBand{}
		return r.band(b)
	}
	if len(arg) < 10 || string(arg[:6]) != "0p0\x01\x011" || r.image.rows > 0 {
		return fmt.Errorf("GS ( L % X", arg[:2])
	}
	dots := int(arg[6]) | int(arg[7])<<8
	r.image = readBand{wide: (dots + 7) / 8, rows: int(arg[8]) | int(arg[9])<<8, bits: arg[10:]}
	if len(r.image.bits) != r.image.wide*r.image.rows {
		return fmt.Errorf("%d bytes for %d rows of %d", len(r.image.bits), r.image.rows, r.image.wide)
	}
	return nil
}

func (r *reader) page(n byte) *charmap.Charmap {
	for _, cp := range r.p.CodePages {
		if cp.Number == n {
			return map[string]*charmap.Charmap{
				"CP437": charmap.CodePage437, "CP850": charmap.CodePage850, "CP852": charmap.CodePage852,
				"CP855": charmap.CodePage855,
				"CP858": charmap.CodePage858, "CP860": charmap.CodePage860, "CP862": charmap.CodePage862,
				"CP863": charmap.CodePage863,
				"CP865": charmap.CodePage865, "CP866": charmap.CodePage866,
				"ISO8859-2": charmap.ISO8859_2, "ISO8859-7": charmap.ISO8859_7, "ISO8859-15": charmap.ISO8859_15,
				"WPC1250": charmap.Windows1250, "WPC1251": charmap.Windows1251, "WPC1252": charmap.Windows1252,
				"WPC1253": charmap.Windows1253,
				"WPC1254": charmap.Windows1254, "WPC1255": charmap.Windows1255, "WPC1256": charmap.Windows1256,
				"WPC1257": charmap.Windows1257, "WPC1258": charmap.Windows1258,
			}[cp.Name]
		}
	}
	return nil
}
