package queue

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// A logLine is what one line of a log says: a request that was stored, a job that was made of another one, or what has
// become of a job. It has what the queue stores, so no configuration is needed to do it again.
type logLine struct {
	At      time.Time `json:"at"`         // wall clock
	Running int64     `json:"running_ms"` // running time

	Request *loggedRequest `json:"request,omitempty"`
	Made    *loggedMade    `json:"made,omitempty"`
	Job     *loggedJob     `json:"job,omitempty"`
	Closed  bool           `json:"closed,omitempty"` // the daemon stopped: the log has all that it did
}

func (l *logLine) running() time.Duration { return time.Duration(l.Running) * time.Millisecond }

// A loggedRequest is a [ticket.Request] and the jobs that came of it.
type loggedRequest struct {
	ID       string          `json:"id"`
	Venue    string          `json:"venue"`
	Device   string          `json:"device,omitempty"`
	Received time.Time       `json:"received,omitzero"`
	AgeMS    int64           `json:"age_ms,omitempty"`
	Jobs     []madeJob       `json:"jobs"`
	Tickets  []loggedTicket  `json:"tickets"`
	Body     json.RawMessage `json:"body"`            // as received; what is not JSON without spaces is in a string
	Bytes    []byte          `json:"bytes,omitempty"` // instead of Body, if it is not UTF-8
}

type madeJob struct {
	Job     uint64 `json:"job"`
	Station string `json:"station"`
}

type loggedTicket struct {
	Station string          `json:"station"`
	Ticket  json.RawMessage `json:"ticket"`
}

// A loggedMade is a job that no request made: a slip, a copy, or one that was moved.
type loggedMade struct {
	Job    uint64          `json:"job"`
	As     jobState        `json:"as"`
	Ticket json.RawMessage `json:"ticket"`
}

// A loggedJob is what has become of a job. That a screen shows it is not logged: what is on a screen is not, so a
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

// A note is a line that is encoded outside of the committer. Of a request it has what the accept has encoded already.
type note struct {
	logLine
	accepted *acceptOp
	payload  []byte // of Made, as stored
}

// noteAccepted logs a request with the jobs that came of it.
func (b *batch) noteAccepted(a *acceptOp) {
	b.made = append(b.made, note{accepted: a})
}

// noteMade logs a job that no request made.
func (b *batch) noteMade(job uint64, s jobState, payload []byte) {
	b.made = append(b.made, note{logLine: logLine{Made: &loggedMade{Job: job, As: s}}, payload: payload})
}

// noteState logs what has become of a job.
func (b *batch) noteState(job uint64, s jobState) {
	if s.State == ticket.Shown {
		return
	}
	b.became = append(b.became, note{logLine: logLine{
		Job: &loggedJob{job, s.Station, s.State, s.Doubts, s.Why, s.PrintedBy, s.ReprintedAs},
	}})
}

// notes are the lines of a batch: those of what was made come first, so that a line that is torn there is never that
// of a job that took the place of one whose end is logged.
func (b *batch) notes() []note {
	all := append(b.made, b.became...)
	for i := range all {
		all[i].At, all[i].Running = b.wall.UTC(), b.now.Milliseconds()
	}
	return all
}

// size is about how many bytes a note keeps in memory.
func (n *note) size() int {
	if n.accepted != nil {
		return n.accepted.size
	}
	return len(n.payload) + smallOp
}

// encode returns the line.
func (n *note) encode() ([]byte, error) {
	l := n.logLine
	if n.accepted != nil {
		l.Request = n.accepted.logged()
	}
	if l.Made != nil {
		made := *l.Made
		made.Ticket = n.payload[crcSize:]
		l.Made = &made
	}
	var object bytes.Buffer
	e := json.NewEncoder(&object)
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		return nil, err
	}
	return sealLine(bytes.TrimSuffix(object.Bytes(), []byte("\n"))), nil
}

// logged is the request as a log has it. Its caller may have changed the request since, so it is made of what was
// encoded.
func (a *acceptOp) logged() *loggedRequest {
	m, body, _ := decodeBody(a.body) // newAcceptOp has encoded it
	l := &loggedRequest{
		ID: m.ID, Venue: m.Venue, Device: m.Device, Received: a.arrived, AgeMS: a.age.Milliseconds(), Jobs: a.jobs,
	}
	for i, payload := range a.payloads {
		l.Tickets = append(l.Tickets, loggedTicket{Station: a.stations[i], Ticket: payload[crcSize:]})
	}
	l.setBody(body)
	return l
}

// setBody keeps a body so that request returns exactly its bytes, and a person can read it.
func (l *loggedRequest) setBody(body []byte) {
	var compact bytes.Buffer
	if json.Compact(&compact, body) == nil && bytes.Equal(compact.Bytes(), body) && bytes.HasPrefix(body, []byte("{")) {
		l.Body = body
		return
	}
	text, err := json.Marshal(string(body))
	var back string
	if err == nil && json.Unmarshal(text, &back) == nil && back == string(body) {
		l.Body = text
		return
	}
	l.Body, l.Bytes = json.RawMessage("null"), body
}

// request is what was stored.
func (l *loggedRequest) request() (ticket.Request, error) {
	r := ticket.Request{
		ID: l.ID, Venue: l.Venue, Device: l.Device, Received: l.Received, Body: slices.Clone([]byte(l.Body)),
		Age:  time.Duration(l.AgeMS) * time.Millisecond,
		Late: true, // it has printed, or should have: it counts also if the same was only reported before
	}
	var text string
	switch {
	case l.Bytes != nil:
		r.Body = l.Bytes
	case json.Unmarshal(l.Body, &text) == nil:
		r.Body = []byte(text)
	}
	for _, t := range l.Tickets {
		decoded, err := ticket.Unmarshal(t.Ticket)
		if err != nil {
			return ticket.Request{}, err
		}
		r.Drafts = append(r.Drafts, ticket.Draft{Station: t.Station, Ticket: decoded})
	}
	return r, nil
}
