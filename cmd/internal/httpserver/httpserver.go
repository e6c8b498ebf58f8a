// Package httpserver runs the HTTP servers of the daemon: the webhook that receives orders, the
// kitchen screens, the control socket and the metrics. All of them get the same limits
// of header size and HTTP/2 streams, stop in the same way, and reload their certificates in the same
// way. The handlers come from the caller, and so do the limits of time, which differ.
package httpserver

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"
)

const (
	// headerBytes bounds the header of a request. A point-of-sale service sends less than 1 kB; the
	// default of net/http is 1 MB for each connection.
	headerBytes = 16 << 10
	maxStreams  = 64 // concurrent requests on one HTTP/2 connection
	// writeTimeout closes an HTTP/2 connection whose client reads nothing. http.Server.WriteTimeout
	// cannot be used for the pages of screens, whose answers never end.
	writeTimeout = 10 * time.Second
	// idleTimeout is between two requests on a connection, and before the first one of HTTP/2. A client opens another
	// connection when it has a request, so keeping many idle ones saves nothing.
	idleTimeout = 30 * time.Second
)

// Options say how a server listens and stops. The time-outs of requests are set on the http.Server by the
// caller, because they differ: a screen's stream has none.
type Options struct {
	Cert           *CertReloader // nil: plain HTTP/1
	MaxConnections int           // a further one waits; 0: no limit
	Grace          time.Duration // for requests in progress when the server stops

	// Group, if it is set, names the group that a caller's connections count in, and how many of them there may be:
	// fewer while few places are free. It is asked for each connection and each answer, concurrently, and not for
	// connections of a unix socket. With the name "" there is no limit but MaxConnections, without which Group is not
	// asked.
	Group func(caller netip.Addr) (name string, most int)
}

// Serve answers on l with srv, which has its handler and time-outs, until ctx ends. Then it shuts srv
// down and returns nil. Requests in progress are answered within o.Grace; after that they are cut
// off, and their clients must repeat them. Serve closes l. It returns an error only if l fails.
//
// A connection without a request is closed after srv.ReadHeaderTimeout or idleTimeout. Each listener gets
// its own server: a slow one cannot use up the connections of another.
func Serve(ctx context.Context, l net.Listener, srv *http.Server, o Options) error {
	defer l.Close()
	srv.MaxHeaderBytes = headerBytes
	srv.IdleTimeout = idleTimeout
	srv.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: writeTimeout}
	srv.Protocols = new(http.Protocols)

	// HTTP/2 only with TLS: no browser speaks it without.
	srv.Protocols.SetHTTP1(true)
	if o.MaxConnections > 0 {
		limited := limit(l, o)
		l, srv.Handler = limited, limited.learn(srv.Handler)
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

	// Not derived from ctx, which has ended.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()

	// Its error says only that the grace is over; the connections that are left are closed below.
	_ = srv.Shutdown(grace)
	<-served // after this no new connection reaches srv, so Close ends all of them
	return srv.Close()
}
