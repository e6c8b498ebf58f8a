package app

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/receiver/pos"
)

// A service is the point-of-sale API: a client, and the names and time zones that are read through it. These outlive
// the client, so that a reload loses no names. Tickets need neither: without the API they print without the names of
// employees, and with times in UTC if the venue sets no timezone. So nothing here delays an order, and an error is
// never fatal.
type service struct {
	transport http.RoundTripper
	names     *pos.Names
}

func newService(o Options, q *queue.Queue, conf *config.Config, log *slog.Logger) *service {
	// The store has the name that earlier versions gave it.
	return &service{transport: o.Service, names: pos.NewNames(q.KV("directory"), conf.Service.Refresh, log)}
}

// use makes the service of conf the active one, and asks it about the venues of conf within seconds. Without a service
// all venues are forgotten.
func (s *service) use(conf *config.Config) {
	if !conf.Service.Enabled() {
		s.names.Use(nil, nil)
		return
	}

	zoned := map[string]bool{}
	for _, v := range conf.Venues {
		zoned[v.ID] = v.Timezone != ""
	}
	s.names.Use(conf.Service.Client(s.transport), zoned)
}

// zone is the time zone of the clock on the screens, which is the zone of the first venue. The
// screens of one daemon hang in one kitchen, so they have one clock. If the zone is unknown, it shows the time of the
// box.
func (s *service) zone(conf *config.Config) *time.Location {
	if len(conf.Venues) == 0 {
		return time.Local
	}
	return cmp.Or(s.zoneOf(conf.Venues[0]), time.Local)
}

// zoneOf is the time zone of a venue; nil if it is not known.
func (s *service) zoneOf(v config.Venue) *time.Location {
	name := v.Timezone
	if name == "" {
		name, _ = s.names.Zone(v.ID)
	}

	zone, err := time.LoadLocation(name)
	if name == "" || err != nil {
		return nil
	}
	return zone
}

// findings are the calls that fail, in the words of ticketrail doctor.
func (s *service) findings(conf *config.Config) (out []finding.Finding) {
	for _, v := range conf.Venues {
		for _, failed := range s.names.Problems(v.ID) {
			out = append(out, doctor.VenueFinding(v, failed))
		}
	}
	return out
}

// run refreshes names until ctx ends. Call use before it: the stored names of a venue that is not used are deleted.
// Nothing waits for it: the first orders after a start may print before the names are known.
func (s *service) run(ctx context.Context) error {
	s.names.Run(ctx)
	return nil
}
