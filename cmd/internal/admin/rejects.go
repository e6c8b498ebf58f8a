package admin

import (
	"net/http"
	"slices"

	"ticketrail/receiver"
)

// rejects leaves the bodies out: a hundred of them could be 16 MiB.
func (s *Server) rejects(*http.Request) (any, error) {
	short := append([]Reject{}, s.o.Rejects.List()...)
	// The list belongs to the receiver, so its bodies are removed from the copy.
	for i := range short {
		short[i].Body = nil
	}
	return short, nil
}

// reject finds one of them by its id.
func (s *Server) reject(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	all := s.o.Rejects.List()
	if i := slices.IndexFunc(all, func(one Reject) bool { return one.ID == id }); i >= 0 {
		return all[i], nil
	}
	return nil, refuse(NotFound, "refused request %d: not found: the last %d are kept", id, receiver.MaxRejects)
}
