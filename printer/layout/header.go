package layout

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"ticketrail/queue/ticket"
)

// header prints whose order it is, then the notes on the whole order, the unread fields among them small. The notes
// print with every header, also an empty one: they may name an allergy.
func (c *composer) header(d *ticket.Delivery) {
	t, before := &d.Ticket, len(c.lines)

	c.headerFields(d)
	if len(c.lines) > before { // a list of fields may print no header: no rule either
		c.rule("=")
	}

	c.notes(paragraph{style: Style{Bold: true, Height: 2}}, "! ", t.Notes, t.Unread)
	if len(t.Notes) > 0 {
		c.rule("=")
	}
}

// HeaderFields returns the fields that a header can have, in the order of the built-in one.
func HeaderFields() []string {
	return []string{"venue", "number", "table", "type", "time", "server", "date", "guests", "destination", "course",
		"promised", "customer"}
}

// headerFields prints the fields of the header in their order. Fields of one style share a line as far as they fit. No
// field is alone on its line if that can be helped, whatever its style: half a line without text is wasted.
func (c *composer) headerFields(d *ticket.Delivery) {
	names := c.Header

	switch {
	case c.sticker != "":
		names = []string{"number", "label", "table", "customer"}
	case names == nil:
		names = HeaderFields()
	}

	var shared []Span
	values := c.values(d)
	for _, name := range names {
		field := values[name]
		switch {
		case strings.Contains(name, "{"):
			c.shareLines(shared)
			shared = nil
			c.ownLine(name, d)
		case field.Text == "":
		case name == "venue":
			c.shareLines(shared)
			shared = nil
			c.centred(field.Text, field.Style)
		default:
			shared = append(shared, field)
		}
	}

	c.shareLines(shared)
}

// placeholder is a field of the ticket in a line of the configuration: {table}.
var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// ownLine prints a line of the configuration in the middle of the paper. A line of which no placeholder has a value
// does not print.
func (c *composer) ownLine(line string, d *ticket.Delivery) {
	values, says := c.values(d), !placeholder.MatchString(line)
	text := placeholder.ReplaceAllStringFunc(line, func(name string) string {
		value := values[name[1:len(name)-1]].Text
		says = says || value != ""
		return value
	})

	if says {
		c.centred(text, Style{})
	}
}

func (c *composer) shareLines(fields []Span) {
	start := 0
	for end := 1; end <= len(fields); end++ {
		if end == len(fields) || !c.joins(fields, start, end) {
			c.spread(fields[start:end])
			start = end
		}
	}
}

// joins reports whether field i is on the line that begins with field start.
func (c *composer) joins(fields []Span, start, i int) bool {
	last := len(fields) - 1

	switch {
	case !c.fit(fields[start : i+1]):
		return false
	case i == start+1 || i == last: // of any style, so that neither field start nor the last one is alone
		return true
	case i == last-1 && !c.fit(fields[start:]) && c.fit(fields[i:]): // it begins the last line, with the last field
		return false
	}
	return fields[i].Style == fields[i-1].Style
}

// fit reports whether the fields fit on one line with two columns between them.
func (c *composer) fit(fields []Span) bool {
	return Line{Spans: fields}.Width()+2*(len(fields)-1) <= c.columns
}

// spread prints fields that fit on one line from edge to edge, or a single one that does not.
func (c *composer) spread(fields []Span) {
	if !c.fit(fields) {
		c.flow(paragraph{text: fields[0].Text, style: fields[0].Style})
		return
	}

	var l Line
	free := c.columns - Line{Spans: fields}.Width()
	for i, s := range fields {
		if i > 0 {
			gap := free / (len(fields) - i)
			l.space(gap, Style{Height: min(s.Height, fields[i-1].Height)})
			free -= gap
		}
		l.Spans = append(l.Spans, s)
	}
	c.add(l)
}

// values are the texts of the header fields and the placeholders; empty if the ticket lacks them. Number and table are
// the biggest because they are called across the kitchen.
func (c *composer) values(d *ticket.Delivery) map[string]Span {
	t, tall := &d.Ticket, Style{Bold: true, Height: 2}
	clock, date := clockAndDate(t.Received, t.Zone)
	values := map[string]Span{
		"venue":       {Text: c.text(t.VenueName), Style: Style{Bold: true}},
		"number":      {Text: c.text(ticket.NumberLabel(c.text(t.Number))), Style: c.sized(c.NumberSize, Size{2, 2})},
		"label":       {Text: c.sticker, Style: c.sized(c.NumberSize, Size{2, 2})},
		"table":       {Text: ticket.TableLabel(c.text(t.Table), t.Type), Style: c.sized(c.TableSize, Size{2, 2})},
		"type":        {Text: c.text(t.Type), Style: tall},
		"time":        {Text: clock, Style: tall},
		"server":      {Text: labelled("Server", c.text(t.Server))},
		"date":        {Text: date},
		"guests":      {Text: labelled("Guests", c.text(t.Guests))},
		"destination": {Text: labelled("For", c.text(t.Destination))},
		"course":      {Text: labelled("Course", c.text(t.Course))},
		"promised":    {Text: c.text(Wanted(t)), Style: tall},
		"customer":    {Text: c.text(t.Customer)},
		"printer":     {Text: c.text(c.Printer)},
		"request":     {Text: c.text(ticket.Short(t.Request))},
		"job":         {Text: strconv.FormatUint(d.Job, 10)},
	}

	if c.sticker != "" { // a drink is called out by name
		values["customer"] = Span{Text: c.text(t.Customer), Style: tall}
	}
	return values
}

// labelled returns "Server Ana", or "" without a name: a label alone would look like a fault.
func labelled(label, s string) string {
	if s == "" {
		return ""
	}
	return label + " " + s
}

// clockAndDate returns the time of day and the date in the venue's zone.
func clockAndDate(t time.Time, zone string) (clock, date string) {
	if t.IsZero() {
		return "", ""
	}
	local, _ := ticket.InZone(t, zone)
	return ticket.Clock(t, zone), local.Format("Mon 2 Jan") // the year is of no use to a cook
}

// Wanted says when the order is wanted: Wanted 19:30, with the date if it is another day; empty if the order does not
// say.
func Wanted(t *ticket.Ticket) string {
	wanted := t.Promised

	if at := t.PromisedAt(); !at.IsZero() {
		clock, date := clockAndDate(at, t.Zone)
		if _, today := clockAndDate(t.Received, t.Zone); date != today {
			clock = date + " " + clock
		}
		wanted = clock
	}
	return labelled("Wanted", OneLine(wanted))
}

// footer identifies this print, for people who compare two slips or call support.
func (c *composer) footer(d *ticket.Delivery) {
	c.rule("=")

	c.alsoAt(&d.Ticket)
	for _, line := range c.Footer {
		c.ownLine(line, d)
	}

	c.ticketIdentity(d)
	if c.QR && d.Ticket.Kind != ticket.Test { // a test ticket has its own QR code
		c.qr(Clean(d.Ticket.Request))
	}
}

// alsoAt names the other stations of the order, so that cooks know with whom to finish at the same
// time. It prints whatever the footer is, but on no sticker.
func (c *composer) alsoAt(t *ticket.Ticket) {
	var stations []string

	for _, station := range t.AlsoAt {
		stations = append(stations, c.text(station))
	}
	if len(stations) > 0 && !c.NoAlsoAt && c.sticker == "" {
		c.flow(paragraph{text: "ALSO AT: " + strings.Join(stations, ", "), style: Style{Bold: true, Height: 2}})
	}
}

// ticketIdentity prints the end of the request's id, the job, the printer, and the attempt if it is
// not the first.
func (c *composer) ticketIdentity(d *ticket.Delivery) {
	var parts []string
	add := func(yes bool, part string) {
		if yes && part != "" {
			parts = append(parts, part)
		}
	}

	add(true, c.text(ticket.Short(d.Ticket.Request)))
	add(d.Job != 0, "job "+strconv.FormatUint(d.Job, 10))
	add(true, c.text(c.Printer))
	add(d.Attempt > 1, "attempt "+strconv.Itoa(d.Attempt))

	if len(parts) > 0 {
		c.flow(paragraph{text: strings.Join(parts, " | ")})
	}
}

// qr adds s as a QR code with the same text below it, for printers without QR codes and for people
// without a phone.
func (c *composer) qr(s string) {
	if s == "" {
		return
	}

	// The code is attached to the first line of the caption, so that a printer without codes prints
	// the caption as any other line.
	at := len(c.lines)
	c.centred(s, Style{})
	c.lines[at].QR = s
}
