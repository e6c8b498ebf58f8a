package admin

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"ticketrail/receiver"
)

// rejects have no bodies: together they may be 64 MiB.
func (s *Server) rejects(*http.Request) (any, error) {
	return append([]Reject{}, s.o.Rejects.List()...), nil
}

// reject finds one of them by its id.
func (s *Server) reject(r *http.Request) (any, error) { return s.o.Rejects.Get(pathID(r)) }

// printReject prints a refused request after all. Asked twice, it prints once, because the queue knows the
// tickets that have printed. A crash before the mark loses only the mark.
func (s *Server) printReject(r *http.Request, b PrintRejectOptions) (any, error) {
	id := pathID(r)
	one, err := s.o.Rejects.Get(id)
	if err != nil {
		return nil, err
	}

	if b.Version != "" && b.Version != rejectVersion(one) {
		return nil, Refuse(Conflict, "refused request %d: it was printed meanwhile: look at it again", id)
	}
	one.Venue = cmp.Or(b.Venue, one.Venue)
	receipt, err := s.o.PrintLate(r.Context(), one, b.Lenient)
	if h, ok := errors.AsType[*receiver.Hindrance](err); ok {
		return nil, Refuse(Conflict, "refused request %d: %s", id, h.Message)
	}
	if err != nil {
		return nil, err
	}

	s.logChange(r, "print refused request", "reject", id, "venue", one.Venue,
		"lenient", b.Lenient, "jobs", receipt.Jobs)
	if one.Printed.IsZero() {
		err = s.o.Rejects.MarkPrinted(r.Context(), id, time.Now().UTC())
	}
	if err != nil {
		s.o.Logger.Warn("a refused request was printed, and this could not be stored", "reject", id, "err", err)
	}

	return PrintedReject{Jobs: receipt.Jobs, Known: receipt.Duplicate}, nil
}

// rejectVersion is the version that the page for managers sends with a change.
func rejectVersion(one Reject) string {
	if one.Printed.IsZero() {
		return "refused"
	}
	return "printed"
}

func (o PrintRejectOptions) saysVersion() bool { return o.Version != "" }
