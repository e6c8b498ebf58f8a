package layout

import (
	"strconv"
	"strings"
	"time"

	"ticketrail/queue/ticket"
)

// Fields is what a [Template] may print. Text is one line each, without control
// characters; what the service did not say is empty.
type Fields struct {
	Venue       string
	Number      string // with #: #18
	Table       string // with the word: Table B10
	Type        string // dine in, take away …
	Server      string
	Guests      string
	Course      string
	Destination string // the printer the service had in mind
	Notes       []string

	Time     string // in the venue's zone: 21:49
	Date     string // Fri 6 Feb 2026
	Received string // for the function time

	Request      string // the id of the request
	ShortRequest string // its last letters, as people read them out
	Job          string // the number of the job
	Attempt      int    // 1 for the first
	Station      string // whose line the ticket stood in
	Printer      string // what the printer is called
	For          string // the station it stands in for
	Items        int    // how many items, modifiers not counted

	Copy, Copies             int
	Duplicate, Reprint       bool // there is a banner that says so
	Void, Refire, Slip, Test bool // the ticket as a whole
}

func (c *composer) fields(d *ticket.Delivery) Fields {
	t := &d.Ticket
	f := Fields{
		Venue: oneLine(t.VenueName), Type: oneLine(t.Type), Server: oneLine(t.Server), Guests: oneLine(t.Guests),
		Course: oneLine(t.Course), Destination: oneLine(t.Destination),
		Request: oneLine(t.Request), ShortRequest: oneLine(ticket.Short(t.Request)),
		Attempt: d.Attempt, Station: oneLine(d.Station), Printer: oneLine(c.Printer), For: oneLine(d.For),
		Copy: c.Copy, Copies: c.Copies, Duplicate: d.Doubt, Reprint: d.Reprint,
		Void: t.Void, Refire: t.Refire, Slip: t.Kind == ticket.Slip, Test: t.Kind == ticket.Test,
	}
	var plain composer
	f.Number, f.Table = plain.number(t), plain.table(t)
	f.Time, f.Date = clockAndDate(t.Received, t.Zone)
	if !t.Received.IsZero() {
		at, _ := inZone(t.Received, t.Zone)
		f.Received = at.Format(time.RFC3339)
	}
	if d.Job != 0 {
		f.Job = strconv.FormatUint(d.Job, 10)
	}
	for _, n := range t.Notes {
		f.Notes = append(f.Notes, oneLine(n))
	}
	for i := range t.Lines {
		if t.Lines[i].Depth == 0 {
			f.Items++
		}
	}
	return f
}

// oneLine is s on one line, with single spaces. What the printer lacks is replaced when
// it is set, not here.
func oneLine(s string) string { return strings.Join(strings.Fields(normalize(s)), " ") }

// sampleFields is a ticket with everything on it, on which a template is tried.
func sampleFields() Fields {
	return Fields{
		Venue: "Harbour Grill", Number: "#18", Table: "Table B10", Type: "Dine In", Server: "Jonathan A.", Guests: "4",
		Course: "Mains", Destination: "GRILL-1", Notes: []string{"allergic to sesame", "in a hurry"},
		Time: "21:49", Date: "Fri 6 Feb 2026", Received: "2026-02-06T21:49:48+11:00",
		Request: "0d9e1c52-7c1b-4d5e-8a66-1f2e3d4c5b6a", ShortRequest: "4c5b6a", Job: "1017", Attempt: 1,
		Station: "grill", Printer: "grill", For: "bar", Items: 3, Copy: 1, Copies: 2,
	}
}
