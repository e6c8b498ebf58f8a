package layout

import (
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/text/unicode/bidi"
)

// A Line is one line of print: its spans from left to right. It is never wider than the paper. A
// blank line has no spans.
type Line struct {
	Spans []Span
	// QR, if not empty, is the text of a QR code printed in the middle of the paper, with the spans
	// below it as its caption. A printer without QR codes prints only the caption, which carries
	// the same information. QR holds no control characters.
	QR string
}

// A Span is text in one style. Text holds no control characters and no line breaks, whatever the
// service sent: a span can be written to a printer or a terminal without being read as a command.
type Span struct {
	Text string
	Style
	// Direction is the base direction of the whole text of which this span is a part.
	Direction Direction
}

// Direction is the base direction of a text that mixes left-to-right and right-to-left scripts.
type Direction uint8

const (
	// The base directions of the Unicode bidirectional algorithm (UAX #9).
	FirstStrong Direction = iota // the direction of the first letter of the span
	LeftToRight                  // Latin, Greek, Cyrillic, Han …
	RightToLeft                  // Hebrew, Arabic
)

// directionOf returns the base direction of a text that will be broken into several lines. Each
// line must keep the direction of the whole: taken alone, a line that begins with a Latin word
// would be set from left to right in the middle of a Hebrew note. Text without right-to-left
// letters is FirstStrong, which spares the renderer the bidirectional algorithm.
func directionOf(s string) Direction {
	base, hasRTL := FirstStrong, false
	for _, r := range s {
		if r < utf8.RuneSelf && (r|0x20 < 'a' || r|0x20 > 'z') {
			continue
		}
		p, _ := bidi.LookupRune(r)
		switch p.Class() {
		case bidi.L:
			base = max(base, LeftToRight)
		case bidi.R, bidi.AL:
			if hasRTL = true; base == FirstStrong {
				base = RightToLeft
			}
		}
		if hasRTL {
			return base
		}
	}
	return FirstStrong
}

// Style is how a span prints. The zero Style is plain text of normal size.
type Style struct {
	Bold   bool
	Invert bool // white on black
	Red    bool // second colour, if there is one; a printer makes the whole line red
	Width  int  // multiple of the normal width, 1 to 8; 0 means 1
	Height int  // multiple of the normal height, 1 to 8; 0 means 1
}

// Width returns how many columns of normal size s takes: the sum of the widths of its characters,
// because a printer's head advances character by character. So the width of a line is the sum of
// the widths of its parts, wherever it is cut. A character that would join the one before it (such
// as a vowel sign at the beginning of a word) counts separately.
func Width(s string) (n int) {
	for _, r := range s {
		n += displaywidth.Rune(r)
	}
	return n
}

// Width returns how many columns the line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l.Spans {
		n += Width(s.Text) * s.widthFactor()
	}
	return n
}

// Height returns how many lines of normal height the line takes: as many as its tallest span.
func (l Line) Height() int {
	h := 1
	for _, s := range l.Spans {
		h = max(h, s.Height)
	}
	return h
}

func (s Style) widthFactor() int { return max(s.Width, 1) }
