package admin

import "net/http"

func (s *Server) rejects(r *http.Request) (any, error) {
	if s.o.Rejects == nil {
		return nil, refuse(Unsupported, "this daemon keeps no refused requests")
	}
	all, err := s.o.Rejects.Rejects(r.Context())
	if err != nil {
		return nil, err
	}
	short := make([]Reject, 0, len(all))
	for _, x := range all {
		x.Body = nil
		short = append(short, x)
	}
	return short, nil
}

func (s *Server) reject(r *http.Request) (any, error) {
	if s.o.Rejects == nil {
		return nil, refuse(Unsupported, "this daemon keeps no refused requests")
	}
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	return s.o.Rejects.Reject(r.Context(), id)
}
