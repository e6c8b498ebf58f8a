// Package app puts the daemon together: configuration, store, receiver, dispatcher,
// printers, control socket, metrics. It decides nothing about tickets itself.
//
// An App is a value, so the whole daemon can be started in a test, in the demo, or
// several times in one process. It touches no signals and no global state.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
	_ "time/tzdata" // a box without time zone files prints the venue's time all the same

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/printer/transport"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/receiver"
	"ticketrail/receiver/directory"
)

// stopWithin bounds a graceful stop: inside the 30 s that the unit file allows, with
// room for the ticket that is being printed.
const (
	stopWithin   = 25 * time.Second
	ticketWithin = 12 * time.Second
)

// Options says what the daemon is made of. ConfigPath or Config is required.
type Options struct {
	// ConfigPath is the configuration file, read now and at every reload.
	ConfigPath string
	// Config is used instead of a file. Such a daemon has nothing to reload.
	Config *config.Config
	// Webhook, Metrics and Display are used instead of the configured addresses (socket
	// activation, tests). New owns them.
	Webhook, Metrics, Display net.Listener
	// Dialer opens a printer; nil means transport.Open of its address.
	Dialer func(config.Printer) (transport.Dialer, error)
	// Dial connects to a kitchen display of somebody else's; nil is the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Service is what the point-of-sale API is asked through; nil is the network.
	Service http.RoundTripper
	// CheckStore checks the database file before it is opened, in another process,
	// because a bad page can kill the one that reads it. Nil: no check.
	CheckStore func(ctx context.Context, path string) error
	// Reload asks for the configuration to be read again, once for each value.
	Reload <-chan os.Signal
	// Notify tells the init system how things stand ("READY=1"); nil tells nobody.
	Notify func(state string)
	// WatchdogEvery is how often Notify gets a sign of life; 0 never.
	WatchdogEvery time.Duration
	// Log is where log lines go; nil means nowhere. With Config.Log unset it is text at info.
	Log io.Writer
	// Clock is the wall clock; nil is the box's.
	Clock queue.Clock
	// NoSync leaves commits in the page cache: only for showing that a test sees the loss.
	NoSync bool
}

// An App is a daemon that has opened everything it needs. Run it once, or Close it.
type App struct {
	o        Options
	log      *slog.Logger
	level    *slog.LevelVar
	registry *prometheus.Registry
	metrics  *metrics
	down     teardown

	queue    *queue.Queue
	rejects  *receiver.Rejects
	dispatch *dispatch.Dispatcher
	stations *station.Set
	service  *service
	receiver *receiver.Receiver
	health   health

	webhookAt, metricsAt net.Addr
	serve                []server

	boot      *config.Config // what the parts that only a restart changes were made from
	reloading sync.Mutex     // one reload at a time
}

// A server answers on something until ctx ends.
type server struct {
	name string
	run  func(context.Context) error
}

// New reads the configuration and opens everything: store, printers, listeners. Nothing is
// served before Run. After an error nothing that New opened is left open.
//
// It is one straight line on purpose: each part needs the ones above it, and the
// teardown stack undoes them in reverse.
func New(ctx context.Context, o Options) (_ *App, err error) {
	a := &App{o: o, level: new(slog.LevelVar), registry: newRegistry()}
	conf := o.Config
	if conf == nil {
		if conf, err = doctor.Load(o.ConfigPath); err != nil {
			return nil, err
		}
	}
	a.boot = conf
	a.log = newLogger(o.Log, conf.Log.Format, a.level)
	a.level.Set(conf.Log.Slog())
	a.metrics = newMetrics(a.registry)
	a.down.log = a.log
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()

	files := &store{conf: conf.Storage, log: a.log, notify: a.notify, check: o.CheckStore}
	if a.queue, err = files.open(ctx, o, a.registry); err != nil {
		return nil, err
	}
	a.down.push("queue", closing(a.queue))

	a.dispatch = dispatch.New(dispatch.Options{Queue: dispatch.From(a.queue), Logger: a.log, Registerer: a.registry})
	a.service = newService(o, a.queue, conf, a.log, a.registry)
	a.stations, err = station.New(station.Options{
		Queue: a.queue, Dispatcher: a.dispatch, Registry: a.registry, Logger: a.log,
		Dialer: o.Dialer, Dial: o.Dial, Zone: a.service.zone, Record: recordFrom(a.queue),
		Listen: func(d config.Display) (net.Listener, error) { return listenOn(o.Display, "display.listen", d.Listen) },
	})
	if err != nil {
		return nil, err
	}
	a.down.push("stations", a.stations.Close)
	a.down.push("dispatch", a.stopPrinting)
	a.health = health{a.queue, files, a.stations}

	if a.rejects, err = receiver.OpenRejects(a.queue.KV("rejects"), a.log.With("component", "rejects")); err != nil {
		return nil, err
	}
	a.down.push("rejects", a.rejects.Close)

	first, err := a.build(conf)
	if err != nil {
		return nil, err
	}
	for _, w := range slices.Concat(conf.Warnings, first.stations.Warnings) {
		a.log.Warn("configuration", "hint", w)
	}
	if a.receiver, err = newReceiver(a, conf, first.policy); err != nil {
		return nil, err
	}

	if err := listenMetrics(a, conf); err != nil {
		return nil, err
	}
	if err := listenAdmin(a, conf); err != nil {
		return nil, err
	}
	if err := listenWebhook(a, conf); err != nil {
		return nil, err
	}
	a.serve = append(a.serve, server{"display", a.stations.ServeScreens})
	if _, err := a.apply(first); err != nil {
		return nil, err
	}
	a.service.start()
	a.down.push("service", a.service.close)
	return a, nil
}

// Run serves until ctx ends or a part fails, then stops everything gracefully: requests in
// progress are answered, the tickets in hand come out, the store is closed. It returns
// nil after ctx ended.
func (a *App) Run(ctx context.Context) error {
	serving, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var wg sync.WaitGroup
	for _, s := range a.serve {
		wg.Go(func() {
			if err := s.run(serving); err != nil {
				stop(fmt.Errorf("%s: %w", s.name, err))
			}
		})
	}
	wg.Go(func() { a.health.beat(serving, a.o.WatchdogEvery, a.notify, a.log) })
	c := a.boot
	a.log.Info("ready", "webhook", addrString(a.webhookAt), "metrics", addrString(a.metricsAt),
		"display", addrString(a.DisplayAddr()), "stations", len(c.Stations()), "venues", len(c.Venues))
	a.notify("READY=1\nSTATUS=" + a.health.status())

	for {
		select {
		case <-a.o.Reload:
			// The outcome is logged and counted; who asked by signal hears nothing else.
			_, _ = a.Reload()
			continue
		case <-ctx.Done():
		case <-serving.Done():
		}
		break
	}
	cause := context.Cause(serving)
	if cause == nil {
		cause = context.Cause(ctx)
	}
	a.log.Info("stopping", "why", cause)
	a.notify("STOPPING=1\nSTATUS=finishing the tickets in hand")
	// Printing stops first, for a ticket in hand may take its time, and the service, which
	// tries only three times, is answered all that while; what it sends prints after the next start.
	stopped := a.stopPrinting(context.WithoutCancel(ctx))
	stop(nil)
	wg.Wait()
	err := errors.Join(stopped, a.Close())
	if ctx.Err() == nil { // nobody asked us to stop
		err = errors.Join(cause, err)
	}
	a.log.Info("stopped")
	return err
}

// stopPrinting lets the tickets in hand come out, within ticketWithin.
func (a *App) stopPrinting(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ticketWithin)
	defer cancel()
	return a.dispatch.Stop(ctx)
}

// Close takes everything apart. Run does it; it is for an App that never ran.
func (a *App) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return a.down.run(ctx)
}

// Run is New and Run in one.
func Run(ctx context.Context, o Options) error {
	a, err := New(ctx, o)
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// WebhookAddr, MetricsAddr and DisplayAddr are where the daemon listens; MetricsAddr is nil
// without metrics, DisplayAddr before there is a screen.
func (a *App) WebhookAddr() net.Addr { return a.webhookAt }
func (a *App) MetricsAddr() net.Addr { return a.metricsAt }
func (a *App) DisplayAddr() net.Addr { return a.stations.ScreensAddr() }

// Queue is the store, for the demo and the benchmark, which show its books.
func (a *App) Queue() *queue.Queue { return a.queue }

// Directory is what is known of the venues, for the demo.
func (a *App) Directory() *directory.Directory { return a.service.directory }

func (a *App) notify(state string) {
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
