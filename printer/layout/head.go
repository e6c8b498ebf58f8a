package layout

import (
	"strconv"
	"strings"
	"time"

	"ticketrail/queue/ticket"
)

// What a cook must not misread, in the words the rest of the program promises.
const (
	possibleDuplicate = "** POSSIBLE DUPLICATE **"
	reprint           = "** REPRINT **"
	void              = "** VOID **"
	refire            = "** REFIRE **"
	noRoute           = "NO ROUTE"
	expired           = "** EXPIRED **"
	printerTest       = "PRINTER TEST"
)

// banners come first: they say how the whole slip is to be taken.
func (c *composer) banners(d *ticket.Delivery) {
	t := &d.Ticket
	if d.Doubt {
		c.banner(possibleDuplicate, false)
		c.centred("Printed before? Check the rail.", Style{Bold: true})
	}
	if d.Reprint {
		c.banner(reprint, false)
	}
	switch {
	case t.Kind == ticket.Slip:
		c.banner(expired, true)
		c.centred("Not printed, unless noted. Ask before cooking.", Style{Bold: true})
	case t.Kind == ticket.Test:
		c.banner(printerTest, false)
	case t.Kind == ticket.Correction && len(t.Lines) > 0:
		c.banner(void, true)
		c.centred("cancels part of an order already printed", Style{Bold: true, Red: true})
	case t.Kind == ticket.Correction:
		c.banner(void, true)
		c.centred("cancels an order already printed", Style{Bold: true, Red: true})
	case t.Void:
		c.banner(void, true)
	}
	if t.Refire {
		c.banner(refire, false)
	}
	if unrouted(t.Lines) {
		c.banner(noRoute, false)
	}
	if len(c.lines) > 0 {
		c.blank()
	}
}

func unrouted(lines []ticket.Line) bool {
	for _, l := range lines {
		if !l.NoRoute {
			return false
		}
	}
	return len(lines) > 0
}

// banner is a black bar from edge to edge.
func (c *composer) banner(s string, red bool) {
	st := c.biggest(s)
	st.Invert, st.Red = true, red
	c.centred(s, st)
}

// biggest is double size where s fits on one line, else double height, which wraps less.
func (c *composer) biggest(s string) Style {
	if 2*Width(s) <= c.columns {
		return Style{Bold: true, Width: 2, Height: 2}
	}
	return Style{Bold: true, Height: 2}
}

func (c *composer) centred(s string, st Style) {
	for _, s := range wrap(c.text(s), c.columns/st.wide()) {
		var l Line
		free := c.columns - Width(s)*st.wide()
		l.space(free/2, st)
		l.Spans = append(l.Spans, Span{Text: s, Style: st})
		if st.Invert {
			l.space(free-free/2, st)
		}
		c.add(l)
	}
}

// header says whose order it is: the number and the table biggest, for those are called
// across the kitchen.
func (c *composer) header(t *ticket.Ticket) {
	if s := c.text(t.VenueName); s != "" {
		c.centred(s, Style{Bold: true})
	}
	clock, date := when(t.Received, t.Zone)
	number, table := c.text(t.Number), c.text(t.Table)
	if number != "" {
		number = "#" + strings.TrimPrefix(number, "#")
	}
	if table != "" && !strings.HasPrefix(strings.ToLower(table), "table") {
		table = "Table " + table
	}
	c.pair(number, table, Style{Bold: true, Width: 2, Height: 2})
	rest := given(c.text(t.Type), labelled("Server", c.text(t.Server)), labelled("Guests", c.text(t.Guests)), labelled("Course", c.text(t.Course)))
	var first string
	if len(rest) > 0 {
		first, rest = rest[0], rest[1:]
	}
	c.pair(first, clock, Style{Bold: true, Height: 2})
	c.pairs(rest, given(date, labelled("For", c.text(t.Destination))))
	c.rule("=")
	for _, n := range t.Notes {
		c.note(Span{}, 0, n, Style{Bold: true, Height: 2})
	}
	if len(t.Notes) > 0 {
		c.rule("=")
	}
}

func labelled(label, s string) string {
	if s == "" {
		return ""
	}
	return label + " " + s
}

// when is the time of day and the date in the venue's zone; a zone that is not known
// gives UTC and says so.
func when(t time.Time, zone string) (clock, date string) {
	if t.IsZero() {
		return "", ""
	}
	// "Local" is where this program runs, which says nothing about the kitchen.
	if zone != "" && zone != "UTC" && zone != "Local" {
		if loc, err := time.LoadLocation(zone); err == nil {
			t = t.In(loc)
			return t.Format("15:04"), t.Format("Mon 2 Jan 2006")
		}
	}
	t = t.UTC()
	return t.Format("15:04 UTC"), t.Format("Mon 2 Jan 2006")
}

// pairs sets what there is of left and right in two columns, row by row.
func (c *composer) pairs(left, right []string) {
	for i := range max(len(left), len(right)) {
		var l, r string
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		c.pair(l, r, Style{})
	}
}

func given(ss ...string) []string {
	var out []string
	for _, s := range ss {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// pair sets left and right at the two edges of one line, or on lines of their own where
// they do not fit.
func (c *composer) pair(left, right string, st Style) {
	if left == "" && right == "" {
		return
	}
	free := c.columns - (Width(left)+Width(right))*st.wide()
	if free >= 2 || (free >= 0 && (left == "" || right == "")) {
		var l Line
		if left != "" {
			l.Spans = append(l.Spans, Span{Text: left, Style: st})
		}
		if right != "" {
			l.space(free, Style{Height: st.Height})
			l.Spans = append(l.Spans, Span{Text: right, Style: st})
		}
		c.add(l)
		return
	}
	for _, s := range []string{left, right} {
		if s != "" {
			fit := st
			if longest(s)*st.wide() > c.columns {
				fit.Width = 1
			}
			c.flow(paragraph{text: s, style: fit})
		}
	}
}

func longest(s string) int {
	n := 0
	for word := range strings.SplitSeq(s, " ") {
		n = max(n, Width(word))
	}
	return n
}

// footer says which print this is, for people who compare two slips or call for help.
func (c *composer) footer(d *ticket.Delivery, printer string) {
	c.rule("=")
	var parts []string
	if s := c.text(ticket.Short(d.Ticket.Request)); s != "" {
		parts = append(parts, s)
	}
	if d.Job != 0 {
		parts = append(parts, "job "+strconv.FormatUint(d.Job, 10))
	}
	if s := c.text(printer); s != "" {
		parts = append(parts, s)
	}
	if d.Attempt > 1 {
		parts = append(parts, "attempt "+strconv.Itoa(d.Attempt))
	}
	if len(parts) > 0 {
		c.flow(paragraph{text: strings.Join(parts, " | ")})
	}
}
