package app

import (
	"context"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/config"
	"ticketrail/queue/ticket"
)

// listenMetrics opens the listener for monitoring.
func listenMetrics(a *App, conf *config.Config) error {
	if a.o.Metrics == nil && conf.Metrics.Listen == "" {
		return nil
	}
	l, err := daemon.Listen(a.o.Metrics, "metrics.listen", conf.Metrics.Listen)
	if err != nil {
		return err
	}
	a.down.push("metrics listener", daemon.CloseListener(l))
	a.metricsAt = l.Addr()
	monitor := daemon.Monitor(a.registry, a.log, a.health.notReady)
	a.serve = append(a.serve, server{"metrics", func(ctx context.Context) error {
		return daemon.ServeMonitor(ctx, l, monitor, a.log)
	}})
	return nil
}

// newControl makes the control API, for the control socket and for the page for managers.
func newControl(a *App) *admin.Server {
	return admin.New(admin.Options{
		Queue: a.queue, Kick: a.stations.Kick, Rejects: a.rejects, Displays: a.stations.Displays(),
		PrintLate: func(ctx context.Context, one admin.Reject, lenient bool) (ticket.Receipt, error) {
			return a.receiver.PrintLate(ctx, one, lenient)
		},
		Statuses: a.stations.List, Probe: a.stations.Probe, Notices: a.problems,
		State: a.state, Fields: a.fields, Zone: a.zone, Layout: a.stations.Layout,
		Logger: a.log.With("component", "admin"),
	})
}

// listenAdmin opens the control socket. The database must be open: its lock decides between two
// daemons that start at the same moment, see [admin.Listen].
func listenAdmin(a *App, conf *config.Config) error {
	if conf.Admin.Socket == "" {
		return nil
	}
	l, err := admin.Listen(conf.Admin.Socket)
	if err != nil {
		return err
	}
	a.down.push("admin socket", daemon.CloseListener(l))
	a.serve = append(a.serve, server{"admin", func(ctx context.Context) error {
		return httpserver.Serve(ctx, l, a.control.HTTPServer(),
			httpserver.Options{MaxConnections: maxOperators, Grace: operatorGrace})
	}})
	return nil
}

const (
	// maxOperators is how many connections the control socket may have: each may hold a request of 1 MiB.
	maxOperators = 64
	// operatorGrace lets a change finish whose commit is under way at a stop; after a cut the operator would not know
	// whether it was made.
	operatorGrace = 5 * time.Second
)
