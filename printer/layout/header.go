package layout

import (
	"time"

	"ticketrail/queue/ticket"
)

// header prints whose order it is, then the notes on the whole order. The notes print with every
// header, also with a template that prints nothing: they may name an allergy.
func (c *composer) header(d *ticket.Delivery) {
	t, before := &d.Ticket, len(c.lines)
	switch drawn := c.renderTemplate("header", d); {
	case drawn && len(c.lines) == before: // the template prints no header: no rule either
	case drawn:
		c.rule("=")
	case c.Header == nil:
		c.defaultHeader(t)
		c.rule("=")
	default:
		c.configuredHeader(t)
		if len(c.lines) > before {
			c.rule("=")
		}
	}
	for _, n := range t.Notes {
		c.alarmIf(c.Alarms.Match(n), func() { c.note(Span{}, 0, n, Style{Bold: true, Height: 2}) })
	}
	if len(t.Notes) > 0 {
		c.rule("=")
	}
}

// defaultHeader is the built-in header. Number and table are the biggest because they are called
// across the kitchen.
func (c *composer) defaultHeader(t *ticket.Ticket) {
	if s := c.text(t.VenueName); s != "" {
		c.centred(s, Style{Bold: true})
	}
	clock, date := clockAndDate(t.Received, t.Zone)
	c.pair(c.number(t), c.table(t), Style{Bold: true, Width: 2, Height: 2})
	rest := nonEmpty(c.text(t.Type), labelled("Server", c.text(t.Server)), labelled("Guests", c.text(t.Guests)),
		labelled("Course", c.text(t.Course)))
	var first string
	if len(rest) > 0 {
		first, rest = rest[0], rest[1:]
	}
	c.pair(first, clock, Style{Bold: true, Height: 2})
	c.pairs(rest, nonEmpty(date, labelled("For", c.text(t.Destination))))
}

// configuredHeader prints the fields of Options.Header in their order. Two consecutive fields of
// the same size share a line, one at each edge, to save paper.
func (c *composer) configuredHeader(t *ticket.Ticket) {
	// left is a field that waits for a second one of the same size.
	var left string
	var st Style
	for _, name := range c.Header {
		s, size := c.headerField(name, t)
		switch {
		case s == "":
		case name == "venue":
			c.pair(left, "", st)
			left = ""
			c.centred(s, size)
		case left != "" && st == size:
			c.pair(left, s, st)
			left = ""
		default:
			c.pair(left, "", st)
			left, st = s, size
		}
	}
	c.pair(left, "", st)
}

// headerField returns a field of the header and its style; "" if the ticket lacks it or there is no
// such field.
func (c *composer) headerField(name string, t *ticket.Ticket) (string, Style) {
	clock, date := clockAndDate(t.Received, t.Zone)
	big, tall := Style{Bold: true, Width: 2, Height: 2}, Style{Bold: true, Height: 2}
	switch name {
	case "venue":
		return c.text(t.VenueName), Style{Bold: true}
	case "number":
		return c.number(t), big
	case "table":
		return c.table(t), big
	case "type":
		return c.text(t.Type), tall
	case "time":
		return clock, tall
	case "server":
		return labelled("Server", c.text(t.Server)), Style{}
	case "date":
		return date, Style{}
	case "guests":
		return labelled("Guests", c.text(t.Guests)), Style{}
	case "destination":
		return labelled("For", c.text(t.Destination)), Style{}
	case "course":
		return labelled("Course", c.text(t.Course)), Style{}
	}
	return "", Style{}
}

// number and table add the words that tell the two apart (#18, Table 18).
func (c *composer) number(t *ticket.Ticket) string { return ticket.NumberLabel(c.text(t.Number)) }

func (c *composer) table(t *ticket.Ticket) string { return ticket.TableLabel(c.text(t.Table)) }

// labelled returns "Server Ana", or "" without a name: a label alone would look like a fault.
func labelled(label, s string) string {
	if s == "" {
		return ""
	}
	return label + " " + s
}

// clockAndDate returns the time of day and the date in the venue's zone. If the zone is unknown,
// the time is in UTC and says so: a wrong time without a mark would make every ticket look late.
func clockAndDate(t time.Time, zone string) (clock, date string) {
	if t.IsZero() {
		return "", ""
	}
	t, known := inZone(t, zone)
	clock = "15:04"
	if !known {
		clock = "15:04 UTC"
	}
	return t.Format(clock), t.Format("Mon 2 Jan 2006")
}

// inZone returns t in the venue's zone, or in UTC if the zone is not set or unknown.
func inZone(t time.Time, zone string) (_ time.Time, known bool) {
	// "Local" is the zone of the computer, which need not be the venue's.
	if zone != "" && zone != "UTC" && zone != "Local" {
		if loc, err := time.LoadLocation(zone); err == nil {
			return t.In(loc), true
		}
	}
	return t.UTC(), false
}
