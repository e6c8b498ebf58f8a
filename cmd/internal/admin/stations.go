package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

func (s *Server) stations(*http.Request) (any, error) { return Stations{Stations: s.o.Stations()}, nil }

// checkKnown refuses a name that is neither a configured station nor an orphan.
func (s *Server) checkKnown(name string) error { return s.checkName(name, true) }

// checkConfigured refuses a name that is not in the configuration: a ticket sent there would wait
// for ever.
func (s *Server) checkConfigured(name string) error { return s.checkName(name, false) }

func (s *Server) checkName(name string, orphansToo bool) error {
	var names []string
	for _, st := range s.o.Queue.Stations() {
		if st.Configured || orphansToo {
			names = append(names, st.Name)
		}
	}

	if slices.Contains(names, name) {
		return nil
	}
	return NoStation(name, names)
}

// NoStation is the refusal of a name that no station has. names are those that there are.
func NoStation(name string, names []string) error {
	return Refuse(NotFound, "no station is called %q; there is %s%s", name, cmp.Or(strings.Join(names, ", "), "none"),
		config.DidYouMean(name, names))
}

// test enqueues a test ticket and answers with its job. It goes through Accept as an order does, so that a test that
// prints proves everything an order needs: disk, queue and printer. It needs a configured station: at an orphan the
// ticket would wait for ever. A backup may print it, and the operator sees so in the job's state.
func (s *Server) test(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if err := s.checkConfigured(name); err != nil {
		return nil, err
	}

	id := uuid.NewString()
	now := time.Now().UTC()
	_, err := s.o.Queue.Accept(r.Context(), ticket.Request{
		// No venue, so no order can have its key.
		ID: id, Received: now, Body: []byte("{}"),
		Drafts: []ticket.Draft{{Station: name, Ticket: ticket.Ticket{
			// The layout fills in the lines of a test ticket.
			Kind: ticket.Test, Request: id, Number: "TEST", Received: now, Zone: s.zoneName(),
		}}},
	})
	if err != nil {
		return nil, err
	}

	// Accept does not return the ids of the jobs. The ticket may have printed by now; its job is kept.
	jobs, err := s.o.Queue.Jobs(r.Context(), queue.Filter{Request: id, Limit: 1})
	if err != nil {
		return nil, err
	}
	s.logChange(r, "test", "station", name, "job", jobs[0].ID)
	return jobs[0].ID, nil
}

// hold is allowed for an orphan too: a hold that was set before the station was removed can be
// changed.
func (s *Server) hold(r *http.Request, b reasonBody) (any, error) {
	name := r.PathValue("name")
	if err := s.checkKnown(name); err != nil {
		return nil, err
	}

	// Always with who it was: the next shift asks before it resumes.
	reason := reasonOr(r, "")
	if b.Reason != "" {
		reason = reasonOr(r, b.Reason) + " (" + reason + ")"
	}
	if err := s.o.Queue.HoldStation(r.Context(), name, reason); err != nil {
		return nil, err
	}
	s.logChange(r, "hold", "station", name, "reason", reason)
	return struct{}{}, nil
}

// resume is safe to repeat: a station that is not held stays as it is.
func (s *Server) resume(r *http.Request, b resumeBody) (any, error) {
	name := r.PathValue("name")
	if err := s.checkKnown(name); err != nil {
		return nil, err
	}

	var seen []time.Time
	if b.Since != nil {
		seen = []time.Time{*b.Since}
	}

	if err := s.o.Queue.ResumeStation(r.Context(), name, seen...); err != nil {
		return nil, err
	}
	s.o.Kick(name) // the operator has probably just repaired it: try now, not after the backoff
	s.logChange(r, "resume", "station", name)
	return struct{}{}, nil
}

// probe may take as long as the ticket that is being printed; the time limit of the request bounds it.
func (s *Server) probe(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if err := s.checkConfigured(name); err != nil {
		return nil, err
	}

	device, err := s.o.Probe(r.Context(), name)
	if err != nil {
		return nil, err
	}

	s.o.Kick(name)
	s.logChange(r, "probe", "station", name, "ability", device.BestProof)
	return device, nil
}
