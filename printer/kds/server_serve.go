package kds

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

const (
	headerWithin = 5 * time.Second  // for the headers of a request
	readWithin   = 10 * time.Second // for a whole request
	writeWithin  = 30 * time.Second // for an answer; a stream has streamWithin for each piece
	idleFor      = 60 * time.Second // between two requests on a connection
	stopWithin   = 3 * time.Second  // for answers under way when the server stops
	mostHeader   = 16 << 10
	mostOneConn  = 64 // requests at a time on one HTTP/2 connection
)

// Serve answers on l until ctx ends: then streams end, what is under way is answered for at
// most 3 s, and it returns nil. Pages notice, cover themselves, and come back to whoever listens
// there next. It closes l. It returns an error only when l fails.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer l.Close()
	srv := s.server()
	capped := netutil.LimitListener(fair(l), mostConns)
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
		s.stop()
		_ = srv.Close()
		return fmt.Errorf("serve screens: %w", err)
	case <-ctx.Done():
	}
	// A command that was cut off is sent again by its page, with the same id: nothing is lost by
	// dropping a request, so the plain Shutdown is right here.
	s.stop()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	_ = srv.Shutdown(grace)
	<-served // now srv knows all who were let in
	_ = srv.Close()
	return nil
}

func (s *Server) server() *http.Server {
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerWithin,
		ReadTimeout:       readWithin,
		WriteTimeout:      writeWithin,
		IdleTimeout:       idleFor,
		MaxHeaderBytes:    mostHeader,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: mostOneConn},
		Protocols:         new(http.Protocols),
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	srv.Protocols.SetHTTP1(true)
	if s.o.TLS != nil {
		srv.Protocols.SetHTTP2(true)
		srv.TLSConfig = s.o.TLS.Clone()
	}
	return srv
}

// FileTLS proves the server with the files named, which are read again when they change; a
// change that cannot be used leaves what was there in force.
func FileTLS(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	k := &keyPair{cert: certFile, key: keyFile, log: log.With("component", "kds")}
	if err := k.load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.current(), nil },
	}, nil
}

// lookEvery is how often the files of a keyPair are looked at, at most.
const lookEvery = time.Second

type keyPair struct {
	cert, key string
	log       *slog.Logger

	mu     sync.Mutex // guards what follows
	looked time.Time
	made   [2]time.Time // when the files were written
	now    *tls.Certificate
}

// load needs mu, once k is known to others.
func (k *keyPair) load() error {
	made := [2]time.Time{written(k.cert), written(k.key)}
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	k.looked, k.made = time.Now(), made
	if err != nil {
		return fmt.Errorf("load TLS certificate %s and key %s: %w", k.cert, k.key, err)
	}
	k.now = &pair
	return nil
}

func (k *keyPair) current() *tls.Certificate {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.looked) < lookEvery {
		return k.now
	}
	k.looked = time.Now()
	if k.made == [2]time.Time{written(k.cert), written(k.key)} {
		return k.now
	}
	if err := k.load(); err != nil {
		k.log.Error("the new TLS files of the screens cannot be used, the old ones stay in force", "err", err)
	}
	return k.now
}

func written(file string) time.Time {
	st, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}
