package virtual

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
)

const (
	lf  = 0x0A
	dle = 0x10
	esc = 0x1B
	fs  = 0x1C
	gs  = 0x1D

	dotsPerLine = 30 // the usual line spacing
)

// A decoder reads what the print engine takes from the receive buffer. It believes nothing: whatever comes in, it
// goes on reading, in bounded memory but for the text itself.
type decoder struct {
	p      *Printer
	o      Options
	client *client // who sent what is being read

	pending  []byte // of a command that is not complete, or half a Chinese character
	raw      []byte
	line     Line
	used     int // columns of line
	lines    []Line
	problems []string
	printed  int // lines fed since the last look

	style Style
	page  *charmap.Charmap
	kanji bool
}

func newDecoder(p *Printer) *decoder {
	d := &decoder{p: p, o: p.o}
	d.reset()
	return d
}

// restart is ESC @.
func (d *decoder) restart() {
	d.p.asbOff()
	d.reset()
}

// reset is a start: defaults, and a line that was not printed is forgotten.
func (d *decoder) reset() {
	if len(d.line) > 0 {
		d.problem("ESC @ in the middle of a line")
	}
	d.line, d.used = nil, 0
	d.style = Style{Width: 1, Height: 1}
	d.kanji = d.o.Kanji
	d.page = charmap.CodePage437
}

// feed takes one byte and returns how many lines the paper moved.
func (d *decoder) feed(b byte) int {
	d.raw = append(d.raw, b)
	d.printed = 0
	switch {
	case len(d.pending) > 0 && d.pending[0] >= 0x80:
		d.chinese(b)
	case len(d.pending) > 0:
		d.pending = append(d.pending, b)
		d.command()
	case b == esc, b == gs, b == fs, b == dle:
		d.pending = append(d.pending, b)
	case b == lf:
		d.newline()
	case b == 0 && len(d.line) == 0 && len(d.lines) == 0:
		// padding that lets a printer come out of a half-received image
	case b < 0x20, b == 0x7F:
		d.problem("control byte %02X in text", b)
	case d.kanji && b > 0x80 && b < 0xFF:
		d.pending = append(d.pending, b)
	default:
		d.letter(b)
	}
	return d.printed
}

func (d *decoder) letter(b byte) {
	r := d.page.DecodeByte(b)
	if r == utf8.RuneError || r < 0x20 || r >= 0x7F && r < 0xA0 {
		d.problem("byte %02X is no letter in %s", b, d.page)
		r = '�'
	}
	d.put(r, d.style.Width)
}

// chinese completes a two-byte character of a GB18030 ROM.
func (d *decoder) chinese(b byte) {
	pair := []byte{d.pending[0], b}
	d.pending = d.pending[:0]
	s, err := simplifiedchinese.GB18030.NewDecoder().Bytes(pair)
	r, _ := utf8.DecodeRune(s)
	if err != nil || r == utf8.RuneError || b < 0x40 {
		d.problem("bytes % X are no Chinese character", pair)
		r = '�'
	}
	d.put(r, 2*d.style.Width)
}

// put prints a letter of w columns.
func (d *decoder) put(r rune, w int) {
	if d.o.Columns > 0 && d.used+w > d.o.Columns {
		d.problem("line %d is wider than %d columns", len(d.lines)+1, d.o.Columns)
		d.newline()
	}
	d.used += w
	if n := len(d.line); n > 0 && d.line[n-1].Style == d.style {
		d.line[n-1].Text += string(r)
		return
	}
	d.line = append(d.line, Span{Text: string(r), Style: d.style})
}

func (d *decoder) newline() {
	d.lines = append(d.lines, d.line)
	d.line, d.used = nil, 0
	d.printed++
}

// feedLines is ESC d: what is in the line prints, then the paper moves n lines.
func (d *decoder) feedLines(n int) {
	if len(d.line) > 0 {
		d.newline()
		n--
	}
	for range n {
		d.newline()
	}
}

// command carries out what is pending once it is complete.
func (d *decoder) command() {
	b := d.pending
	switch n := extent(b); {
	case n == 0:
		d.problem("unknown command % X", b)
		d.pending = d.pending[:0]
	case n > len(b):
		return
	default:
		d.pending = nil
		d.do(b)
	}
}

func (d *decoder) do(b []byte) {
	d.p.query(d.client, b)
	if c, ok := lookup(b[0], b[1]); ok {
		if !c.ours {
			d.problem("command % X is none of ours", b)
		}
		c.do(d, b[2:])
		return
	}
	switch {
	case b[0] == gs && b[1] == 'V':
		switch feed := 0; b[2] {
		case 65, 66:
			feed = int(b[3]) / dotsPerLine
			fallthrough
		case 0, 1, 48, 49:
			d.cut(feed)
		default:
			d.problem("command % X is no cut", b)
		}
	case b[0] == gs && b[1] == '(' && b[2] == 'H': // asks to be told when printed
	case b[0] == dle && b[1] == 0x04: // asks for the status at once
	case b[0] == gs && b[1] == 'v' && b[2] == '0':
		d.feedLines(0)
		d.put('▒', 1)
		d.newline()
	default:
		d.problem("command % X is none of ours", b[:min(len(b), 8)])
	}
}

// printMode is ESC !.
func (d *decoder) printMode(a []byte) {
	n := a[0]
	d.style.Bold, d.style.Underline = n&0x08 != 0, n&0x80 != 0
	d.style.Width, d.style.Height = 1, 1
	if n&0x20 != 0 {
		d.style.Width = 2
	}
	if n&0x10 != 0 {
		d.style.Height = 2
	}
}

func (d *decoder) cut(feed int) {
	if len(d.line) > 0 {
		d.problem("cut in the middle of a line")
		d.newline()
	}
	d.tear(Cut, feed)
}

// end is the end of the connection.
func (d *decoder) end(e End) {
	if e == Closed && len(d.pending) > 0 {
		d.problem("connection ends inside a command: % X", d.pending)
	}
	if len(d.line) > 0 {
		if e == Closed {
			d.problem("connection ends in the middle of a line")
		}
		d.newline()
	}
	d.finish(e)
}

// powerOff is the end of everything, but for what is on the paper. A line that has not
// been printed is lost.
func (d *decoder) powerOff(e End) {
	d.line = nil
	d.finish(e)
}

// finish brings out what is on the paper, if anything, and forgets the client.
func (d *decoder) finish(e End) {
	if slices.ContainsFunc(d.lines, func(l Line) bool { return len(l) > 0 }) {
		d.tear(e, 0)
	}
	d.lines, d.raw, d.problems, d.pending = nil, nil, nil, nil
	d.reset()
}

// cuts says whether b completes a cut.
func (d *decoder) cuts(b byte) bool {
	n := len(d.pending)
	switch {
	case n == 0:
		return false
	case n == 1:
		return d.pending[0] == esc && (b == 'i' || b == 'm')
	case d.pending[0] != gs || d.pending[1] != 'V':
		return false
	default:
		return n == 2 && b < 65 || n == 3
	}
}

// tear brings out what is on the paper.
func (d *decoder) tear(e End, feed int) {
	lines := d.lines
	for len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(strings.TrimRight(l.String(), " "))
		text.WriteByte('\n')
	}
	d.p.emit(Ticket{
		Text: text.String(), Lines: slices.Clone(lines), Feed: len(d.lines) - len(lines) + feed,
		Raw: d.raw, End: e, At: time.Now(), Problems: d.problems,
	})
	d.lines, d.raw, d.problems = nil, nil, nil
}

// String is the line's text.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

func (d *decoder) problem(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if len(d.problems) < keptProblems {
		d.problems = append(d.problems, s)
	}
	d.p.record(s)
}

// selectPage is ESC t.
func (d *decoder) selectPage(n byte) {
	pages := d.o.CodePages
	if pages == nil {
		pages = epsonPages()
	}
	name := pages[n]
	page := charmaps()[name]
	if page == nil {
		d.problem("code page %d (%q) is not one this printer has", n, name)
		return
	}
	d.page = page
}
