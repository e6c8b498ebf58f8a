package layout

import (
	"slices"
	"strconv"
	"strings"

	"ticketrail/queue/ticket"
)

// Texts of the banners. The documentation quotes them and the kitchen knows them; do not change them.
const (
	possibleDuplicate = "POSSIBLE DUPLICATE"
	replacesPiece     = "replaces the piece above"
	checkRail         = "check the rail"
	reprint           = "REPRINT"
	void              = "VOID"
	refire            = "REFIRE"
	rush              = "RUSH"
	noRoute           = "NO ROUTE"
	unreadable        = "UNREADABLE"
	expired           = "EXPIRED"
	printerTest       = "PRINTER TEST"
)

// banners prints the bars at the top of the ticket. They come first because they decide how
// everything below is to be read: whether to cook it, to check for a duplicate, or to take an item
// off.
func (c *composer) banners(d *ticket.Delivery) {
	shown := &d.Ticket

	if d.Doubt {
		beneath := checkRail
		if c.AfterPiece {
			beneath = replacesPiece
		}
		c.warning(possibleDuplicate, beneath)
	}

	if d.Reprint {
		c.warning(reprint)
	}

	for _, s := range shown.Later.Texts() {
		c.warning(s)
	}

	c.originBanners(d)
	for _, s := range shown.Heads() {
		c.banner(s)
	}

	if shown.MayCancel != "" {
		c.warning(ticket.Question(shown.MayCancel))
	}

	if c.Copies > 1 {
		c.banner("COPY " + strconv.Itoa(c.Copy) + "/" + strconv.Itoa(c.Copies))
	}

	switch {
	case shown.Kind == ticket.ExpiredList:
		c.banner(expired)
		c.centred("Not printed, unless noted. Ask before cooking.", Style{Bold: true})
	case shown.Kind == ticket.Test:
		c.banner(printerTest)
	case shown.Void:
		c.warning(void)
	}

	if shown.Refire && !shown.Void {
		c.banner(refire)
	}
	if shown.Rush && !shown.Void { // a void is not urgent
		c.banner(rush)
	}

	if shown.AllUnrouted() {
		c.banner(noRoute)
	}

	if shown.Raw != "" {
		c.banner(unreadable)
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
		c.banner("REFUSED BY " + strings.Join(refused, ", "))
	}

	station := c.stationName(d.For)
	if station == "" || slices.Contains(d.RefusedBy, d.For) {
		return
	}

	text := "FOR " + station
	if down := c.text(d.Down); down != "" {
		text += " (" + down + " down)"
	}
	c.banner(text)
}

// stationName is a station as the kitchen calls it: HOT LINE if the configuration has hot-line.
func (c *composer) stationName(name string) string {
	return c.text(strings.NewReplacer("-", " ", "_", " ").Replace(upperCase(normalize(name))))
}

// alarmIf prints the lines that print adds, and if yes, as an alarm: bold, at least twice as high, and white
// on black from edge to edge, or in capitals in a frame.
func (c *composer) alarmIf(yes bool, print func()) {
	if !yes {
		print()
		return
	}

	c.framed(func() {
		first, upper := len(c.lines), c.UpperCase
		c.alarm, c.UpperCase = true, upper || c.Framed
		print()
		c.alarm, c.UpperCase = false, upper

		for i := range c.lines[first:] {
			line := &c.lines[first+i]
			for j := range line.Spans {
				style := &line.Spans[j].Style
				style.Bold, style.Red, style.Invert, style.Height = true, true, !c.Framed, max(style.Height, 2)
			}
			line.space(c.columns-line.Width(), Style{Bold: true, Height: 2, Red: true, Invert: !c.Framed})
		}
	})
}

// frameColumns is how many columns a frame takes: an asterisk and a space on each side.
const frameColumns = 4

// framed prints the lines that print adds in a frame, if nothing can be white on black. Two frames that touch share an
// edge. Red alone is not enough: many impact printers have a black ribbon.
func (c *composer) framed(print func()) {
	if !c.Framed {
		print()
		return
	}

	edge := Line{Spans: []Span{{Text: strings.Repeat("*", c.columns), Style: Style{Bold: true, Red: true}}}}
	if c.frameEnd == 0 || c.frameEnd != len(c.lines) {
		c.add(edge)
	}

	first := len(c.lines)
	c.columns -= frameColumns
	print()
	c.columns += frameColumns

	for i := range c.lines[first:] {
		line := &c.lines[first+i]
		side := Style{Bold: true, Red: true, Height: line.Height()}
		line.Spans = append([]Span{{Text: "* ", Style: side}}, line.Spans...)
		line.space(c.columns-2-line.Width(), side)
		line.Spans = append(line.Spans, Span{Text: " *", Style: side})
	}

	c.add(edge)
	c.frameEnd = len(c.lines)
}

// banner is a bar across the paper, for a fact that changes how the ticket is read.
func (c *composer) banner(s string) { c.bar(s, c.bannerStyle(s)) }

// warning is the bar for tickets that must not be cooked, or not twice. It is the only bar that is red on paper with
// two colours, and in a frame where nothing is white on black; alarms, voids and questions of the body are so too. The
// texts beneath are in the same bar.
func (c *composer) warning(s string, beneath ...string) {
	c.framed(func() {
		st := c.bannerStyle(s)
		st.Red = true
		c.bar(s, st)

		for _, s := range beneath {
			st.Height, st.Width = 1, min(2, c.columns/Width(s))
			c.bar(s, st)
		}
	})
}

// bannerStyle is double width and height if s fits on one line that way, else double height only,
// which needs fewer lines.
func (c *composer) bannerStyle(s string) Style {
	if 2*Width(s) <= c.columns {
		return Style{Bold: true, Width: 2, Height: 2}
	}
	return Style{Bold: true, Height: 2}
}

// bar prints s in the middle of a bar from edge to edge: white on black or, where a printer has only black on white,
// between rules. A red bar needs no rules, and such a printer ignores Invert.
func (c *composer) bar(s string, st Style) {
	st.Invert = true
	if !c.Framed || st.Red {
		c.centred(s, st)
		return
	}

	c.ruled(s, "=", st)
}

// ruled prints s in the middle of a rule across the paper, wrapped where it is too long.
func (c *composer) ruled(s, of string, st Style) {
	edge := Style{Bold: true, Height: st.Height}

	for _, s := range wrap(c.text(s), (c.columns-frameColumns)/st.widthFactor()) {
		free := c.columns - Width(s)*st.widthFactor() - 2
		c.add(Line{Spans: []Span{
			{Text: strings.Repeat(of, free/2) + " ", Style: edge},
			{Text: s, Style: st},
			{Text: " " + strings.Repeat(of, free-free/2), Style: edge},
		}})
	}
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
