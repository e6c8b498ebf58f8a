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
	narrowest = 16  // columns; less than that holds no void mark and a word beside it
	widest    = 255 // columns; no paper is wider
)

// Compose draws a delivery on paper of the given columns (fewer than 16 count as 16,
// more than 255 as 255). printer is the name printed at the foot.
func Compose(d ticket.Delivery, columns int, printer string) []Line {
	return ComposeFor(d, columns, printer, nil)
}

// ComposeFor is [Compose] for a printer that has not every character: printable
// replaces, in a string free of control characters, what it lacks. It is asked before
// anything is measured, so a replacement that is longer wraps like any other text. It
// must give back what it is given when called on its own answer. Nil leaves text as it is.
func ComposeFor(d ticket.Delivery, columns int, printer string, printable func(string) string) []Line {
	c := &composer{columns: min(max(columns, narrowest), widest), printable: printable}
	t := &d.Ticket
	c.banners(&d)
	c.header(t)
	c.body(t)
	c.footer(&d, printer)
	return c.lines
}

type composer struct {
	columns   int
	printable func(string) string
	lines     []Line
}

// text is s as it will print: safe, in letters the printer has, on one line, with
// single spaces.
func (c *composer) text(s string) string {
	s = Clean(s)
	if c.printable != nil {
		s = c.printable(s)
	}
	if tidy(s) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// tidy says that joining the words of s by single spaces would change nothing. It
// knows plain ASCII only, which is nearly everything.
func tidy(s string) bool {
	space := true // a space here would be the first, or the second in a row
	for i := range len(s) {
		if b := s[i]; b == ' ' {
			if space {
				return false
			}
			space = true
		} else if b < 0x20 || b >= 0x7f {
			return false
		} else {
			space = false
		}
	}
	return !space || s == ""
}

func (c *composer) add(l Line) { c.lines = append(c.lines, l) }

func (c *composer) blank() { c.add(Line{}) }

func (c *composer) rule(of string) { c.add(Line{Spans: []Span{{Text: strings.Repeat(of, c.columns)}}}) }
