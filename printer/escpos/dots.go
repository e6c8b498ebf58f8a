package escpos

import (
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
)

// bandRows is how many rows of dots go out in one command. A clone with a small buffer prints
// while it receives, and a broken ticket leaves the printer waiting for no more than this.
const bandRows = 48

// minLineRows is how many rows a line of normal height takes at the least, so that drawn lines
// stand as far apart as set ones: 30 is what printers feed after a reset.
const minLineRows = 30

// Resync brings a printer back to its senses after a broken ticket: it is at least as
// long as the longest command ever sent to it, so whatever it is still waiting for, it has
// got, and the ESC @ of the next ticket is a command again. To a printer that waits for
// nothing it is nothing: NULs.
func Resync(p profile.Profile) []byte {
	const shortCommands = 64 // and the short commands
	n := maxQRBytes + shortCommands
	if p.Raster != profile.NoRaster {
		n = max(n, bandRows*((p.Dots+7)/8)+shortCommands)
	}
	return make([]byte, n)
}

// maxDrawnBytes is how many bytes of a ticket may be dots: 15 m of paper. A megabyte of Chinese, which
// the service may send, would be sixty of dots, and several times that in memory: more than
// the box has, each time anew. What is beyond prints in letters.
const maxDrawnBytes = 8 << 20

// draw sends a line as dots. False says that there is no drawing of it. A line that is
// wider than the paper is drawn smaller, for nothing may be cut off; one that could not be
// read then is not drawn.
func (e *encoder) draw(l layout.Line) bool {
	if e.drawer == nil || l.Width() > 2*e.p.Columns || len(e.out) > maxDrawnBytes {
		return false
	}
	return e.image(e.drawer.Line(l, max(e.p.Columns, l.Width()), e.p.Dots), 0)
}

// image sends dots, left bytes of white before each row. The printer feeds exactly what
// it printed, so neither bands nor lines overlap or gape, whatever the line spacing is.
func (e *encoder) image(img raster.Image, left int) bool {
	row := (img.Width + 7) / 8
	if img.Width <= 0 || img.Height <= 0 || len(img.Bits) < row*img.Height {
		return false
	}
	wide := min(inkedBytes(img.Bits[:row*img.Height], row)+left, (e.p.Dots+7)/8)
	high := max(img.Height, minLineRows)
	for y := 0; y < high; {
		n := e.rowsPerCommand(wide, min(bandRows, high-y))
		e.imageHead(wide, n)
		data := len(e.out)
		for ; n > 0; n-- {
			start := len(e.out)
			e.out = append(e.out, make([]byte, wide)...)
			if y < img.Height {
				copy(e.out[min(start+left, len(e.out)):], img.Bits[y*row:(y+1)*row])
			}
			y++
		}
		maskRealtime(e.out[data-1:])
		if e.p.Raster == profile.Graphics {
			e.command(gs, '(', 'L', 2, 0, '0', '2') // print what was stored
		}
	}
	return true
}

// inkedBytes is how many bytes of a row have black in them, in any row; 1 at the least.
func inkedBytes(bits []byte, row int) int {
	most := 1
	for start := 0; start < len(bits); start += row {
		for n := row; n > most; n-- {
			if bits[start+n-1] != 0 {
				most = n
				break
			}
		}
	}
	return most
}

// graphicsHead is how many bytes of GS ( L function 112 are counted before the dots.
const graphicsHead = 10

// rows is how many of n rows go out in one command: all of them, unless their count would
// transcribe a realtime command in its head.
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
		e.command(gs, '(', 'L', byte(size), byte(size>>8), '0', 'p', '0', 1, 1, '1', byte(dots), byte(dots>>8), byte(n), 0)
		return
	}
	e.command(gs, 'v', '0', 0, byte(wide), byte(wide>>8), byte(n), 0)
}

// isRealtimePair says that a printer obeys these two bytes wherever they stand, inside an image
// too: DLE EOT, DLE ENQ, DLE DC4 (Epson TM-U220 specification, p. 55).
func isRealtimePair(a, b byte) bool { return a == 0x10 && (b == 0x04 || b == 0x05 || b == 0x14) }

// maskRealtime makes one dot black in every pair of bytes that would be obeyed. What that makes
// of it, 06, 07 or 16, begins and ends no other pair.
func maskRealtime(bits []byte) {
	for i := 1; i < len(bits); i++ {
		if isRealtimePair(bits[i-1], bits[i]) {
			bits[i] |= 0x02
		}
	}
}
