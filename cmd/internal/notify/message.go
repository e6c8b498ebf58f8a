package notify

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
)

// A Message tells one recipient of events. It has states of stations and of the daemon, never the contents of a
// ticket.
type Message struct {
	Place string    `json:"place"` // such as Harbour Grill
	Host  string    `json:"host"`
	At    time.Time `json:"at"`
	Title string    `json:"title"`           // for people, one line
	Text  string    `json:"text"`            // for people, with advice
	Began []Event   `json:"began,omitempty"` // those that began, and those that go on and are told again
	Ended []Event   `json:"ended,omitempty"`
}

// An Event is a finding that began, lasts, or is over: then its level is ok. It has no examples.
type Event struct {
	finding.Finding
	Again int       `json:"again,omitempty"` // how often it was told before
	At    time.Time `json:"at,omitzero"`     // when it was told; zero in a message
}

// topic is a word of notify's key about, or another subject of ticketrail status.
func (e Event) topic() string {
	if e.Station {
		return config.TopicStations
	}
	return e.Subject
}

// compare puts the worst first, and sorts equal events by topic.
func (e Event) compare(o Event) int {
	return cmp.Or(finding.WorstFirst(e.Finding, o.Finding), cmp.Compare(e.topic(), o.topic()), cmp.Compare(e.ID, o.ID))
}

// maxDescribed is how many events a message describes. A storm is one message that names the rest by their causes.
const maxDescribed = 10

// describe writes the message for somebody who reads it on a phone, away from the kitchen: the place, the fault,
// since when, and the advice.
func (m *Message) describe(place string, now time.Time, zone *time.Location) {
	now = now.In(zone)
	m.Place, m.At = place, now
	m.Host, _ = os.Hostname()

	var parts []string
	for i, e := range m.Began {
		line := e.line()
		if i < maxDescribed {
			if e.Detail != "" {
				line += "\n" + e.Detail
			}
			if e.Do != "" {
				line += "\nWhat to do: " + e.Do
			}
			line += "\nSince " + clock(e.Since.In(zone), now)
		}
		parts = append(parts, line)
	}

	for _, e := range m.Ended {
		parts = append(parts, fmt.Sprintf("%s: over after %s", e.line(), finding.Age(now.Sub(e.Since))))
	}
	parts = append(parts, strings.TrimSuffix("ticketrail at "+place+", "+m.Host, ", "))

	m.Text = strings.Join(parts, "\n\n")
	m.Title = place + ": " + m.headline()
}

// line is the subject with the cause.
func (e Event) line() string { return e.Subject + ": " + e.Text }

// headline is the message in some words, as a phone shows it while locked: the worst cause, and how many there are.
func (m *Message) headline() string {
	events, are := m.Began, "began"
	if len(events) == 0 {
		events, are = m.Ended, "are over"
	}

	first := events[0].line()
	switch {
	case events[0].Level == finding.OK:
		first = "over: " + first
	case events[0].Again > 0:
		first = "still: " + first
	}

	if len(events) > 1 {
		return fmt.Sprintf("%d things %s: %s", len(events), are, first)
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
