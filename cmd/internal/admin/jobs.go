package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

func (f Filter) query() url.Values {
	q := url.Values{}
	for _, s := range f.States {
		q.Add("state", s)
	}
	for k, v := range map[string]string{"station": f.Station, "request": f.Request} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if !f.Since.IsZero() {
		q.Set("since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q
}

// parseFilter is strict: a list that ignores a filter it does not know shows too much.
func parseFilter(q url.Values) (queue.Filter, error) {
	var f queue.Filter
	for k, vs := range q {
		v := vs[len(vs)-1]
		var err error
		switch k {
		case "state":
			f.States, err = states(vs)
		case "station":
			f.Station = v
		case "request":
			f.Request = v
		case "since":
			f.Since, err = time.Parse(time.RFC3339Nano, v)
		case "limit":
			f.Limit, err = strconv.Atoi(v)
		default:
			return f, refuse(BadRequest, "no filter is called %q", k)
		}
		if err != nil {
			return f, refuse(BadRequest, "%s: %v", k, err)
		}
	}
	if f.Limit < 0 {
		return f, refuse(BadRequest, "limit: %d is not a number of jobs; use 0 for all", f.Limit)
	}
	return f, nil
}

func states(names []string) ([]ticket.State, error) {
	var out []ticket.State
	for _, n := range names {
		s, ok := ticket.ParseState(n)
		if !ok {
			return nil, refuse(BadRequest, "%q is not a state; use %s", n, list(ticket.States()))
		}
		out = append(out, s)
	}
	return out, nil
}

func list[S ~string](names []S) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

func (s *Server) jobs(r *http.Request) (any, error) {
	f, err := parseFilter(r.URL.Query())
	if err != nil {
		return nil, err
	}
	jobs, err := s.o.Queue.Jobs(r.Context(), f)
	if err != nil {
		return nil, err
	}
	// An empty list may be a misspelt name. A name that is not known any more may still
	// have a history.
	if len(jobs) == 0 && f.Station != "" {
		if err := s.known(f.Station); err != nil {
			return nil, err
		}
	}
	out := make([]Job, 0, len(jobs)) // none is [] and not null
	for _, j := range jobs {
		out = append(out, wire(j))
	}
	return out, nil
}

func (s *Server) job(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	j, t, body, err := s.o.Queue.Job(r.Context(), id)
	if err != nil {
		return nil, err
	}
	return Detail{Job: wire(j), Ticket: t, Body: body}, nil
}

func (s *Server) reprint(r *http.Request, b reprintBody) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	if b.Station != "" {
		if err := s.configured(b.Station); err != nil {
			return nil, err
		}
	}
	copied, err := s.o.Queue.Reprint(r.Context(), id, b.Station, because(r, b.Reason))
	if err != nil {
		return nil, err
	}
	s.changed(r, "reprint", "job", id, "made", copied, "station", b.Station, "reason", b.Reason)
	return made{Jobs: []uint64{copied}}, nil
}

func (s *Server) cancel(r *http.Request, b reasonBody) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	if err := s.o.Queue.Cancel(r.Context(), id, because(r, b.Reason)); err != nil {
		return nil, err
	}
	s.changed(r, "cancel", "job", id, "reason", b.Reason)
	return made{Jobs: []uint64{}}, nil
}

func (s *Server) move(r *http.Request, b moveBody) (any, error) {
	switch {
	case b.To == "":
		return nil, refuse(BadRequest, "move to which printer? name it with --to")
	case (b.From == "") == (len(b.IDs) == 0):
		return nil, refuse(BadRequest, "move either the jobs named or all of a printer, with --from")
	case b.From == b.To:
		return nil, refuse(BadRequest, "the tickets are at %s already", b.To)
	}
	if err := s.configured(b.To); err != nil {
		return nil, err
	}
	var ids []uint64
	var err error
	if b.From != "" {
		if err := s.known(b.From); err != nil {
			return nil, err
		}
		ids, err = s.o.Queue.MoveAll(r.Context(), b.From, b.To)
	} else {
		ids, err = s.o.Queue.Move(r.Context(), b.IDs, b.To)
	}
	if len(ids) > 0 { // of very many, some may have moved before an error
		s.changed(r, "move", "jobs", len(ids), "from", b.From, "station", b.To)
	}
	switch {
	case err != nil && len(ids) > 0:
		e := refusal(err)
		return nil, refuse(e.Code, "%s; %s moved before that", e.Message, ticket.Plural(len(ids), "ticket"))
	case err != nil:
		return nil, err
	case ids == nil:
		ids = []uint64{}
	}
	return made{Jobs: ids}, nil
}
