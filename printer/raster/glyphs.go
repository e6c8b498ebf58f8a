package raster

import (
	"unicode"

	"github.com/hajimehoshi/bitmapfont/v3"
	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/unicode/norm"

	"ticketrail/printer/layout"
)

// The built-in font (bitmapfont) is complete for the Basic Multilingual Plane except for some
// Arabic shapes, and needs no file, so most drawn lines need nothing else. Its weakness is that a
// letter and a mark are separate glyphs, which are put together here by moving dots.

// builtInHas reports whether the built-in font shows something for r, or r shows nothing on
// purpose. The font itself claims to have every character.
func builtInHas(r rune) bool {
	switch {
	case r < 0 || r > 0xffff:
		return false
	case isInvisible(r):
		return true
	}

	// glyphIn tries every face, so the variant does not matter here. Arabic letters join, which a font file does with
	// HarfBuzz; letter by letter they are no word.
	return !glyphIn(r, japanese).empty() && !(unicode.Is(unicode.Arabic, r) && unicode.In(r, unicode.L, unicode.M))
}

// hasAll reports whether the built-in font has all of text, if need be as letters and separate
// marks.
func hasAll(text []rune) bool {
	for _, r := range text {
		if builtInHas(r) {
			continue
		}

		parts := []rune(norm.NFD.String(string(r)))
		if len(parts) < 2 || !hasAll(parts) {
			return false
		}
	}
	return true
}

// isInvisible reports whether r only takes space or changes other characters.
func isInvisible(r rune) bool {
	return r == ' ' || r > 0x7e && unicode.In(r, unicode.Zs, unicode.Cf, unicode.Cc, unicode.Variation_Selector)
}

// variant says which regional shapes of Chinese characters are used.
type variant int

const (
	simplified variant = iota
	traditional
	japanese
)

// faces are the built-in font with the shapes of each variant.
var faces = [...]font.Face{simplified: bitmapfont.FaceSC, traditional: bitmapfont.FaceTC, japanese: bitmapfont.Face}

// variantOf guesses the region: by the letters that only Japanese and Korean have, else by which
// national character sets contain the rarer characters. Unicode gives one number to a Chinese
// character that is written differently in China, Taiwan and Japan; the wrong variant is readable
// but looks foreign.
func variantOf(spans []layout.Span) variant {
	gb, big5 := simplifiedchinese.HZGB2312.NewEncoder(), traditionalchinese.Big5.NewEncoder()
	votes := 0

	for _, s := range spans {
		for _, r := range s.Text {
			switch {
			case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
				return japanese
			case !unicode.Is(unicode.Han, r):
				continue
			}

			// Characters in both sets, or in neither, say nothing about the region.
			_, errGB := gb.String(string(r))
			_, errBig5 := big5.String(string(r))
			switch {
			case errGB == nil && errBig5 != nil:
				votes--
			case errGB != nil && errBig5 == nil:
				votes++
			}
		}
	}

	if votes > 0 {
		return traditional
	}
	return simplified
}

// A glyph is a letter of the built-in font: rows from the top, the leftmost dot in bit 15.
type glyph struct {
	w    int
	rows [fontRows]uint16
}

// empty reports whether g has no ink.
func (g glyph) empty() bool { return g.rows == [fontRows]uint16{} }

// extent returns the first row with ink and the row after the last.
func (g glyph) extent() (top, bottom int) {
	for top < fontRows && g.rows[top] == 0 {
		top++
	}

	bottom = fontRows
	for bottom > top && g.rows[bottom-1] == 0 {
		bottom--
	}
	return top, bottom
}

// shifted returns g moved down by dy. Rows that leave the glyph are cut off.
func (g glyph) shifted(dy int) glyph {
	out := glyph{w: g.w}

	for y, row := range g.rows {
		if y+dy >= 0 && y+dy < fontRows {
			out.rows[y+dy] = row
		}
	}
	return out
}

// touches reports whether two glyphs have ink in the same place.
func (g glyph) touches(o glyph) bool {
	for y := range g.rows {
		if g.rows[y]&o.rows[y] != 0 {
			return true
		}
	}
	return false
}

// glyphOf copies r out of a face, without the two rows that never have ink.
func glyphOf(f font.Face, r rune) glyph {
	rect, mask, at, _, ok := f.Glyph(fixed.P(0, 0), r)
	if !ok || mask == nil {
		return glyph{w: halfWidth}
	}

	drawn := glyph{w: min(rect.Dx(), 2*halfWidth)}
	for y := range fontRows {
		for x := range drawn.w {
			if _, _, _, alpha := mask.At(at.X+x, at.Y+y+fontTop).RGBA(); alpha != 0 { // a bitmap font has no grey
				drawn.rows[y] |= 0x8000 >> x
			}
		}
	}
	return drawn
}

// glyphIn finds r in the face of the variant, or in another face if only that one has it.
func glyphIn(r rune, v variant) glyph {
	for _, f := range []font.Face{faces[v], bitmapfont.Face, bitmapfont.FaceSC, bitmapfont.FaceTC} {
		if drawn := glyphOf(f, r); !drawn.empty() {
			return drawn
		}
	}
	return glyph{w: halfWidth}
}

// composeGlyph draws a character with its marks, or a box if no font has it.
func composeGlyph(u unit, v variant) glyph {
	if u.font != builtIn {
		return box(u.columns)
	}

	// Prefer the composed letter: its accent was drawn for it. Fall back to the letter and separate
	// marks.
	text := []rune(norm.NFC.String(string(u.text)))
	if !builtInHas(text[0]) {
		text = []rune(norm.NFD.String(string(u.text)))
	}

	composed := glyphIn(text[0], v)
	for _, r := range text[1:] {
		if mark := glyphIn(r, v); !isInvisible(r) && !mark.empty() {
			composed = composed.withMark(mark)
		}
	}
	return composed
}

// withMark puts a mark on a letter. Marks above and below keep clear of the letter's own ink as far
// as there is room.
func (g glyph) withMark(mark glyph) glyph {
	if g.w > mark.w { // the marks of the font are drawn for letters of normal width
		for y := range mark.rows {
			mark.rows[y] >>= (g.w - mark.w) / 2
		}
	}

	step, room := 0, 0
	switch top, bottom := mark.extent(); {
	case bottom <= 5: // above
		step, room = -1, top
	case top >= 9: // below
		step, room = 1, fontRows-bottom
	}

	moved := mark
	for n := 1; n <= room && moved.touches(g); n++ {
		moved = mark.shifted(n * step)
	}
	for y := range g.rows {
		g.rows[y] |= moved.rows[y]
	}
	return g
}

// box is drawn for a character that no font has. It is as high as a capital, so that it is
// seen as a letter.
func box(columns int) glyph {
	wide := min(columns, 2) * halfWidth
	side, edge := uint16(0x8000|0x8000>>(wide-2)), uint16(0xffff<<(16-wide+1))

	frame := glyph{w: wide}
	for y := 2; y < fontBase; y++ {
		frame.rows[y] = side
	}
	frame.rows[2], frame.rows[fontBase-1] = edge, edge
	return frame
}

// drawBuiltIn draws one character of the built-in font into its columns.
func drawBuiltIn(u unit, c cell, v variant) Image {
	glyph := composeGlyph(u, v)
	img := newImage(u.columns*c.w, c.h)

	wide := u.columns * halfWidth
	switch {
	case glyph.w > wide: // a square glyph for one column: halve the width of every dot
		glyph.resample(img, glyph.w)
	case c.scale == 0:
		glyph.centred(wide).resample(img, wide)
	default:
		glyph.centred(wide).multiply(img, c.scale, wide)
	}
	return img
}

// centred moves g to the middle of so many dots, of which a row has at most 16.
func (g glyph) centred(wide int) glyph {
	for y := range g.rows {
		g.rows[y] >>= (min(wide, 16) - g.w) / 2
	}
	return g
}

// black reports whether a dot is set; right of the 16 dots of a row none is.
func (g glyph) black(x, y int) bool { return x < 16 && g.rows[y]&(0x8000>>x) != 0 }

// multiply makes every dot scale×scale. A column slightly wider than the letter repeats the
// rightmost dots, so that joined letters stay joined.
func (g glyph) multiply(m Image, scale, wide int) {
	for y := range m.Height {
		for x := range m.Width {
			if g.black(min(x/scale, wide-1), y/scale) {
				m.set(x, y)
			}
		}
	}
}

// resample scales the first wide dots of each row to the size of m: a dot is black if at least half
// of its area is.
func (g glyph) resample(m Image, wide int) {
	for y := range m.Height {
		for x := range m.Width {
			// Coordinates are in units of 1/m.Width and 1/m.Height of a dot of g.
			x0, x1, y0, y1 := x*wide, (x+1)*wide, y*fontRows, (y+1)*fontRows

			ink := 0
			for gy := y0 / m.Height; gy*m.Height < y1; gy++ {
				overlap := min(y1, (gy+1)*m.Height) - max(y0, gy*m.Height)
				for gx := x0 / m.Width; gx*m.Width < x1; gx++ {
					if g.black(gx, gy) {
						ink += overlap * (min(x1, (gx+1)*m.Width) - max(x0, gx*m.Width))
					}
				}
			}

			// full is the area of a dot of m in the units of the loop.
			full := wide * fontRows
			if m.Width < wide || m.Height < fontRows {
				full = full * 2 / 3 // when shrinking, prefer too much black to a lost stroke
			}

			if 2*ink >= full {
				m.set(x, y)
			}
		}
	}
}
