// Package raster draws lines of a ticket as images, for text that the printer has no characters
// for, so that a dish keeps the name in which it was ordered. It draws with a built-in bitmap font
// and with font files found on the box. It knows no printer commands. A drawn line takes exactly
// the columns that layout measured, so drawn and printed lines can be mixed.
//
// A column is dots/columns wide. The built-in font has letters 6 dots wide and 14 dots high,
// including accents and descenders. At 12 dots a column (Font A) every dot is doubled, and a line
// is 28 dots high, close to the 30 dots that a printer feeds for a line of its own characters.
package raster

import (
	"errors"
	"unicode"

	"ticketrail/printer/layout"
)

// The files: units.go and bidi.go split a line into pieces in visual order; glyphs.go draws a piece with the built-in
// font, outline.go with a font file; image.go puts the dots together; files.go reads fonts, which are untrusted.
//
// The text comes from whoever may send orders, so every step is bounded by the columns of the
// paper, not by the text.

// A Drawer draws lines. It is safe for concurrent use.
type Drawer struct {
	fonts []*outline // from files, in the order in which they are tried
}

// New makes a Drawer with fonts: TrueType or OpenType files (.ttf, .otf, .ttc). They are tried in this order for
// characters that the built-in font lacks, as it does Arabic, Thai and the scripts of India; see [Installed] for fonts
// to list here. The Drawer is always usable, if need be with the built-in font alone, because
// a missing font must not stop the kitchen; the error joins the causes for each font that could
// not be read. New reads which characters the fonts have; a font is loaded when a line first needs
// it.
func New(fonts ...string) (*Drawer, error) {
	d := &Drawer{}
	var errs []error
	for _, path := range fonts {
		opened, err := openFont(path)
		if err == nil {
			d.fonts = append(d.fonts, opened)
		}
		errs = append(errs, err)
	}
	return d, errors.Join(errs...)
}

// Has reports whether a font has r, or the letter and the marks it consists of.
func (d *Drawer) Has(r rune) bool { return d.fontFor([]rune{r}) != noFont }

// The font of a piece of text: an index into Drawer.fonts, or one of these.
const (
	noFont = -1 - iota
	builtIn
	blank // nothing to draw, such as a space
)

// fontFor returns the font for a character and its marks: the built-in one if it has them, because
// its letters fit the columns exactly. A letter without its mark is wrong, but the cook can still
// read the dish; an empty box says nothing.
func (d *Drawer) fontFor(text []rune) int {
	if hasAll(text) {
		return builtIn
	}

	for i, f := range d.fonts {
		if f.hasAll(text) {
			return i
		}
	}

	if len(text) > 1 { // no font has all of the marks: draw the letter without them
		return d.fontFor(text[:1])
	}
	return noFont
}

// largeFont returns the font from a file for the Chinese, Japanese and Korean characters of enlarged
// text, or noFont. The built-in font has 12×12 dots for one, which become squares that are hard to
// read; an outline becomes finer instead. One font draws all of them, also the punctuation.
func (d *Drawer) largeFont(letters []unit) int {
	for _, u := range letters {
		if !unicode.In(u.base(), unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			continue
		}
		for i, f := range d.fonts {
			if !f.squares && f.hasAll(u.text) {
				return i
			}
		}
	}
	return noFont
}

// Line draws a line for a printer with columns of normal width and dots dots across. The image is
// columns×(dots/columns) wide and as high as the tallest span. Every span starts exactly at its
// column and stays within the width that layout.Width returns for it. A character that no font has
// is drawn as an empty box, see [Drawer.Has].
func (d *Drawer) Line(l layout.Line, columns, dots int) Image {
	if columns < 1 || dots < columns {
		return Image{}
	}

	cell, tall := cellFor(dots/columns), scaleFactor(l.Height())
	img := newImage(columns*cell.w, tall*cell.h)
	// The whole line decides the variant, so that one dish does not mix regional shapes.
	variant := variantOf(l.Spans)

	column := 0
	for _, s := range l.Spans {
		wide, high := scaleFactor(s.Width), scaleFactor(s.Height)
		wanted := layout.Width(s.Text)

		// Text beyond the right edge is not drawn, so overlong text costs no time.
		if room := columns - column; wanted > 0 && room > 0 {
			text, outlines := d.span(s, min(wanted, (room+wide-1)/wide), cell, variant)
			// Bold is applied before enlarging, so that its strokes grow with the letters.
			if s.Bold {
				bold := max(1, cell.w/12)
				text.embolden(bold)
				outlines.embolden(bold * wide)
			}

			x, y, width := column*cell.w, (tall-high)*cell.ascent, min(wanted*wide, room)*cell.w
			img.stamp(text, x, y, wide, high)
			img.stamp(outlines, x, y, 1, 1)
			if s.Invert {
				img.invert(x, width)
			}
		}

		column += wanted * wide
	}
	return img
}

// scaleFactor limits a multiple of the normal size to 1 to 8. These are the sizes of GS !, so a
// drawn line has the size of a printed one. It also bounds the memory of an image.
func scaleFactor(n int) int { return min(max(n, 1), 8) }

// span draws as much of s as fits into so many columns: text is the part of the built-in font, at
// normal size, because dots that are enlarged while they are copied stay sharp; outlines is the part that
// fonts from files draw, at the size of s, empty if there is nothing.
func (d *Drawer) span(s layout.Span, columns int, c cell, v variant) (text, outlines Image) {
	wide, high := scaleFactor(s.Width), scaleFactor(s.Height)

	text = newImage(columns*c.w, c.h)
	x := 0

	for _, u := range d.units(s.Text, s.Direction, columns, wide*high > 1) {
		switch img, enlarged := d.unit(u, c, c.enlarged(wide, high), v); {
		case u.font == blank:
		case enlarged:
			if outlines.Bits == nil {
				outlines = newImage(columns*c.w*wide, c.h*high)
			}
			outlines.stamp(img, x*wide, 0, 1, 1)
		default:
			text.stamp(img, x, 0, 1, 1)
		}

		x += u.columns * c.w
	}
	return text, outlines
}

// unit draws one unit. A font from a file draws it enlarged. If the font breaks
// now, the piece is drawn with the built-in font, at worst as a box: a ticket with a box is better
// than none.
func (d *Drawer) unit(u unit, normal, enlarged cell, v variant) (m Image, isEnlarged bool) {
	if u.font >= 0 {
		if img, ok := d.fonts[u.font].draw(u, enlarged, v); ok {
			return img, true
		}
	}
	return drawBuiltIn(u, normal, v), false
}
