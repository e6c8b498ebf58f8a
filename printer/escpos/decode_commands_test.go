package escpos

import (
	"errors"
	"fmt"

	"golang.org/x/text/encoding/charmap"

	"ticketrail/printer/profile"
)

// command reads one command and refuses it if no ticket for this model may hold it.
func (r *reader) command() error {
	head, err := r.take(2)
	if err != nil {
		return err
	}
	c := uint16(head[0])<<8 | uint16(head[1])
	switch c {
	case 0x1b40: // ESC @
		if r.begun {
			return errors.New("a second reset")
		}
		r.begun = true
		r.op("ESC @")
		return nil
	case 0x1c2e: // FS .
		r.two = false
		r.op("FS .")
		return nil
	case 0x1c26: // FS &
		r.two = true
		r.op("FS &")
		return nil
	case 0x1d28, 0x1b28: // GS ( and ESC (
		return r.long(c)
	case 0x1d76:
		return r.bitImage()
	}
	v, err := r.take(1)
	if err != nil {
		return err
	}
	return r.short(c, v[0])
}

// short reads a command that has one argument at the least.
func (r *reader) short(c uint16, v byte) error {
	most := map[uint16]byte{0x1b45: 1, 0x1d42: 1, 0x1b72: 1, 0x1b61: 1}
	if m, ok := most[c]; ok && v > m {
		return fmt.Errorf("%04X %02X", c, v)
	}
	switch c {
	case 0x1c43: // FS C
		if v != 1 || r.p.TwoByte != profile.ShiftJIS {
			return fmt.Errorf("FS C %d", v)
		}
		r.jis = true
		r.op("FS C %d", v)
	case 0x1b74:
		if r.table = r.page(v); r.table == nil {
			return fmt.Errorf("unknown code page %d", v)
		}
		r.op("ESC t %d", v)
	case 0x1b45:
		r.op("ESC E %d", v)
	case 0x1d21:
		if v&0x88 != 0 || r.p.Sizing == profile.Doubled {
			return fmt.Errorf("GS ! %02X", v)
		}
		r.width, r.height = int(v>>4)+1, int(v&7)+1
		r.op("GS ! %02X", v)
	case 0x1b21:
		if v&0xc6 != 0 || r.p.Sizing != profile.Doubled {
			return fmt.Errorf("ESC ! %02X", v)
		}
		r.width, r.height = 1+int(v>>5&1), 1+int(v>>4&1)
		r.op("ESC ! %02X", v)
	case 0x1d42:
		r.invert = v == 1
		r.op("GS B %d", v)
	case 0x1b72:
		if r.line.columns > 0 {
			return errors.New("the colour changes inside a line")
		}
		r.red = v == 1
		r.op("ESC r %d", v)
	default:
		return r.move(c, v)
	}
	return nil
}

// move reads a command that moves paper or makes a noise.
func (r *reader) move(c uint16, v byte) error {
	switch c {
	case 0x1b61:
		if r.line.columns > 0 {
			return errors.New("ESC a inside a line")
		}
		r.centre = v == 1
		r.op("ESC a %d", v)
	case 0x1b64:
		r.fed += int(v)
		r.op("ESC d %d", v)
	case 0x1d61:
		if v != 0x0e || len(r.lines) > 0 {
			return fmt.Errorf("GS a %02X", v)
		}
		r.op("GS a %02X", v)
	default:
		return r.device(c, v)
	}
	return nil
}

// device reads a command with more than one argument.
func (r *reader) device(c uint16, v byte) error {
	switch c {
	case 0x1d56:
		w, err := r.take(1)
		if err != nil || (v != 'A' && v != 'B') || w[0] != 0 {
			return fmt.Errorf("GS V %02X % X", v, w)
		}
		r.cuts++
		r.op("GS V %c %d", v, w[0])
	case 0x1b42:
		t, err := r.take(1)
		if err != nil || r.p.Buzzer != profile.EscB || v < 1 || v > 9 || t[0] < 1 || t[0] > 9 {
			return fmt.Errorf("ESC B %d % X", v, t)
		}
		r.op("ESC B %d %d", v, t[0])
	case 0x1b70:
		t, err := r.take(2)
		if err != nil || r.p.Buzzer != profile.Drawer || v > 1 || t[0] > t[1] {
			return fmt.Errorf("ESC p %d % X", v, t)
		}
		r.op("ESC p %d %d %d", v, t[0], t[1])
	default:
		return fmt.Errorf("%04X is not a command that is ever sent", c)
	}
	return nil
}

// long reads a command that says how long it is.
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
	case c == 0x1b28 && head[0] == 'A' && r.p.Buzzer == profile.EscParenA && len(arg) == 3 && arg[0] == 97 && arg[1] >= 1 && arg[1] <= 7 && arg[2] >= 1 && arg[2] <= 63:
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
		return errors.New("dots inside a line")
	}
	if b.rows < 1 || b.rows > 48 || b.wide < 1 || b.wide > (r.p.Dots+7)/8 {
		return fmt.Errorf("a band of %d rows of %d bytes", b.rows, b.wide)
	}
	if n := len(r.ops); r.text.Len() > 0 || n == 0 || r.ops[n-1] != "dots" { // bands of one picture are one
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
				"CP437": charmap.CodePage437, "CP850": charmap.CodePage850, "CP852": charmap.CodePage852, "CP855": charmap.CodePage855,
				"CP858": charmap.CodePage858, "CP860": charmap.CodePage860, "CP862": charmap.CodePage862, "CP863": charmap.CodePage863,
				"CP865": charmap.CodePage865, "CP866": charmap.CodePage866,
				"ISO8859-2": charmap.ISO8859_2, "ISO8859-7": charmap.ISO8859_7, "ISO8859-15": charmap.ISO8859_15,
				"WPC1250": charmap.Windows1250, "WPC1251": charmap.Windows1251, "WPC1252": charmap.Windows1252, "WPC1253": charmap.Windows1253,
				"WPC1254": charmap.Windows1254, "WPC1255": charmap.Windows1255, "WPC1256": charmap.Windows1256, "WPC1257": charmap.Windows1257, "WPC1258": charmap.Windows1258,
			}[cp.Name]
		}
	}
	return nil
}
