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
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
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
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/config"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
	store "ticketrail/receiver/relay"
)

// Options configure a relay. Config, ConfigPath and Notify are required.
type Options struct {
	Config           *config.Relay
	ConfigPath       string             // its file, read at every reload
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
	stream   *store.Stream
	isOpen   bool // the stream; of the watch
	receiver *receiver.Receiver
	door     *store.Door
	known    chan struct{}            // closed when the venues are known
	last     atomic.Pointer[Overview] // how all venues are; nil until the servers have answered once
	failed   atomic.Value             // a string: why the stream takes no orders; empty: it does, as far as is known

	mu      sync.Mutex // guards the fields below, and the policy that is made of them
	conf    *config.Relay
	entries map[string]store.VenueEntry // the venues, by their ids; nil: they are not known yet
}

// Run runs a relay until ctx ends, and stops it gracefully: requests in progress are answered.
//
// The webhook's port is opened when the venues are known. Before that a request could only be answered that its venue
// is not allowed, after which the service gives it up; at a closed port it tries again, or another relay.
func Run(ctx context.Context, o Options) error {
	conf := o.Config
	relay := &server{o: o, level: new(slog.LevelVar), registry: daemon.NewRegistry(), known: make(chan struct{}),
		conf: conf}

	relay.level.Set(conf.Log.Slog())
	relay.log = daemon.NewLogger(o.Log, conf.Log.Format, relay.level)
	relay.loaded = daemon.NewConfigMetrics(relay.registry)
	relay.registry.MustRegister(relay)
	relay.loaded.Reloaded(relay.log, conf.Warnings, nil, nil)

	nc, err := connect(conf.NATS, relay.log)
	if err != nil {
		return err
	}
	defer nc.Close() // after each request that was begun has its answer

	relay.nc, relay.stream = nc, store.New(nc, storeOptions(conf, o.Shrink, relay.log))
	relay.receiver = receiver.New(receiver.Options{Intake: relay.stream, Policy: relay.policy(),
		Classify: store.Classify, Reject: relay.stream.Keep, Logger: relay.log, Registerer: relay.registry})
	relay.door = relay.stream.NewDoor(conf.NATS.Password.Reveal(), relay.receiver.Caller, relay.registry)

	parts, running := errgroup.WithContext(ctx) // it ends with ctx, or when a part fails
	run := func(part func(context.Context) error) { parts.Go(func() error { return part(running) }) }
	run(func(ctx context.Context) error { return relay.serve(ctx, run) })
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

// serve starts the parts, waits for the venues, and opens the webhook until ctx ends.
func (s *server) serve(ctx context.Context, run func(func(context.Context) error)) error {
	// Before the servers are there: it says for what a relay waits.
	_, serveMonitor, err := daemon.Monitor(s.o.Metrics, s.conf.Metrics.Listen, s.registry, s.log, s.notReady)
	if err != nil {
		return err
	}
	if serveMonitor != nil {
		run(serveMonitor)
	}

	run(s.door.Run)
	run(s.runWatch)
	select {
	case <-s.known:
	case <-ctx.Done():
		return ctx.Err()
	}

	run(s.runReady)
	webhookAt, err := s.serveWebhook(run)
	if err != nil {
		return err
	}

	s.log.Info("ready", "webhook", webhookAt.String(), "metrics", s.conf.Metrics.Listen, "venues", s.venues())
	s.o.Notify("READY=1\nSTATUS=" + s.status())
	s.wait(ctx)
	return nil
}

// wait reloads when it is told to, until ctx ends.
func (s *server) wait(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(s.o.WatchdogEvery, 10*time.Second))
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

func (s *server) serveWebhook(run func(func(context.Context) error)) (at net.Addr, err error) {
	listener, err := daemon.Listen(s.o.Webhook, "receiver.listen", s.conf.Receiver.Listen)
	if err != nil {
		return nil, err
	}

	cert, key := s.conf.WebhookFiles()
	options, acme, err := daemon.Webhook(s.conf.Receiver.TLS, httpserver.Files{Cert: cert, Key: key},
		s.log.With("component", "receiver"), s.registry)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	if acme != nil {
		run(acme.Run)
	}

	options.MaxConnections, options.Group = s.conf.Receiver.MaxConnections, s.group
	srv := s.receiver.HTTPServer()
	mux := http.NewServeMux()
	mux.Handle("/", srv.Handler)
	mux.Handle("/v1/", s.door.Handler())
	srv.Handler = mux

	run(func(ctx context.Context) error { return httpserver.Serve(ctx, listener, srv, options) })
	return listener.Addr(), nil
}

// group is the group of the receiver. receiver.allow_from is for the service: boxes are anywhere, so each network that
// is not in it has a few connections of its own.
func (s *server) group(caller netip.Addr) (name string, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, most = s.receiver.Group(caller)
	if name != "" && len(s.conf.Receiver.AllowFrom) > 0 {
		name = caller.String()
	}
	return name, most
}

func storeOptions(c *config.Relay, shrink bool, log *slog.Logger) store.Options {
	return store.Options{Replicas: c.NATS.Replicas, MaxAge: c.NATS.DedupRetention, MaxBytes: int64(c.NATS.MaxBytes),
		MaxBody: int64(c.Receiver.MaxBody), Shrink: shrink, Logger: log}
}

// notReady says why no orders are accepted; empty if they are.
func (s *server) notReady() string {
	switch {
	case !s.nc.IsConnected():
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
