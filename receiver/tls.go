package receiver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// TLS names the files that the server proves itself with. They are read again when they
// change; a change that cannot be used leaves what was there in force.
type TLS struct {
	CertFile     string // PEM, the chain; empty: plain HTTP
	KeyFile      string // PEM
	ClientCAFile string // PEM; if set, callers must show a certificate of one of these
}

// Enabled says whether any file is named.
func (t TLS) Enabled() bool { return t != TLS{} }

// Check says whether the files can be used as they are now.
func (t TLS) Check() error {
	_, _, err := t.load()
	return err
}

func (t TLS) load() (config *tls.Config, notAfter time.Time, err error) {
	if t.CertFile == "" || t.KeyFile == "" {
		return nil, time.Time{}, errors.New("load TLS files: both a certificate and a key are needed")
	}
	pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("load TLS certificate %s and key %s: %w", t.CertFile, t.KeyFile, err)
	}
	config = &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{pair},
		NextProtos:   []string{"h2", "http/1.1"},
	}
	if t.ClientCAFile != "" {
		pem, err := os.ReadFile(t.ClientCAFile)
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("load client CA: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, time.Time{}, fmt.Errorf("load client CA %s: no certificate in it", t.ClientCAFile)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, pair.Leaf.NotAfter, nil
}

// keeper holds the configuration for new connections and follows the files.
type keeper struct {
	files   TLS
	log     *slog.Logger
	metrics *metrics
	config  atomic.Pointer[tls.Config]

	mu      sync.Mutex // guards what follows; held by at most one handshake, the others go on
	checked time.Time
	seen    [3]os.FileInfo
	lastErr string
}

// recheck is how often the files are looked at, at most.
const recheck = time.Second

func newKeeper(files TLS, log *slog.Logger, m *metrics) (*keeper, error) {
	k := &keeper{files: files, log: log, metrics: m, seen: files.stat(), checked: time.Now()}
	if err := k.load(); err != nil {
		return nil, err
	}
	return k, nil
}

// forClient is a [tls.Config.GetConfigForClient].
func (k *keeper) forClient(*tls.ClientHelloInfo) (*tls.Config, error) {
	k.refresh()
	return k.config.Load(), nil
}

func (k *keeper) refresh() {
	if !k.mu.TryLock() {
		return
	}
	defer k.mu.Unlock()
	if time.Since(k.checked) < recheck {
		return
	}
	k.checked = time.Now()
	// The stamps are taken before the files are read, so a change in between is seen next time.
	seen := k.files.stat()
	if k.lastErr == "" && same(seen, k.seen) {
		return
	}
	k.seen = seen
	err := k.load()
	switch {
	case err == nil:
		k.lastErr = ""
		k.log.Info("TLS files changed and are in use")
	case err.Error() != k.lastErr: // a pair is half written for a moment; it is tried until it fits
		k.lastErr = err.Error()
		k.log.Warn("TLS files changed and cannot be used; the ones before stay in force", "err", err)
	}
}

func (k *keeper) load() error {
	config, notAfter, err := k.files.load()
	if err != nil {
		k.metrics.tlsReloaded.Set(0)
		return err
	}
	k.config.Store(config)
	k.metrics.tlsReloaded.Set(1)
	k.metrics.certificate.Set(float64(notAfter.Unix()))
	return nil
}

func (t TLS) stat() (out [3]os.FileInfo) {
	for i, name := range []string{t.CertFile, t.KeyFile, t.ClientCAFile} {
		if name != "" {
			out[i], _ = os.Stat(name) // nil: gone
		}
	}
	return out
}

func same(a, b [3]os.FileInfo) bool {
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) {
			return false
		}
		if a[i] != nil && (!a[i].ModTime().Equal(b[i].ModTime()) || a[i].Size() != b[i].Size() || !os.SameFile(a[i], b[i])) {
			return false
		}
	}
	return true
}
