// Package layout composes a ticket into lines of text that a cook can read from across the kitchen,
// for paper of a given width.
//
// It is pure: the same delivery on the same paper always gives the same lines. A retry, a reprint
// and the preview on a screen therefore agree. The package does no I/O and knows no printer
// commands: package escpos turns the lines into bytes, and [Plain] draws them for a terminal.
//
// Two promises hold for every input, and property tests check them: no text is ever cut off (it
// wraps instead), and a cancelled item never looks like an order (each of its lines begins with
// VOID, white on black).
package layout

import (
	"strings"

	"ticketrail/queue/ticket"
)

const (
	// Limits of the paper width, in characters of normal width.
	minColumns = 16  // narrower paper has no room for the VOID mark and a word beside it
	maxColumns = 255 // no receipt paper is wider; it bounds what a wrong setting can cost
)

// Compose lays a delivery out for paper of the given number of columns (values below 16 count as
// 16, values above 255 as 255), with the default options. printer is the name printed in the
// footer.
func Compose(d ticket.Delivery, columns int, printer string) []Line {
	return ComposeWith(d, Options{Columns: columns, Printer: printer})
}

// Options describe the paper and how this kitchen wants its tickets. Apart from Columns, the zero
// value of each field gives a good ticket. Those with a key are printers[].layout of the configuration. Banners, voids
// and the order of items have none: a void must never look like an order.
type Options struct {
	// Columns is how many characters of normal width fit on a line. Values below 16 count as 16,
	// values above 255 as 255.
	Columns int `mapstructure:"-"`
	// Printer is the name printed in the footer: that of the station, as cooks know it.
	Printer string `mapstructure:"-"`
	// Printable replaces what the printer cannot print, in a string without control characters. It
	// is called before anything is measured, so a replacement may be longer than the original and
	// wraps like any other text. It must return its own results unchanged, because text may pass
	// through it twice. Nil leaves text as it is.
	Printable func(string) string `mapstructure:"-"`

	// Copy is the number of this copy, out of Copies. With more than one copy, each prints a banner
	// such as COPY 2/2, so that two papers of one ticket are not cooked twice.
	Copy   int `mapstructure:"-"`
	Copies int `mapstructure:"-"`

	// AfterPiece says that the paper above this copy may end with an unfinished piece of the same
	// ticket. The copy is fed clear of it and begins with IGNORE THE PIECE ABOVE.
	AfterPiece bool `mapstructure:"-"`

	// NameSize is the size of item names, by default 2x2. ModifierSize is the size of modifiers,
	// seats and notes, by default 1x2, and never more than that of the names. Both are made narrower
	// until no word of the ticket has to be broken. Some models print at most 2x2.
	NameSize     Size `mapstructure:"name_size" default:"2x2"`
	ModifierSize Size `mapstructure:"modifier_size" default:"1x2"`
	// NumberSize and TableSize are the sizes of the order's number and table, by default 2x2; 3x3 also fits beside
	// each other on 80 mm paper.
	NumberSize Size `mapstructure:"number_size" default:"2x2"`
	TableSize  Size `mapstructure:"table_size" default:"2x2"`
	// MaxSize is the largest multiple of the normal size that the printer has; 0 is 8.
	MaxSize int `mapstructure:"-"`

	// Header lists the header fields in the order in which they print; a field that the service did not send is
	// skipped. Unknown names print nothing. Nil is all of [HeaderFields], an empty list is no header. An entry such as
	// "at {printer}" is a line with the fields, the printer, the request or the job in it.
	Header []string `mapstructure:"header"`
	// Footer are lines of the same kind above the identity of the ticket.
	Footer []string `mapstructure:"footer"`

	UpperCase bool `mapstructure:"upper_case"` // print names, modifiers and notes in capitals
	// BlankLines are those between two items, TopMargin those before everything else: a rail's clamp hides about 6.
	BlankLines int  `mapstructure:"blank_lines" range:"0 5"`
	TopMargin  int  `mapstructure:"top_margin" range:"0 20"`
	QR         bool `mapstructure:"-"` // print the request's id as a QR code in the footer
	NoAlsoAt   bool `mapstructure:"-"` // leave out ALSO AT: bar, which names the other stations of the order

	// Alarms find the items, modifiers and notes that print as an alarm, because they name an
	// allergy. Nil finds none.
	Alarms *Alarms `mapstructure:"-"`
	// Framed draws alarms in capitals in a frame of exclamation marks, and makes the mark of a void as
	// big as its name: the printer has no white on black.
	Framed bool `mapstructure:"-"`
}

// ComposeWith lays a delivery out. It is safe for concurrent use if the functions in o are.
func ComposeWith(d ticket.Delivery, o Options) []Line {
	c := &composer{Options: o, columns: min(max(o.Columns, minColumns), maxColumns)}
	c.topMargin()
	c.banners(&d)
	c.header(&d)
	c.body(&d.Ticket)
	c.footer(&d)
	return c.lines
}

// composer collects the lines of one ticket, from top to bottom.
type composer struct {
	Options
	columns int // Options.Columns, limited to minColumns and maxColumns
	lines   []Line
}

// text returns s as it will print: without control characters, in characters the printer has, on
// one line, with single spaces.
func (c *composer) text(s string) string {
	return strings.Join(strings.Fields(c.printable(s)), " ")
}

// printable returns s in characters the printer has, without changing its spaces.
func (c *composer) printable(s string) string {
	s = normalize(s)
	if c.Printable != nil {
		s = c.Printable(s)
	}
	return s
}

func (c *composer) add(l Line) { c.lines = append(c.lines, l) }

func (c *composer) blank() { c.add(Line{}) }

// blanks adds n blank lines, at most maxBlankLines.
func (c *composer) blanks(n int) {
	for range min(n, maxBlankLines) {
		c.blank()
	}
}

// topMargin adds the blank lines at the top of the paper. Those after a piece take it past the edge
// at which paper is torn off, about 1 cm above the print head.
func (c *composer) topMargin() {
	const linesAfterPiece = 4
	if c.AfterPiece {
		c.blanks(linesAfterPiece)
	}
	c.blanks(c.TopMargin)
}

// rule adds a line drawn across the paper.
func (c *composer) rule(of string) { c.add(Line{Spans: []Span{{Text: strings.Repeat(of, c.columns)}}}) }
