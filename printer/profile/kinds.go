package profile

// Cutter is how a model parts tickets.
type Cutter int

const (
	NoCutter   Cutter = iota // torn by hand
	PartialCut               // leaves a bridge, so tickets do not fall
	FullCut
)

// Sizing is how a model is told to print big.
type Sizing int

const (
	// Scaled models multiply width and height, 1 to 8 times each.
	Scaled Sizing = iota
	// Doubled models know print modes only: normal or double, each way.
	Doubled
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
	NoTwoByte TwoByte = ""
	GB18030   TwoByte = "gb18030" // simplified Chinese; of GB18030 only what takes two bytes
	ShiftJIS  TwoByte = "shift_jis"
	Big5      TwoByte = "big5"
	KSX1001   TwoByte = "ks_x_1001" // Korean, as EUC-KR
)

// Raster is the command by which a model takes dots.
type Raster string

const (
	NoRaster Raster = ""
	BitImage Raster = "bit_image" // GS v 0: old, and everywhere
	Graphics Raster = "graphics"  // GS ( L, functions 112 and 50: what Epson wants today
)

// QR is how a model comes to a QR code.
type QR string

const (
	NoQR     QR = ""
	NativeQR QR = "native" // GS ( k
	RasterQR QR = "raster" // drawn here, sent as dots
)

// Buzzer is how a model is made to ring.
type Buzzer string

const (
	NoBuzzer  Buzzer = ""
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

// word is a value as models.yaml and people spell it.
type word[T comparable] struct {
	text  string
	value T
}

func cutters() []word[Cutter] {
	return []word[Cutter]{{"none", NoCutter}, {"partial", PartialCut}, {"full", FullCut}}
}

func sizings() []word[Sizing] { return []word[Sizing]{{"scaled", Scaled}, {"doubled", Doubled}} }

func twoBytes() []word[TwoByte] {
	return []word[TwoByte]{{"none", NoTwoByte}, {"gb18030", GB18030}, {"shift_jis", ShiftJIS}, {"big5", Big5}, {"ks_x_1001", KSX1001}}
}

func rasters() []word[Raster] {
	return []word[Raster]{{"none", NoRaster}, {"bit_image", BitImage}, {"graphics", Graphics}}
}

func qrs() []word[QR] { return []word[QR]{{"none", NoQR}, {"native", NativeQR}, {"raster", RasterQR}} }

func buzzers() []word[Buzzer] {
	return []word[Buzzer]{{"none", NoBuzzer}, {"esc_paren_a", EscParenA}, {"esc_b", EscB}, {"drawer", Drawer}}
}

func confirms() []word[Confirm] {
	return []word[Confirm]{{"auto", Auto}, {"process_id", ByProcessID}, {"status", ByStatus}, {"none", NoConfirm}}
}

func spelt[T comparable](words []word[T], value T) string {
	for _, w := range words {
		if w.value == value {
			return w.text
		}
	}
	return "none"
}

// The words of models.yaml, for listings.

func (c Cutter) String() string  { return spelt(cutters(), c) }
func (s Sizing) String() string  { return spelt(sizings(), s) }
func (t TwoByte) String() string { return spelt(twoBytes(), t) }
func (r Raster) String() string  { return spelt(rasters(), r) }
func (q QR) String() string      { return spelt(qrs(), q) }
func (b Buzzer) String() string  { return spelt(buzzers(), b) }

// String of the zero Confirm is "auto", for that is how it is taken.
func (c Confirm) String() string {
	if c == "" {
		return string(Auto)
	}
	return spelt(confirms(), c)
}
