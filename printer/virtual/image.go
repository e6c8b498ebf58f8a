package virtual

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"ticketrail/printer/layout"
)

// An Image is an image on the paper. In [Ticket.Text] a line such as "▒▒ 576x24" stands for it.
type Image struct {
	Line          int // index into Ticket.Lines
	Width, Height int // in dots
	// Bits are rows of (Width+7)/8 bytes, the most significant bit on the left; 1 is black.
	Bits []byte
}

// A QR is a code drawn by the printer. In [Ticket.Text] a line such as "▒▒ QR 0d9e1c52" stands for it.
type QR struct {
	Line   int    // index into Ticket.Lines
	Text   string // the content
	Module int    // the smallest square's side in dots
	Level  byte   // error correction, '0' to '3'
}

// A Buzz is one command that sounds the buzzer.
type Buzz struct {
	Command []byte
	Times   int
}

// A row is the position of a line on the paper.
type row struct {
	pitch int  // how far the paper moves after it, in dots
	align byte // 0 left, 1 middle, 2 right
}

// maxRows is the highest image: GS v 0 allows 4095 rows on the largest printers.
const maxRows = 4095

// raster is GS v 0 m xL xH yL yH d1…dk.
func (d *decoder) raster(b []byte) {
	m, wide, high := b[3], word(b, 4), word(b, 6)
	// m may also be sent as a digit, '0' to '3'.
	if b[2] != '0' || m > 3 && (m < 48 || m > 51) || wide == 0 || high == 0 || high > maxRows {
		d.problem("command % X is not a valid image", b[:8])
		return
	}

	if m &= 3; m != 0 {
		d.problem("image of double size (m = %d): images are sent in their final size", m)
	}
	d.image(Image{Width: wide * 8, Height: high, Bits: b[8:]})
}

// graphics is GS ( and a letter: L images, k codes, H the question that query has answered.
func (d *decoder) graphics(b []byte) {
	switch function := string(b[5:min(len(b), 7)]); {
	case b[2] == 'H':
	case b[2] == 'k':
		d.code(b)
	case b[2] == 'L' && function == "0p" && len(b) >= 15:
		// The bytes that are checked: monochrome, not enlarged in either direction, colour 1.
		img := Image{Width: word(b, 11), Height: word(b, 13), Bits: b[15:]}
		if string(b[7:11]) != "0\x01\x011" || img.Width == 0 || img.Height == 0 ||
			(img.Width+7)/8*img.Height != len(img.Bits) {
			d.problem("command % X does not store an image of %d bytes", b[:15], len(img.Bits))
			return
		}
		d.store = &img
	// The stored image can be printed once: the daemon sends each band anew.
	case b[2] == 'L' && function == "02" && len(b) == 7 && d.store != nil:
		d.image(*d.store)
		d.store = nil
	default:
		d.refuse(b)
	}
}

func (d *decoder) image(img Image) {
	if len(d.line.Spans) > 0 {
		d.problem("image in the middle of a line")
		d.newline()
	}

	if d.o.Dots > 0 && img.Width > (d.o.Dots+7)/8*8 {
		d.problem("image of %d dots is wider than the %d of the paper", img.Width, d.o.Dots)
	}

	// A printer on a serial or network connection executes these bytes wherever they stand (TM-U220
	// manual): DLE ENQ 2 in an image would clear the buffer, and the ticket with it.
	for i := 1; i < len(img.Bits); i++ {
		if isRealTime(img.Bits[i-1], img.Bits[i]) {
			d.problem("image contains % X, which printers execute inside an image too", img.Bits[i-1:i+1])
			break
		}
	}

	img.Bits = slices.Clone(img.Bits)
	img.Line = len(d.t.Lines)
	d.t.Images = append(d.t.Images, img)
	d.placeholder(fmt.Sprintf("▒▒ %dx%d", img.Width, img.Height), img.Height)
}

// isRealTime reports whether two bytes begin a real-time command: DLE EOT, DLE ENQ, DLE DC4.
func isRealTime(a, b byte) bool { return a == dle && (b == 0x04 || b == 0x05 || b == 0x14) }

// placeholder adds the line that stands for something dots high, and moves the paper by that much.
func (d *decoder) placeholder(s string, dots int) {
	d.t.Lines = append(d.t.Lines, layout.Line{Spans: []layout.Span{{Text: s}}})
	d.t.rows = append(d.t.rows, row{dots, d.align})
	d.printed += (dots + dotsPerLine - 1) / dotsPerLine
	d.moved += dots
}

// Black reports whether the dot at x, y is black.
func (i Image) Black(x, y int) bool {
	at := y*((i.Width+7)/8) + x/8
	return at < len(i.Bits) && i.Bits[at]&(0x80>>(x%8)) != 0
}

// code is GS ( k: the functions of a QR code in the order in which a sender needs them, which are the model, the size
// of a module, the error correction, the text and the print.
func (d *decoder) code(b []byte) {
	function, arg := string(b[5:min(len(b), 7)]), b[min(len(b), 7):]

	switch {
	case function == "1A" && (string(arg) == "1\x00" || string(arg) == "2\x00"):
	case function == "1C" && len(arg) == 1 && arg[0] >= 1 && arg[0] <= 16:
		d.qr.Module = int(arg[0])
	case function == "1E" && len(arg) == 1 && arg[0] >= '0' && arg[0] <= '3':
		d.qr.Level = arg[0]
	case function == "1P" && len(arg) > 0 && arg[0] == '0':
		d.qr.Text = string(arg[1:])
	case function == "1Q" && string(arg) == "0":
		d.printQR()
	default:
		d.refuse(b)
	}
}

// printQR is function 81 of GS ( k. The printer draws the code itself, so only its content and size
// are known.
func (d *decoder) printQR() {
	if d.qr.Text == "" {
		d.problem("GS ( k prints an empty QR code")
		return
	}

	if len(d.line.Spans) > 0 {
		d.problem("QR code in the middle of a line")
		d.newline()
	}

	clean := strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7F && r < 0xA0 {
			return '�'
		}
		return r
	}, strings.ToValidUTF8(d.qr.Text, "�"))
	if clean != d.qr.Text {
		d.problem("QR code of %q, which is not text", d.qr.Text)
	}

	printed := d.qr
	printed.Line = len(d.t.Lines)
	high := printed.image().Height
	switch {
	case high == 0:
		d.problem("QR code of %d bytes is too long", len(printed.Text))
	case d.o.Dots > 0 && high > d.o.Dots:
		d.problem("QR code of %d dots is wider than the %d of the paper", high, d.o.Dots)
	}

	d.t.QRs = append(d.t.QRs, printed)
	d.placeholder("▒▒ QR "+clean, high)
}

// buzz checks a buzzer command and records it. The effect of a number out of range is
// not specified.
func (d *decoder) buzz(b []byte) {
	times := 0

	switch {
	case b[0] == esc && b[1] == 'B' && b[2] >= 1 && b[2] <= 9 && b[3] >= 1 && b[3] <= 9:
		times = int(b[2])
	case b[0] == esc && b[1] == 'p' && b[2] <= 1 && b[3] > 0:
		times = 1
		if !d.o.Drawer {
			d.refuse(b) // it opens the cash drawer
			return
		}
	// ESC ( A, function 97 in its short form (EscPosUtils).
	case bytes.HasPrefix(b, []byte("\x1b(A\x03\x00a")) && // pattern, times
		b[6] >= 1 && b[6] <= 7 && b[7] >= 1 && b[7] <= 63:
		times = int(b[7])
	default:
		d.refuse(b) // its numbers are out of range
		return
	}

	if len(d.t.Buzzes) < maxProblems {
		d.t.Buzzes = append(d.t.Buzzes, Buzz{slices.Clone(b), times})
	}
}

// word is a number of two bytes, the low one first.
func word(b []byte, at int) int { return int(b[at]) | int(b[at+1])<<8 }
