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

// A service is the point-of-sale API: the client that asks it, and the directory of what it has
// told of the venues, which outlives the client.
type service struct {
	log       *slog.Logger
	registry  prometheus.Registerer
	metrics   *posapi.Metrics // of all clients; nil before the first
	through   http.RoundTripper
	directory *directory.Directory

	client *posapi.Client // in use; nil without a service
	conf   config.Service // that client was made of
	stop   context.CancelFunc
	over   chan struct{} // closed when the directory is not refreshed any more
}

func newService(o Options, q *queue.Queue, conf *config.Config, log *slog.Logger, reg prometheus.Registerer) *service {
	return &service{log: log, registry: reg, through: o.Service, directory: directory.New(directory.Options{
		KV: q.KV("directory"), Every: conf.Service.Refresh, Logger: log, Registerer: reg,
	})}
}

// clientFor makes the client for conf: the one in use, with its tokens, if nothing about the
// service has changed, the secret in its file included; nil without a service.
func (s *service) clientFor(conf config.Service) (*posapi.Client, error) {
	was := s.conf
	was.Refresh = conf.Refresh // is the directory's
	switch {
	case !conf.Enabled():
		return nil, nil
	case s.client != nil && reflect.DeepEqual(conf, was):
		return s.client, nil
	}
	if s.metrics == nil {
		s.metrics = posapi.NewMetrics(s.registry)
	}
	return doctor.NewServiceClient(conf, s.through, s.log, s.metrics)
}

// drop closes a client that was made and is not used after all.
func (s *service) drop(c *posapi.Client) {
	if c != nil && c != s.client {
		c.Close()
	}
}

// use has the directory ask c about the venues of conf. Without a service it knows of none, and
// nothing of one is kept.
func (s *service) use(c *posapi.Client, conf *config.Config) {
	var venues []directory.Venue
	var ids []string
	if c != nil {
		for _, v := range conf.Venues {
			venues = append(venues, directory.Venue{ID: v.ID, Zoned: v.Timezone != ""})
			ids = append(ids, v.ID)
		}
		c.Keep(ids)
	}
	s.directory.Set(venues)
	old := s.client
	s.client, s.conf = c, conf.Service
	if old == c {
		return
	}
	if c == nil {
		s.directory.SetSource(nil) // not a client that is nil
	} else {
		s.directory.SetSource(c)
	}
	if old != nil {
		old.Close()
	}
}

// zone is where the clock on the screens' pages is: at the first venue. Nil: where this box is.
func (s *service) zone(conf *config.Config) *time.Location {
	if len(conf.Venues) == 0 {
		return nil
	}
	name := conf.Venues[0].Timezone
	if name == "" {
		name, _ = s.directory.Zone(conf.Venues[0].ID)
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

// start has the service asked in the background, until close. Its venues must be known by now:
// it forgets all others.
func (s *service) start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.over = cancel, make(chan struct{})
	go func() {
		defer close(s.over)
		s.directory.Run(ctx)
	}()
}

func (s *service) close(within context.Context) error {
	s.stop()
	if s.client != nil {
		defer s.client.Close()
	}
	select {
	case <-s.over:
		return nil
	case <-within.Done():
		return fmt.Errorf("the point-of-sale service is still being asked: %w", context.Cause(within))
	}
}
