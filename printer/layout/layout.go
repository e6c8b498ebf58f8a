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
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/text/unicode/bidi"

	"ticketrail/queue/ticket"
)

const (
	// Limits of the paper width, in characters of normal width.
	minColumns = 16  // narrower paper has no room for the VOID mark and a word beside it
	maxColumns = 255 // no receipt paper is wider; it bounds the cost of a wrong setting
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
	// Printer is the name printed in the footer: the station's, as cooks know it.
	Printer string `mapstructure:"-"`
	// Printable replaces the characters that the printer cannot print, in a string without control characters. It
	// is called before anything is measured, so a replacement may be longer than the original and
	// wraps like any other text. It must return its own results unchanged, because text may pass
	// through it twice. Nil leaves text as it is.
	Printable func(string) string `mapstructure:"-"`

	// Copy is the number of this copy, out of Copies. With more than one copy, each prints a banner
	// such as COPY 2/2, so that two papers of one ticket are not cooked twice.
	Copy   int `mapstructure:"-"`
	Copies int `mapstructure:"-"`

	// AfterPiece says that the paper above this copy may end with an unfinished piece of the same
	// ticket. The copy says that it replaces that piece.
	AfterPiece bool `mapstructure:"-"`

	// NameSize is the size of item names, by default 2x2. ModifierSize is the size of modifiers and
	// notes, by default 2x1, and never more than the size of the names. A text prints narrower if one of
	// its words does not fit. Some models print at most 2x2.
	NameSize     Size `mapstructure:"name_size" default:"2x2"`
	ModifierSize Size `mapstructure:"modifier_size" default:"2x1"`
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
	NoAlsoAt   bool `mapstructure:"-"` // leave out the line ALSO AT, which names the other stations of the order

	// Cut prints each item (ByItem) or each course (ByCourse) as a sticker of its own, with the order's number, which
	// sticker of how many it is, and every mark of the ticket. Anything else prints one.
	Cut string `mapstructure:"cut" default:"none" oneof:"none item course"`

	// Alarms find the items, modifiers and notes that print as an alarm, because they name an
	// allergy. Nil finds none.
	Alarms *Alarms `mapstructure:"-"`
	// Framed draws alarms, voids and repetitions in a frame of asterisks, and makes the mark of a void as big as its
	// name: the printer has no white on black.
	Framed bool `mapstructure:"-"`
}

// The values of Options.Cut.
const (
	ByItem   = "item"
	ByCourse = "course"
)

// ComposeWith lays a delivery out. It is safe for concurrent use if the functions in o are.
func ComposeWith(d ticket.Delivery, o Options) []Line {
	composing := &composer{Options: o, columns: min(max(o.Columns, minColumns), maxColumns)}

	stickers := composing.stickers(&d.Ticket)
	for i, lines := range stickers {
		d.Ticket.Lines = lines
		if composing.Cut != "" {
			composing.sticker = fmt.Sprintf("%d/%d", i+1, len(stickers))
		}

		composing.blanks(composing.TopMargin)
		composing.banners(&d)
		composing.header(&d)
		composing.body(&d.Ticket)
		composing.footer(&d)

		composing.lines[len(composing.lines)-1].Cut = i < len(stickers)-1
		composing.AfterPiece = false // the piece is above the first one
	}
	return composing.lines
}

// stickers divides the lines of a ticket into its stickers, between which the paper is cut. A ticket that is no order
// or has no items is one, and Cut is cleared for it.
func (c *composer) stickers(t *ticket.Ticket) [][]ticket.Line {
	if c.Cut != ByItem && c.Cut != ByCourse || t.Kind != ticket.Order || t.IsList || len(t.Lines) == 0 {
		c.Cut = ""
	}

	start := 0
	var stickers [][]ticket.Line

	for next := 1; c.Cut != "" && next < len(t.Lines); next++ {
		if t.Lines[next].Depth == 0 && (c.Cut == ByItem || t.Lines[next].Course != t.Lines[start].Course) {
			stickers = append(stickers, t.Lines[start:next])
			start = next
		}
	}

	return append(stickers, t.Lines[start:])
}

// composer collects the lines of one ticket, from top to bottom.
type composer struct {
	Options
	columns int // Options.Columns, limited to minColumns and maxColumns
	lines   []Line
	sticker string // which of several this is: 2/5
	// frameEnd is how many lines there were when the last frame ended; 0: there was none.
	frameEnd int
	alarm    bool // the lines are an alarm
}

// text returns s as it will print: without control characters, in characters the printer has, on
// one line, with single spaces.
func (c *composer) text(s string) string {
	return strings.Join(strings.Fields(c.printable(s)), " ")
}

// cookText returns text for a cook, in capitals if Options.UpperCase asks for that. It is for a
// paragraph only: it keeps the soft hyphens, at which [wrap] may break a word.
func (c *composer) cookText(s string) string {
	if c.UpperCase {
		s = upperCase(s)
	}

	parts := strings.Split(s, softHyphen)
	for i := range parts {
		parts[i] = c.printable(parts[i])
	}

	words := strings.Fields(strings.Join(parts, softHyphen))
	for i := range words {
		words[i] = strings.Trim(words[i], softHyphen)
	}

	return strings.Join(strings.Fields(strings.Join(words, " ")), " ") // without words that were soft hyphens alone
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

// blanks adds n blank lines.
func (c *composer) blanks(n int) {
	for range n {
		c.add(Line{})
	}
}

// rule adds a line drawn across the paper.
func (c *composer) rule(of string) { c.add(Line{Spans: []Span{{Text: strings.Repeat(of, c.columns)}}}) }

// A Line is one line of print: its spans from left to right. It is never wider than the paper. A
// blank line has no spans.
type Line struct {
	Spans []Span
	// QR, if not empty, is the text of a QR code printed in the middle of the paper, with the spans
	// below it as its caption. A printer without QR codes prints only the caption, which carries
	// the same information. QR holds no control characters.
	QR string
	// Cut says that the paper is cut behind this line, in the middle of the ticket.
	Cut bool
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

// DirectionOf returns the base direction of a text, also of one that will be broken into several lines. Each
// line must keep the direction of the whole: taken alone, a line that begins with a Latin word
// would be set from left to right in the middle of a Hebrew note. Text without right-to-left
// letters and digits is FirstStrong, which spares the renderer the bidirectional algorithm.
func DirectionOf(s string) Direction {
	base, hasRTL := FirstStrong, false
	for _, r := range s {
		if r < utf8.RuneSelf && (r|0x20 < 'a' || r|0x20 > 'z') {
			continue
		}
		class, _ := bidi.LookupRune(r)
		switch class.Class() {
		case bidi.L:
			base = max(base, LeftToRight)
		case bidi.AN:
			hasRTL = true
		case bidi.R, bidi.AL:
			hasRTL, base = true, cmp.Or(base, RightToLeft)
		}
		if hasRTL && base != FirstStrong {
			return base
		}
	}

	if hasRTL { // a text of digits
		return LeftToRight
	}
	return FirstStrong
}

// Style is how a span prints. The zero Style is plain text of normal size.
type Style struct {
	Bold   bool `json:"bold,omitempty"`
	Invert bool `json:"invert,omitempty"` // white on black
	Red    bool `json:"red,omitempty"`    // second colour, if there is one; a printer makes the whole line red
	Width  int  `json:"width,omitempty"`  // multiple of the normal width, 1 to 8; 0 means 1
	Height int  `json:"height,omitempty"` // multiple of the normal height, 1 to 8; 0 means 1
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

// Text is the line without styles.
func (l Line) Text() string {
	var b strings.Builder
	for _, s := range l.Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Width returns how many columns the line takes.
func (l Line) Width() int {
	width := 0
	for _, s := range l.Spans {
		width += Width(s.Text) * s.widthFactor()
	}
	return width
}

// Height returns how many lines of normal height the line takes: as many as its tallest span.
func (l Line) Height() int {
	high := 1
	for _, s := range l.Spans {
		high = max(high, s.Height)
	}
	return high
}

func (s Style) widthFactor() int { return max(s.Width, 1) }
