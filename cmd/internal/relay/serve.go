package relay

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/httpserver"
)

func (s *server) serveMonitor(run func(string, func(context.Context) error)) (at string, err error) {
	listener, serve, err := daemon.Monitor(s.o.Metrics, s.conf.Metrics.Listen, s.registry, s.log, s.notReady)
	if err != nil || listener == nil {
		return "", err
	}
	run("metrics", serve)
	return listener.Addr().String(), nil
}

func (s *server) serveWebhook(run func(string, func(context.Context) error)) (at string, err error) {
	listener, err := daemon.Listen(s.o.Webhook, "receiver.listen", s.conf.Receiver.Listen)
	if err != nil {
		return "", err
	}

	cert, key := s.conf.WebhookFiles()
	options, acme, err := daemon.Webhook(s.conf.Receiver.TLS, httpserver.Files{Cert: cert, Key: key},
		s.log.With("component", "receiver"), s.registry)
	if err != nil {
		return "", errors.Join(err, listener.Close())
	}
	if acme != nil {
		run("acme", acme.Run)
	}

	options.MaxConnections, options.Group = s.conf.Receiver.MaxConnections, s.group
	srv := s.receiver.HTTPServer()
	mux := http.NewServeMux()
	mux.Handle("/", srv.Handler)
	mux.Handle("/v1/", s.door.Handler())
	srv.Handler = mux

	run("webhook", func(ctx context.Context) error { return httpserver.Serve(ctx, listener, srv, options) })
	return listener.Addr().String(), nil
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
