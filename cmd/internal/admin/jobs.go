package admin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// StateNames are the names of all states, for help and error messages.
func StateNames() (names []string) {
	for _, s := range ticket.States() {
		names = append(names, string(s))
	}
	return names
}

func checkFilter(f Filter) error {
	for _, one := range f.States {
		if !slices.Contains(ticket.States(), one) {
			return Refuse(BadRequest, "%q is not a state; use %s%s", one, strings.Join(StateNames(), ", "),
				config.DidYouMean(string(one), StateNames()))
		}
	}

	if f.Limit < 0 {
		return Refuse(BadRequest, "limit: %d is negative; use 0 for all jobs", f.Limit)
	}
	return nil
}

// jobs sends a list page by page, so that its length takes no memory. A list that breaks off ends the connection, so
// that the client does not take the part for the whole.
func (s *Server) jobs(w http.ResponseWriter, r *http.Request) {
	var f Filter
	err := decode(r, &f)
	if err == nil {
		err = checkFilter(f)
	}
	if err != nil {
		answer(w, nil, err)
		return
	}

	empty := true
	var out bytes.Buffer
	out.WriteByte('[')
	err = s.o.Queue.EachPage(r.Context(), f, func(page []queue.Job) error {
		for _, j := range page {
			if !empty {
				out.WriteByte(',')
			}
			empty = false
			if err := json.NewEncoder(&out).Encode(j); err != nil {
				return err
			}
		}

		w.Header().Set("Content-Type", "application/json")
		_, err := out.WriteTo(partWriter{w, pageTimeout}) // after it, out is empty
		return err
	})

	// No jobs may mean a misspelt station. This is checked only now, because a station that was
	// removed from the configuration may still have ended jobs to list.
	if err == nil && empty && f.Station != "" {
		err = s.checkKnown(f.Station)
	}

	switch {
	case err == nil:
		out.WriteString("]\n")
		w.Header().Set("Content-Type", "application/json")
		_, _ = out.WriteTo(w) // an error means that the client has disconnected
	case empty:
		answer(w, nil, err)
	default:
		panic(http.ErrAbortHandler)
	}
}

// job answers with the body of the print request, which may be 1 MiB: only for one job at a time.
func (s *Server) job(r *http.Request) (any, error) {
	id := pathID(r)
	one, content, body, err := s.o.Queue.Job(r.Context(), id)
	if err != nil {
		return nil, err
	}

	detail := Detail{Job: one, Ticket: content, Body: body}
	if detail.Timeline, err = s.timeline(one); err != nil {
		return nil, err
	}
	return detail, nil
}

// timeline is the history by the queue and the screens, in order of time. Both know when the ticket came.
func (s *Server) timeline(j queue.Job) ([]Moment, error) {
	out := []Moment{{At: j.ReceivedAt, Text: "accepted"}}
	on, err := s.o.Displays.Timeline(j.ID)
	if err != nil {
		return nil, err
	}

	for _, m := range on {
		if m != out[0] {
			out = append(out, m)
		}
	}

	if j.FinishedAt != nil {
		text := string(j.State) + " at " + j.Station
		if j.Reason != "" {
			text += ": " + j.Reason
		}
		out = append(out, Moment{At: *j.FinishedAt, Text: text})
	}

	slices.SortStableFunc(out, func(a, b Moment) int { return a.At.Compare(b.At) })
	return out, nil
}

// reprint needs a configured station if one is named. Without a name the ticket's own station is
// taken even if it is an orphan, where the copy then waits with the others.
func (s *Server) reprint(r *http.Request, b ReprintOptions) (any, error) {
	id := pathID(r)
	if b.Station != "" {
		if err := s.checkConfigured(b.Station); err != nil {
			return nil, err
		}
	}

	reason := reasonOr(r, b.Reason)
	done, err := s.o.Queue.Reprint(r.Context(), id, queue.ReprintOptions{
		Station: b.Station, Reason: reason, Version: b.Version,
	})
	if err != nil {
		return nil, err
	}

	// After the commit, so that the log never names a change that was not made. A crash between the
	// two loses only the line.
	s.logChange(r, "reprint", "job", id, "made", done.Job, "station", b.Station, "reason", reason,
		"latest", done.Latest, "later", len(done.Later))
	return Reprinted{Jobs: []uint64{done.Job}, Latest: done.Latest, Later: done.Later.Texts()}, nil
}

// cancel answers with an empty list and not with nothing, so that all changes of jobs have one form
// of answer.
func (s *Server) cancel(r *http.Request, b cancelBody) (any, error) {
	id := pathID(r)
	reason := reasonOr(r, b.Reason)
	if err := s.o.Queue.Cancel(r.Context(), id, reason, b.Version); err != nil {
		return nil, err
	}
	s.logChange(r, "cancel", "job", id, "reason", reason)
	return jobsBody{Jobs: []uint64{}}, nil
}

// move checks the destination before anything changes. It may be called for an orphan's tickets:
// that is its purpose.
func (s *Server) move(r *http.Request, b moveBody) (any, error) {
	switch {
	case (b.From == "") == (len(b.IDs) == 0): // neither, or both
		return nil, Refuse(BadRequest, "give either job ids or a station with --from")
	case b.From == b.To:
		return nil, Refuse(BadRequest, "the tickets are already at %s", b.To)
	}

	if err := s.checkConfigured(b.To); err != nil {
		return nil, err
	}
	var ids []uint64
	var err error
	if b.From != "" {
		if err := s.checkKnown(b.From); err != nil {
			return nil, err
		}
		ids, err = s.o.Queue.MoveAll(r.Context(), b.From, b.To)
	} else {
		ids, err = s.o.Queue.Move(r.Context(), b.IDs, b.To, b.Versions...)
	}

	if len(ids) > 0 { // also after an error: many tickets move in several transactions
		s.logChange(r, "move", "jobs", len(ids), "from", b.From, "station", b.To)
	}
	switch {
	case err != nil && len(ids) > 0:
		e := refusal(err)
		return nil, Refuse(e.Code, "%s; %s moved before that", e.Message, ticket.Plural(len(ids), "ticket"))
	case err != nil:
		return nil, err
	// Nothing waited there, which is no error: a script may move an empty queue.
	case ids == nil:
		ids = []uint64{}
	}

	return jobsBody{Jobs: ids}, nil
}
