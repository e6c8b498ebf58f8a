package layout

import (
	"strconv"
	"strings"

	"ticketrail/queue/ticket"
)

// What a cook must not misread, in the words the rest of the program promises.
const (
	possibleDuplicate = "** POSSIBLE DUPLICATE **"
	reprint           = "** REPRINT **"
	void              = "** VOID **"
	refire            = "** REFIRE **"
	noRoute           = "NO ROUTE"
	unreadable        = "UNREADABLE"
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
	c.backupBanner(d)
	if c.Copies > 1 {
		c.banner("COPY "+strconv.Itoa(c.Copy)+"/"+strconv.Itoa(c.Copies), false)
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
	if allUnrouted(t.Lines) {
		c.banner(noRoute, false)
	}
	if t.Raw != "" {
		c.banner(unreadable, false)
	}
	if len(c.lines) > 0 {
		c.blank()
	}
}

// backupBanner says whose ticket came out here because it could not come out there.
func (c *composer) backupBanner(d *ticket.Delivery) {
	// hot-line is how it is typed; HOT LINE is how it is called.
	station := c.text(strings.NewReplacer("-", " ", "_", " ").Replace(upperCase(normalize(d.For))))
	if station == "" {
		return
	}
	s := "FOR " + station
	if down := c.text(d.Down); down != "" {
		s += " (" + down + " down)"
	}
	c.banner(s, false)
}

func allUnrouted(lines []ticket.Line) bool {
	for _, l := range lines {
		if !l.NoRoute {
			return false
		}
	}
	return len(lines) > 0
}

// banner is a black bar from edge to edge.
func (c *composer) banner(s string, red bool) {
	st := c.bannerStyle(s)
	st.Invert, st.Red = true, red
	c.centred(s, st)
}

// bannerStyle is double size where s fits on one line, else double height, which wraps less.
func (c *composer) bannerStyle(s string) Style {
	if 2*Width(s) <= c.columns {
		return Style{Bold: true, Width: 2, Height: 2}
	}
	return Style{Bold: true, Height: 2}
}

func (c *composer) centred(s string, st Style) {
	for _, s := range wrap(c.text(s), c.columns/st.widthFactor()) {
		var l Line
		free := c.columns - Width(s)*st.widthFactor()
		l.space(free/2, st)
		l.Spans = append(l.Spans, Span{Text: s, Style: st})
		if st.Invert {
			l.space(free-free/2, st)
		}
		c.add(l)
	}
}
