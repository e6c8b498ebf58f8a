package layout

import (
	"strconv"
	"strings"
	"time"

	"ticketrail/queue/ticket"
)

// Fields is the data of a [Template]. Each text is one line without control characters; what the
// service did not send is empty.
type Fields struct {
	Venue       string
	Number      string // with its sign: #18
	Table       string // with the word: Table B10
	Type        string // dine in, take away …
	Server      string
	Guests      string
	Customer    string
	Promised    string // when it is wanted: Wanted 19:30
	Course      string
	Destination string // the printer named by the service
	Notes       []string

	Time     string // in the venue's zone: 21:49
	Date     string // Fri 6 Feb 2026
	Received string // RFC 3339, for the function time

	Request      string // the id of the request
	ShortRequest string // its last characters, as people read them out on the phone
	Job          string // the job's number
	Attempt      int    // 1 for the first attempt
	Station      string // the station in whose queue the ticket was
	Printer      string // the name of the printer
	For          string // the station, if the ticket came out at its backup
	Items        int    // number of items, without modifiers

	Copy, Copies             int
	Duplicate, Reprint       bool // a banner at the top says so too
	Void, Refire, Slip, Test bool // true of the whole ticket
}

// fields returns the data for a template. Its text has not gone through Options.Printable yet: that
// happens once, when the template's output is printed.
func (c *composer) fields(d *ticket.Delivery) Fields {
	t := &d.Ticket
	f := Fields{
		Venue: oneLine(t.VenueName), Type: oneLine(t.Type), Server: oneLine(t.Server), Guests: oneLine(t.Guests),
		Course: oneLine(t.Course), Destination: oneLine(t.Destination), Customer: oneLine(t.Customer),
		Promised: Wanted(t),
		Request:  oneLine(t.Request), ShortRequest: oneLine(ticket.Short(t.Request)),
		Attempt: d.Attempt, Station: oneLine(d.Station), Printer: oneLine(c.Printer), For: oneLine(d.For),
		Copy: c.Copy, Copies: c.Copies, Duplicate: d.Doubt, Reprint: d.Reprint,
		Void: t.Void, Refire: t.Refire, Slip: t.Kind == ticket.Slip, Test: t.Kind == ticket.Test,
	}
	var plain composer
	f.Number, f.Table = plain.number(t), plain.table(t)
	f.Time, _ = clockAndDate(t.Received, t.Zone)
	if !t.Received.IsZero() {
		at, _ := inZone(t.Received, t.Zone)
		f.Date, f.Received = at.Format("Mon 2 Jan 2006"), at.Format(time.RFC3339)
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

// oneLine returns s on one line, with single spaces. What the printer cannot print is replaced
// later, when the template's output becomes lines.
func oneLine(s string) string { return strings.Join(strings.Fields(normalize(s)), " ") }

// sampleFields is a ticket with every field set, to try a template on.
func sampleFields() Fields {
	return Fields{
		Venue: "Harbour Grill", Number: "#18", Table: "Table B10", Type: "Dine In", Server: "Jonathan A.", Guests: "4",
		Course: "Mains", Destination: "GRILL-1", Customer: "Ana", Promised: "Wanted 19:30",
		Notes: []string{"allergic to sesame", "in a hurry"},
		Time:  "21:49", Date: "Fri 6 Feb 2026", Received: "2026-02-06T21:49:48+11:00",
		Request: "0d9e1c52-7c1b-4d5e-8a66-1f2e3d4c5b6a", ShortRequest: "4c5b6a", Job: "1017", Attempt: 1,
		Station: "grill", Printer: "grill", For: "bar", Items: 3, Copy: 1, Copies: 2,
	}
}
