package layout

import (
	"slices"
	"strconv"
	"strings"

	"ticketrail/queue/ticket"
)

// Texts of the banners. The documentation quotes them and the kitchen knows them; do not change them.
const (
	ignoreAbove       = "IGNORE THE PIECE ABOVE"
	possibleDuplicate = "** POSSIBLE DUPLICATE **"
	reprint           = "** REPRINT **"
	void              = "** VOID **"
	refire            = "** REFIRE **"
	rush              = "** RUSH **"
	noRoute           = "NO ROUTE"
	unreadable        = "UNREADABLE"
	expired           = "** EXPIRED **"
	printerTest       = "PRINTER TEST"
)

// banners prints the bars at the top of the ticket. They come first because they decide how
// everything below is to be read: whether to cook it, to check for a duplicate, or to take an item
// off.
func (c *composer) banners(d *ticket.Delivery) {
	t, before := &d.Ticket, len(c.lines)
	if c.AfterPiece {
		c.banner(ignoreAbove, false)
		c.centred("if it is of this order", Style{Bold: true})
	}
	if d.Doubt {
		c.banner(possibleDuplicate, false)
		c.centred("Printed before? Check the rail.", Style{Bold: true})
	}
	if d.Reprint {
		c.banner(reprint, false)
	}
	for _, s := range t.Later {
		c.banner(s, true)
	}
	c.originBanners(d)
	for _, s := range t.Heads() {
		c.banner(s, false)
	}
	if t.MayCancel != "" {
		c.banner(ticket.Question(t.MayCancel), true)
	}
	if c.Copies > 1 {
		c.banner("COPY "+strconv.Itoa(c.Copy)+"/"+strconv.Itoa(c.Copies), false)
	}
	switch {
	case t.Kind == ticket.Slip:
		c.banner(expired, true)
		c.centred("Not printed, unless noted. Ask before cooking.", Style{Bold: true})
	case t.Kind == ticket.Test:
		c.banner(printerTest, false)
	case t.Void:
		c.banner(void, true)
	}
	if t.Refire {
		c.banner(refire, false)
	}
	if t.Rush && !t.Void { // nobody hurries to cancel
		c.banner(rush, false)
	}
	if allUnrouted(t.Lines) {
		c.banner(noRoute, false)
	}
	if t.Raw != "" {
		c.banner(unreadable, false)
	}
	if len(c.lines) > before {
		c.blank()
	}
}

// originBanners say which station the ticket belongs to, if it came out at another one: that one's backup, or
// one that got it because the others refused it.
func (c *composer) originBanners(d *ticket.Delivery) {
	var refused []string
	for _, name := range d.RefusedBy {
		refused = append(refused, c.stationName(name))
	}
	if len(refused) > 0 {
		c.banner("REFUSED BY "+strings.Join(refused, ", "), false)
	}
	station := c.stationName(d.For)
	if station == "" || slices.Contains(d.RefusedBy, d.For) {
		return
	}
	s := "FOR " + station
	if down := c.text(d.Down); down != "" {
		s += " (" + down + " down)"
	}
	c.banner(s, false)
}

// stationName is a station as the kitchen calls it: HOT LINE if the configuration has hot-line.
func (c *composer) stationName(name string) string {
	return c.text(strings.NewReplacer("-", " ", "_", " ").Replace(upperCase(normalize(name))))
}

// allUnrouted reports whether no route matched any of the lines. Then one banner says so instead of a
// heading.
func allUnrouted(lines []ticket.Line) bool {
	for _, l := range lines {
		if !l.NoRoute {
			return false
		}
	}
	return len(lines) > 0
}

// banner is a black bar from edge to edge. red makes it red on paper with two colours.
func (c *composer) banner(s string, red bool) {
	st := c.bannerStyle(s)
	st.Invert, st.Red = true, red
	c.centred(s, st)
}

// bannerStyle is double width and height if s fits on one line that way, else double height only,
// which needs fewer lines.
func (c *composer) bannerStyle(s string) Style {
	if 2*Width(s) <= c.columns {
		return Style{Bold: true, Width: 2, Height: 2}
	}
	return Style{Bold: true, Height: 2}
}

// centred prints s in the middle of the paper, wrapped where it is too long. An inverted line is
// black up to both edges.
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
