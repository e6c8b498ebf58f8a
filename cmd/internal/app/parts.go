package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/cmd/internal/notify"
	"ticketrail/cmd/internal/outcomes"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/queue/dispatch"
	"ticketrail/receiver"
)

// The parts of an App, in the order in which New opens them.

// openQueue opens the database. It comes first: its lock proves that no other daemon works with these tickets, or
// listens at the admin socket.
func (a *App) openQueue(ctx context.Context) (err error) {
	a.store = &store{conf: a.startConfig.Storage, log: a.log, tellSystemd: a.tellSystemd, check: a.o.CheckStore,
		outcomes: a.startConfig.Outcomes.Enabled()}
	if a.queue, err = a.store.open(ctx, a.o, a.registry); err != nil {
		return err
	}
	a.down.push("queue", func(ctx context.Context) error { return a.store.close(ctx, a.queue) })
	return nil
}

// openStations makes the dispatcher and the shared parts of the stations. There are no lanes yet, so nothing prints
// before apply.
func (a *App) openStations() (err error) {
	a.dispatch = dispatch.New(dispatch.Options{Queue: dispatch.From(a.queue), Logger: a.log, Registerer: a.registry})
	a.service = newService(a.o, a.queue, a.startConfig, a.log)
	a.stations, err = station.New(station.Options{
		Queue: a.queue, Dispatcher: a.dispatch, Registry: a.registry, Logger: a.log,
		Dialer: a.o.Dialer, Dial: a.o.Dial, Zone: a.service.zone, Record: recordFrom(a.queue, a.log),
		Manage: func(w http.ResponseWriter, r *http.Request, who string) { a.control.ServePage(w, r, who) },
		Listen: func(d config.Display) (net.Listener, error) {
			return daemon.Listen(a.o.Display, "display.listen", d.Listen)
		},
	})
	if err != nil {
		return err
	}

	// Stopped in reverse: first the tickets in hand, then the connections and pages that they need,
	// last the file in which their outcome is stored.
	a.down.push("stations", a.stations.Close)
	a.down.push("dispatch", a.stopPrinting)
	return nil
}

// openReceiver makes the receiver of requests. Its only ways into the rest of the daemon are the queue, which stores a
// request, and rejects, which keeps the refused ones.
func (a *App) openReceiver(ctx context.Context, policy *receiver.Policy) (err error) {
	a.rejects, err = receiver.OpenRejects(a.queue.KV("rejects"), a.queue.KV("reject-bodies"),
		a.log.With("component", "rejects"), a.registry)
	if err != nil {
		return err
	}
	a.down.push("rejects", a.rejects.Close)

	a.shapes, err = receiver.OpenShapes(a.queue.KV("fields"), a.log.With("component", "fields"), a.registry)
	if err != nil {
		return err
	}
	a.down.push("fields", a.shapes.Close)

	lastRequests, err := lastRequestsBefore(ctx, a.queue)
	if err != nil {
		return err
	}
	a.receiver = receiver.New(receiver.Options{
		Intake: a.queue, Policy: policy, Classify: classify, Reject: a.rejects.Keep, LastRequests: lastRequests,
		Shapes: a.shapes, Logger: a.log, Registerer: a.registry,
	})
	return nil
}

// openWorkers makes the parts that work by themselves: they fetch from a relay, and tell others of this daemon.
func (a *App) openWorkers() {
	a.source = newRelaySource(a.startConfig.Source, a.receiver, a.rejects, a.findings, a.log)
	a.venues = venues{a.active.Load, a.service.zoneOf, a.receiver.LastRequest, a.o.Clock}
	a.registry.MustRegister(a.source, a.venues)
	a.address = &address{config: a.active.Load}
	a.outcomes = outcomes.New(outcomes.Options{
		Queue: a.queue, Registerer: a.registry, Logger: a.log.With("component", "outcomes"),
		Orders: a.stations.Orders,
	})
	a.notifier = notify.New(notify.Options{
		Findings: a.findings, Open: a.venues.open, PrintNotice: a.printNotice, Place: a.place, Zone: a.zone,
		Store: a.queue.KV("notify"), Registerer: a.registry, Logger: a.log.With("component", "notify"),
	})

	// Also without a service or a screen: a reload may add the first one.
	a.serve = append(a.serve, server{"source", a.source.run}, server{"notify", a.notifier.Run},
		server{"outcomes", a.outcomes.Run}, server{"display", a.stations.ServeScreens},
		server{"service", a.service.run}, server{"address", a.address.run}, server{"database", watchDatabase(a.queue)})
}

// openDoors opens the listeners. The webhook is last, so that no request waits at its port for a start that fails.
// Nothing is answered before Run: until then connections wait in the kernel.
func (a *App) openDoors() error {
	for _, open := range []func() error{a.openMetrics, a.openControl, a.openWebhook} {
		if err := open(); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) openMetrics() error {
	listener, serve, err := daemon.Monitor(a.o.Metrics, a.startConfig.Metrics.Listen, a.registry, a.log, a.notReady)
	if err != nil || listener == nil {
		return err
	}

	a.metricsAt = listener.Addr()
	a.serveOn(listener, "metrics", serve)
	return nil
}

const (
	// maxOperators is how many connections the control socket may have: each may hold a request of 1 MiB.
	maxOperators = 64
	// operatorGrace lets a change finish whose commit is under way at a stop; after a cut the operator would not know
	// whether it was made.
	operatorGrace = 5 * time.Second
)

// openControl opens the admin socket. The database must be open: its lock decides between two daemons that start at
// the same moment, see [admin.Listen].
func (a *App) openControl() error {
	a.control = admin.New(admin.Options{
		Queue: a.queue, Kick: a.stations.Kick, Rejects: a.rejects, Displays: a.stations.Displays(),
		PrintLate: a.receiver.PrintLate,
		Stations:  a.stationList, Probe: a.stations.Probe, Findings: a.findings, Fields: a.fields,
		Zone: a.zone, Layout: a.stations.Layout, ConfigPath: a.o.ConfigPath, Settings: &settings{a: a},
		Logger: a.log.With("component", "admin"),
	})
	if a.startConfig.Admin.Socket == "" {
		return nil
	}

	listener, err := admin.Listen(a.startConfig.Admin.Socket)
	if err != nil {
		return err
	}
	a.serveOn(listener, "admin", func(ctx context.Context) error {
		return httpserver.Serve(ctx, listener, a.control.HTTPServer(),
			httpserver.Options{MaxConnections: maxOperators, Grace: operatorGrace})
	})
	return nil
}

func (a *App) openWebhook() (err error) {
	conf, listener := a.startConfig, a.o.Webhook
	if listener == nil || !conf.Receiver.Enabled() {
		if listener, err = a.o.Keeper.listen(conf.Receiver, a.log); listener == nil {
			return err
		}
	}

	a.webhookAt = listener.Addr()
	files := httpserver.Files{}
	files.Cert, files.Key = conf.WebhookFiles()
	at, acme, err := daemon.Webhook(conf.Receiver.TLS, files, a.log.With("component", "receiver"), a.registry)
	if err != nil {
		return errors.Join(err, listener.Close())
	}

	if a.acme = acme; acme != nil {
		a.serve = append(a.serve, server{"acme", acme.Run})
	}
	at.MaxConnections, at.Group = conf.Receiver.MaxConnections, a.receiver.Group
	a.serveOn(listener, "webhook", func(ctx context.Context) error {
		return httpserver.Serve(ctx, listener, a.receiver.HTTPServer(), at)
	})
	return nil
}

// serveOn has Run serve on l, which the teardown closes.
func (a *App) serveOn(l net.Listener, name string, serve func(context.Context) error) {
	a.down.push(name+" listener", daemon.CloseListener(l))
	a.serve = append(a.serve, server{name, serve})
}

// begin begins to print, even before Run: tickets from before a restart are older than any that can arrive now.
func (a *App) begin(ctx context.Context, first *snapshot) {
	if err := a.queue.TellStations(ctx, a.startConfig.Stations(), a.zoneName()); err != nil {
		a.log.Error("no slip says what happened to the database", "err", err) // the disk; the next start tells
	}
	a.apply(first)
}
