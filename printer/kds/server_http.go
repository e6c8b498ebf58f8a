package kds

import (
	"log/slog"
	"net/http"
	"time"
)

// HTTPServer returns a server for the pages, not yet started, with every time-out set. When it
// shuts down, streams end; the pages show that they are not live and connect to whatever listens
// there next. A command that is cut off is sent again by its page, with the same id.
func (s *Server) HTTPServer() *http.Server {
	// The pages send small requests over a network at hand; a request that takes longer than this is of a broken
	// client, which must not hold a connection for ever. An event stream does not end: it replaces the time-outs of its
	// request, see [Server.stream].
	srv := &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second, // for a whole request
		WriteTimeout:      30 * time.Second, // for an answer
		MaxHeaderBytes:    16 << 10,         // a page sends one cookie and a few short headers
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}

	srv.RegisterOnShutdown(s.stop)
	return srv
}
