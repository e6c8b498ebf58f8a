package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"ticketrail/cmd/internal/finding"
	"ticketrail/printer/layout"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// The page for managers has a part of the commands, by the same functions, and a few settings. It comes over the
// network, from a browser that package kds has authorized. So it has fewer routes than the socket, and each change must
// name the version that the page showed: nothing is done twice by two taps, or by a page that was drawn an hour ago.

// Of each kind, the page lists at most so many tickets: the newest ones, but of those that wait the oldest,
// because they are moved in the order in which they are listed.
const (
	maxOpenOnPage    = 100
	maxPrintedOnPage = 30
	maxRejectsOnPage = 50
)

// A PageState is the content of the page for managers: everything at one moment.
type PageState struct {
	Overview
	Zone     string            `json:"zone"` // the kitchen's; empty if it is not known
	Stations []finding.Station `json:"stations"`
	Tickets  []PageTicket      `json:"tickets"` // held and failed ones, then those that wait; each the oldest first
	More     int               `json:"more"`    // open ones that are not among Tickets
	Printed  []PageTicket      `json:"printed"` // the latest that came out or expired, the newest first
	Rejects  []Reject          `json:"rejects"` // the newest, without bodies
}

// A PageTicket is a ticket on that page.
type PageTicket struct {
	Job
	Order   string `json:"order"`   // its name for people: "#18 Table 12"
	Version string `json:"version"` // to be sent with each change of it
}

// pageRoutes are the routes of the page.
func (s *Server) pageRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"GET /state":                   s.pageState,
		"GET /jobs/{id}/paper":         s.paper,
		"POST /jobs/{id}/reprint":      withBody(versioned(s.reprint)),
		"POST /jobs/{id}/cancel":       withBody(versioned(s.cancel)),
		"POST /move":                   withBody(versioned(s.move)),
		"POST /stations/{name}/resume": withBody(versioned(s.resume)),
		"POST /rejects/{id}/print":     withBody(versioned(s.printReject)),
		"GET /settings":                s.settings,
		"POST /settings/found":         s.discover, // not GET: who may only look starts no search
		"POST /settings/{what}":        withBody(versioned(s.changeSettings)),
	} {
		mux.Handle(pattern, s.withoutDetails(h))
	}

	return mux
}

// ServePage answers a request of the page for managers. The caller has checked that the browser may manage, and
// that no other site makes it ask. who is the browser, for the log and for the reason stored with a change.
func (s *Server) ServePage(w http.ResponseWriter, r *http.Request, who string) {
	s.serve(s.page, w, r.WithContext(context.WithValue(r.Context(), actorKey{}, who)))
}

// withoutDetails keeps an error of the disk or a bug, with its paths, from the network.
func (s *Server) withoutDetails(h handler) handler {
	return func(r *http.Request) (any, error) {
		result, err := h(r)
		if err != nil && refusal(err).Code == Internal {
			s.o.Logger.Error("the page for managers: not done", "path", r.URL.Path, "err", err)
			return nil, Refuse(Internal, "not done: the log of ticketrail says why")
		}
		return result, err
	}
}

// versioned refuses a change without the version that the person saw.
func versioned[B interface{ saysVersion() bool }](
	h func(*http.Request, B) (any, error),
) func(*http.Request, B) (any, error) {
	return func(r *http.Request, b B) (any, error) {
		if !b.saysVersion() {
			return nil, Refuse(BadRequest, "the request lacks the version of what it changes")
		}
		return h(r, b)
	}
}

func (o ReprintOptions) saysVersion() bool { return o.Version != "" }
func (b cancelBody) saysVersion() bool     { return b.Version != "" }
func (b resumeBody) saysVersion() bool     { return b.Since != nil }

// saysVersion is false for a whole station, which has none.
func (b moveBody) saysVersion() bool {
	return b.From == "" && len(b.Versions) == len(b.IDs) && !slices.Contains(b.Versions, "")
}

func (s *Server) pageState(r *http.Request) (any, error) {
	var p PageState
	var err error
	if p.Overview, err = s.Overview(r.Context()); err != nil {
		return nil, err
	}

	p.Zone, p.Stations = s.zoneName(), s.o.Stations()
	p.Tickets = []PageTicket{} // in JSON a list, also an empty one
	// Two lists: a long queue must not hide the tickets that need somebody.
	for _, f := range []queue.Filter{
		{States: []ticket.State{ticket.Held, ticket.Failed}, Limit: maxOpenOnPage},
		{States: []ticket.State{ticket.Pending, ticket.Printing}, Limit: maxOpenOnPage, Oldest: true},
	} {
		list, err := s.pageTickets(r, f)
		if err != nil {
			return nil, err
		}
		slices.Reverse(list)
		p.Tickets = append(p.Tickets, list...)
	}

	for _, st := range p.Stations {
		p.More += st.Pending + st.Printing + st.Held
	}
	for _, t := range p.Tickets {
		if t.State.Open() {
			p.More--
		}
	}

	p.More = max(p.More, 0) // one may have come or gone between the two lists
	p.Printed, err = s.pageTickets(r, queue.Filter{Limit: maxPrintedOnPage, States: []ticket.State{ticket.Confirmed,
		ticket.Processed, ticket.Sent, ticket.Shown, ticket.Taken, ticket.Expired}})
	if err != nil {
		return nil, err
	}

	p.Rejects = append([]Reject{}, s.o.Rejects.List()...)
	p.Rejects = p.Rejects[:min(len(p.Rejects), maxRejectsOnPage)]
	return cleaned(p)
}

func (s *Server) pageTickets(r *http.Request, f queue.Filter) ([]PageTicket, error) {
	jobs, err := s.o.Queue.Jobs(r.Context(), f)
	out := make([]PageTicket, 0, len(jobs))
	for _, j := range jobs {
		order := strings.TrimSpace(ticket.NumberLabel(j.Number) + " " + ticket.TableLabel(j.Table, ""))
		out = append(out, PageTicket{j, order, j.Version})
	}
	return out, err
}

// cleaned is v as JSON without control characters in any text. Nearly all of them come from requests, from printers or
// from other displays; that holds for a field that is added later too.
func cleaned(v any) (any, error) {
	encoded, err := jsonv2.Marshal(v, jsonv1.DefaultOptionsV1(), jsonv2.WithMarshalers(cleanTexts))
	return json.RawMessage(encoded), err
}

var cleanTexts = jsonv2.MarshalToFunc(func(to *jsontext.Encoder, v any) error {
	text := reflect.ValueOf(v).Elem()
	if text.Kind() != reflect.String {
		return errors.ErrUnsupported // it is encoded as ever
	}
	return to.WriteToken(jsontext.String(layout.OneLine(text.String())))
})

// A Paper is a ticket as it would look on paper. Its texts have no control characters, see [layout.Span].
type Paper struct {
	Columns int         `json:"columns"` // width, in characters of normal width
	Lines   []PaperLine `json:"lines"`
}

// A PaperLine is a line of paper, from left to right.
type PaperLine struct {
	Height int         `json:"height"` // in lines of normal height
	QR     bool        `json:"qr,omitempty"`
	Spans  []PaperSpan `json:"spans"`
}

// A PaperSpan is text in one style.
type PaperSpan struct {
	layout.Style
	Text    string `json:"text"`
	Columns int    `json:"columns"` // width of Text before it is enlarged
	RTL     bool   `json:"rtl,omitempty"`
}

// paper answers with a ticket as the next or the last attempt prints it, with its marks.
func (s *Server) paper(r *http.Request) (any, error) {
	id := pathID(r)
	job, content, _, err := s.o.Queue.Job(r.Context(), id)
	if err != nil {
		return nil, err
	}

	look, err := s.o.Layout(job.Station)
	if err != nil {
		return nil, err
	}
	sheet := Paper{Columns: look.Columns, Lines: []PaperLine{}}
	for _, l := range layout.ComposeWith(ticket.Delivery{
		Job: job.ID, Station: job.Station, Attempt: max(job.Attempts, 1),
		Ticket: content, Doubt: job.Doubt, Reprint: job.Reprint, RefusedBy: job.RefusedBy,
	}, look) {
		line := PaperLine{Height: l.Height(), QR: l.QR != "", Spans: []PaperSpan{}}
		for _, span := range l.Spans {
			line.Spans = append(line.Spans, PaperSpan{Style: span.Style, Text: span.Text,
				Columns: layout.Width(span.Text), RTL: span.Direction == layout.RightToLeft})
		}
		sheet.Lines = append(sheet.Lines, line)
	}

	return sheet, nil
}
