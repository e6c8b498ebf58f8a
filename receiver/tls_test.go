package receiver

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ticketrail/receiver/contract"
)

// authority signs certificates that are good in a bubble, which begins in 2000.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = nil, nil
	certPEM, keyPEM := a.sign(t, name, true)
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, a.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

func (a *authority) sign(t *testing.T, name string, isCA bool) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<60))
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{"box"},
		NotBefore: time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, parentKey := a.cert, a.key
	if parent == nil {
		parent, parentKey = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), parentKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// put replaces a file as a renewal tool does.
func put(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

func tlsFiles(t *testing.T, a *authority) TLS {
	t.Helper()
	dir := t.TempDir()
	files := TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	cert, key := a.sign(t, "first", false)
	put(t, files.CertFile, cert)
	put(t, files.KeyFile, key)
	return files
}

// shake makes a connection and says whose certificate it met.
func (p *pipes) shake(t *testing.T, config *tls.Config) (*tls.Conn, string, error) {
	t.Helper()
	raw, err := p.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	c := tls.Client(raw, config)
	if err := c.HandshakeContext(t.Context()); err != nil {
		return nil, "", err
	}
	return c, c.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func TestCertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	a := newAuthority(t, "authority")
	files := tlsFiles(t, a)
	bubble(t, func(o *Options, _ *Policy) { o.TLS = files }, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		config := &tls.Config{RootCAs: a.pool(), ServerName: "box"}
		meets := func(want string) {
			t.Helper()
			c, got, err := l.shake(t, config)
			if err != nil || got != want {
				t.Errorf("met %q, %v, want %s", got, err, want)
			}
			if c != nil {
				_ = c.Close()
			}
		}
		meets("first")
		cert, key := a.sign(t, "second", false)
		time.Sleep(2 * time.Second)
		put(t, files.CertFile, cert) // half a renewal: the key does not fit yet
		meets("first")
		b.count(t, "ticketrail_receiver_tls_last_load_successful", 0)
		for range 5 {
			time.Sleep(2 * time.Second)
			meets("first")
		}
		if n := strings.Count(b.log.String(), "TLS files changed and cannot be used"); n != 1 {
			t.Errorf("said %d times:\n%s", n, b.log)
		}
		put(t, files.KeyFile, key)
		meets("first") // looked at less than a second ago
		time.Sleep(time.Second)
		meets("second")
		b.count(t, "ticketrail_receiver_tls_last_load_successful", 1)
		time.Sleep(time.Second)
		if err := os.Remove(files.CertFile); err != nil {
			t.Fatal(err)
		}
		meets("second")
	})
}

func TestOnlyClientsOfTheConfiguredAuthorityGetIn(t *testing.T) {
	a, clients, others := newAuthority(t, "authority"), newAuthority(t, "clients"), newAuthority(t, "others")
	files := tlsFiles(t, a)
	files.ClientCAFile = filepath.Join(t.TempDir(), "clients.pem")
	put(t, files.ClientCAFile, clients.pem())
	bubble(t, func(o *Options, _ *Policy) { o.TLS = files }, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		try := func(of *authority) int {
			config := &tls.Config{RootCAs: a.pool(), ServerName: "box"}
			if of != nil {
				pair, err := tls.X509KeyPair(of.sign(t, "tablet", false))
				if err != nil {
					t.Fatal(err)
				}
				// Whatever the server asks for, as an attacker would.
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
			}
			c, _, err := l.shake(t, config)
			if err != nil {
				return 0
			}
			go func() { _, _ = io.WriteString(c, whole(burger)) }()
			b, _ := io.ReadAll(io.LimitReader(c, 12))
			_ = c.Close()
			if bytes.Equal(b, []byte("HTTP/1.1 200")) {
				return 200
			}
			return 0
		}
		if try(nil) != 0 || try(others) != 0 || try(clients) != 200 {
			t.Error("the wrong ones get in")
		}
		put(t, files.ClientCAFile, others.pem())
		time.Sleep(2 * time.Second)
		if try(clients) != 0 || try(others) != 200 {
			t.Error("a changed client CA is not in force")
		}
	})
}

func TestHTTP2IsSpokenThroughTLSOnly(t *testing.T) {
	a := newAuthority(t, "authority")
	files := tlsFiles(t, a)
	bubble(t, func(o *Options, _ *Policy) { o.TLS = files }, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		tr := &http.Transport{DialContext: l.dial, TLSClientConfig: &tls.Config{RootCAs: a.pool()}, ForceAttemptHTTP2: true}
		defer tr.CloseIdleConnections()
		client := &http.Client{Transport: tr}
		for _, c := range []struct {
			body string
			want int
		}{{burger, 200}, {"{}", 400}, {burger, 200}} {
			req, _ := http.NewRequestWithContext(t.Context(), "POST", "https://box"+contract.PathWebhook, strings.NewReader(c.body))
			req.Header = post(nil).Header
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if _ = resp.Body.Close(); resp.StatusCode != c.want || resp.ProtoMajor != 2 {
				t.Errorf("%s %d", resp.Proto, resp.StatusCode)
			}
		}
	})
	bubble(t, nil, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		c := l.line(t)
		c.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
		if answer, _ := io.ReadAll(c.in); !bytes.HasPrefix(answer, []byte("HTTP/1.1 404 ")) {
			t.Errorf("plain HTTP/2: %q", answer)
		}
	})
}

// http2 is a client for orders that must be answered 200, and how often it dialled.
func (p *pipes) http2(t *testing.T, a *authority) (do func(), dials *int) {
	dials = new(int)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool()}, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, n, at string) (net.Conn, error) { *dials++; return p.dial(ctx, n, at) }}
	t.Cleanup(tr.CloseIdleConnections)
	return func() {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "https://box"+contract.PathWebhook, strings.NewReader(burger))
		req.Header = post(nil).Header
		resp, err := (&http.Client{Transport: tr}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != 200 || resp.ProtoMajor != 2 {
			t.Errorf("%s %d", resp.Proto, resp.StatusCode)
		}
	}, dials
}

func TestAnHTTP2ConnectionThatCarriesNothingHoldsNoPlace(t *testing.T) {
	a := newAuthority(t, "authority")
	files := tlsFiles(t, a)
	bubble(t, func(o *Options, _ *Policy) { o.TLS, o.MaxConnections = files, 4 }, func(t *testing.T, b *bed, l *pipes, _ func() error) {
		start := time.Now()
		for range 4 {
			c, _, err := l.shake(t, &tls.Config{RootCAs: a.pool(), ServerName: "box", NextProtos: []string{"h2"}})
			if err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, c) }()
			if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
				t.Fatal(err)
			}
		}
		do, dials := l.http2(t, a)
		do()
		since(t, start, headerTime)
		time.Sleep(9 * time.Second) // one that has carried a request lives as long as an idle one may
		do()
		if *dials != 1 {
			t.Errorf("%d connections", *dials)
		}
		time.Sleep(11 * time.Second)
		do()
		if *dials != 2 {
			t.Errorf("%d connections after it was idle", *dials)
		}
	})
}

func TestStoppingLetsAnHTTP2ConnectionBringItsNextRequest(t *testing.T) {
	a := newAuthority(t, "authority")
	files := tlsFiles(t, a)
	bubble(t, func(o *Options, _ *Policy) { o.TLS = files }, func(t *testing.T, b *bed, l *pipes, stop func() error) {
		do, dials := l.http2(t, a)
		do()
		stopped := begin(stop)
		time.Sleep(partTime / 2)
		start := time.Now()
		do()
		if *dials != 1 {
			t.Errorf("%d connections", *dials)
		}
		// The client was told that this was the last, and left.
		if err := <-stopped; err != nil || time.Since(start) > 2*lookTime {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestFilesThatCannotBeUsedAtTheStartAreAnError(t *testing.T) {
	a := newAuthority(t, "authority")
	good := tlsFiles(t, a)
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	other := tlsFiles(t, a)
	for want, files := range map[string]TLS{
		"both a certificate and a key": {CertFile: good.CertFile},
		"no such file":                 {CertFile: good.CertFile + "x", KeyFile: good.KeyFile},
		"does not match":               {CertFile: good.CertFile, KeyFile: other.KeyFile},
		"no certificate in it":         {CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: good.KeyFile},
	} {
		if err := files.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		b := newBed(t, func(o *Options, _ *Policy) { o.TLS = files })
		if err := b.Serve(t.Context(), newPipes()); err == nil {
			t.Error("serves all the same")
		}
	}
}
