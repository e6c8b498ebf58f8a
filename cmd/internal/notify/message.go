package notify

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
)

// A Message is what one recipient is told at one time. It has states of stations and of the daemon, never
// the contents of a ticket.
type Message struct {
	Place string    `json:"place"` // such as Harbour Grill
	Host  string    `json:"host"`
	At    time.Time `json:"at"`
	Title string    `json:"title"` // for people, one line
	Text  string    `json:"text"`  // for people, with what to do
	Began []Event   `json:"began,omitempty"`
	Ended []Event   `json:"ended,omitempty"`
}

// An Event is something that began, or is over.
type Event struct {
	Topic   string      `json:"topic"`             // one of [config.Topics], or another subject of ticketrail status
	Station string      `json:"station,omitempty"` // with the topic stations
	Level   admin.Level `json:"level"`             // ok: it is over
	Since   time.Time   `json:"since"`             // since when it is, or was, wrong
	Text    string      `json:"text,omitempty"`
	Do      string      `json:"do,omitempty"` // what a person does about it
}

// Subject is what the event is about, as people call it.
func (e Event) Subject() string { return cmp.Or(e.Station, e.Topic) }

// compare puts the worst first.
func (e Event) compare(o Event) int {
	return cmp.Or(admin.WorstFirst(admin.Finding{Level: e.Level}, admin.Finding{Level: o.Level}),
		cmp.Compare(e.Topic, o.Topic), cmp.Compare(e.Station, o.Station))
}

// describe writes the message for somebody who reads it on a phone, away from the kitchen: where, what, since
// when, and what to do.
func (m *Message) describe(place string, now time.Time, zone *time.Location) {
	if zone == nil {
		zone = time.Local
	}
	now = now.In(zone)
	m.Place, m.At = place, now
	m.Host, _ = os.Hostname()
	var parts []string
	for _, e := range m.Began {
		p := e.Subject() + ": " + e.Text
		if e.Do != "" {
			p += "\nWhat to do: " + e.Do
		}
		parts = append(parts, p+"\nSince "+clock(e.Since.In(zone), now))
	}
	for _, e := range m.Ended {
		p := fmt.Sprintf("%s: fine again after %s", e.Subject(), admin.Age(now.Sub(e.Since)))
		if e.Text != "" {
			p += ": " + e.Text
		}
		parts = append(parts, p)
	}
	parts = append(parts, strings.TrimSuffix("ticketrail at "+place+", "+m.Host, ", "))
	m.Text = strings.Join(parts, "\n\n")
	m.Title = place + ": " + m.headline()
}

// headline is the message in some words, as a phone shows it while locked.
func (m *Message) headline() string {
	told, first, all := m.Began, "", len(m.Began)
	if all == 0 {
		told, all = m.Ended, len(m.Ended)
	}
	switch e := told[0]; {
	case e.Level == admin.OK && e.Topic == config.TopicStations:
		first = e.Subject() + " works again"
	case e.Level == admin.OK:
		first = e.Subject() + " fine again"
	case e.Topic == config.TopicOrders && e.Level == admin.Fail:
		first = "orders were refused"
	case e.Topic == config.TopicOrders:
		first = "no orders arrive"
	case e.Topic == config.TopicTickets:
		first = "tickets did not print"
	case e.Level == admin.Fail:
		first = e.Subject() + " needs somebody"
	default:
		first = e.Subject() + " needs somebody soon"
	}
	if all > 1 {
		first += fmt.Sprintf(", and %d more", all-1)
	}
	return first
}

// clock is a time as people read it today, or with its day.
func clock(t, now time.Time) string {
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("Mon 2 Jan 15:04")
}
