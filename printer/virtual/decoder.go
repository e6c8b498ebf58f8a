package virtual

import (
	"bytes"
	"fmt"
	"regexp"
	"time"

	"ticketrail/printer/layout"
)

// The decoder is strict where real printers are not: bytes that a real one would print as nonsense, or
// not at all, are recorded as a problem. Legal ones are interpreted as in Epson's ESC/POS command
// reference, one byte at a time, because the paper can end, and the power can fail, after any byte.

const (
	lf  = 0x0A
	dle = 0x10
	esc = 0x1B
	fs  = 0x1C
	gs  = 0x1D

	dotsPerLine  = 30 // the default line spacing
	letterHeight = 24 // dots, of Font A
)

// A decoder interprets the bytes that the print engine takes from the receive buffer. Any bytes are accepted.
// Its memory is bounded, except for the text itself.
type decoder struct {
	p      *Printer
	o      Options
	client *client // who sent the current byte

	pending   []byte // an incomplete command, or part of a two-byte character
	foreign   int    // how many bytes of pending came from an earlier client
	resyncing bool   // an earlier command may be incomplete: no problems are recorded until ESC @
	t         Ticket // on the paper
	line      layout.Line
	used      int           // columns of line in use
	printed   int           // lines printed since feed was called
	moved     int           // dots that the paper moved since then
	resets    time.Duration // how long the ESC @ takes that was read last, if it clears the receive buffer

	setting
	qr    QR     // as set so far by GS ( k
	store *Image // stored by GS ( L, not printed yet
}

// setting has the style that commands set for the following text.
type setting struct {
	style layout.Style
	align byte
	page  codePage
	kanji bool // two-byte characters are on

	deselected, pageMode bool
}

func newDecoder(p *Printer) *decoder {
	made := &decoder{p: p, o: p.o}
	made.reset()
	return made
}

// restart is ESC @ ("Initialize printer").
func (d *decoder) restart() {
	d.p.asbOff()
	if d.resets = locked(d.p, func() time.Duration { return d.p.faults.resets }); d.resets > 0 {
		d.printed++
	}
	d.reset()
	// ESC @ is the command that a resynchronised printer is sure to read as one.
	d.resyncing = false
}

// reset sets the defaults and discards a line that was not printed. A sender that resets in the
// middle of a line loses the line on a real printer as well.
func (d *decoder) reset() {
	if len(d.line.Spans) > 0 {
		d.problem("ESC @ in the middle of a line")
	}
	d.line, d.used = layout.Line{}, 0
	d.setting = setting{style: layout.Style{Width: 1, Height: 1}, kanji: d.o.Kanji}
	d.page, _ = pageOf("CP437")
	d.qr, d.store = QR{Module: 3, Level: '0'}, nil
}

// feed takes one byte and returns how many lines the paper moved. One byte at a time costs speed,
// but the engine can then stop after each.
func (d *decoder) feed(b byte) int {
	d.t.Raw = append(d.t.Raw, b)

	d.printed, d.moved, d.resets = 0, 0, 0
	switch {
	case d.deselected:
		d.deselected = b&1 == 0 || !bytes.HasSuffix(d.t.Raw, []byte{esc, '=', b})
	// Half a two-byte character: ESC as its second byte is part of it, as on a real printer.
	case len(d.pending) > 0 && d.pending[0] >= 0x80:
		d.twoByte(b)
	case len(d.pending) > 0:
		d.pending = append(d.pending, b)
		d.command()
	case b == esc, b == gs, b == fs, b == dle:
		d.pending = append(d.pending, b)
	case b == lf:
		d.newline()
	case b == 0 && (d.resyncing || len(d.line.Spans) == 0 && len(d.t.Lines) == 0):
		// Padding before a ticket, which completes an image that was received in part.
	case b < 0x20, b == 0x7F:
		d.problem("control byte %02X in text", b)
	case d.kanji && b > 0x80 && b < 0xFF: // a printer decides by the first byte alone
		d.pending = append(d.pending, b)
	default:
		d.letter(b)
	}

	return d.printed
}

// printRune prints a character that is w columns wide.
func (d *decoder) printRune(r rune, w int) {
	if d.o.Columns > 0 && d.used+w > d.o.Columns {
		d.problem("line %d is wider than %d columns", len(d.t.Lines)+1, d.o.Columns)
		d.newline()
	}

	d.used += w
	spans := d.line.Spans
	if last := len(spans) - 1; last >= 0 && spans[last].Style == d.style {
		spans[last].Text += string(r)
		return
	}
	d.line.Spans = append(spans, layout.Span{Text: string(r), Style: d.style})
}

// newline prints the line and moves the paper by the line's height, or by the line spacing if that
// is more.
func (d *decoder) newline() {
	if d.pageMode {
		d.line, d.used = layout.Line{}, 0
		return
	}

	d.t.Lines = append(d.t.Lines, d.line)
	height := max(dotsPerLine, d.line.Height()*letterHeight)
	d.t.rows = append(d.t.rows, row{height, d.align})
	d.line, d.used = layout.Line{}, 0

	d.printed++
	d.moved += height
}

// feedLines is ESC d: it prints the current line and moves the paper by n lines in all.
func (d *decoder) feedLines(n int) {
	if len(d.line.Spans) > 0 {
		d.newline()
		n--
	}

	for range n {
		d.newline()
	}
}

// command executes the pending command once it is complete.
func (d *decoder) command() {
	b := d.pending
	switch length := commandLength(b); {
	case length == 0:
		// Its length is unknown too. The bytes after it are decoded as text, which a real printer
		// does as well.
		d.problem("unknown command % X", b)
		d.pending, d.foreign = d.pending[:0], 0
	case length > len(b):
		return
	default:
		// Bytes after the first kept ones are the next client's, which it meant as commands of its
		// own.
		kept := min(d.foreign, length)
		d.pending, d.foreign = nil, 0
		if missing := swallowed(b[kept:]); kept > 0 && len(missing) > 0 {
			d.resyncing = false
			d.problem("a command that broke off swallowed %d bytes of what the next client sent: %.16q",
				len(missing), missing)
			d.resyncing = true
		}
		d.do(b)
	}
}

// questions are the commands that ask something, and ESC @, which clears a question that a printer took for text. The
// sender repeats one that is not answered, and DLE EOT is answered on receipt, whatever happens to its bytes.
// The zero of GS ( H is missing here: see swallowed.
var questions = regexp.MustCompile(`(?s)\x10\x04.|\x1dr\x01|\x1da\x0e?|\x1b@|\x1b=\x01|\x1d\(H\x0600.{4}`)

// swallowed is which bytes of b are missing in the next client's ticket. Padding and questions are not
// missed; the last question may be incomplete.
func swallowed(b []byte) []byte {
	b = bytes.ReplaceAll(b, []byte{0}, nil)

	b = questions.ReplaceAll(b, nil)
	for _, q := range []string{"\x1b=", "\x10\x04", "\x1dr", "\x1da", "\x1d(H\x0600"} {
		if bytes.HasPrefix([]byte(q), b) || bytes.HasPrefix(b, []byte(q)) && len(b) < len(q)+4 {
			return nil
		}
	}
	return b
}

// do executes a complete command. The questions among them are answered here, which means in order.
func (d *decoder) do(b []byte) {
	if !d.o.Clone.Early {
		d.p.query(d.client, b)
	}

	if execute := commands[string(b[:2])].do; execute != nil {
		execute(d, b)
	} else {
		d.refuse(b)
	}
}

// refuse records a command that the daemon must not send.
func (d *decoder) refuse(b []byte) { d.problem("command % X must not be sent", b[:min(len(b), 10)]) }

// selectPageMode is ESC L: nothing is printed until ESC @.
func (d *decoder) selectPageMode(b []byte) {
	d.pageMode = true
	d.refuse(b)
}

// cutter is GS V ("Select cut mode and cut paper").
func (d *decoder) cutter(b []byte) {
	if !bytes.ContainsRune([]byte{0, 1, 48, 49, 65, 66}, rune(b[2])) {
		d.refuse(b)
		return
	}

	if len(d.line.Spans) > 0 {
		d.problem("cut in the middle of a line")
		d.newline()
	}
	if d.o.NoCutter {
		d.problem("a cut, but this printer has no cutter")
		return
	}
	d.finishTicket(Cut)
}

// printMode is ESC ! ("Select print modes").
func (d *decoder) printMode(b []byte) {
	mode := b[2]
	d.style.Bold = mode&0x08 != 0
	d.style.Width, d.style.Height = 1+int(mode>>5&1), 1+int(mode>>4&1)
}

// problem records a mistake of the sender, in the ticket and in the printer. While resyncing
// nothing is recorded, because the bytes belong to a command that an earlier client left
// unfinished.
func (d *decoder) problem(format string, args ...any) {
	if d.resyncing {
		return
	}

	text := fmt.Sprintf(format, args...)
	if len(d.t.Problems) < maxProblems {
		d.t.Problems = append(d.t.Problems, text)
	}
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	if len(d.p.problems) < maxProblems {
		d.p.problems = append(d.p.problems, text)
	}
}
