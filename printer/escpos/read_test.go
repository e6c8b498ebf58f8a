package escpos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
)

// A reading is a stream as the simulated printer of a model reads it, which shares no code with the encoder.
type reading struct {
	virtual.Ticket
	lines   []readLine // of text
	longest int        // at least as many bytes as the longest command
}

type readLine struct {
	text    string
	columns int  // columns the text took
	black   bool // all of the line is white on black
	red     bool // part of the line is red
	height  int
}

// read prints a stream on a printer whose paper has any width if p.Columns is 0. A byte that must not be sent is an
// error.
func read(b []byte, p profile.Profile) (reading, error) {
	if hasRealtime(b) {
		return reading{}, errors.New("the stream has a real-time command")
	}
	o := virtual.OptionsFor(p)
	o.LinesPerSecond = math.Inf(1)
	o.Can = 0 // it is asked nothing, and no one would read an answer
	v := virtual.New(o)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := v.Dial(ctx)
	if err != nil {
		return reading{}, err
	}
	defer c.Close()
	if _, err := c.Write(b); err != nil {
		return reading{}, err
	}
	if err := errors.Join(c.Finish(ctx), v.WaitIdle(ctx)); err != nil { // Finish alone waits half a second at most
		return reading{}, err
	}

	tickets, problems := v.Tickets(), v.Problems()
	if len(tickets) == 0 { // nothing but settings
		tickets = []virtual.Ticket{{}}
	}
	r := reading{Ticket: tickets[0]}
	r.measure()
	rightToLeft := func(l rune) bool { return l >= 0x590 && l < 0x700 } // it would be set from left to right
	switch {
	case len(problems) > 0:
		return r, errors.New(strings.Join(problems, "; "))
	case len(tickets) > 1:
		return r, errors.New("something follows the cut")
	case slices.ContainsFunc(r.lines, func(l readLine) bool { return strings.ContainsFunc(l.text, rightToLeft) }):
		return r, fmt.Errorf("letters of a right-to-left script from a code page: %q", r.Text)
	}
	return r, nil
}

func (r *reading) measure() {
	drawn := map[int]bool{}
	for _, i := range r.Images {
		drawn[i.Line], r.longest = true, max(r.longest, len(i.Bits)+len("\x1dv0\x00xxyy"))
	}
	for _, q := range r.QRs {
		drawn[q.Line], r.longest = true, max(r.longest, len(q.Text)+len("\x1d(kxx1P0"))
	}
	for i, l := range r.Lines {
		if drawn[i] {
			continue
		}
		text := readLine{text: l.Text(), columns: l.Width(), height: l.Height(),
			black: !slices.ContainsFunc(l.Spans, func(s layout.Span) bool { return !s.Invert }),
			red:   slices.ContainsFunc(l.Spans, func(s layout.Span) bool { return s.Red })}
		r.lines = append(r.lines, text)
	}
}

// hasRealtime reports whether b has a command that some printers execute wherever it is, inside other commands too.
func hasRealtime(b []byte) bool {
	return bytes.Contains(b, []byte("\x10\x04")) || bytes.Contains(b, []byte("\x10\x05")) ||
		bytes.Contains(b, []byte("\x10\x14"))
}
