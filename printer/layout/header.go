package layout

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

	for _, s := range shown.Later {
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
	case shown.Kind == ticket.Slip:
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

	if allUnrouted(shown.Lines) {
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

// headerFields prints the fields of the header in their order. A field shares the line of the one
// before it if it fits and has the same size. No field is alone on its line if that can be helped:
// half a line without text is wasted.
func (c *composer) headerFields(d *ticket.Delivery) {
	names := c.Header

	switch {
	case c.slip != "":
		names = []string{"number", "slip", "table", "customer"}
	case names == nil:
		names = HeaderFields()
	}

	var fields []Span
	for _, name := range names {
		field := c.headerField(name, &d.Ticket)
		switch {
		case strings.Contains(name, "{"):
			c.shareLines(fields)
			fields = nil
			c.ownLine(name, d)
		case field.Text == "":
		case name == "venue":
			c.shareLines(fields)
			fields = nil
			c.centred(field.Text, field.Style)
		default:
			fields = append(fields, field)
		}
	}

	c.shareLines(fields)
}

// placeholder is a field of the ticket in a line of the configuration: {table}.
var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// ownLine prints a line of the configuration in the middle of the paper. A line of which no placeholder has a value
// does not print.
func (c *composer) ownLine(line string, d *ticket.Delivery) {
	says := !placeholder.MatchString(line)
	text := placeholder.ReplaceAllStringFunc(line, func(name string) string {
		value := c.placeholder(name[1:len(name)-1], d)
		says = says || value != ""
		return value
	})

	if says {
		c.centred(text, Style{})
	}
}

func (c *composer) placeholder(name string, d *ticket.Delivery) string {
	switch name {
	case "printer":
		return c.text(c.Printer)
	case "request":
		return c.text(ticket.Short(d.Ticket.Request))
	case "job":
		return strconv.FormatUint(d.Job, 10)
	}

	return c.headerField(name, &d.Ticket).Text
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
	case i == start+1 || i == last: // else one of the two would be alone
		return true
	case i == last-1 && !c.fit(fields[start:]) && c.fit(fields[i:]): // else the last one would
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

// headerField returns a field of the header; empty if the ticket lacks it or there is no such field.
// Number and table are the biggest because they are called across the kitchen.
func (c *composer) headerField(name string, t *ticket.Ticket) Span {
	clock, date := clockAndDate(t.Received, t.Zone)

	tall := Style{Bold: true, Height: 2}
	switch name {
	case "venue":
		return Span{Text: c.text(t.VenueName), Style: Style{Bold: true}}
	case "number":
		return Span{Text: c.number(t), Style: c.sized(c.NumberSize, Size{2, 2})}
	case "slip":
		return Span{Text: c.slip, Style: c.sized(c.NumberSize, Size{2, 2})}
	case "table":
		return Span{Text: c.table(t), Style: c.sized(c.TableSize, Size{2, 2})}
	case "type":
		return Span{Text: c.text(t.Type), Style: tall}
	case "time":
		return Span{Text: clock, Style: tall}
	case "server":
		return Span{Text: labelled("Server", c.text(t.Server))}
	case "date":
		return Span{Text: date}
	case "guests":
		return Span{Text: labelled("Guests", c.text(t.Guests))}
	case "destination":
		return Span{Text: labelled("For", c.text(t.Destination))}
	case "course":
		return Span{Text: labelled("Course", c.text(t.Course))}
	case "promised":
		return Span{Text: c.text(Wanted(t)), Style: tall}
	case "customer":
		if c.slip != "" { // a drink is called out by name
			return Span{Text: c.text(t.Customer), Style: tall}
		}
		return Span{Text: c.text(t.Customer)}
	}
	return Span{}
}

// number and table add the words that tell the two apart (#18, Table 18).
func (c *composer) number(t *ticket.Ticket) string { return ticket.NumberLabel(c.text(t.Number)) }

func (c *composer) table(t *ticket.Ticket) string { return ticket.TableLabel(c.text(t.Table), t.Type) }

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
