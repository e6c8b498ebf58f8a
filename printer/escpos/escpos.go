// Package escpos writes composed lines as the bytes an ESC/POS printer understands, and
// reads what it answers.
//
// It is the last thing between the service's text and a machine that obeys bytes, so it
// holds one rule above all: what comes out is the commands named in commands.go and
// query.go, letters, and dots, whatever goes in. It is pure; the wire is package
// transport's.
package escpos

import (
	"slices"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
)

// Options are how a ticket is written.
type Options struct {
	Profile profile.Profile
	// Drawer draws the lines for which the printer has no letters, where the profile has a
	// command for dots, up to 8 MiB of them. Nil draws nothing.
	Drawer *raster.Drawer
	// Buzz is how many times the buzzer sounds before the ticket, 9 at the most; BuzzVoid
	// makes it sound differently, for a cancellation.
	Buzz     int
	BuzzVoid bool
	// ASB has the printer push its status on change, which the reset at the beginning stops.
	ASB bool
}

// A Ticket is what a printer is sent. Between the two parts, and after them, is the place
// for questions.
type Ticket struct {
	// Body is everything up to and with the feed that brings the text past the blade.
	Body []byte
	// Cut is the cut alone, empty where tickets are torn by hand.
	Cut []byte
}

// EncodeTicket writes lines for the printer of o. They come out as wide as they were
// measured if their text went through [PrintableWith] with the same options; text that did
// not is made printable here, and may then be wider than its line.
func EncodeTicket(lines []layout.Line, o Options) Ticket {
	e := encoder{p: o.Profile, charset: charsetOf(o)}
	e.start(o.ASB)
	e.buzz(o.Buzz, o.BuzzVoid)
	for _, l := range lines {
		e.line(l)
	}
	e.style(style{})
	e.feed()
	end := len(e.out)
	e.cut()
	return Ticket{Body: e.out[:end:end], Cut: e.out[end:]}
}

// An encoder remembers what the printer was told, so that it is told only what changes.
type encoder struct {
	out []byte
	p   profile.Profile
	charset

	page    int // index into pages; -1 before the first
	shift   bool
	current style
}

// A style is a layout.Style as this model can print it.
type style struct {
	bold, invert, red bool
	width, height     int // times the normal size less one, so the zero style is what a reset gives
}

func (e *encoder) line(l layout.Line) {
	if l.QR != "" {
		e.qr(l.QR)
		if len(l.Spans) == 0 {
			return
		}
	}
	ready, ok := e.prepare(l)
	switch {
	case ok:
		e.writeLine(ready)
	case !e.draw(ready):
		letters := charset{pages: e.pages, twoByte: e.twoByte}
		for i := range ready.Spans {
			ready.Spans[i].Text = letters.printable(ready.Spans[i].Text)
		}
		e.writeLine(ready)
	}
}

// ready is l with text that can come out. set says that the printer's letters are enough
// for it.
func (e *encoder) prepare(l layout.Line) (_ layout.Line, ok bool) {
	l.Spans = slices.Clone(l.Spans) // they are the caller's
	ok = true
	for i := range l.Spans {
		if text := &l.Spans[i].Text; !e.hasAll(*text) {
			*text = e.printable(*text)
			ok = ok && e.hasAll(*text)
		}
	}
	if !ok {
		for i := range l.Spans { // also the letters beside those that have to be drawn
			l.Spans[i].Text = e.drawable(l.Spans[i].Text)
		}
	}
	return l, ok
}

// set writes a line in the printer's letters.
func (e *encoder) writeLine(l layout.Line) {
	red := false
	for _, s := range l.Spans {
		red = red || s.Red
	}
	most := e.p.Sizing.Max()
	for _, s := range l.Spans {
		if s.Text == "" {
			continue
		}
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
	inTwoByte := false
	for _, r := range s {
		at, b, ok := 0, byte(r), isASCII(r)
		if !ok {
			if at, b, ok = findInPages(e.pages, e.page, r); ok {
				e.endTwoByte(&inTwoByte)
				e.selectPage(at)
			}
		}
		if ok {
			e.endTwoByte(&inTwoByte)
			e.out = append(e.out, b)
		} else if lead, tail, ok := e.twoByte.letter(r); ok {
			e.beginTwoByte(&inTwoByte)
			e.out = append(e.out, lead, tail)
		}
	}
	e.endTwoByte(&inTwoByte)
}
