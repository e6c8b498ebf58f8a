package virtual

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"

	"github.com/clipperhouse/displaywidth"
	"github.com/hajimehoshi/bitmapfont/v3"
	"golang.org/x/image/math/fixed"
	"rsc.io/qr"
)

// The picture shows the ticket as a cook sees it: sizes, inverted lines, red, images and where the paper
// ends. It is made for people and for tests that look for a wrong layout; its letters are not
// a printer's.

const (
	letterHeight = 24      // dots, of Font A
	margin       = 24      // white paper around the printable area
	tearHeight   = 12      // paper below the end
	maxHeight    = 1 << 15 // of a picture, so that a sender that only feeds paper cannot exhaust the memory
)

// Indices into the palette of a picture.
const (
	white = iota
	black
	red
	grey
)

// WritePNG writes [Ticket.Picture] to a file. Its name begins with path and ends with the time, so that no picture of
// an earlier run is overwritten.
func (t Ticket) WritePNG(path string) error {
	return os.WriteFile(path+t.At.Format("-20060102-150405.000000")+".png", t.PNG(), 0o644)
}

// PNG is [Ticket.Picture] in this form.
func (t Ticket) PNG() []byte {
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	_ = encoder.Encode(&b, t.Picture()) // memory takes everything
	return b.Bytes()
}

// Picture draws the paper, one pixel for each dot: text in its sizes, images and codes dot by dot. The lower
// edge is dashed if it was cut, solid if not, and torn if the ticket broke off.
//
// Without the width of the paper in dots, a column has 12.
func (t Ticket) Picture() *image.Paletted {
	dots, columns := t.dots, t.columns
	if columns <= 0 {
		for _, l := range t.Lines {
			columns = max(columns, l.width())
		}
		columns = max(columns, 16)
	}

	if dots <= 0 {
		dots = columns * letterHeight / 2
	}

	high := 0
	for i := range t.rows {
		high += t.rows[i].pitch
	}
	high = min(high, maxHeight)

	painting := &painter{
		Paletted: image.NewPaletted(image.Rect(0, 0, dots+2*margin, high+2*margin+tearHeight), color.Palette{
			color.White, color.Black, color.RGBA{0xC0, 0x10, 0x10, 0xFF}, color.RGBA{0xA0, 0xA0, 0xA0, 0xFF},
		}),
		dots: dots, cell: max(dots/columns, 1),
	}

	y := margin
	for i := range t.rows {
		t.paint(painting, i, y)
		y += t.rows[i].pitch
	}

	painting.edge(t.End)
	return painting.Paletted
}

// paint draws line i; y is its upper edge.
func (t Ticket) paint(p *painter, i, y int) {
	if i >= len(t.Lines) {
		return // feed
	}

	align := int(t.rows[i].align)
	for _, img := range t.Images {
		if img.Line == i {
			p.image(img, align*max(p.dots-img.Width, 0)/2, y)
			return
		}
	}
	for _, q := range t.QRs {
		if q.Line == i {
			if code := q.code(); code != nil {
				p.code(code, q.Module, align*max(p.dots-code.Size*q.Module, 0)/2, y)
			}
			return
		}
	}

	line := t.Lines[i]
	x := align * max(p.dots-line.width()*p.cell, 0) / 2
	base := y + max(line.height(), letterHeight)

	for _, s := range line {
		x = p.span(s, x, base)
	}
}

// width is how many columns of normal size the line takes.
func (l Line) width() int {
	columns := 0
	for _, s := range l {
		columns += displaywidth.String(s.Text) * max(s.Width, 1)
	}
	return columns
}

// code encodes the QR code, or returns nil if its text is too long.
func (q QR) code() *qr.Code {
	encoded, err := qr.Encode(q.Text, qr.Level(min(max(q.Level, '0'), '3')-'0'))
	if err != nil {
		return nil
	}
	return encoded
}

// A painter draws on a picture. Its x is 0 at the left edge of the printable area.
type painter struct {
	*image.Paletted
	dots, cell int
}

// dot sets one dot, if it is on the paper.
func (p *painter) dot(x, y int, c uint8) {
	if x >= 0 && x < p.dots && y >= 0 && y < p.Rect.Max.Y {
		p.Pix[y*p.Stride+x+margin] = c
	}
}

func (p *painter) box(x, y, w, h int, c uint8) {
	for v := y; v < y+h; v++ {
		for u := x; u < x+w; u++ {
			p.dot(u, v, c)
		}
	}
}

func (p *painter) image(img Image, x, y int) {
	for v := range img.Height {
		for u := range min(img.Width, p.dots) {
			if img.Black(u, v) {
				p.dot(x+u, y+v, black)
			}
		}
	}
}

func (p *painter) code(c *qr.Code, module, x, y int) {
	for v := range c.Size {
		for u := range c.Size {
			if c.Black(u, v) {
				p.box(x+u*module, y+v*module, module, module, black)
			}
		}
	}
}

// span draws text on the base line and returns the x of its end.
func (p *painter) span(s Span, x, base int) int {
	ink := uint8(black)
	if s.Red {
		ink = red
	}

	w, high := max(s.Width, 1), max(s.Height, 1)*letterHeight
	for _, r := range s.Text {
		columns := displaywidth.Rune(r)
		wide := p.cell * columns * w
		if s.Invert {
			p.box(x, base-high, wide, high, ink)
			p.letter(r, columns, image.Rect(x, base-high, x+wide, base), white, s.Bold)
		} else {
			p.letter(r, columns, image.Rect(x, base-high, x+wide, base), ink, s.Bold)
		}
		x += wide
	}
	return x
}

// letter draws r scaled to box. The font's characters are 12 dots high, ascenders and descenders included, and
// 6 wide, or 12 for characters of two columns, which are placed one dot higher.
func (p *painter) letter(r rune, columns int, box image.Rectangle, ink uint8, bold bool) {
	const high = letterHeight / 2
	at, mask, from, advance, ok := bitmapfont.Face.Glyph(fixed.Point26_6{}, r)
	if !ok || columns == 0 {
		return
	}

	top, wide := 2, advance.Round()
	if columns > 1 {
		top = 1
	}
	from = from.Add(image.Pt(-at.Min.X, top-12-at.Min.Y))

	black := func(x, y int) bool {
		if x < box.Min.X || x >= box.Max.X {
			return false
		}
		_, _, _, alpha := mask.At(from.X+(x-box.Min.X)*wide/box.Dx(), from.Y+(y-box.Min.Y)*high/box.Dy()).RGBA()
		return alpha != 0
	}

	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			if black(x, y) || bold && black(x-1, y) && !black(x+1, y) { // without closing gaps of one dot
				p.dot(x, y, ink)
			}
		}
	}
}

// edge draws the end of the paper.
func (p *painter) edge(e End) {
	y, wide := p.Rect.Max.Y-tearHeight, p.Rect.Max.X
	for x := range wide {
		switch e {
		case Cut:
			if x%16 < 9 {
				p.Pix[y*p.Stride+x] = grey
				p.Pix[(y+1)*p.Stride+x] = grey
			}
		case Closed:
			p.Pix[y*p.Stride+x] = grey
		default:
			zig := y - tearHeight/2 + x%tearHeight
			if x/tearHeight%2 == 1 {
				zig = y + tearHeight/2 - x%tearHeight
			}
			for v := zig; v < p.Rect.Max.Y; v++ {
				p.Pix[v*p.Stride+x] = grey
			}
		}
	}
}
