// Package httpserver runs the daemon's HTTP servers: the endpoint that orders come in at, the
// pages of the screens, the control socket, the metrics. All of them have the same limits
// against slow and silent clients, the same way to stop and the same way to change a
// certificate. What is answered is for handlers to say; the package knows none of them.
package httpserver

import (
	"context"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

const (
	headerBytes = 16 << 10
	streams     = 64               // requests at a time on one HTTP/2 connection
	stuckTime   = 10 * time.Second // until an HTTP/2 client that takes nothing loses its connection
)

// Options say how a server listens and stops.
type Options struct {
	Cert           *CertReloader // nil: plain HTTP/1
	MaxConnections int           // more wait to be accepted; 0: no limit
	Grace          time.Duration // how long requests under way may take when the server stops
}

// Serve answers on l with srv, which has a handler and time-outs, until ctx ends; then it shuts
// srv down and returns nil. What is under way is answered within o.Grace; what is not is cut off,
// and whoever sent it sends it again. It closes l. It returns an error only when l fails.
//
// A connection that brings no request is closed by srv.ReadHeaderTimeout or, with HTTP/2, by
// srv.IdleTimeout.
func Serve(ctx context.Context, l net.Listener, srv *http.Server, o Options) error {
	defer l.Close()
	srv.MaxHeaderBytes = headerBytes
	srv.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams, WriteByteTimeout: stuckTime}
	srv.Protocols = new(http.Protocols)
	srv.Protocols.SetHTTP1(true)
	if o.MaxConnections > 0 {
		l = netutil.LimitListener(l, o.MaxConnections)
	}
	served := make(chan error, 1)
	if o.Cert != nil {
		srv.Protocols.SetHTTP2(true)
		srv.TLSConfig = o.Cert.config()
		go func() { served <- srv.ServeTLS(l, "", "") }()
	} else {
		go func() { served <- srv.Serve(l) }()
	}
	select {
	case err := <-served:
		_ = srv.Close()
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	_ = srv.Shutdown(grace)
	<-served // now srv knows all who were let in
	return srv.Close()
}
