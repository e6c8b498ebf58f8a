// Package relay runs the relay: the webhook for the print requests of many venues, which stores each of them on the
// NATS servers before the service gets its 200, so that a kitchen whose box is off or cut off gets its orders later. It
// also shows how all venues are. The box decides where an order goes in the kitchen.
//
// A relay keeps nothing itself: any number of them may stand behind a load balancer. As package app it has no global
// state and handles no signals.
package relay

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // for machines that have no time zone files

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/config"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
	store "ticketrail/receiver/relay"
)

// Options configure a relay. ConfigPath and Notify are required.
type Options struct {
	ConfigPath       string             // read now and at every reload
	Webhook, Metrics net.Listener       // used instead of listeners at the configured addresses, for tests
	Reload           <-chan os.Signal   // triggers a reload for each value
	Notify           func(state string) // tells systemd
	WatchdogEvery    time.Duration      // the interval of watchdog notifications; 0: none
	Shrink           bool               // the stream may become shorter or smaller, see store.Options
	Log              io.Writer          // nil discards it
}

// A server is one relay.
type server struct {
	o        Options
	log      *slog.Logger
	level    *slog.LevelVar
	registry *prometheus.Registry
	loaded   *daemon.ConfigMetrics

	nc       *nats.Conn
	stream   *store.Stream // set before the webhook is served, as are the next two
	receiver *receiver.Receiver
	door     *store.Door
	last     atomic.Pointer[Overview] // how all venues are; nil until the servers have answered once
	failed   atomic.Value             // a string: why the stream takes no orders; empty: it does, as far as is known

	start *config.Relay // with its keys that need a restart

	mu      sync.Mutex // guards the fields below, and the policy that is made of them
	conf    *config.Relay
	entries map[string]store.VenueEntry // the venues, by their ids; nil: they are not known yet
}

// Run runs a relay until ctx ends, and stops it gracefully: requests in progress are answered.
//
// The webhook's port is opened when the venues are known. Before that a request could only be answered that its venue
// is not allowed, after which the service gives it up; at a closed port it tries again, or another relay.
func Run(ctx context.Context, o Options) error {
	conf, err := config.LoadRelay(o.ConfigPath)
	if err != nil {
		return err
	}
	relay := &server{o: o, level: new(slog.LevelVar), registry: daemon.NewRegistry(), start: conf, conf: conf}

	relay.level.Set(conf.Log.Slog())
	relay.log = daemon.NewLogger(o.Log, conf.Log.Format, relay.level)
	relay.loaded = daemon.NewConfigMetrics(relay.registry)
	relay.registry.MustRegister(relay)
	relay.loaded.Reloaded(relay.log, conf.Warnings, nil, nil)

	if relay.nc, err = connect(conf.NATS, relay.log); err != nil {
		return err
	}
	defer relay.nc.Close() // by then, each request that was begun has its answer

	parts, running := errgroup.WithContext(ctx) // it ends with ctx, or when a part fails
	run := func(name string, part func(context.Context) error) {
		parts.Go(func() error {
			if err := part(running); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	}
	parts.Go(func() error { return relay.serve(running, run) })
	<-running.Done()

	relay.log.Info("stopping", "reason", context.Cause(running))
	relay.o.Notify("STOPPING=1\nSTATUS=answering the current requests")
	err = parts.Wait()
	relay.log.Info("stopped")

	if ctx.Err() != nil {
		return nil
	}
	return err
}

// serve starts the parts, waits for the servers, and opens the webhook until ctx ends.
func (s *server) serve(ctx context.Context, run func(string, func(context.Context) error)) error {
	// Before the servers are there: it names the node that a relay waits for.
	metricsAt, err := s.serveMonitor(run)
	if err != nil {
		return err
	}

	if err := s.open(ctx, run); err != nil {
		return err
	}
	webhookAt, err := s.serveWebhook(run)
	if err != nil {
		return err
	}

	s.log.Info("ready", "webhook", webhookAt, "metrics", metricsAt, "venues", s.venues())
	s.o.Notify("READY=1\nSTATUS=" + s.status())
	s.wait(ctx)
	return nil
}

// wait reloads when it is told to, until ctx ends.
func (s *server) wait(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(s.o.WatchdogEvery, statusEvery))
	defer tick.Stop()
	for {
		select {
		case <-s.o.Reload:
			s.reload()
		case <-tick.C:
			// Also while no orders are accepted: the cause is on the servers, and a restart would not cure it.
			s.o.Notify("WATCHDOG=1\nSTATUS=" + s.status())
		case <-ctx.Done():
			return
		}
	}
}

const (
	statusEvery = 10 * time.Second
	openWithin  = 10 * time.Second
	openAgain   = time.Second
)

// open opens the stream, which waits for the servers, and reads the venues.
func (s *server) open(ctx context.Context, run func(string, func(context.Context) error)) error {
	if err := s.insist(ctx, s.openStream); err != nil {
		return err
	}

	var err error
	s.door, err = s.stream.NewDoor(s.start.NATS.Password.Reveal(),
		func(r *http.Request) string { return s.receiver.Caller(r) }, s.registry)
	if err != nil {
		return err
	}

	// Some venues are enough: one that cannot be read must not keep all others from their orders.
	if err := s.insist(ctx, func(ctx context.Context) error {
		if err := s.look(ctx); s.venues() < 0 {
			return err
		}
		return nil
	}); err != nil {
		return err
	}

	run("watch", s.runWatch)
	run("door", s.door.Run)
	run("ready", s.runReady)
	return nil
}

// insist does something until it succeeds, or ctx ends.
func (s *server) insist(ctx context.Context, do func(context.Context) error) error {
	last := ""
	for err := do(ctx); err != nil && ctx.Err() == nil; err = do(ctx) {
		if err.Error() != last {
			last = err.Error()
			s.log.Warn("the relay waits for its servers", "err", err)
		}
		s.o.Notify("STATUS=" + s.status())
		pause(ctx, openAgain/2+rand.N(openAgain)) // not at the same time as another relay, again
	}
	return ctx.Err()
}

// openStream opens the stream. On new servers another relay may create it at the same time: then there is no answer,
// and the next attempt finds it.
func (s *server) openStream(ctx context.Context) error {
	options := storeOptions(s.start)
	options.Logger, options.Shrink = s.log, s.o.Shrink

	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	stream, err := store.Open(ctx, s.nc, options)
	if s.stream == nil {
		s.stream = stream
	}
	return err
}

func storeOptions(c *config.Relay) store.Options {
	return store.Options{Replicas: c.NATS.Replicas, MaxAge: c.NATS.DedupRetention, MaxBytes: int64(c.NATS.MaxBytes),
		MaxBody: int64(c.Receiver.MaxBody)}
}

// notReady says why no orders are accepted; empty if they are.
func (s *server) notReady() string {
	switch {
	case s.nc == nil || !s.nc.IsConnected():
		return "none of the NATS servers is reached: look at them, and at nats.urls"
	case s.venues() < 0:
		return "the venues are not known yet"
	}
	why, _ := s.failed.Load().(string)
	return why
}

// status is the line that `systemctl status` shows.
func (s *server) status() string {
	line := fmt.Sprintf("%d venues", s.venues())
	if why := s.notReady(); why != "" {
		line = "accepting no orders: " + why
	}
	return strings.ReplaceAll(line, "\n", " ")
}

// envelope is the plan of a relay: it stores a request as it came. The box decides which station gets which lines.
type envelope struct{}

func (envelope) Split(req contract.PrintRequest, v plan.Venue, device string, received time.Time, _ plan.Names,
) plan.Result {
	return plan.Result{Request: ticket.Request{Venue: v.ID, ID: req.ID, Device: device, Received: received,
		Body: req.Raw, Content: req.Content}}
}
