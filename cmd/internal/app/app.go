// Package app builds the daemon from its parts and runs it: configuration, database, webhook,
// dispatcher, stations, control socket, metrics. The fate of a ticket in the kitchen is decided in those
// parts, not here.
//
// An App has no global state and handles no signals. So tests, the demo and the benchmark can run
// the whole daemon, also several of them in one process. New opens all parts (parts.go). The parts in this package
// have files of their own: store.go (the database file), source.go (the orders of a relay), service.go (the
// point-of-sale API), findings.go (how everything is), settings.go (the keys that managers change), health.go.
// reload.go builds and applies the parts that a reload replaces; teardown.go closes everything that New opened.
package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // for boxes that have no time zone files

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/cmd/internal/notify"
	"ticketrail/cmd/internal/outcomes"
	"ticketrail/cmd/internal/setup"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/receiver"
	"ticketrail/receiver/pos"
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
	address  *address
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
	a.o.Clock = cmp.Or[queue.Clock](o.Clock, doctor.WallClock{})
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

	if err = a.openQueue(ctx); err != nil {
		return nil, err
	}
	if err = a.openStations(); err != nil {
		return nil, err
	}

	first, err := a.build(conf)
	if err != nil {
		return nil, err
	}
	for _, w := range slices.Concat(conf.Warnings, first.stations.Warnings) {
		a.log.Warn("configuration warning", "warning", w)
	}

	if err = a.openReceiver(ctx, first.policy); err != nil {
		return nil, err
	}
	a.openWorkers()
	if err = a.openDoors(); err != nil {
		return nil, err
	}
	a.begin(ctx, first)
	return a, nil
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

func (a *App) tellSystemd(state string) {
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
