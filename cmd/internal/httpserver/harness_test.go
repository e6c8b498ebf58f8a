package httpserver

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
)

// A door is a server in memory whose handler answers 200 at /order, after it has read the body; at /slow, when it
// may; and elsewhere 404.
type door struct {
	*virtual.Network
	t    *testing.T
	slow chan bool
	stop func() error // ends Serve and returns its error
}

// atDoor runs a story at a door in a bubble. Without a grace in o it is a minute.
func atDoor(t *testing.T, o Options, story func(d *door)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &door{Network: virtual.NewNetwork(), t: t, slow: make(chan bool)}
		mux := http.NewServeMux()
		mux.HandleFunc("/order", func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err == nil {
				_, _ = io.WriteString(w, r.Proto)
			}
		})
		mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
			<-d.slow
			w.WriteHeader(http.StatusOK)
		})

		if o.Grace == 0 {
			o.Grace = time.Minute
		}
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		ended := make(chan bool)
		go func() {
			defer close(ended)
			err = Serve(ctx, d, &http.Server{Handler: mux}, o)
		}()
		d.stop = func() error { cancel(); <-ended; return err }

		story(d)
		close(d.slow)
		assert.NoError(t, d.stop())
	})
}

// A caller is one connection to a door.
type caller struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

// dial connects from an address; nil if the door does not take the connection at once.
func (d *door) dial(from string) *caller {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	got := make(chan net.Conn, 1)
	go func() {
		c, err := d.DialFrom(ctx, from)
		if err == nil {
			got <- c
		}
	}()

	synctest.Wait()
	select {
	case c := <-got:
		d.t.Cleanup(func() { c.Close() })
		return &caller{c, d.t, bufio.NewReader(c)}
	default:
		return nil
	}
}

// send writes a request and lets the door work on it.
func (c *caller) send(request string) {
	go func() { _, _ = io.WriteString(c, request) }()
	synctest.Wait()
}

// occupy makes a request that the door answers when it may.
func (c *caller) occupy() { c.send("GET /slow HTTP/1.1\r\nHost: box\r\n\r\n") }

func (c *caller) want(status int) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil || resp.StatusCode != status {
		c.t.Fatalf("%v, %v, want %d", resp, err, status)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	synctest.Wait()
}

func (c *caller) post(path string, status int) {
	c.t.Helper()
	c.send("POST " + path + " HTTP/1.1\r\nHost: box\r\nContent-Length: 2\r\n\r\n{}")
	c.want(status)
}

// closed says whether the door has closed the connection.
func (c *caller) closed() bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.in.ReadByte()
	_ = c.SetReadDeadline(time.Time{})
	return err == io.EOF
}

// serverName is the host name of each server; autocert wants a dot in it.
const serverName = "box.example.com"

// An authority signs certificates that are valid in a synctest bubble, whose clock starts in 2000.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	ends time.Time // of its signatures, which begin now; zero: 1990 to 2090
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	pair, err := tls.X509KeyPair(a.sign(t, name, true))
	assert.NoError(t, err)
	a.cert, a.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

func (a *authority) sign(t *testing.T, name string, isCA bool) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name}, DNSNames: []string{serverName},
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
	assert.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	assert.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// client is the configuration of a client that trusts the signatures of a.
func (a *authority) client(protos ...string) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{RootCAs: pool, ServerName: serverName, NextProtos: protos}
}

// files makes the files of a server whose certificate has this name.
func (a *authority) files(t *testing.T, name string) Files {
	t.Helper()
	dir := t.TempDir()
	files := Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	cert, key := a.sign(t, name, false)
	replaceFile(t, files.Cert, cert)
	replaceFile(t, files.Key, key)
	return files
}

// replaceFile replaces a file by a rename, as renewal tools do.
func replaceFile(t *testing.T, name string, content []byte) {
	t.Helper()
	assert.NoError(t, os.WriteFile(name+".new", content, 0o600))
	assert.NoError(t, os.Rename(name+".new", name))
}

func load(t *testing.T, f Files) *CertReloader {
	t.Helper()
	c, err := NewCertReloader(f, slog.New(slog.DiscardHandler), nil)
	assert.NoError(t, err)
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
