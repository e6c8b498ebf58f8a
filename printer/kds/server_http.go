package kds

import (
	"log/slog"
	"net/http"
	"time"
)

const (
	readHeaderTimeout = 5 * time.Second  // for the headers of a request
	readTimeout       = 10 * time.Second // for a whole request
	writeTimeout      = 30 * time.Second // for an answer; a stream has streamWithin for each piece
	idleTimeout       = 60 * time.Second // between two requests on a connection
	maxHeaderBytes    = 16 << 10
)

// HTTPServer is a server for the pages, not yet started, with every time-out set. When it shuts
// down, streams end: pages notice, cover themselves, and come back to whoever listens there
// next. A command that is cut off is sent again by its page, with the same id. Its listener
// should be a [FairListener].
func (s *Server) HTTPServer() *http.Server {
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	srv.RegisterOnShutdown(s.stop)
	return srv
}
