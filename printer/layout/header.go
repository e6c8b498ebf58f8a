package layout

import (
	"time"

	"ticketrail/queue/ticket"
)

// header says whose order it is.
func (c *composer) header(d *ticket.Delivery) {
	t, before := &d.Ticket, len(c.lines)
	switch drawn := c.renderTemplate("header", d); {
	case drawn && len(c.lines) == before: // the house wants none
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
		c.note(Span{}, 0, n, Style{Bold: true, Height: 2})
	}
	if len(t.Notes) > 0 {
		c.rule("=")
	}
}

// defaultHeader is the built-in header: the number and the table biggest, for those are called
// across the kitchen.
func (c *composer) defaultHeader(t *ticket.Ticket) {
	if s := c.text(t.VenueName); s != "" {
		c.centred(s, Style{Bold: true})
	}
	clock, date := clockAndDate(t.Received, t.Zone)
	c.pair(c.number(t), c.table(t), Style{Bold: true, Width: 2, Height: 2})
	rest := nonEmpty(c.text(t.Type), labelled("Server", c.text(t.Server)), labelled("Guests", c.text(t.Guests)), labelled("Course", c.text(t.Course)))
	var first string
	if len(rest) > 0 {
		first, rest = rest[0], rest[1:]
	}
	c.pair(first, clock, Style{Bold: true, Height: 2})
	c.pairs(rest, nonEmpty(date, labelled("For", c.text(t.Destination))))
}

// configuredHeader is a header of the fields that were asked for, in that order. Two fields of
// one size that follow each other share a line.
func (c *composer) configuredHeader(t *ticket.Ticket) {
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

// field is a field of the header and how big it prints; "" where there is none.
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

func (c *composer) number(t *ticket.Ticket) string { return ticket.NumberLabel(c.text(t.Number)) }

func (c *composer) table(t *ticket.Ticket) string { return ticket.TableLabel(c.text(t.Table)) }

func labelled(label, s string) string {
	if s == "" {
		return ""
	}
	return label + " " + s
}

// clockAndDate is the time of day and the date in the venue's zone; a zone that is not known
// gives UTC and says so.
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

// inZone is t on the clock of the venue, or in UTC where nobody knows its zone.
func inZone(t time.Time, zone string) (_ time.Time, known bool) {
	// "Local" is where this program runs, which says nothing about the kitchen.
	if zone != "" && zone != "UTC" && zone != "Local" {
		if loc, err := time.LoadLocation(zone); err == nil {
			return t.In(loc), true
		}
	}
	return t.UTC(), false
}
