// Package layout turns a ticket into lines a cook can read from across the kitchen,
// for paper of a given width.
//
// It is pure: the same delivery on the same paper gives the same lines. It knows
// nothing of bytes and wires; package escpos draws the lines on a printer, [Plain] in a
// terminal. Two things it never does: cut text off, and let a cancellation look like an order.
package layout

import "ticketrail/queue/ticket"

// Compose draws a delivery on paper of the given columns (fewer than 16 count as 16).
// printer is the name printed at the foot.
func Compose(d ticket.Delivery, columns int, printer string) []Line {
	return ComposeFor(d, columns, printer, nil)
}

// ComposeFor is [Compose] for a printer that has not every character: printable
// replaces, in a string free of control characters, what it lacks. It is asked before
// anything is measured, so a replacement that is longer wraps like any other text. It
// must give back what it is given when called on its own answer. Nil leaves text as it is.
func ComposeFor(d ticket.Delivery, columns int, printer string, printable func(string) string) []Line {
	return nil
}

// Plain draws lines as text.
func Plain(lines []Line, columns int) string { return "" }

// Clean makes a string safe to show.
func Clean(s string) string { return s }
