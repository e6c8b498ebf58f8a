// Package escpos writes composed lines as the bytes an ESC/POS printer understands.
//
// It is the last thing between the service's text and a machine that obeys bytes, so it
// holds one rule above all: what comes out is the commands named in commands.go and
// letters, whatever goes in. It is pure; the wire is package transport's.
package escpos

import (
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
)

// Encode draws lines on a printer of model p: reset, lines, feed, cut. Lines print as
// wide as they were measured if their text went through [Printable] before; text that did not
// is made printable here, and may then be wider than its line.
func Encode(lines []layout.Line, p profile.Profile) []byte {
	e := encoder{out: make([]byte, 0, 64*len(lines)+64), p: p, pages: pages(p)}
	e.start()
	for _, l := range lines {
		e.line(l)
	}
	e.style(style{})
	e.finish()
	return e.out
}

// An encoder remembers what the printer was told, so that it is told only what changes.
type encoder struct {
	out   []byte
	p     profile.Profile
	pages []page

	page int // index into pages; -1 before the first
	now  style
}

// A style is a layout.Style as this model can print it.
type style struct {
	bold, invert, red bool
	width, height     int // times the normal size less one, so the zero style is what a reset gives
}

func (e *encoder) line(l layout.Line) {
	red := false
	for _, s := range l.Spans {
		red = red || s.Red
	}
	for _, s := range l.Spans {
		if s.Text == "" {
			continue
		}
		most := e.p.Sizing.Max()
		e.style(style{
			bold:   s.Bold,
			invert: s.Invert && e.p.Invert,
			red:    red && e.p.TwoColour, // the ribbon moves between lines only
			width:  min(max(s.Width, 1), most) - 1,
			height: min(max(s.Height, 1), most) - 1,
		})
		e.text(s.Text)
	}
	if len(l.Spans) == 0 {
		e.style(style{}) // a blank line is no higher than it was measured, and not black
	}
	e.out = append(e.out, '\n')
}

// text writes letters, changing the code page where the current one lacks one. It is the
// only place where bytes come from outside.
func (e *encoder) text(s string) {
	if !plain(s) {
		s = printable(s, e.pages)
	}
	for _, r := range s {
		if ascii(r) {
			e.out = append(e.out, byte(r))
		} else if at, b, ok := find(e.pages, e.page, r); ok {
			e.selectPage(at)
			e.out = append(e.out, b)
		}
	}
}
