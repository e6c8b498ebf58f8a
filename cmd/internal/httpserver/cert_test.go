package httpserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// authority signs certificates that are good in a bubble, which begins in 2000.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
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

func tlsFiles(t *testing.T, a *authority) Files {
	t.Helper()
	dir := t.TempDir()
	files := Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	cert, key := a.sign(t, "first", false)
	put(t, files.Cert, cert)
	put(t, files.Key, key)
	return files
}

func load(t *testing.T, f Files) *CertReloader {
	t.Helper()
	c, err := NewCertReloader(f, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// meet shakes hands with a server and says whose certificate it has.
func meet(c *CertReloader, client *tls.Config) (name string, err error) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	shaken := make(chan error, 1)
	go func() { shaken <- tls.Server(there, c.config()).Handshake() }()
	conn := tls.Client(here, client)
	if err := conn.Handshake(); err != nil {
		return "", err
	}
	if err := <-shaken; err != nil {
		return "", err
	}
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func TestCertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	a := newAuthority(t, "authority")
	files := tlsFiles(t, a)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var lastErr error
		var ends time.Time
		c, err := NewCertReloader(files, slog.New(slog.NewTextHandler(&log, nil)), func(notAfter time.Time, err error) {
			if lastErr = err; err == nil {
				ends = notAfter
			}
		})
		if err != nil || ends.Year() != 2090 {
			t.Fatal(err, ends)
		}
		meets := func(want string) {
			t.Helper()
			if got, err := meet(c, &tls.Config{RootCAs: a.pool(), ServerName: "box"}); err != nil || got != want {
				t.Errorf("met %q, %v, want %s", got, err, want)
			}
		}
		meets("first")
		cert, key := a.sign(t, "second", false)
		time.Sleep(2 * time.Second)
		put(t, files.Cert, cert) // half a renewal: the key does not fit yet
		meets("first")
		if lastErr == nil {
			t.Error("a pair that does not fit counts as good")
		}
		for range 5 {
			time.Sleep(2 * time.Second)
			meets("first")
		}
		if n := strings.Count(log.String(), "TLS files changed and cannot be used"); n != 1 {
			t.Errorf("said %d times:\n%s", n, &log)
		}
		put(t, files.Key, key)
		meets("first") // looked at less than a second ago
		time.Sleep(time.Second)
		meets("second")
		if lastErr != nil {
			t.Error(lastErr)
		}
		time.Sleep(time.Second)
		if err := os.Remove(files.Cert); err != nil {
			t.Fatal(err)
		}
		meets("second")
	})
}

func TestOnlyClientsOfTheConfiguredAuthorityGetIn(t *testing.T) {
	a, clients, others := newAuthority(t, "authority"), newAuthority(t, "clients"), newAuthority(t, "others")
	files := tlsFiles(t, a)
	files.ClientCA = filepath.Join(t.TempDir(), "clients.pem")
	put(t, files.ClientCA, clients.pem())
	synctest.Test(t, func(t *testing.T) {
		c := load(t, files)
		try := func(of *authority) bool {
			// TLS 1.2, for with 1.3 the client learns of its rejection only when it reads.
			config := &tls.Config{RootCAs: a.pool(), ServerName: "box", MaxVersion: tls.VersionTLS12}
			if of != nil {
				pair, err := tls.X509KeyPair(of.sign(t, "tablet", false))
				if err != nil {
					t.Fatal(err)
				}
				// Whatever the server asks for, as an attacker would.
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
			}
			_, err := meet(c, config)
			return err == nil
		}
		if try(nil) || try(others) || !try(clients) {
			t.Error("the wrong ones get in")
		}
		put(t, files.ClientCA, others.pem())
		time.Sleep(2 * time.Second)
		if try(clients) || !try(others) {
			t.Error("a changed client CA is not in force")
		}
	})
}

func TestFilesThatCannotBeUsedAtTheStartAreAnError(t *testing.T) {
	a := newAuthority(t, "authority")
	good, other := tlsFiles(t, a), tlsFiles(t, a)
	for want, files := range map[string]Files{
		"both a certificate and a key": {Cert: good.Cert},
		"no such file":                 {Cert: good.Cert + "x", Key: good.Key},
		"does not match":               {Cert: good.Cert, Key: other.Key},
		"no certificate in it":         {Cert: good.Cert, Key: good.Key, ClientCA: good.Key},
	} {
		if _, err := NewCertReloader(files, slog.New(slog.DiscardHandler), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
