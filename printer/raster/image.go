package raster

// An Image is a bitmap. Bits holds its rows from the top, each of (Width+7)/8 bytes, the most
// significant bit at the left; 1 is black. Bits beyond Width are 0.
type Image struct {
	Width, Height int
	Bits          []byte
}

func newImage(width, height int) Image {
	return Image{width, height, make([]byte, (width+7)/8*height)}
}

// stride is the number of bytes in a row.
func (m Image) stride() int { return (m.Width + 7) / 8 }

func (m Image) row(y int) []byte { return m.Bits[y*m.stride() : (y+1)*m.stride()] }

func (m Image) set(x, y int) { m.Bits[y*m.stride()+x/8] |= 0x80 >> (x % 8) }

func (m Image) black(x, y int) bool { return m.Bits[y*m.stride()+x/8]&(0x80>>(x%8)) != 0 }

// stamp adds the dots of p, each enlarged to wide×high, with its upper left corner at x, y. The part
// beyond the right or lower edge is left out. Clipping here lets callers draw a letter that is only
// partly on the paper.
func (m Image) stamp(p Image, x, y, wide, high int) {
	for v := y; v < min(y+p.Height*high, m.Height); v++ {
		for u := x; u < min(x+p.Width*wide, m.Width); u++ {
			if p.black((u-x)/wide, (v-y)/high) {
				m.set(u, v)
			}
		}
	}
}

// embolden draws everything again up to n dots to the right, as a printer's bold does.
func (m Image) embolden(n int) {
	for y := range m.Height {
		for x := m.Width - 1; x >= 0; x-- {
			// Right to left, so that dots added here do not spread further.
			for left := max(x-n, 0); left < x; left++ {
				if m.black(left, y) {
					m.set(x, y)
				}
			}
		}
	}
}

// invert swaps black and white between x and x+width, over the whole height.
func (m Image) invert(x, width int) {
	for y := range m.Height {
		row := m.row(y)
		for i := x; i < min(x+width, m.Width); i++ {
			row[i/8] ^= 0x80 >> (i % 8)
		}
	}
}

// A cell is the space of a character one column wide, in dots. The baseline is ascent below its
// upper edge. Everything in this package places letters by it, whatever font they come from.
type cell struct {
	w, h, ascent int
	em           int // height of an em, for fonts from files: two columns, before they are enlarged
	scale        int // dots per dot of the built-in font, or 0 if letters must be resampled
}

// enlarged returns the cell of a column that is wide×high times as large, for fonts from files. The
// built-in font is drawn at normal size and enlarged dot by dot.
func (c cell) enlarged(wide, high int) cell {
	return cell{c.w * wide, c.h * high, c.ascent * high, c.em * high, 0}
}

const (
	// Dimensions of the built-in font, in dots: letters are 6 wide, or 12 for East Asian
	// characters. The first and the last of its 16 rows have no ink in any letter and are left out.
	halfWidth = 6
	fontRows  = 14
	fontTop   = 1  // first row used
	fontBase  = 11 // rows from there to the baseline
)

// cellFor returns the cell for a column w dots wide. A whole multiple of the font's dots keeps
// letters sharp; a few dots of extra width go to the right. 12 dots (Font A at 80 mm) and 18 give
// sharp letters; 384 dots in 42 columns do not.
func cellFor(w int) cell {
	if k := w / halfWidth; k > 0 && w%halfWidth <= k {
		return cell{w, fontRows * k, fontBase * k, 2 * w, k}
	}
	return cell{w, max(1, (fontRows*w+halfWidth/2)/halfWidth), (fontBase*w + halfWidth/2) / halfWidth, 2 * w, 0}
}
