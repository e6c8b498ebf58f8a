package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
)

// listenOn opens the address of a key of the configuration.
func listenOn(key, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	_, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is taken by another program, perhaps another ticketrail: find it with ss -ltnp 'sport = :%s' and stop it, or set another address (%w)", key, address, port, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s: this box has no address %s: ip address shows those it has (%w)", key, address, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: %s is only for root: set a port above 1023, or have systemd open it (ticketrail.socket) (%w)", key, address, err)
	}
	return nil, fmt.Errorf("%s: listen on %s: %w", key, address, err)
}

func (a *App) listenAdmin(conf *config.Config) error {
	if conf.Admin.Socket == "" {
		return nil
	}
	s, err := admin.New(admin.Options{
		Jobs: a.queue, Desk: a.queue, Stations: desk{a.queue, a.dispatch}, Tester: tester{a.queue},
		Rejects: shownRejects{a.rejects}, Displays: screenDesk{a}, Reload: a.Reload, Lines: a.lines, Notices: a.allNotices,
		Logger: a.log.With("component", "admin"),
	})
	if err != nil {
		return err
	}
	l, err := admin.Listen(conf.Admin.Socket)
	if err != nil {
		return err
	}
	a.down.push("admin socket", closeOnce(l))
	a.serve = append(a.serve, server{"admin", func(ctx context.Context) error { return s.Serve(ctx, l) }})
	return nil
}

// closeOnce closes a listener that its server may have closed already.
func closeOnce(l net.Listener) func(context.Context) error {
	return func(context.Context) error {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}
