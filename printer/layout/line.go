package layout

import (
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/text/unicode/bidi"
)

// A Line is one line of print: its spans one after the other, left to right. It is
// never wider than the paper. Blank lines have no spans.
type Line struct {
	Spans []Span
	// QR, where it is not empty, is drawn as a QR code in the middle of the paper, with
	// the spans as its caption below. A printer that draws none prints the caption alone.
	// It holds no control characters.
	QR string
}

// A Span is text in one style. Text holds no control characters and no line breaks.
type Span struct {
	Text string
	Style
	// Direction is that of the whole text of which this is a part.
	Direction Direction
}

// Direction is from which side a text is read that holds letters of both kinds.
type Direction uint8

const (
	FirstStrong Direction = iota // the side its first letter is read from
	LeftToRight                  // as Latin
	RightToLeft                  // as Hebrew and Arabic
)

// directionOf is the direction of a text that will be parted: without it, what a
// part begins with would decide. Where nothing is read from the right, it is ByLetter.
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
	Red    bool // where there is a second colour: on a printer, all of the line is red then
	Width  int  // times the normal width, 1 to 8; 0 is 1
	Height int  // times the normal height, 1 to 8; 0 is 1
}

// Width is how many columns of normal size s takes: the sum of what its characters take, for
// that is how a printer's head moves on. So the width of a line is that of its parts,
// wherever it is cut; a character that would join the one before it (a vowel sign at the
// beginning of a word) takes its own place.
func Width(s string) (n int) {
	for _, r := range s {
		n += displaywidth.Rune(r)
	}
	return n
}

// Width is how many columns the line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l.Spans {
		n += Width(s.Text) * s.widthFactor()
	}
	return n
}

// Height is how many lines of normal height the line takes.
func (l Line) Height() int {
	h := 1
	for _, s := range l.Spans {
		h = max(h, s.Height)
	}
	return h
}

func (s Style) widthFactor() int { return max(s.Width, 1) }
