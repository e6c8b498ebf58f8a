package httpserver

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
)

// An ACME gets the certificate of a server from an ACME server (RFC 8555): at the start if there is none, and
// again when a third of its time is left. It proves that the name is this box's in the handshakes of the server
// itself (tls-alpn-01, RFC 8737). No client can make it order: only the one name is ever asked for, and only by
// Run.
//
// It is built on the client that autocert is built on. autocert would order while the first client waits, again
// each minute after a failure, and keeps the reason of a refusal to itself.
type ACME struct {
	Certificates *CertReloader // for the server; without a certificate its handshakes fail

	o       ACMEOptions
	client  *http.Client
	problem atomic.Pointer[string] // nil: the last attempt succeeded, or there was none
}

// ACMEOptions are all required, except the authorities.
type ACMEOptions struct {
	Name      string // the host name
	Directory string // the address of the ACME server
	// Files are where the key and the certificate are kept, in one folder, which is made with mode 0700. The key
	// stays the same at a renewal. The authority of clients is optional.
	Files  Files
	CA     string // file with the authorities of the ACME server's own certificate; empty: those of the box
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
	dueEvery = time.Hour
	// orderTimeout is for one attempt, with the ACME server's own connections to this box.
	orderTimeout = 5 * time.Minute
	maxRequests  = 5   // for one step, if the ACME server asks for another try at once
	maxReason    = 500 // bytes of an ACME server's text
)

// NewACME reads what an earlier run has kept. A missing or damaged certificate is no error: the daemon works
// without it, and orders from the local network may come another way.
func NewACME(o ACMEOptions) (*ACME, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if o.CA != "" {
		b, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("load the CA of the ACME server: %w", err)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		t.TLSClientConfig.RootCAs.AppendCertsFromPEM(b)
	}
	a := &ACME{o: o, client: &http.Client{Transport: t, Timeout: 30 * time.Second},
		Certificates: &CertReloader{files: o.Files, log: o.Log, loaded: o.Loaded}}
	if err := a.Certificates.load(); err != nil {
		a.Certificates.lastErr = err.Error() // Run says more
	}
	return a, nil
}

// Problem is why the last attempt failed, as the ACME server or the network says it; "" if it did not. The text is
// not safe to print.
func (a *ACME) Problem() string {
	if p := a.problem.Load(); p != nil {
		return *p
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

// tell keeps the outcome of an attempt, and logs it if it is a new one.
func (a *ACME) tell(err error, next time.Duration) {
	if err == nil {
		a.problem.Store(nil)
		a.o.Log.Info("certificate obtained", "name", a.o.Name, "server", a.o.Directory)
		return
	}
	text := reason(err)
	text = text[:min(len(text), maxReason)]
	if old := a.problem.Swap(&text); old == nil || *old != text {
		a.o.Log.Warn("no certificate from the ACME server; it must be reachable, and port 443 of the name must "+
			"lead to this box, from everywhere",
			"name", a.o.Name, "server", a.o.Directory, "err", text, "next", next)
	}
}

// reason leaves out the addresses of orders, which differ each time.
func reason(err error) string {
	if e, ok := errors.AsType[*acme.AuthorizationError](err); ok && len(e.Errors) > 0 {
		err = e.Errors[0] // of the only challenge that was tried
	}
	if e, ok := errors.AsType[*acme.OrderError](err); ok && e.Problem != nil {
		err = e.Problem
	}
	if e, ok := errors.AsType[*acme.Error](err); ok {
		return e.Detail
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Sprintf("%s cannot be reached: %v", e.URL, e.Err)
	}
	return err.Error()
}

// due reports whether there is no certificate, or less than a third of its time is left.
func (a *ACME) due() bool {
	pair, err := tls.LoadX509KeyPair(a.o.Files.Cert, a.o.Files.Key)
	if err != nil {
		return true
	}
	return time.Until(pair.Leaf.NotAfter) < pair.Leaf.NotAfter.Sub(pair.Leaf.NotBefore)/3
}

// renew orders a certificate, writes it and loads it.
func (a *ACME) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	dir := filepath.Dir(a.o.Files.Cert)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Both keys are written before the order, so that a folder that cannot be written uses up no certificate.
	account, err := keptKey(filepath.Join(dir, "account.key"))
	if err != nil {
		return err
	}
	key, err := keptKey(a.o.Files.Key)
	if err != nil {
		return err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{a.o.Name}}, key)
	if err != nil {
		return err
	}
	chain, err := a.order(ctx, &acme.Client{Key: account, DirectoryURL: a.o.Directory, HTTPClient: a.client,
		UserAgent: "ticketrail", RetryBackoff: backoff}, csr)
	if err != nil {
		return err
	}
	var blocks []*pem.Block
	for _, der := range chain {
		blocks = append(blocks, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	if err := writePEM(a.o.Files.Cert, blocks...); err != nil {
		return err
	}
	return a.Certificates.renewed()
}

// backoff repeats within a step only what is cured by that, such as a used nonce. A server that has too much to do
// is asked again at the next attempt.
func backoff(n int, _ *http.Request, resp *http.Response) time.Duration {
	if n >= maxRequests || resp.StatusCode == http.StatusTooManyRequests {
		return 0
	}
	return time.Second
}

// order makes an order, proves that the name is this box's, and returns the certificate and its chain.
func (a *ACME) order(ctx context.Context, c *acme.Client, csr []byte) ([][]byte, error) {
	_, err := c.Register(ctx, &acme.Account{}, acme.AcceptTOS)
	if err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return nil, err
	}
	o, err := c.AuthorizeOrder(ctx, acme.DomainIDs(a.o.Name))
	if err != nil {
		return nil, err
	}
	for _, z := range o.AuthzURLs {
		if err := a.prove(ctx, c, z); err != nil {
			return nil, err
		}
	}
	if o, err = c.WaitOrder(ctx, o.URI); err != nil {
		return nil, err
	}
	chain, _, err := c.CreateCertFromOrder(ctx, o, csr, true)
	return chain, err
}

// prove answers the ACME server's connection to this box, if it wants one.
func (a *ACME) prove(ctx context.Context, c *acme.Client, authorization string) error {
	z, err := c.GetAuthorization(ctx, authorization)
	if err != nil || z.Status == acme.StatusValid { // proved a short time ago
		return err
	}
	i := slices.IndexFunc(z.Challenges, func(ch *acme.Challenge) bool { return ch.Type == "tls-alpn-01" })
	if i < 0 {
		return errors.New("the ACME server does not offer tls-alpn-01")
	}
	cert, err := c.TLSALPN01ChallengeCert(z.Challenges[i].Token, a.o.Name)
	if err != nil {
		return err
	}
	a.Certificates.proof.Store(&tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert},
		NextProtos: []string{acme.ALPNProto}})
	defer a.Certificates.proof.Store(nil)
	if _, err := c.Accept(ctx, z.Challenges[i]); err != nil {
		return err
	}
	_, err = c.WaitAuthorization(ctx, z.URI)
	return err
}

// keptKey reads a private key, or makes it.
func keptKey(name string) (crypto.Signer, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		return key, writePEM(name, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode(b); block != nil {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if s, ok := key.(crypto.Signer); ok {
				return s, nil
			}
		}
	}
	return nil, fmt.Errorf("%s is damaged; delete it, and a new one is made", name)
}

// writePEM replaces a file, mode 0600. A power cut leaves the old one or the new one.
func writePEM(name string, blocks ...*pem.Block) error {
	var b []byte
	for _, block := range blocks {
		b = append(b, pem.EncodeToMemory(block)...)
	}
	f, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
