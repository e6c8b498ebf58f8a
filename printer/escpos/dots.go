package escpos

import (
	"bytes"
	"slices"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
)

// bandRows is how many rows of an image go out in one command. Low-cost printers have small buffers
// and print while they receive, and a printer that lost its connection inside an image waits for no
// more than this: on 80 mm paper 1.7 KiB, few enough to be completed before a ticket (see Resync).
const bandRows = 24

// minLineRows is the least number of rows of a line of normal height, so that drawn lines are as
// far apart as printed ones: 30 is the line feed of printers after a reset.
const minLineRows = 30

// Resync returns bytes that make a printer accept commands again after an interrupted ticket. They
// are at least as long as the longest command ever sent to the printer, so they complete whatever
// command it is still waiting for, and the ESC @ of the next ticket is read as a command. They are
// NULs, which a printer ignores if it waits for nothing, and then [SelectPrinter].
func Resync(p profile.Profile) []byte {
	const shortCommands = 64 // more than the fixed parts of any command
	// Other programs send longer ones: 2,000 bytes were seen.
	size := max(2048, maxQRBytes+shortCommands)

	if p.Raster != profile.NoRaster {
		size = max(size, bandRows*((p.Dots+7)/8)+shortCommands)
	}
	return append(make([]byte, size), SelectPrinter()...)
}

// maxDrawnBytes is how many bytes of a ticket may be images: about 15 m of paper. The service may
// send a megabyte of Chinese, which would be 60 MB of image and several times that in memory, again
// with each attempt: more than the box has. The lines beyond print transcribed.
const maxDrawnBytes = 8 << 20

// draw writes a line as an image and reports whether it did. The whole line is drawn, so a character that no font has
// is replaced, even if the printer has it. A line wider than the paper is drawn smaller, because nothing may be cut
// off; one that would be illegible then is not drawn.
func (e *encoder) draw(l layout.Line) bool {
	if e.drawer == nil || len(e.out) > maxDrawnBytes {
		return false
	}

	l = withText(l, e.drawable)
	if l.Width() > 2*e.p.Columns {
		return false
	}
	return e.image(e.drawer.Line(l, max(e.p.Columns, l.Width()), e.p.Dots), 0)
}

// image writes an image, with left bytes of white before each row. The printer feeds exactly the
// rows it printed, so bands and lines neither overlap nor leave a gap, whatever its line spacing
// is.
func (e *encoder) image(img raster.Image, left int) bool {
	row := (img.Width + 7) / 8
	if img.Width <= 0 || img.Height <= 0 || len(img.Bits) < row*img.Height {
		return false
	}

	wide := min(inkedBytes(img.Bits[:row*img.Height], row)+left, (e.p.Dots+7)/8)
	high := max(img.Height, minLineRows)

	for y := 0; y < high; {
		rows := e.rowsPerCommand(wide, min(bandRows, high-y))
		e.imageHead(wide, rows)
		data := len(e.out)
		for ; rows > 0; rows-- {
			start := len(e.out)
			e.out = append(e.out, make([]byte, wide)...)
			if y < img.Height {
				copy(e.out[min(start+left, len(e.out)):], img.Bits[y*row:(y+1)*row])
			}
			y++
		}

		maskRealtime(e.out[data-1:])
		if e.p.Raster == profile.Graphics {
			e.command(gs, '(', 'L', 2, 0, '0', '2') // function 50: print the image of function 112
		}
	}
	return true
}

// inkedBytes returns how many bytes of the widest row have ink; at least 1. The white at the right
// edge is not sent: most lines are short, and a serial line carries a few kilobytes a second.
func inkedBytes(bits []byte, row int) int {
	most := 1
	for dots := range slices.Chunk(bits, row) {
		most = max(most, len(bytes.TrimRight(dots, "\x00")))
	}
	return most
}

// graphicsHead is how many bytes of GS ( L, function 112, are counted by its length but come before
// the image.
const graphicsHead = 10

// rowsPerCommand returns how many of n rows go out in one command: all of them, unless the length
// of the command would contain a real-time command.
func (e *encoder) rowsPerCommand(wide, n int) int {
	for e.p.Raster == profile.Graphics && n > 1 {
		if size := graphicsHead + wide*n; !isRealtimePair(byte(size), byte(size>>8)) {
			break
		}
		n--
	}
	return n
}

func (e *encoder) imageHead(wide, n int) {
	if e.p.Raster == profile.Graphics {
		size, dots := graphicsHead+wide*n, wide*8
		e.command(gs, '(', 'L', byte(size), byte(size>>8), '0', 'p', '0', 1, 1, '1', byte(dots), byte(dots>>8),
			byte(n), 0)
		return
	}

	e.command(gs, 'v', '0', 0, byte(wide), byte(wide>>8), byte(n), 0)
}

// isRealtimePair reports whether a printer executes these two bytes wherever they are, even inside
// an image: DLE EOT, DLE ENQ and DLE DC4 (Epson TM-U220 specification, p. 55).
func isRealtimePair(a, b byte) bool { return a == 0x10 && (b == 0x04 || b == 0x05 || b == 0x14) }

// maskRealtime blackens one dot in every pair of bytes that would be executed. The results, 06, 07
// and 16, are part of no such pair.
func maskRealtime(bits []byte) {
	for i := 1; i < len(bits); i++ {
		if isRealtimePair(bits[i-1], bits[i]) {
			bits[i] |= 0x02
		}
	}
}
