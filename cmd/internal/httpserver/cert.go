package httpserver

import (
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
// files are looked at during handshakes: no signal, no restart, and no watcher that misses a change
// on a network file system.

// Files are the TLS files of a server.
type Files struct {
	Cert     string // PEM, the whole chain
	Key      string // PEM
	ClientCA string // PEM; if set, a client must have a certificate of one of these authorities
}

// A CertReloader reads [Files] again when they change, so that a renewed certificate needs no
// restart. It checks them during a handshake, at most once a second. If the new files cannot be
// used, the previous ones stay active. It is safe for concurrent use. A service that refuses an
// expired certificate sends no more orders, so the reload must not depend on an operator who
// remembers it.
type CertReloader struct {
	files  Files
	log    *slog.Logger
	loaded func(notAfter time.Time, err error)
	proof  atomic.Pointer[autocert.Manager] // only while an ACME server asks whose the name is

	mu      sync.Mutex     // guards what follows
	current *tls.Config    // nil only until an ACME server has given the first certificate
	checked time.Time      // when the files were last compared
	seen    [3]os.FileInfo // of the last reading; nil for a missing file
	lastErr string         // of the last reload; "" if it succeeded
}

// checkInterval is the shortest time between two checks of the files: many handshakes a second must
// not cause as many system calls.
const checkInterval = time.Second

// NewCertReloader reads the files. loaded, which may be nil, is called after each reading with the
// end of the certificate's validity, or with the error. Here an unusable file is an error; later it
// only keeps the previous certificate.
func NewCertReloader(files Files, log *slog.Logger, loaded func(notAfter time.Time, err error)) (*CertReloader, error) {
	c := &CertReloader{files: files, log: log, loaded: loaded, seen: files.stat(), checked: time.Now()}
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
			if m := c.proof.Load(); m != nil && slices.Equal(hello.SupportedProtos, proof) {
				return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: proof,
					GetCertificate: m.GetCertificate}, nil
			}
			return c.now(), nil
		},
	}
}

// renewed loads files that were just written.
func (c *CertReloader) renewed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.checked, c.lastErr = c.files.stat(), time.Now(), ""
	return c.load()
}

// now is the configuration for a new connection. It holds the mutex while it reads: handshakes wait
// for it, and that is once in weeks.
func (c *CertReloader) now() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) < checkInterval {
		return c.current
	}
	c.checked = time.Now()
	// stat comes before the read, so that a change between the two is noticed at the next check.
	seen := c.files.stat()
	// After a failure the files are read again even if unchanged: one of them may have been half
	// written.
	if c.lastErr == "" && same(seen, c.seen) {
		return c.current
	}
	c.seen = seen
	switch err := c.load(); {
	case err == nil:
		c.lastErr = ""
		c.log.Info("TLS files reloaded")
	case err.Error() != c.lastErr: // tried at every check, logged once: a renewal writes two files
		c.lastErr = err.Error()
		c.log.Warn("TLS files changed but cannot be used; the previous ones stay active", "err", err)
	}
	return c.current
}

// load reads the files. The caller holds mu, except in NewCertReloader. After an error current is
// unchanged.
func (c *CertReloader) load() error {
	config, err := c.files.load()
	var notAfter time.Time
	if err == nil {
		c.current, notAfter = config, config.Certificates[0].Leaf.NotAfter
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

// stat is what the files look like now; same compares two of them.
func (f Files) stat() (out [3]os.FileInfo) {
	for i, name := range []string{f.Cert, f.Key, f.ClientCA} {
		out[i], _ = os.Stat(name) // nil: missing
	}
	return out
}

// same reports whether the files are unchanged. The time alone is not enough: some tools give every
// file the same time, but then replace the file, so os.SameFile differs.
func same(a, b [3]os.FileInfo) bool {
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) {
			return false
		}
		if a[i] != nil &&
			(!a[i].ModTime().Equal(b[i].ModTime()) || a[i].Size() != b[i].Size() || !os.SameFile(a[i], b[i])) {
			return false
		}
	}
	return true
}
