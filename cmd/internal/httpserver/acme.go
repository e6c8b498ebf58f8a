package httpserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// An ACME gets the certificate of a server from an ACME server (RFC 8555) with autocert: at the start if there is none,
// and again when a third of its time is left. It proves that the name is this box's in the handshakes of the server
// itself (tls-alpn-01, RFC 8737).
//
// autocert by itself orders while the first client waits, and again each minute after a failure. So it sees the
// handshakes of the ACME server only, and is asked for the certificate by Run.
type ACME struct {
	Certificates *CertReloader // for the server; without a certificate its handshakes fail

	o       ACMEOptions
	through http.RoundTripper      // to the ACME server
	problem atomic.Pointer[string] // nil: the last attempt succeeded, or there was none
}

// ACMEOptions are all required, except the authorities.
type ACMEOptions struct {
	Name      string // the host name
	Directory string // the address of the ACME server
	// Files are one file with the key and the certificate, which has the host name, in a folder that is made with mode
	// 0700. The authority of clients is optional.
	Files  Files
	CA     string // file with the authorities of the ACME server's own certificate; empty: the box's
	Log    *slog.Logger
	Loaded func(notAfter time.Time, err error) // as in NewCertReloader
}

const (
	// firstRetry is how long after a failure the next attempt is; each time twice as long, up to lastRetry. Let's
	// Encrypt allows five failures in an hour, this makes at most four.
	firstRetry = 5 * time.Minute
	lastRetry  = 4 * time.Hour
	// dueEvery is how often the certificate's end is compared with the clock. A timer until then would be wrong on
	// a box that has no clock of its own, and learns the time after the start.
	dueEvery    = time.Hour
	maxRequests = 5   // for one step, if the ACME server asks for another try at once
	maxReason   = 500 // bytes of an ACME server's text
)

// NewACME reads the files of an earlier run. A missing or damaged certificate is no error: the daemon works without
// it, and orders from the local network may come another way.
func NewACME(o ACMEOptions) (*ACME, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if o.CA != "" {
		text, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("load the CA of the ACME server: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(text)
	}

	a := &ACME{o: o, through: transport, Certificates: &CertReloader{files: o.Files, log: o.Log, loaded: o.Loaded}}
	if err := a.Certificates.load(); err != nil {
		a.Certificates.lastErr = err.Error() // Run says more
	}
	return a, nil
}

// Problem is why the last attempt failed, as autocert, the ACME server or the network says it; "" if it did not. The
// text is not safe to print.
func (a *ACME) Problem() string {
	if problem := a.problem.Load(); problem != nil {
		return *problem
	}
	return ""
}

// Run keeps the certificate valid until ctx ends. It never returns an error.
func (a *ACME) Run(ctx context.Context) error {
	retry := firstRetry
	for {
		wait := dueEvery
		if a.due() {
			err := a.renew(ctx)
			if ctx.Err() != nil {
				return nil
			}
			if err == nil {
				retry = firstRetry
			} else {
				wait, retry = retry, min(2*retry, lastRetry)
			}
			a.tell(err, wait)
		}

		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// tell keeps the outcome of an attempt, and logs it.
func (a *ACME) tell(err error, next time.Duration) {
	if err == nil {
		a.problem.Store(nil)
		a.o.Log.Info("certificate obtained", "name", a.o.Name, "server", a.o.Directory)
		return
	}

	text := err.Error()
	text = text[:min(len(text), maxReason)]
	a.problem.Store(&text)
	a.o.Log.Warn("no certificate from the ACME server; it must be reachable, and port 443 of the name must "+
		"lead to this box, from everywhere",
		"name", a.o.Name, "server", a.o.Directory, "err", text, "next", next)
}

// due reports whether there is no certificate, or less than a third of its time is left.
func (a *ACME) due() bool {
	pair, err := tls.LoadX509KeyPair(a.o.Files.Cert, a.o.Files.Key)
	if err != nil {
		return true
	}
	return time.Until(pair.Leaf.NotAfter) < pair.Leaf.NotAfter.Sub(pair.Leaf.NotBefore)/3
}

// renew orders a certificate, writes it and loads it. Each attempt has a manager of its own, which orders nothing when
// the attempt is over: its timer would renew the certificate a second time. A power cut leaves the old certificate, the
// new one, or an empty file, after which another one is ordered.
func (a *ACME) renew(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, name := filepath.Split(a.o.Files.Cert)
	kept := orders{autocert.DirCache(dir), name}
	manager := &autocert.Manager{Prompt: autocert.AcceptTOS, Cache: kept, HostPolicy: autocert.HostWhitelist(a.o.Name),
		Client: &acme.Client{DirectoryURL: a.o.Directory, UserAgent: "ticketrail", RetryBackoff: backoff,
			HTTPClient: &http.Client{Transport: attempt{ctx, a.through}, Timeout: 30 * time.Second}}}

	// autocert would use up a certificate that it cannot write.
	if err := errors.Join(kept.Put(ctx, "room", make([]byte, 64<<10)), kept.Delete(ctx, "room")); err != nil {
		return err
	}

	a.Certificates.proof.Store(manager)
	defer a.Certificates.proof.Store(nil)
	ordered := make(chan error, 1)
	go func() {
		_, err := manager.GetCertificate(&tls.ClientHelloInfo{ServerName: a.o.Name,
			CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}})
		ordered <- err
	}()

	select {
	case err := <-ordered:
		if err != nil {
			return err
		}
		return a.Certificates.renewed()
	case <-ctx.Done(): // autocert's own context goes on for five minutes
		return ctx.Err()
	}
}

// orders is the folder of the certificate, in which autocert does not find it: it is to order another one.
type orders struct {
	autocert.DirCache
	name string
}

// Get finds the key of the account.
func (o orders) Get(ctx context.Context, key string) ([]byte, error) {
	if key == o.name {
		return nil, autocert.ErrCacheMiss
	}
	return o.DirCache.Get(ctx, key)
}

// An attempt carries requests until its context ends.
type attempt struct {
	ctx context.Context
	http.RoundTripper
}

// RoundTrip carries one request.
func (a attempt) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := a.ctx.Err(); err != nil {
		return nil, err
	}
	return a.RoundTripper.RoundTrip(r)
}

// backoff repeats a request within a step only if that may cure it, as with a used nonce. A server that has too much
// to do is asked again at the next attempt.
func backoff(n int, _ *http.Request, resp *http.Response) time.Duration {
	if n >= maxRequests || resp.StatusCode == http.StatusTooManyRequests {
		return 0
	}
	return time.Second
}
