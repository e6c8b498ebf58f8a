package httpserver

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
)

func TestCertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	a := newAuthority(t, "authority")
	files := a.files(t, "first")
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
			got, err := handshake(c, a.client())
			assert.True(t, err == nil && got == want, "the server presents", got, err, want)
		}
		presents("first")
		cert, key := a.sign(t, "second", false)
		time.Sleep(2 * time.Second)
		replaceFile(t, files.Cert, cert) // half a renewal: the key does not fit yet
		presents("first")
		assert.True(t, lastErr != nil, "a pair that does not fit counts as good")
		for range 5 {
			time.Sleep(2 * time.Second)
			presents("first")
		}
		assert.Equal(t, strings.Count(log.String(), "TLS files changed but cannot be used"), 1, &log)
		replaceFile(t, files.Key, key)
		presents("first") // the last check was less than a second ago
		time.Sleep(time.Second)
		presents("second")
		assert.True(t, lastErr == nil, lastErr)
		time.Sleep(time.Second)
		assert.NoError(t, os.Remove(files.Cert))
		presents("second")
	})
}

func TestOnlyClientsOfTheConfiguredAuthorityAreAccepted(t *testing.T) {
	a, clients, others := newAuthority(t, "authority"), newAuthority(t, "clients"), newAuthority(t, "others")
	files := a.files(t, "first")
	files.ClientCA = filepath.Join(t.TempDir(), "clients.pem")
	replaceFile(t, files.ClientCA, clients.pem())
	synctest.Test(t, func(t *testing.T) {
		c := load(t, files)
		try := func(of *authority) bool {
			// TLS 1.2, because with 1.3 the client learns that it was refused only at its first read.
			config := a.client()
			config.MaxVersion = tls.VersionTLS12
			if of != nil {
				pair, err := tls.X509KeyPair(of.sign(t, "tablet", false))
				assert.NoError(t, err)
				// Whatever the server asks for, as an attacker would do.
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					return &pair, nil
				}
			}
			_, err := handshake(c, config)
			return err == nil
		}
		assert.True(t, !try(nil) && !try(others) && try(clients),
			"want only the clients of the configured authority accepted")
		replaceFile(t, files.ClientCA, others.pem())
		time.Sleep(2 * time.Second)
		assert.True(t, !try(clients) && try(others), "a changed client CA is not active")
	})
}

func TestFilesThatCannotBeUsedAtTheStartAreAnError(t *testing.T) {
	a := newAuthority(t, "authority")
	good, other := a.files(t, "first"), a.files(t, "first")
	for want, files := range map[string]Files{
		"both a certificate and a key": {Cert: good.Cert},
		"no such file":                 {Cert: good.Cert + "x", Key: good.Key},
		"does not match":               {Cert: good.Cert, Key: other.Key},
		"no certificate in it":         {Cert: good.Cert, Key: good.Key, ClientCA: good.Key},
	} {
		_, err := NewCertReloader(files, slog.New(slog.DiscardHandler), nil)
		assert.True(t, err != nil && strings.Contains(err.Error(), want), err, want)
	}
}
