package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/receiver/directory"
	"ticketrail/receiver/posapi"
)

// A service is the point-of-sale API: a client, and the directory of employee names and time zones.
// The directory outlives the client, so that a reload loses no names. Tickets need neither: without
// the API they print without the names of employees, and with times in UTC if the venue sets no
// timezone. So nothing here delays an order, and an error is never fatal.
type service struct {
	log      *slog.Logger
	registry prometheus.Registerer
	// Created once and shared, because a metric's name can be registered only once.
	metrics   *posapi.Metrics // of all clients; nil before the first
	transport http.RoundTripper
	directory *directory.Directory

	client *posapi.Client // active; nil without a service
	conf   config.Service // of client
	stop   context.CancelFunc
	done   chan struct{} // closed when the directory is refreshed no more
}

func newService(o Options, q *queue.Queue, conf *config.Config, log *slog.Logger, reg prometheus.Registerer) *service {
	return &service{log: log, registry: reg, transport: o.Service, directory: directory.New(directory.Options{
		KV: q.KV("directory"), Every: conf.Service.Refresh, Logger: log, Registerer: reg,
	})}
}

// clientFor returns the client for conf: the active one, with its tokens, if no key of the service
// and no secret has changed, else a new one; nil without a service. A token lives 15 minutes and
// each venue needs its own, so a new client after every reload would ask for all of them again. It
// does not change what is active: a reload may still fail.
func (s *service) clientFor(conf config.Service) (*posapi.Client, error) {
	prev := s.conf
	prev.Refresh = conf.Refresh // used by the directory, not by the client
	switch {
	case !conf.Enabled():
		return nil, nil
	case s.client != nil && reflect.DeepEqual(conf, prev):
		return s.client, nil
	}
	if s.metrics == nil {
		s.metrics = posapi.NewMetrics(s.registry)
	}
	return doctor.NewServiceClient(conf, s.transport, s.log, s.metrics)
}

// closeUnused closes a new client that is not used after all. A reload that failed after clientFor
// would otherwise leave its client behind each time.
func (s *service) closeUnused(c *posapi.Client) {
	if c != nil && c != s.client {
		c.Close()
	}
}

// use makes c the active client, and the directory ask it about the venues of conf. Without a service
// the directory forgets all venues.
func (s *service) use(c *posapi.Client, conf *config.Config) {
	var venues []directory.Venue
	var ids []string
	if c != nil {
		for _, v := range conf.Venues {
			venues = append(venues, directory.Venue{ID: v.ID, Zoned: v.Timezone != ""})
			ids = append(ids, v.ID)
		}
		// Tokens of venues that were removed are forgotten at once.
		c.Keep(ids)
	}
	s.directory.Set(venues)
	old := s.client
	s.client, s.conf = c, conf.Service
	if old == c {
		return
	}
	if c == nil {
		s.directory.SetSource(nil) // not c: a nil *Client in an interface is not nil
	} else {
		s.directory.SetSource(c)
	}
	// Last: until SetSource returned, the directory could still ask the old client.
	if old != nil {
		old.Close()
	}
}

// zone is the time zone of the clock on the screens: that of the first venue. Nil is that of the
// box. The screens of one daemon hang in one kitchen, so they have one clock. An unknown zone is
// not an error: the clock then shows the time of the box.
func (s *service) zone(conf *config.Config) *time.Location {
	if len(conf.Venues) == 0 {
		return nil
	}
	return s.zoneOf(conf.Venues[0])
}

// zoneOf is the time zone of a venue; nil if it is not known.
func (s *service) zoneOf(v config.Venue) *time.Location {
	name := v.Timezone
	if name == "" {
		name, _ = s.directory.Zone(v.ID)
	}
	if name == "" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}

// start refreshes the directory in the background until close. Call use before it: the directory
// forgets every venue that it was not told of. Nothing waits for it: the first orders after a start
// may print before the names are known. What was known before the restart is stored.
func (s *service) start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.done = cancel, make(chan struct{})
	go func() {
		defer close(s.done)
		s.directory.Run(ctx)
	}()
}

func (s *service) close(ctx context.Context) error {
	// The requests under way are canceled first, so this usually ends at once.
	s.stop()
	if s.client != nil {
		defer s.client.Close()
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("a request to the point-of-sale API has not ended: %w", context.Cause(ctx))
	}
}
