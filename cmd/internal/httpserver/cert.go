package httpserver

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// Certificates are renewed every few weeks by programs that know nothing of ticketrail. So the
// files are read during handshakes: no signal, no restart, and no watcher that misses a change
// on a network file system.

// Files are the TLS files of a server.
type Files struct {
	Cert     string // PEM, the whole chain
	Key      string // PEM
	ClientCA string // PEM; if set, a client must have a certificate of one of these authorities
}

// A CertReloader reads [Files] again when they change, so that a renewed certificate needs no
// restart. It reads them during a handshake, at most once a second. If the new files cannot be
// used, the previous ones stay active. It is safe for concurrent use. A service that refuses an
// expired certificate sends no more orders, so the reload must not depend on an operator who
// remembers it.
type CertReloader struct {
	files  Files
	log    *slog.Logger
	loaded func(notAfter time.Time, err error)
	proof  atomic.Pointer[autocert.Manager] // only while an ACME server asks whose the name is

	mu      sync.Mutex  // guards the fields below
	current *tls.Config // nil only until an ACME server has given the first certificate
	read    time.Time   // when the files were last read
	lastErr string      // of the last reload; "" if it succeeded
}

// readInterval is the shortest time between two readings of the files: many handshakes a second must not cause as
// many readings.
const readInterval = time.Second

// NewCertReloader reads the files. loaded, which may be nil, is called after each reading with the
// end of the certificate's validity, or with the error. Here an unusable file is an error; later it
// only keeps the previous certificate.
func NewCertReloader(files Files, log *slog.Logger, loaded func(notAfter time.Time, err error)) (*CertReloader, error) {
	c := &CertReloader{files: files, log: log, loaded: loaded, read: time.Now()}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// config asks now for each connection, so that a new certificate serves the next handshake. Open
// connections keep theirs.
func (c *CertReloader) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			// Without a client's certificate, which an ACME server does not have.
			proof := []string{acme.ALPNProto}
			if manager := c.proof.Load(); manager != nil && slices.Equal(hello.SupportedProtos, proof) {
				return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: proof,
					GetCertificate: manager.GetCertificate}, nil
			}
			return c.now(), nil
		},
	}
}

// renewed loads files that were just written.
func (c *CertReloader) renewed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.lastErr = time.Now(), ""
	return c.load()
}

// now is the configuration for a new connection. It holds the mutex while it reads; a handshake computes more.
func (c *CertReloader) now() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) < readInterval {
		return c.current
	}

	c.read = time.Now()
	was := c.current
	switch err := c.load(); {
	case err == nil && (c.lastErr != "" || c.current != was):
		c.lastErr = ""
		c.log.Info("TLS files reloaded")
	case err != nil && err.Error() != c.lastErr: // tried each time, logged once: a renewal writes two files
		c.lastErr = err.Error()
		c.log.Warn("TLS files changed but cannot be used; the previous ones stay active", "err", err)
	}

	return c.current
}

// load reads the files. The caller holds mu, except in NewCertReloader. After an error current is unchanged. It is
// also if the files are the same: a client continues its TLS session only with the same configuration.
func (c *CertReloader) load() error {
	config, err := c.files.load()
	var notAfter time.Time
	if err == nil {
		notAfter = config.Certificates[0].Leaf.NotAfter
		if c.current == nil || !same(config, c.current) {
			c.current = config
		}
	}

	if c.loaded != nil {
		c.loaded(notAfter, err)
	}
	return err
}

// load builds the configuration. LoadX509KeyPair also proves that the key belongs to the
// certificate, which is not so half way through a renewal.
func (f Files) load() (*tls.Config, error) {
	if f.Cert == "" || f.Key == "" {
		return nil, errors.New("load TLS files: both a certificate and a key are needed")
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("load TLS certificate %s and key %s: %w", f.Cert, f.Key, err)
	}

	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{pair},
		// GetConfigForClient replaces the whole configuration, so the protocols that net/http would
		// add are named here.
		NextProtos: []string{"h2", "http/1.1"},
	}

	if f.ClientCA != "" {
		pem, err := os.ReadFile(f.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("load client CA: %w", err)
		}

		config.ClientCAs = x509.NewCertPool()
		// An empty pool would refuse every client, and so every order.
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("load client CA %s: no certificate in it", f.ClientCA)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}

	return config, nil
}

// same reports whether two configurations have the same certificates and authorities.
func same(a, b *tls.Config) bool {
	return slices.EqualFunc(a.Certificates[0].Certificate, b.Certificates[0].Certificate, bytes.Equal) &&
		a.ClientCAs.Equal(b.ClientCAs)
}
