package virtual

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"slices"

	"rsc.io/qr"

	"ticketrail/printer/layout"
	"ticketrail/printer/raster"
)

// The picture shows the ticket as a cook sees it: sizes, inverted lines, red, images and where the paper
// ends. It is made for people and for tests that look for a wrong layout; its letters are not
// a printer's.

const (
	margin     = 24      // white paper around the printable area
	tearHeight = 12      // paper below the end
	maxHeight  = 1 << 15 // of a picture, so that a sender that only feeds paper cannot exhaust the memory
)

// Indices into the palette of a picture.
const (
	black = iota + 1
	red
	grey
)

// Draw draws the ticket for a terminal, with head above it; see [layout.Plain]. Of an image only the size is shown.
func (t Ticket) Draw(head string) string { return head + "\n" + layout.Plain(t.Lines, t.width()) }

// width is how many columns the paper has.
func (t Ticket) width() int {
	columns := t.columns
	for i := 0; t.columns <= 0 && i < len(t.Lines); i++ {
		columns = max(columns, t.Lines[i].Width())
	}
	return max(columns, 16)
}

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
	dots, columns := t.dots, t.width()
	if dots <= 0 {
		dots = columns * 12
	}

	high, drawn := 0, t.images(max(dots/columns, 1))
	for i := range drawn { // the letters of the picture may be higher than a printer's
		drawn[i].pitch = max(t.rows[i].pitch, drawn[i].Height)
		high += drawn[i].pitch
	}
	high = min(high, maxHeight)

	paper := image.NewPaletted(image.Rect(0, 0, dots+2*margin, high+2*margin+tearHeight), color.Palette{
		color.White, color.Black, color.RGBA{0xC0, 0x10, 0x10, 0xFF}, color.RGBA{0xA0, 0xA0, 0xA0, 0xFF},
	})

	y := margin
	for i, img := range drawn {
		img.stamp(paper, margin+int(t.rows[i].align)*max(dots-img.Width, 0)/2, y)
		y += img.pitch
	}

	edge(paper, t.End)
	return paper
}

// A drawing is a line as it is drawn.
type drawing struct {
	Image
	ink   uint8
	pitch int
}

// images draws the lines; cell is the width of a column. Feed is an empty image.
func (t Ticket) images(cell int) []drawing {
	drawer, _ := raster.New() // without fonts there is no error
	drawn := make([]drawing, len(t.rows))

	for i, l := range t.Lines {
		text, ink := drawer.Line(l, l.Width(), l.Width()*cell), uint8(black)
		if slices.ContainsFunc(l.Spans, func(s layout.Span) bool { return s.Red }) {
			ink = red
		}
		drawn[i] = drawing{Image: Image{Width: text.Width, Height: text.Height, Bits: text.Bits}, ink: ink}
	}

	for _, img := range t.Images {
		drawn[img.Line].Image = img
	}
	for _, q := range t.QRs {
		drawn[q.Line].Image = q.image()
	}
	return drawn
}

// image draws the QR code; it is empty if the text is too long.
func (q QR) image() Image {
	code, err := qr.Encode(q.Text, qr.Level(min(max(q.Level, '0'), '3')-'0'))
	if err != nil {
		return Image{}
	}

	side := code.Size * q.Module
	img := Image{Width: side, Height: side, Bits: make([]byte, (side+7)/8*side)}
	for y := range side {
		for x := range side {
			if code.Black(x/q.Module, y/q.Module) {
				img.Bits[y*((side+7)/8)+x/8] |= 0x80 >> (x % 8)
			}
		}
	}
	return img
}

// stamp draws the part of d that is on the paper; x, y is its upper left corner.
func (d drawing) stamp(paper *image.Paletted, x, y int) {
	for v := range min(d.Height, paper.Rect.Max.Y-y) {
		for u := range min(d.Width, paper.Rect.Max.X-margin-x) {
			if d.Black(u, v) {
				paper.Pix[(y+v)*paper.Stride+x+u] = d.ink
			}
		}
	}
}

// edge draws the end of the paper.
func edge(p *image.Paletted, e End) {
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
