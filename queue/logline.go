package queue

import (
	"encoding/json"
	"fmt"
	"time"

	"ticketrail/queue/ticket"
)

// A logLine is one line of a log: a request that was stored, a job that was made of another one, or the new state
// of a job. It has the stored values, so no configuration is needed to do it again.
type logLine struct {
	At      time.Time `json:"at"`         // wall clock
	Running int64     `json:"running_ms"` // running time

	Request *loggedRequest `json:"request,omitempty"`
	Made    *loggedMade    `json:"made,omitempty"`
	Job     *loggedJob     `json:"job,omitempty"`
	Closed  bool           `json:"closed,omitempty"` // the daemon stopped: the log has all that it did

	Tickets []json.RawMessage `json:"tickets,omitempty"` // of Request or Made, as stored
}

func (l *logLine) running() time.Duration { return time.Duration(l.Running) * time.Millisecond }

// A loggedRequest is a [ticket.Request] and the jobs that came of it.
type loggedRequest struct {
	ID       string    `json:"id"`
	Venue    string    `json:"venue"`
	Device   string    `json:"device,omitempty"`
	Received time.Time `json:"received,omitzero"`
	AgeMS    int64     `json:"age_ms,omitempty"`
	Jobs     []newJob  `json:"jobs"`
	Stations []string  `json:"stations"`        // of the tickets
	Content  []byte    `json:"content"`         // its digest; none: an earlier version has written it
	Body     string    `json:"body,omitempty"`  // as received
	Bytes    []byte    `json:"bytes,omitempty"` // instead of Body, if it is not UTF-8
}

type newJob struct {
	Job     uint64 `json:"job"`
	Station string `json:"station"`
}

// A loggedMade is a job that no request made: a slip, a copy, or one that was moved.
type loggedMade struct {
	Job uint64   `json:"job"`
	As  jobState `json:"as"`
}

// A loggedJob is a job's new state. That a screen shows it is not logged, because cards are not, so a
// ticket that was shown since the base copy is shown again.
type loggedJob struct {
	Job     uint64       `json:"job"`
	Station string       `json:"station"`
	State   ticket.State `json:"state"`
	Doubts  int          `json:"doubts,omitempty"`
	Why     string       `json:"why,omitempty"`

	PrintedBy   string `json:"printed_by,omitempty"`
	ReprintedAs uint64 `json:"reprinted_as,omitempty"`
}

// request returns the request that was stored.
func (l *logLine) request() (ticket.Request, error) {
	r := ticket.Request{
		ID: l.Request.ID, Venue: l.Request.Venue, Device: l.Request.Device, Received: l.Request.Received,
		Body:                append([]byte(l.Request.Body), l.Request.Bytes...),
		Age:                 time.Duration(l.Request.AgeMS) * time.Millisecond,
		PrintEvenIfReported: true, // it has printed, or should have
	}

	copy(r.Content[:], l.Request.Content)
	if len(l.Tickets) != len(l.Request.Stations) {
		return r, fmt.Errorf("%d tickets for %d stations", len(l.Tickets), len(l.Request.Stations))
	}

	for i, raw := range l.Tickets {
		decoded, err := ticket.Unmarshal(raw)
		if err != nil {
			return ticket.Request{}, err
		}
		r.Drafts = append(r.Drafts, ticket.Draft{Station: l.Request.Stations[i], Ticket: decoded})
	}
	return r, nil
}
