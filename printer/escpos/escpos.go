// Package escpos writes composed lines as the bytes of an ESC/POS printer, and reads the printer's
// replies.
//
// A printer executes every byte it receives, and the text of a ticket comes from the network. So
// one rule comes before all others: the output consists only of the commands listed in commands.go
// and query.go, printable characters, and images, whatever the input is. The tests read every
// stream back with package virtual, written from the manufacturers' manuals, which refuses anything else.
//
// The package is pure: the same lines and options give the same bytes. Connections are opened and
// written by package transport.
package escpos

import (
	"slices"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
)

// Options describe the printer and how a ticket is written.
type Options struct {
	Profile profile.Profile
	// Drawer draws the lines for which the printer has no characters, if the profile has a command
	// for images; at most 8 MiB of a ticket are images. Nil draws nothing: those lines are then
	// transcribed.
	Drawer *raster.Drawer
	// Buzz is how often the buzzer sounds before the ticket, at most 9 times. VoidSound selects a
	// different sound, so that a cancellation can be told from an order by ear.
	Buzz      int
	VoidSound bool
	// ASB makes the printer report status changes by itself (automatic status back). It must be
	// requested again with each ticket, because the reset at the beginning turns it off.
	ASB bool
}

// An Encoded is a ticket as it is sent to a printer. Status commands may be sent between the two parts and
// after them: an answer after Body proves that the text was printed, an answer after Cut that the
// paper was cut.
type Encoded struct {
	// Body is everything up to and including the feed that moves the text past the blade, with the cuts between
	// stickers.
	Body []byte
	// Cut is only the last cut; empty for printers without a cutter.
	Cut []byte
}

// EncodeTicket writes lines for the printer in o. They print as wide as they were measured if their
// text went through [Printable] with the same options. Other text is made printable here, and may
// then be wider than its line.
func EncodeTicket(lines []layout.Line, o Options) Encoded {
	e := encoder{p: o.Profile, charset: charsetOf(o), current: plain}
	e.start(o.ASB)
	e.buzz(o.Buzz, o.VoidSound)

	for _, l := range lines {
		e.line(l)
		if l.Cut {
			e.style(plain)
			e.feed()
			e.cut()
		}
	}

	e.style(plain)
	e.feed()
	end := len(e.out)

	e.cut()
	return Encoded{Body: e.out[:end:end], Cut: e.out[end:]}
}

// An encoder tracks the state of the printer, so that it sends only changes.
type encoder struct {
	out []byte
	p   profile.Profile
	charset

	page    int // selected code page, an index into pages; -1 before the first selection
	current layout.Style
}

// plain is the style after a reset.
var plain = layout.Style{Width: 1, Height: 1}

// line writes a line as text if the printer has all its characters, else as an image, else
// transcribed.
func (e *encoder) line(l layout.Line) {
	if l.QR != "" {
		e.qr(l.QR)
		if len(l.Spans) == 0 {
			return
		}
	}

	switch {
	case e.hasAll(l.Text()):
		e.writeLine(l)
	case !e.draw(l):
		undrawn := charset{pages: e.pages, twoByte: e.twoByte}
		e.writeLine(withText(l, undrawn.printable))
	}
}

// withText returns l with its text changed. The spans of l belong to the caller.
func withText(l layout.Line, change func(string) string) layout.Line {
	l.Spans = slices.Clone(l.Spans)
	for i := range l.Spans {
		l.Spans[i].Text = change(l.Spans[i].Text)
	}
	return l
}

// writeLine writes a line in the printer's own characters.
func (e *encoder) writeLine(l layout.Line) {
	red := slices.ContainsFunc(l.Spans, func(s layout.Span) bool { return s.Red })
	most := e.p.Sizing.Max()
	for _, s := range l.Spans {
		if s.Text == "" {
			continue
		}
		e.style(layout.Style{
			Bold:   s.Bold,
			Invert: s.Invert && e.p.Invert,
			Red:    red && e.p.TwoColour, // an impact printer moves its ribbon only between lines
			Width:  min(max(s.Width, 1), most),
			Height: min(max(s.Height, 1), most),
		})
		e.text(s.Text)
	}

	if len(l.Spans) == 0 {
		e.style(plain) // a blank line has normal height and is not inverted, as it was measured
	}
	e.out = append(e.out, '\n')
}

// text writes characters, and selects another code page only where the current one lacks a
// character. It is the only place where the service's text becomes bytes.
func (e *encoder) text(s string) {
	inTwoByte := false
	// Every run of two-byte characters is closed before the next command: a printer that still reads pairs of bytes
	// would print half of that command.
	shift := func(on bool) {
		if on != inTwoByte {
			inTwoByte = on
			e.command(fs, map[bool]byte{true: '&', false: '.'}[on])
		}
	}

	for _, r := range s {
		if isASCII(r) {
			shift(false)
			e.out = append(e.out, byte(r))
		} else if at, code, ok := findInPages(e.pages, e.page, r); ok {
			shift(false)
			e.selectPage(at)
			e.out = append(e.out, code)
		} else if pair := e.twoByte.letter(r); pair != nil {
			shift(true)
			e.out = append(e.out, pair...)
		}
	}
	shift(false)
}
