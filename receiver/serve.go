package receiver

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

const (
	headerTime  = 3 * time.Second  // for the headers; of the first request, TLS included
	spareTime   = 2 * time.Second  // beyond RespondWithin, for what the handler does not govern itself
	answerTime  = 10 * time.Second // beyond RespondWithin, to write an answer of 100 bytes
	idleTime    = 10 * time.Second // between two requests
	headerBytes = 16 << 10
	streams     = 64 // requests at a time on one HTTP/2 connection
)

// Serve answers on l, in TLS if [Options.TLS] says so, until ctx ends; then each answer is the
// last on its connection, and those that are idle are closed when they were so for partTime.
// Until none waits for that, at most partTime, who is new is let in. Then nobody is; who was
// let in is answered. Serve waits for that at most a second longer than an answer may take, and
// returns nil. What comes in the later half of that time is answered 503, so that the end is
// in sight. It closes l.
// It returns an error when it cannot begin, when l fails, or when a request did not end in time.
func (r *Receiver) Serve(ctx context.Context, l net.Listener) error {
	defer l.Close()
	srv, err := r.server()
	if err != nil {
		return err
	}
	var g guests
	srv.ConnState = g.note
	capped := netutil.LimitListener(l, r.maxConns)
	served := make(chan error, 1)
	go func() {
		if srv.TLSConfig != nil {
			served <- srv.ServeTLS(capped, "", "")
		} else {
			served <- srv.Serve(capped)
		}
	}()
	select {
	case err := <-served:
		_ = srv.Close()
		return fmt.Errorf("serve print requests: %w", err)
	case <-ctx.Done():
	}
	// Not by srv.Shutdown: from its call on, the server drops whoever's request it has just
	// read, the first on its connection too, and whoever's next request is on its way.
	r.parting.Store(true)
	ctx, stop := context.WithoutCancel(ctx), time.Now()
	parting, cancel := context.WithTimeout(ctx, partTime)
	defer cancel()
	_ = g.leave(parting, stop, func(_, idle int) bool { return idle == 0 })
	_ = capped.Close()
	<-served // now g knows all who were let in
	within := r.policy.Load().respondWithin
	grace, cancel := context.WithTimeout(ctx, within+time.Second)
	defer cancel()
	late := time.AfterFunc(within/2, r.Drain)
	defer late.Stop()
	err = g.leave(grace, stop, func(all, _ int) bool { return all == 0 })
	_ = srv.Close()
	if n := r.running.Load(); err != nil && n > 0 {
		return fmt.Errorf("stop receiving: %d print requests were not answered: %w", n, err)
	}
	return nil
}

// server has every time-out and limit set: whoever is slow or silent loses the connection and
// never holds more than that.
func (r *Receiver) server() (*http.Server, error) {
	within := r.policy.Load().respondWithin
	srv := &http.Server{
		Handler:           r,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       max(within+spareTime, headerTime),
		WriteTimeout:      within + answerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,
		ConnContext:       doom,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: streams},
		Protocols:         new(http.Protocols),
		// What arrives here is the noise of the internet, mostly failed handshakes.
		ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug),
	}
	srv.Protocols.SetHTTP1(true)
	if !r.tls.Enabled() {
		return srv, nil
	}
	k, err := newKeeper(r.tls, r.log, r.metrics)
	if err != nil {
		return nil, err
	}
	srv.Protocols.SetHTTP2(true)
	srv.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: k.forClient}
	return srv, nil
}

type doomed struct{}

// doom closes a connection that brings no request within headerTime. The server does that for
// HTTP/1 alone: one of HTTP/2 that is silent would hold its place for as long as an idle one.
func doom(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn() // closing the other waits for whoever does not read
	}
	return context.WithValue(ctx, doomed{}, time.AfterFunc(headerTime, func() { _ = c.Close() }))
}

// spare lets live the connection on which a request with this context came.
func spare(ctx context.Context) {
	if t, ok := ctx.Value(doomed{}).(*time.Timer); ok {
		t.Stop()
	}
}
