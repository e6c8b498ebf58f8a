package queue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"
	"unicode/utf8"

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
	Jobs     []madeJob `json:"jobs"`
	Stations []string  `json:"stations"`        // of the tickets
	Body     string    `json:"body,omitempty"`  // as received
	Bytes    []byte    `json:"bytes,omitempty"` // instead of Body, if it is not UTF-8
}

type madeJob struct {
	Job     uint64 `json:"job"`
	Station string `json:"station"`
}

// A loggedMade is a job that no request made: a slip, a copy, or one that was moved.
type loggedMade struct {
	Job uint64   `json:"job"`
	As  jobState `json:"as"`
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

// A note is a line that is encoded outside of the committer. Of what is large it has what is stored.
type note struct {
	logLine
	accepted *acceptOp
	payloads [][]byte // of Made
}

// noteAccepted logs a request with the jobs that came of it.
func (b *batch) noteAccepted(a *acceptOp) {
	b.made = append(b.made, note{accepted: a})
}

// noteMade logs a job that no request made.
func (b *batch) noteMade(job uint64, s jobState, payload []byte) {
	b.made = append(b.made, note{logLine: logLine{Made: &loggedMade{job, s}}, payloads: [][]byte{payload}})
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
	size := smallOp
	for _, p := range n.payloads {
		size += len(p)
	}
	return size
}

// appendTo appends the line. A ticket is JSON on one line already: to have it encoded once more takes longer than all
// the rest.
func (n *note) appendTo(lines *bytes.Buffer) error {
	l, payloads := n.logLine, n.payloads
	if n.accepted != nil {
		l.Request, payloads = n.accepted.logged(), n.accepted.payloads
	}
	return appendLine(lines, l, func() {
		for i, p := range payloads {
			lines.WriteString([]string{`,"tickets":[`, `,`}[min(i, 1)])
			lines.Write(p[crcSize:])
		}
		if len(payloads) > 0 {
			lines.WriteByte(']')
		}
	})
}

// logged is the request as a log has it. Its caller may have changed the body since, so it is that which was encoded.
func (a *acceptOp) logged() *loggedRequest {
	l := &loggedRequest{
		ID: a.r.ID, Venue: a.r.Venue, Device: a.r.Device, Received: a.arrived, AgeMS: a.age.Milliseconds(),
		Jobs: a.jobs, Stations: a.stations,
	}
	if body := a.body[len(a.body)-len(a.r.Body):]; utf8.Valid(body) {
		l.Body = string(body)
	} else {
		l.Bytes = body
	}
	return l
}

// request is what was stored.
func (l *logLine) request() (ticket.Request, error) {
	r := ticket.Request{
		ID: l.Request.ID, Venue: l.Request.Venue, Device: l.Request.Device, Received: l.Request.Received,
		Body: append([]byte(l.Request.Body), l.Request.Bytes...),
		Age:  time.Duration(l.Request.AgeMS) * time.Millisecond,
		Late: true, // it has printed, or should have: it counts also if the same was only reported before
	}
	if len(l.Tickets) != len(l.Request.Stations) {
		return r, fmt.Errorf("%d tickets for %d stations", len(l.Tickets), len(l.Request.Stations))
	}
	for i, raw := range l.Tickets {
		t, err := ticket.Unmarshal(raw)
		if err != nil {
			return ticket.Request{}, err
		}
		r.Drafts = append(r.Drafts, ticket.Draft{Station: l.Request.Stations[i], Ticket: t})
	}
	return r, nil
}

// lineHead begins each line; the checksum is in its place %08x.
const lineHead = `{"crc":"%08x",`

// appendLine appends v, which is a JSON object, as a line with its checksum. more appends members to it.
func appendLine(lines *bytes.Buffer, v any, more func()) error {
	start := lines.Len()
	fmt.Fprintf(lines, lineHead, 0)
	head := lines.Len() - start
	lines.Truncate(lines.Len() - 1) // the object begins here, with a brace

	e := json.NewEncoder(lines)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		lines.Truncate(start)
		return err
	}
	lines.Truncate(lines.Len() - len("}\n"))
	more()
	lines.WriteByte('}')

	line := lines.Bytes()[start:]
	copy(line, fmt.Appendf(nil, lineHead, crc32.Checksum(line[head:], castagnoli)))
	lines.WriteByte('\n')
	return nil
}

// unsealLine returns the object of a line, without its end. It changes the line.
func unsealLine(line []byte) ([]byte, bool) {
	head := len(fmt.Sprintf(lineHead, 0))
	if len(line) < head {
		return nil, false
	}
	rest := line[head:]
	if string(line[:head]) != fmt.Sprintf(lineHead, crc32.Checksum(rest, castagnoli)) {
		return nil, false
	}
	line[head-1] = '{' // in place of the comma
	return line[head-1:], true
}
