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
)

func TestTheStatusWarnsBeforeACertificateExpires(t *testing.T) {
	now := time.Now()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
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
		// A certificate has whole seconds.
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: now.Add(c.left - time.Minute)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
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
