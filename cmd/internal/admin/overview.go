package admin

import (
	"cmp"
	"context"
	"time"

	"ticketrail/cmd/internal/finding"
)

// An Overview is the whole daemon at one moment, for whoever asks whether all is well.
type Overview struct {
	At       time.Time         `json:"at"` // in the kitchen's zone, if it is known
	Build    Build             `json:"build"`
	Findings []finding.Finding `json:"findings"` // the worst first
}

type zoneBody struct {
	Zone string `json:"zone"`
}

// Zone asks for the kitchen's time zone, in which an operator compares times with the clock on the wall and
// with tickets. It is the zone of this box if none is known.
func (c *Client) Zone(ctx context.Context) (*time.Location, error) {
	got, err := call[zoneBody](ctx, c, "GET", "/v1/zone", nil)
	if err != nil {
		return nil, err
	}
	return time.LoadLocation(cmp.Or(got.Zone, "Local")) // a name is known: zones are a part of this program
}

// Overview is the state of the daemon, for the command line and for a page.
func (s *Server) Overview(ctx context.Context) (Overview, error) {
	found, err := s.o.Findings(ctx)
	return Overview{At: time.Now().In(s.o.Zone()), Build: ThisBuild(), Findings: found}, err
}

// zoneName is the kitchen's zone; empty if it is not known.
func (s *Server) zoneName() string {
	if zone := s.o.Zone(); zone != time.Local {
		return zone.String()
	}
	return ""
}

// Overview asks how everything is.
func (c *Client) Overview(ctx context.Context) (Overview, error) {
	return call[Overview](ctx, c, "GET", "/v1/overview", nil)
}
