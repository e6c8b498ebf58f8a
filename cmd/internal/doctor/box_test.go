package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
)

func TestTheStatusWarnsBeforeACertificateExpires(t *testing.T) {
	now := time.Now()
	path := filepath.Join(t.TempDir(), "cert.pem")
	for _, c := range []struct {
		left  time.Duration
		level admin.Level
		text  string
	}{
		{-time.Hour, admin.Fail, "webhook: it expired 1h"},
		{13 * 24 * time.Hour, admin.Warn, "webhook: it expires in 12d"},
		{15 * 24 * time.Hour, admin.OK, "webhook: valid until "},
	} {
		writeCertificate(t, path, now.Add(c.left-time.Minute)) // it has whole seconds
		got := certificateFindings("webhook", path, now)
		if len(got) != 1 || got[0].Level != c.level || !strings.HasPrefix(got[0].Text, c.text) ||
			(got[0].Do == "") != (c.level == admin.OK) {
			t.Errorf("with %s left: %+v", c.left, got)
		}
	}
	if err := os.WriteFile(path, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := certificateFindings("webhook", path, now); got[0].Level != admin.Fail ||
		!strings.Contains(got[0].Text, "it cannot be read") {
		t.Errorf("not a certificate: %+v", got)
	}
	if got := certificateFindings("webhook", "", now); got != nil {
		t.Errorf("without TLS: %+v", got)
	}
}

func TestTheStatusSaysWhyAnACMEServerGaveNoCertificate(t *testing.T) {
	conf := &config.Config{Storage: config.Storage{Path: filepath.Join(t.TempDir(), "t.db")}}
	conf.Receiver.TLS.ACME = config.ACME{Name: "kitchen.example.com", Directory: "https://ca.example.com/dir"}
	now := time.Now()
	check := func(why string, level admin.Level, text, do string) {
		t.Helper()
		got := CertificateFindings(conf, now, why)
		if len(got) != 1 || got[0].Level != level || !strings.HasPrefix(got[0].Text, text) ||
			!strings.Contains(got[0].Do, do) || (got[0].Do == "") != (level == admin.OK) {
			t.Errorf("%q: %+v", why, got)
		}
	}
	const firewall, failed = "timeout\x1b[2J (likely firewall)",
		"; the last attempt to get one failed: timeout\ufffd[2J (likely firewall)"
	const none = "webhook: there is none yet for kitchen.example.com"
	check("", admin.Fail, none, "the daemon gets it within a minute")
	check(firewall, admin.Fail, none+failed, "port 443 of kitchen.example.com must lead to this box")

	path, _ := conf.WebhookFiles()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	later := now.Add(60 * 24 * time.Hour)
	writeCertificate(t, path, later)
	check("", admin.OK, "webhook: valid until ", "")
	check(firewall, admin.Warn, "webhook: valid until "+later.UTC().Format(time.DateOnly)+failed, "port 443")
	writeCertificate(t, path, now.Add(24*time.Hour))
	check("", admin.Warn, "webhook: it expires in ", "ticketrail status says why")
	writeCertificate(t, path, now.Add(-time.Hour))
	check(firewall, admin.Fail, "webhook: it expired ", "port 443")
}

func writeCertificate(t *testing.T, path string, ends time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: ends}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
