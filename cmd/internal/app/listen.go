package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/config"
	"ticketrail/queue/ticket"
)

// listenOn returns given, or else opens a listener at address. key is the configuration key of the
// address, for the error. The operator who starts the daemon reads this error once, so it names the
// usual cause and the command that finds it.
func listenOn(given net.Listener, key, address string) (net.Listener, error) {
	if given != nil {
		return given, nil
	}
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	_, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is already used by another program, perhaps another ticketrail: "+
			"find it with ss -ltnp 'sport = :%s' and stop it, or set another address (%w)", key, address, port, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s: this box has no address %s: ip address shows those it has (%w)", key, address, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: this user may not open a port below 1024: set %s to a higher port, or allow it: "+
			"copy low-port.conf from the examples of the package to /etc/systemd/system/ticketrail.service.d (%w)",
			address, key, err)
	}
	return nil, fmt.Errorf("%s: listen on %s: %w", key, address, err)
}

// listenMetrics opens the listener for monitoring.
func listenMetrics(a *App, conf *config.Config) error {
	if a.o.Metrics == nil && conf.Metrics.Listen == "" {
		return nil
	}
	l, err := listenOn(a.o.Metrics, "metrics.listen", conf.Metrics.Listen)
	if err != nil {
		return err
	}
	a.down.push("metrics listener", closeListener(l))
	a.metricsAt = l.Addr()
	srv := metricsServer(a.health.handler(a.registry, a.log), a.log)
	a.serve = append(a.serve, server{"metrics", func(ctx context.Context) error {
		return httpserver.Serve(ctx, l, srv, httpserver.Options{MaxConnections: maxScrapers, Grace: 2 * time.Second})
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
		State: a.state, Zone: a.zone, Layout: a.stations.Layout,
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
	a.down.push("admin socket", closeListener(l))
	a.serve = append(a.serve, server{"admin", func(ctx context.Context) error {
		// Five seconds let a change finish whose commit is under way; after a cut the operator
		// would not know whether it was made.
		return httpserver.Serve(ctx, l, a.control.HTTPServer(),
			httpserver.Options{MaxConnections: maxOperators, Grace: 5 * time.Second})
	}})
	return nil
}

// maxOperators is how many connections the control socket may have: each may hold a request of 1 MiB.
const maxOperators = 64

// closeListener closes a listener; it is no error if its server has closed it already. Both orders
// happen: after Run the server has closed it, after an error in New it has not.
func closeListener(l net.Listener) func(context.Context) error {
	return func(context.Context) error {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}
