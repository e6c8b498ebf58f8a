package virtual

import (
	"strings"
	"time"

	"ticketrail/printer/layout"
)

// The end of a ticket decides how tests may judge it: a cut is the normal end, the close of a
// connection ends one that was not cut, a broken connection leaves the printed lines, and loses
// the line that is not printed yet only if the power fails.

// end handles the end of the connection.
func (d *decoder) end(e End) {
	if e == Closed && len(d.pending) > 0 {
		d.problem("connection ends inside a command: % X", d.pending[:min(len(d.pending), 16)])
	}

	if len(d.line.Spans) > 0 {
		if e == Closed {
			d.problem("connection ends in the middle of a line")
		}
		d.newline()
	}

	pending := d.pending
	// A printer that waits for image data waits on, whoever connects next. Other incomplete
	// commands are forgotten unless the model remembers; both kinds of firmware exist.
	keep := d.o.Remembers || len(pending) > 1 && commandLength(pending) > len(pending) && hasData(pending)

	was := d.setting
	d.endClient(e)

	if keep && len(pending) > 0 {
		d.pending, d.foreign, d.resyncing = pending, len(pending), true
	}

	if d.o.Remembers {
		d.setting = was
		d.resyncing = d.resyncing || e == Broken
	}
}

// hasData reports whether b begins a command with data. A printer waits for the data even if the client that
// sent the command has left.
func hasData(b []byte) bool {
	return b[0] == gs && (b[1] == 'v' || b[1] == '(' || b[1] == '8') || b[0] == esc && b[1] == '*'
}

// powerOff discards everything except the printed lines. A line that is not printed yet is lost.
func (d *decoder) powerOff() {
	d.line = layout.Line{}
	d.endClient(Broken)
	d.resyncing = false
}

// endClient finishes the ticket, if there is one, and resets the decoder.
func (d *decoder) endClient(e End) {
	d.finishTicket(e)
	d.pending, d.foreign = nil, 0
	d.reset()
}

// cuts reports whether b completes a cut command.
func (d *decoder) cuts(b byte) bool {
	waiting := len(d.pending)
	return waiting >= 2 && d.pending[0] == gs && d.pending[1] == 'V' && (waiting == 2 && b < 65 || waiting == 3)
}

// finishTicket emits the printed lines. An empty piece is no ticket: a connection for a status query prints
// nothing, and the piece of a broken connection is a ticket already when the next client cuts it off.
func (d *decoder) finishTicket(e End) {
	finished := d.t
	d.t = Ticket{}
	last := len(finished.Lines)

	// The feed before the cut moves the text past the cutter.
	for last > 0 && len(finished.Lines[last-1].Spans) == 0 {
		last--
	}
	if last == 0 {
		return
	}

	finished.Lines = finished.Lines[:last]
	finished.Text = textOf(finished.Lines)
	finished.End, finished.At, finished.columns, finished.dots = e, time.Now(), d.o.Columns, d.o.Dots
	d.p.emit(finished)
}

// textOf is the text of lines without styles.
func textOf(lines []layout.Line) string {
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(strings.TrimRight(l.Text(), " ") + "\n")
	}
	return text.String()
}
