// Package app builds the daemon from its parts and runs it: configuration, database, webhook,
// dispatcher, stations, control socket, metrics. The fate of a ticket in the kitchen is decided in those
// parts, not here.
//
// An App has no global state and handles no signals. So tests, the demo and the benchmark can run
// the whole daemon, also several of them in one process. New makes all parts. The parts in this package
// have files of their own: store.go (the database file), source.go (the orders of a relay), service.go (the
// point-of-sale API), findings.go (how everything is), settings.go (the keys that managers change), health.go.
// reload.go builds and applies the parts that a reload replaces; teardown.go closes everything that New opened.
package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // for boxes that have no time zone files

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/cmd/internal/notify"
	"ticketrail/cmd/internal/outcomes"
	"ticketrail/cmd/internal/setup"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
	"ticketrail/receiver/pos"
)

const (
	// maxOperators is how many connections the control socket may have: each may hold a request of 1 MiB.
	maxOperators = 64
	// operatorGrace lets a change finish whose commit is under way at a stop; after a cut the operator would not know
	// whether it was made.
	operatorGrace = 5 * time.Second
)

// An App is a daemon that has opened everything it needs. Call Run once, or Close.
type App struct {
	o   Options
	log *slog.Logger
	// A variable, because a reload may change log.level.
	level *slog.LevelVar
	// Not the global registry, which panics when a second App in the process registers the same
	// names.
	registry *prometheus.Registry
	metrics  *daemon.ConfigMetrics
	down     teardown

	queue    *queue.Queue
	rejects  *receiver.Rejects
	shapes   *receiver.Shapes
	dispatch *dispatch.Dispatcher
	stations *station.Set
	service  *service
	receiver *receiver.Receiver
	source   *relaySource
	store    *store
	control  *admin.Server
	file     *configFile
	venues   venues
	notifier *notify.Notifier
	outcomes *outcomes.Teller
	acme     *httpserver.ACME // nil: the webhook's certificate, if any, is somebody else's work

	webhookAt, metricsAt net.Addr // the real ones: tests and the demo listen on port 0
	serve                []server // started by Run, all at once

	startConfig *config.Config // of the start: keys that need a restart still have its values
	active      atomic.Pointer[config.Config]
	started     time.Time
	reloading   sync.Mutex // locked during a reload
	stopOnce    sync.Once  // of stopPrinting
}

// A server runs until ctx ends.
type server struct {
	name string
	// An error ends the daemon, and systemd starts it again: a daemon without one of its listeners
	// would look healthy while the kitchen gets nothing.
	run func(context.Context) error
}

// New reads the configuration and opens the database, the stations and the listeners. Nothing is
// answered before Run. After an error everything that New opened is closed again.
//
// The order of the parts matters: each part needs parts above it, and the teardown closes them in
// reverse order. One pair is the other way round there: the stations need the dispatcher to be built,
// and it must have stopped before they close.
func New(ctx context.Context, o Options) (_ *App, err error) {
	a := &App{o: o, level: new(slog.LevelVar), registry: daemon.NewRegistry(), started: time.Now()}
	conf := o.Config
	if conf == nil {
		if conf, err = setup.Load(o.ConfigPath); err != nil {
			return nil, err
		}
	}

	a.startConfig = conf
	a.active.Store(conf)
	a.log = daemon.NewLogger(o.Log, conf.Log.Format, a.level)
	a.level.Set(conf.Log.Slog())
	a.metrics = daemon.NewConfigMetrics(a.registry)
	a.file = &configFile{path: o.ConfigPath}
	a.down.log = a.log
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()

	// The database comes first: its lock proves that no other daemon works with these tickets, or
	// listens at the admin socket.
	a.store = &store{conf: conf.Storage, log: a.log, notify: a.notify, check: o.CheckStore,
		outcomes: conf.Outcomes.Enabled()}
	if a.queue, err = a.store.open(ctx, o, a.registry); err != nil {
		return nil, err
	}

	a.down.push("queue", func(ctx context.Context) error { return a.store.close(ctx, a.queue) })

	// The dispatcher has no lanes yet, so nothing prints before apply.
	a.dispatch = dispatch.New(dispatch.Options{Queue: dispatch.From(a.queue), Logger: a.log, Registerer: a.registry})
	a.service = newService(o, a.queue, conf, a.log)
	a.stations, err = station.New(station.Options{
		Queue: a.queue, Dispatcher: a.dispatch, Registry: a.registry, Logger: a.log,
		Dialer: o.Dialer, Dial: o.Dial, Zone: a.service.zone, Record: recordFrom(a.queue, a.log),
		Manage: func(w http.ResponseWriter, r *http.Request, who string) { a.control.ServePage(w, r, who) },
		Listen: func(d config.Display) (net.Listener, error) {
			return daemon.Listen(o.Display, "display.listen", d.Listen)
		},
	})
	if err != nil {
		return nil, err
	}

	// Stopped in reverse: first the tickets in hand, then the connections and pages that they need,
	// last the file in which their outcome is stored.
	a.down.push("stations", a.stations.Close)
	a.down.push("dispatch", a.stopPrinting)

	if a.rejects, err = receiver.OpenRejects(a.queue.KV("rejects"), a.queue.KV("reject-bodies"),
		a.log.With("component", "rejects"), a.registry); err != nil {
		return nil, err
	}

	a.down.push("rejects", a.rejects.Close)
	if a.shapes, err = receiver.OpenShapes(a.queue.KV("fields"), a.log.With("component", "fields"),
		a.registry); err != nil {
		return nil, err
	}

	a.down.push("fields", a.shapes.Close)
	a.control = admin.New(admin.Options{
		Queue: a.queue, Kick: a.stations.Kick, Rejects: a.rejects, Displays: a.stations.Displays(),
		PrintLate: func(ctx context.Context, one admin.Reject, lenient bool) (ticket.Receipt, error) {
			return a.receiver.PrintLate(ctx, one, lenient)
		},
		Stations: a.stationList, Probe: a.stations.Probe, Findings: a.findings, Fields: a.fields,
		Zone: a.zone, Layout: a.stations.Layout, Settings: &settings{a: a},
		Logger: a.log.With("component", "admin"),
	})

	first, err := a.build(conf)
	if err != nil {
		return nil, err
	}

	for _, w := range slices.Concat(conf.Warnings, first.stations.Warnings) {
		a.log.Warn("configuration warning", "warning", w)
	}
	lastRequests, err := lastRequestsBefore(ctx, a.queue)
	if err != nil {
		return nil, err
	}

	// Its only ways into the rest of the daemon are the queue, which stores a request, and rejects, which
	// keeps the refused ones.
	if a.receiver, err = receiver.New(receiver.Options{
		Intake: a.queue, Policy: first.policy, Classify: classify, Reject: a.rejects.Keep, LastRequests: lastRequests,
		Shapes: a.shapes, Logger: a.log, Registerer: a.registry,
	}); err != nil {
		return nil, err
	}

	a.source = &relaySource{queue: a.queue, receiver: a.receiver, rejects: a.rejects, all: a.findings,
		log: a.log, end: func() {}}
	a.venues = venues{a.active.Load, a.service.zoneOf, a.receiver.LastRequest, a.clock()}
	a.registry.MustRegister(a.source, a.venues)
	a.outcomes = outcomes.New(outcomes.Options{
		Queue: a.queue, Registerer: a.registry, Logger: a.log.With("component", "outcomes"),
		Orders: a.stations.Orders,
	})

	a.notifier = newNotifier(a)

	if o.Metrics != nil || conf.Metrics.Listen != "" {
		listener, err := daemon.Listen(o.Metrics, "metrics.listen", conf.Metrics.Listen)
		if err != nil {
			return nil, err
		}
		a.metricsAt = listener.Addr()
		monitor := daemon.Monitor(a.registry, a.log, a.notReady)
		a.serveOn(listener, "metrics", func(ctx context.Context) error {
			return daemon.ServeMonitor(ctx, listener, monitor, a.log)
		})
	}

	// The database must be open: its lock decides between two daemons that start at the same moment, see
	// [admin.Listen].
	if conf.Admin.Socket != "" {
		listener, err := admin.Listen(conf.Admin.Socket)
		if err != nil {
			return nil, err
		}
		a.serveOn(listener, "admin", func(ctx context.Context) error {
			return httpserver.Serve(ctx, listener, a.control.HTTPServer(),
				httpserver.Options{MaxConnections: maxOperators, Grace: operatorGrace})
		})
	}

	// The webhook is last, so that no request waits at its port for a start that fails. Nothing is answered
	// before Run: until then connections wait in the kernel.
	listener := o.Webhook
	if listener == nil || !conf.Receiver.Enabled() {
		if listener, err = o.Keeper.listen(conf.Receiver, a.log); err != nil {
			return nil, err
		}
	}

	if listener != nil {
		a.webhookAt = listener.Addr()
		files := httpserver.Files{}
		files.Cert, files.Key = conf.WebhookFiles()
		at, acme, err := daemon.Webhook(conf.Receiver.TLS, files, a.log.With("component", "receiver"), a.registry)
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}

		if a.acme = acme; acme != nil {
			a.serve = append(a.serve, server{"acme", acme.Run})
		}
		at.MaxConnections, at.Group = conf.Receiver.MaxConnections, a.receiver.Group
		a.serveOn(listener, "webhook", func(ctx context.Context) error {
			return httpserver.Serve(ctx, listener, a.receiver.HTTPServer(), at)
		})
	}

	// Also without a relay or a screen: a reload may add the first one.
	a.serve = append(a.serve, server{"source", a.source.run}, server{"notify", a.notifier.Run},
		server{"outcomes", a.outcomes.Run}, server{"display", a.stations.ServeScreens},
		server{"database", watchDatabase(a.queue)})

	zone := ""
	if z := a.service.zone(conf); z != nil {
		zone = z.String()
	}
	if err := a.queue.TellStations(ctx, conf.Stations(), zone); err != nil {
		a.log.Error("no slip says what happened to the database", "err", err) // the disk; the next start tells
	}

	// Printing starts here, even before Run: tickets from before a restart are older than any that
	// can arrive now.
	if err := a.apply(first); err != nil {
		return nil, err
	}

	a.service.start()
	a.down.push("service", a.service.close)
	return a, nil
}

// serveOn has Run serve on l, which the teardown closes.
func (a *App) serveOn(l net.Listener, name string, serve func(context.Context) error) {
	a.down.push(name+" listener", daemon.CloseListener(l))
	a.serve = append(a.serve, server{name, serve})
}

// Run is the whole life of a daemon: [New], then [App.Run].
func Run(ctx context.Context, o Options) error {
	a, err := New(ctx, o)
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// WebhookAddr, MetricsAddr and DisplayAddr are the addresses of the listeners. WebhookAddr is nil without a
// webhook, MetricsAddr without metrics, DisplayAddr before there is a screen.
func (a *App) WebhookAddr() net.Addr { return a.webhookAt }
func (a *App) MetricsAddr() net.Addr { return a.metricsAt }
func (a *App) DisplayAddr() net.Addr { return a.stations.ScreensAddr() }

// Queue is the queue, for the demo and the benchmark, which show its books.
func (a *App) Queue() *queue.Queue { return a.queue }

// Names has the names and time zones of the venues, for the demo.
func (a *App) Names() *pos.Names { return a.service.names }

func (a *App) notify(state string) {
	// Tests and the demo have no init system.
	if a.o.Notify != nil {
		a.o.Notify(state)
	}
}

func addrString(addr net.Addr) string {
	if addr == nil {
		return ""
	}
	return addr.String()
}
