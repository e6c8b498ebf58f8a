// Package raster draws the lines for which the printer has no letters: it turns them
// into dots, so that a cook reads every name as the guest's country writes it. It draws
// with a font that is built in and with font files found on the box; it knows nothing
// of commands, and a line it draws takes the same columns as one the printer sets.
//
// A column is dots/columns wide. The built-in font has letters 6 dots wide and 14 high,
// accents and tails included, so at 12 dots a column (Font A) every dot is doubled and
// a line is 28 dots high, nearly the 30 a printer moves on for a line of its own letters.
package raster

import (
	"ticketrail/printer/layout"
)

// Options are what a Drawer draws with.
type Options struct {
	// Fonts are TrueType or OpenType files (.ttf, .otf, .ttc), or folders of them. They are
	// tried in this order for what the built-in font does not have, and for Arabic, which
	// it has but cannot join well: see [Installed] for fonts to name here.
	Fonts []string
}

// A Drawer turns lines into dots. It may be used by many goroutines at once.
type Drawer struct {
	fonts []*outline // from files, in the order in which they are tried
}

// New makes a Drawer. It can always be used, be it with the built-in font alone; the
// error joins what is wrong with each font that could not be read. Fonts are read once to
// see what they have, and loaded when a line first needs them.
func New(o Options) (*Drawer, error) {
	fonts, err := openFonts(o.Fonts)
	return &Drawer{fonts: fonts}, err
}

// Where a piece of text is drawn from: the place of a font among Drawer.fonts, or one of these.
const (
	noFont = -1 - iota
	builtIn
	blank // nothing to draw
)

// source is the font for a character and its marks.
func (d *Drawer) fontFor(text []rune) int {
	if hasAll(text) {
		return builtIn
	}
	for i, f := range d.fonts {
		if f.hasAll(text) {
			return i
		}
	}
	if len(text) > 1 { // no font has all of the marks: the letter matters
		return d.fontFor(text[:1])
	}
	return noFont
}

// Line draws a line of print: columns of normal width on a printer with that many dots. The
// image is columns×(dots/columns) wide and as high as the tallest span; every span
// starts exactly at its column and stays within what layout.Width counts for it. What
// no font has is an empty box: give [Drawer.Printable] to the layout, and there is none.
func (d *Drawer) Line(l layout.Line, columns, dots int) Image {
	if columns < 1 || dots < columns {
		return Image{}
	}
	c := cellFor(dots / columns)
	tall := 1
	for _, s := range l.Spans {
		tall = max(tall, scaleFactor(s.Height))
	}
	m := newImage(columns*c.w, tall*c.h)
	variant := variantOf(l.Spans)
	column := 0
	for _, s := range l.Spans {
		wide, high := scaleFactor(s.Width), scaleFactor(s.Height)
		n := layout.Width(s.Text)
		// What is beyond the paper is not drawn; text as long as a book costs nothing.
		if room := columns - column; n > 0 && room > 0 {
			text := d.span(s, min(n, (room+wide-1)/wide), c, variant)
			if s.Bold {
				text.embolden(max(1, c.w/12))
			}
			x, width := column*c.w, min(n*wide, room)*c.w
			m.stamp(text, x, (tall-high)*c.ascent, wide, high)
			if s.Invert {
				m.invert(x, width)
			}
		}
		column += n * wide
	}
	return m
}

func scaleFactor(n int) int { return min(max(n, 1), 8) }

// span draws as much of s as goes into so many columns, at normal size.
func (d *Drawer) span(s layout.Span, columns int, c cell, v variant) Image {
	m := newImage(columns*c.w, c.h)
	x := 0
	for _, u := range d.units(s.Text, s.Direction, columns) {
		if u.font != blank {
			m.stamp(d.unit(u, c, v), x, 0, 1, 1)
		}
		x += u.columns * c.w
	}
	return m
}

// unit draws what is placed as one: a character with its marks, or a run of a script whose
// letters change with their neighbours.
func (d *Drawer) unit(u unit, c cell, v variant) Image {
	if u.font >= 0 {
		if m, ok := d.fonts[u.font].draw(u, c); ok {
			return m
		}
	}
	return drawBuiltIn(u, c, v)
}
