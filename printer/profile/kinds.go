package profile

import "strconv"

// The types below have the values of models.yaml, of overrides and of listings.

// Cutter is the kind of cutter.
type Cutter string

const (
	NoCutter   Cutter = "none"    // torn by hand
	PartialCut Cutter = "partial" // leaves a bridge, so that the ticket does not fall down
	FullCut    Cutter = "full"
)

// Sizing is the command for larger characters.
type Sizing string

const (
	// Scaled models multiply width and height by 1 to 8 each (GS !).
	Scaled Sizing = "scaled"
	// Doubled models have normal and double width and height only (ESC !).
	Doubled Sizing = "doubled"
)

// Max is the largest multiple of the normal size.
func (s Sizing) Max() int {
	if s == Doubled {
		return 2
	}
	return 8
}

// TwoByte is the encoding of built-in characters that are two columns wide and two bytes long.
type TwoByte string

const (
	NoTwoByte TwoByte = "none"
	GB18030   TwoByte = "gb18030" // simplified Chinese; only the two-byte characters of GB18030
)

// Raster is the command for images.
type Raster string

const (
	NoRaster Raster = "none"
	BitImage Raster = "bit_image" // GS v 0: obsolete for Epson, and supported by nearly every printer
	Graphics Raster = "graphics"  // GS ( L, functions 112 and 50: Epson's present command
)

// QR is how a QR code is printed.
type QR string

const (
	NoQR     QR = "none"
	NativeQR QR = "native" // by the printer: GS ( k
	RasterQR QR = "raster" // drawn by ticketrail, sent as an image
)

// Buzzer is the command for the buzzer.
type Buzzer string

const (
	NoBuzzer  Buzzer = "none"
	EscParenA Buzzer = "esc_paren_a" // ESC ( A, function 97: Epson
	EscB      Buzzer = "esc_b"       // ESC B n t: clones, Bixolon, Xprinter, Rongta
	// DrawerPort is a buzzer on the connector of the cash drawer (ESC p). A cash drawer there opens.
	DrawerPort Buzzer = "drawer"
)

// Confirm is how the result of a ticket is found out.
type Confirm string

const (
	Auto        Confirm = "auto"       // probe the printer, use the best that it answers
	ByProcessID Confirm = "process_id" // GS ( H; a probe asks for nothing else
	ByStatus    Confirm = "status"     // GS r; a probe asks for nothing else
	NoConfirm   Confirm = "none"       // send no question at all, not even for paper; tickets end as sent
)

// A CodePage is a character table and the number n by which the model selects it (ESC t n). Makers
// use different numbers for one table, so a page of the wrong model prints other letters without
// any error.
type CodePage struct {
	Number byte
	Name   string // "CP437" … or "WPC1252": one of [PageNames]
}

// String is NAME=NUMBER, as models.yaml has it.
func (c CodePage) String() string { return c.Name + "=" + strconv.Itoa(int(c.Number)) }

// MarshalText is [CodePage.String]; it never fails.
func (c CodePage) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// PageNames lists the supported code pages. A test of package escpos checks that it has a table for
// each. Katakana and Thai tables are not among them: text in these scripts is drawn.
func PageNames() []string {
	return []string{
		"CP437", "CP850", "CP852", "CP855", "CP858", "CP860", "CP862", "CP863", "CP865", "CP866",
		"ISO8859-1", "ISO8859-2", "ISO8859-3", "ISO8859-4", "ISO8859-5", "ISO8859-6", "ISO8859-7", "ISO8859-8",
		"ISO8859-9", "ISO8859-15",
		"WPC1250", "WPC1251", "WPC1252", "WPC1253", "WPC1254", "WPC1255", "WPC1256", "WPC1257", "WPC1258",
	}
}
