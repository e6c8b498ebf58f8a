// Package layout turns a ticket into lines a cook can read from across the kitchen,
// for paper of a given width.
//
// It is pure: the same delivery on the same paper gives the same lines. It knows
// nothing of bytes and wires; package escpos draws the lines on a printer, [Plain] in a
// terminal. Two things it never does: cut text off, and let a cancellation look like an
// order.
package layout

import (
	"strings"

	"ticketrail/queue/ticket"
)

const (
	minColumns = 16  // columns; less than that holds no void mark and a word beside it
	maxColumns = 255 // columns; no paper is wider
)

// Compose draws a delivery on paper of the given columns (fewer than 16 count as 16,
// more than 255 as 255). printer is the name printed at the foot.
func Compose(d ticket.Delivery, columns int, printer string) []Line {
	return ComposeWith(d, Options{Columns: columns, Printer: printer})
}

// Options say what the paper is like and how this kitchen likes its tickets. The zero
// value of each but Columns gives a good ticket.
type Options struct {
	// Columns is how many letters of normal width a line holds. Fewer than 16 count as
	// 16, more than 255 as 255.
	Columns int
	// Printer is the name printed at the foot.
	Printer string
	// Printable replaces, in a string free of control characters, what the printer
	// lacks. It is asked before anything is measured, so a replacement that is longer
	// wraps like any other text. It must give back what it is given when called on its
	// own answer. Nil leaves text as it is.
	Printable func(string) string

	// Copy of Copies: where there is more than one, each says which it is (COPY 2/2).
	Copy, Copies int

	// NameSize and ModifierSize are the sizes of items and of what is below them; zero
	// chooses by what fits. A size that would leave no room for words is made narrower.
	NameSize, ModifierSize Size

	// Header names the fields of the header in their order: venue, number, table, type, time,
	// server, date, guests, destination, course. Nil is the usual header, an empty list none.
	Header []string

	UpperCase  bool // names, modifiers and notes in capitals
	BlankLines int  // between items, at most 8
	QR         bool // the id of the request as a QR code at the foot

	// Template draws header and footer instead of the built-in ones. Nil: those.
	Template *Template
	// OnTemplateError hears why a template failed on this ticket, which is then printed
	// with the built-in header or footer. Nil: nobody does.
	OnTemplateError func(error)
}

// ComposeWith draws a delivery. It is safe for concurrent use, and so must be the
// functions it is given.
func ComposeWith(d ticket.Delivery, o Options) []Line {
	c := &composer{Options: o, columns: min(max(o.Columns, minColumns), maxColumns)}
	c.banners(&d)
	c.header(&d)
	c.body(&d.Ticket)
	c.footer(&d)
	return c.lines
}

type composer struct {
	Options
	columns int // as wide as is sensible
	lines   []Line
}

// text is s as it will print: safe, in letters the printer has, on one line, with
// single spaces.
func (c *composer) text(s string) string {
	return strings.Join(strings.Fields(c.printable(s)), " ")
}

// printable is s as it will print, with the spaces it has.
func (c *composer) printable(s string) string {
	s = normalize(s)
	if c.Printable != nil {
		s = c.Printable(s)
	}
	return s
}

func (c *composer) add(l Line) { c.lines = append(c.lines, l) }

func (c *composer) blank() { c.add(Line{}) }

func (c *composer) rule(of string) { c.add(Line{Spans: []Span{{Text: strings.Repeat(of, c.columns)}}}) }
