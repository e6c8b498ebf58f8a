package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The values of the types below are the words of models.yaml, of overrides and of listings.

// Cutter is how a model parts tickets.
type Cutter string

const (
	NoCutter   Cutter = "none"    // torn by hand
	PartialCut Cutter = "partial" // leaves a bridge, so tickets do not fall
	FullCut    Cutter = "full"
)

// Sizing is how a model is told to print big.
type Sizing string

const (
	// Scaled models multiply width and height, 1 to 8 times each.
	Scaled Sizing = "scaled"
	// Doubled models know print modes only: normal or double, each way.
	Doubled Sizing = "doubled"
)

// Max is how many times the normal size a model can print.
func (s Sizing) Max() int {
	if s == Doubled {
		return 2
	}
	return 8
}

// TwoByte is the code in which a model takes characters of its own that are two columns
// wide and two bytes long.
type TwoByte string

const (
	NoTwoByte TwoByte = "none"
	GB18030   TwoByte = "gb18030" // simplified Chinese; of GB18030 only what takes two bytes
	ShiftJIS  TwoByte = "shift_jis"
	Big5      TwoByte = "big5"
	KSX1001   TwoByte = "ks_x_1001" // Korean, as EUC-KR
)

// Raster is the command by which a model takes dots.
type Raster string

const (
	NoRaster Raster = "none"
	BitImage Raster = "bit_image" // GS v 0: old, and everywhere
	Graphics Raster = "graphics"  // GS ( L, functions 112 and 50: what Epson wants today
)

// QR is how a model comes to a QR code.
type QR string

const (
	NoQR     QR = "none"
	NativeQR QR = "native" // GS ( k
	RasterQR QR = "raster" // drawn here, sent as dots
)

// Buzzer is how a model is made to ring.
type Buzzer string

const (
	NoBuzzer  Buzzer = "none"
	EscParenA Buzzer = "esc_paren_a" // ESC ( A, function 97
	EscB      Buzzer = "esc_b"       // ESC B n t
	// Drawer is a bell on the connector of the cash drawer, ESC p. Where there is a drawer
	// on it, the drawer opens.
	Drawer Buzzer = "drawer"
)

// Confirm is how it is learnt that a ticket came out.
type Confirm string

const (
	Auto        Confirm = "auto"       // the printer is asked what it can do, the best of that is used
	ByProcessID Confirm = "process_id" // GS ( H, without asking first
	ByStatus    Confirm = "status"     // GS r, without asking first
	NoConfirm   Confirm = "none"       // never, and no other question either: tickets end as sent
)

// UnmarshalText of each takes its words only; the error says which they are.

func (c *Cutter) UnmarshalText(b []byte) error { return setOneOf(c, b, NoCutter, PartialCut, FullCut) }
func (s *Sizing) UnmarshalText(b []byte) error { return setOneOf(s, b, Scaled, Doubled) }
func (t *TwoByte) UnmarshalText(b []byte) error {
	return setOneOf(t, b, NoTwoByte, GB18030, ShiftJIS, Big5, KSX1001)
}
func (r *Raster) UnmarshalText(b []byte) error { return setOneOf(r, b, NoRaster, BitImage, Graphics) }
func (q *QR) UnmarshalText(b []byte) error     { return setOneOf(q, b, NoQR, NativeQR, RasterQR) }
func (z *Buzzer) UnmarshalText(b []byte) error {
	return setOneOf(z, b, NoBuzzer, EscParenA, EscB, Drawer)
}
func (c *Confirm) UnmarshalText(b []byte) error {
	return setOneOf(c, b, Auto, ByProcessID, ByStatus, NoConfirm)
}

func setOneOf[T ~string](to *T, b []byte, words ...T) error {
	if slices.Contains(words, T(b)) {
		*to = T(b)
		return nil
	}
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	last := len(texts) - 1
	return fmt.Errorf("use %s or %s", strings.Join(texts[:last], ", "), texts[last])
}

// A CodePage is one character table and the number by which this model selects it.
type CodePage struct {
	Number byte
	Name   string // "CP437" … or "WPC1252": one of [PageNames]
}

// String is NAME=NUMBER, as models.yaml has it.
func (c CodePage) String() string { return c.Name + "=" + strconv.Itoa(int(c.Number)) }

// MarshalText is [CodePage.String]; it never fails.
func (c CodePage) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// PageNames lists the code pages that can be written. A test of package escpos holds that there
// is a table of each.
func PageNames() []string {
	return []string{
		"CP437", "CP850", "CP852", "CP855", "CP858", "CP860", "CP862", "CP863", "CP865", "CP866",
		"ISO8859-1", "ISO8859-2", "ISO8859-3", "ISO8859-4", "ISO8859-5", "ISO8859-6", "ISO8859-7", "ISO8859-8", "ISO8859-9", "ISO8859-15",
		"WPC1250", "WPC1251", "WPC1252", "WPC1253", "WPC1254", "WPC1255", "WPC1256", "WPC1257", "WPC1258",
	}
}
