package printertest

import (
	"fmt"
	"slices"
	"strings"
)

// A Style is how characters look.
type Style struct {
	Wide, High                                     int // times the usual size, 1 to 8
	FontB, Bold, Underlined, Inverted, Red, Upside bool
}

// A Run is a piece of a line in one style.
type Run struct {
	Style
	Text string
	// Columns and Rows are dots of a picture in the line (ESC *); then there is no text.
	Columns, Rows int
}

// A Line is what the paper shows from one feed to the next: text, a picture, an empty piece or a cut.
type Line struct {
	Runs    []Run
	Align   byte // 0 left, 1 centred, 2 right
	Wrapped bool // the text was longer than the line and goes on in the next
	Picture *Picture
	Feed    int // dots of empty paper
	Cut     bool
}

// A Picture is rows of dots. A row is printed when it is complete, so a picture can be unfinished.
type Picture struct {
	Width int      // bytes of a row
	Want  int      // rows that were announced
	Rows  [][]byte // rows on paper
}

// Text returns the characters of the line; a picture is named by its size.
func (l Line) Text() string {
	if l.Picture != nil {
		return fmt.Sprintf("[picture, %d of %d rows]", len(l.Picture.Rows), l.Picture.Want)
	}
	var s strings.Builder
	for _, r := range l.Runs {
		s.WriteString(r.Text)
	}
	return s.String()
}

// A Strip is the paper from one cut to the next.
type Strip struct {
	Lines []Line
	Cut   bool // there is a cut at its end
}

// Text returns the texts of the lines, each ended by a newline. Empty paper is left out.
func (s Strip) Text() string {
	var b strings.Builder
	for _, l := range s.Lines {
		if t := l.Text(); t != "" {
			b.WriteString(t + "\n")
		}
	}
	return b.String()
}

// Paper returns all that was printed, cuts included, in order.
func (p *Printer) Paper() []Line {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := slices.Clone(p.paper)
	for i, l := range lines {
		if l.Picture != nil {
			c := *l.Picture
			c.Rows = slices.Clone(c.Rows)
			lines[i].Picture = &c
		}
	}
	return lines
}

// Strips returns the paper between the cuts. The last one may still hang in the printer.
func (p *Printer) Strips() []Strip {
	var all []Strip
	var s Strip
	for _, l := range p.Paper() {
		if l.Cut {
			s.Cut = true
			all = append(all, s)
			s = Strip{}
			continue
		}
		s.Lines = append(s.Lines, l)
	}
	if len(s.Lines) > 0 {
		all = append(all, s)
	}
	return all
}

// put queues a line for the mechanism, or keeps it on the page that is composed in page mode.
func (p *Printer) put(l Line, dots int) {
	if p.in.page != nil {
		*p.in.page = append(*p.in.page, l)
		return
	}
	p.queue = append(p.queue, step{dots: dots, do: func() { p.paper = append(p.paper, l) }})
}

// putRow queues rows of a picture. They are one line on paper as long as nothing comes between.
func (p *Printer) putRows(pic *Picture, rows [][]byte) {
	p.queue = append(p.queue, step{dots: len(rows), do: func() {
		if n := len(p.paper); n == 0 || p.paper[n-1].Picture != pic {
			p.paper = append(p.paper, Line{Picture: pic, Align: p.in.align})
		}
		pic.Rows = append(pic.Rows, rows...)
	}})
}

// char puts text of that many columns of its font into the line, which wraps when it is full.
func (p *Printer) char(text string, columns int, s Style) {
	in := &p.in
	w := columns * s.Wide * p.model.Dots / p.model.Columns
	if s.FontB {
		w = w * 3 / 4
	}
	w += in.space * s.Wide
	if in.x > 0 && in.x+w > in.room(p.model.Dots) {
		p.feed(true)
	}
	in.x += w
	runs := in.line.Runs
	if n := len(runs); n > 0 && runs[n-1].Style == s && runs[n-1].Rows == 0 {
		runs[n-1].Text += text
		return
	}
	in.line.Runs = append(runs, Run{Style: s, Text: text})
}

// mark puts a note into the line for something that is not text, such as an unknown command.
func (p *Printer) mark(format string, args ...any) {
	p.char(fmt.Sprintf("<"+format+">", args...), 1, Style{Wide: 1, High: 1})
}

// feed prints the line and feeds to the next.
func (p *Printer) feed(wrapped bool) {
	in := &p.in
	l, dots := in.line, in.pitch
	l.Wrapped, l.Align = wrapped, in.align
	for _, r := range l.Runs {
		dots = max(dots, r.High*charDots, r.Rows)
	}
	in.line, in.x = Line{}, 0
	p.put(l, dots)
}

// feedDots prints the line, if there is one, and feeds so far that the paper moves by dots.
func (p *Printer) feedDots(dots int) {
	if len(p.in.line.Runs) > 0 {
		p.feed(false)
		dots -= p.in.pitch
	}
	if dots > 0 {
		p.put(Line{Feed: dots}, dots)
	}
}

// cut cuts if the paper stands at the beginning of a line; otherwise the manuals ignore the command.
func (p *Printer) cut(feed int) {
	if len(p.in.line.Runs) > 0 || p.in.page != nil {
		p.mark("cut within a line")
		return
	}
	p.feedDots(feed)
	p.put(Line{Cut: true}, lineDots)
}
