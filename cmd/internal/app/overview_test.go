package app

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
	"ticketrail/receiver"
)

// stateOf is the finding about a subject at a level; its text is empty if there is none.
func (k *testDaemon) stateOf(level admin.Level, subject string) string {
	k.t.Helper()
	all, err := k.app.state(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	for _, f := range all {
		if f.Level == level && f.Subject == subject {
			return f.String()
		}
	}
	return ""
}

func TestTheStatusCountsTheOrdersOfTheLastHourAndKeepsTheTimeOfTheLastOne(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		if s := k.stateOf(admin.OK, "orders"); s != "0 orders in the last hour; none is stored" {
			t.Error(s)
		}
		k.accept("A1", at("grill", "Soup"))
		k.accept("A2", at("grill", "Soup"))
		time.Sleep(59 * time.Minute)
		want := "2 orders in the last hour; the last 59m ago, at "
		if s := k.stateOf(admin.OK, "orders"); !strings.HasPrefix(s, want) {
			t.Error(s)
		}
		time.Sleep(2 * time.Minute)
		k.restart()
		want = "0 orders in the last hour; the last 1h1m ago, at "
		if s := k.stateOf(admin.OK, "orders"); !strings.HasPrefix(s, want) {
			t.Error(s)
		}
	}, "grill")
}

func TestTheStatusNamesRefusedRequestsForAnHour(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		k.app.rejects.Keep(receiver.Reject{Time: time.Now(), Code: "schema_mismatch", Message: "records: missing"})
		time.Sleep(time.Minute)
		if s := k.stateOf(admin.Fail, "orders"); !strings.HasPrefix(s, "1 request refused in the last hour") {
			t.Error(s)
		}
		time.Sleep(time.Hour)
		if s := k.stateOf(admin.Fail, "orders"); s != "" {
			t.Error(s)
		}
	}, "grill")
}

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
