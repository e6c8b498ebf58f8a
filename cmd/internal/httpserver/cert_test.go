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

// authority signs certificates that are valid in a synctest bubble, whose clock starts in 2000.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	ends time.Time // of what it signs; zero: 2090
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
	if !a.ends.IsZero() {
		c.NotBefore, c.NotAfter = time.Now(), a.ends
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
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// replaceFile replaces a file by a rename, as renewal tools do.
func replaceFile(t *testing.T, name string, content []byte) {
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
	replaceFile(t, files.Cert, cert)
	replaceFile(t, files.Key, key)
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

// handshake connects to a server and returns the name in its certificate.
func handshake(c *CertReloader, client *tls.Config) (name string, err error) {
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
		presents := func(want string) {
			t.Helper()
			got, err := handshake(c, &tls.Config{RootCAs: a.pool(), ServerName: "box"})
			if err != nil || got != want {
				t.Errorf("the server presents %q, %v, want %s", got, err, want)
			}
		}
		presents("first")
		cert, key := a.sign(t, "second", false)
		time.Sleep(2 * time.Second)
		replaceFile(t, files.Cert, cert) // half a renewal: the key does not fit yet
		presents("first")
		if lastErr == nil {
			t.Error("a pair that does not fit counts as good")
		}
		for range 5 {
			time.Sleep(2 * time.Second)
			presents("first")
		}
		if n := strings.Count(log.String(), "TLS files changed but cannot be used"); n != 1 {
			t.Errorf("logged %d times, want once:\n%s", n, &log)
		}
		replaceFile(t, files.Key, key)
		presents("first") // the last check was less than a second ago
		time.Sleep(time.Second)
		presents("second")
		if lastErr != nil {
			t.Error(lastErr)
		}
		time.Sleep(time.Second)
		if err := os.Remove(files.Cert); err != nil {
			t.Fatal(err)
		}
		presents("second")
	})
}

func TestOnlyClientsOfTheConfiguredAuthorityAreAccepted(t *testing.T) {
	a, clients, others := newAuthority(t, "authority"), newAuthority(t, "clients"), newAuthority(t, "others")
	files := tlsFiles(t, a)
	files.ClientCA = filepath.Join(t.TempDir(), "clients.pem")
	replaceFile(t, files.ClientCA, clients.pem())
	synctest.Test(t, func(t *testing.T) {
		c := load(t, files)
		try := func(of *authority) bool {
			// TLS 1.2, because with 1.3 the client learns that it was refused only at its first read.
			config := &tls.Config{RootCAs: a.pool(), ServerName: "box", MaxVersion: tls.VersionTLS12}
			if of != nil {
				pair, err := tls.X509KeyPair(of.sign(t, "tablet", false))
				if err != nil {
					t.Fatal(err)
				}
				// Whatever the server asks for, as an attacker would do.
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					return &pair, nil
				}
			}
			_, err := handshake(c, config)
			return err == nil
		}
		if try(nil) || try(others) || !try(clients) {
			t.Error("want only the clients of the configured authority accepted")
		}
		replaceFile(t, files.ClientCA, others.pem())
		time.Sleep(2 * time.Second)
		if try(clients) || !try(others) {
			t.Error("a changed client CA is not active")
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
		if _, err := NewCertReloader(files, slog.New(slog.DiscardHandler), nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
