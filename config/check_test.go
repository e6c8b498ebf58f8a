package config

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestFindingsOfOtherPackagesAreReportedWithTheRest(t *testing.T) {
	also := func(c *Config) []Problem {
		return []Problem{{Path: "printers[0].profile", Msg: c.Printers[0].Profile + " is unknown"},
			{Path: "fallback", Msg: "said already"}}
	}
	_, err := Parse("f.yaml", []byte(strings.Replace(good, "fallback: grill", "fallback: gril", 1)), also)
	want := "line 5: printers[0] (grill).profile: generic-80mm is unknown\n" + `line 7: fallback: there is no ` +
		`station "gril"; did you mean grill?`
	assert.True(t, err != nil && err.Error() == want, err)
	c, err := Parse("f.yaml", []byte(good), also)
	assert.True(t, err != nil && c == nil, c, err)
}

func TestTheCertificateOfAnACMEServerIsBesideTheDatabase(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, "a")
	path := filepath.Join(dir, "ticketrail.yaml")
	c, err := Parse(path, []byte(good+
		"receiver: { listen: \"0.0.0.0:443\", tls: { acme: { name: kitchen.example.com, ca_file: a.crt } } }\n"))
	assert.NoError(t, err)
	cert, key := c.WebhookFiles()
	const kept = "/var/lib/ticketrail/acme/acme-v02.api.letsencrypt.org/kitchen.example.com"
	assert.True(t, cert == kept && key == kept && c.Receiver.TLS.ACME.CAFile == dir+"/a.crt" && len(c.Warnings) == 0,
		cert, key, c.Receiver.TLS, c.Warnings)
	was := goodConfig()
	got := c.NeedsRestart(&was)
	assert.True(t, slices.Contains(got, "receiver.tls.acme.name"), "a new name needs a restart", got)
}

func TestRelativeFileNamesAreRelativeToTheFile(t *testing.T) {
	c, err := Parse("/srv/kitchen/t.yaml", []byte(good+"storage: { path: t.db }\nadmin: { socket: run/s }\n"))
	assert.NoError(t, err)
	assert.True(t, c.Storage.Path == "/srv/kitchen/t.db" && c.Admin.Socket == "/srv/kitchen/run/s", c.Storage.Path,
		c.Admin.Socket)
}

func TestTheAlarmsOfTheFileReplaceTheDefaults(t *testing.T) {
	_, err := load(t, good+"ticket: { alarms: ["+strings.Repeat("n, ", 1001)+"] }\n")
	wantSame(t, "line 8: ticket.alarms: has 1001 entries; at most 1000 are allowed", fmt.Sprint(err))
	c := mustLoad(t, good+`ticket: { alarms: ["*nut", -nut free, "-*donut", 坚果, 🥜, 14 allergens] }`+"\n")
	want := []string{"*nut", "-nut free", "-*donut", "坚果", "🥜", "14 allergens"}
	wantSame(t, want, c.Ticket.Alarms)
	c = mustLoad(t, good+"ticket: { alarms: [] }\n")
	assert.True(t, len(c.Ticket.Alarms) == 0, "the list is empty, and", c.Ticket.Alarms)
}

// writePair writes a certificate and its key. Each has a key of its own.
func writePair(t *testing.T, dir, name string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	assert.NoError(t, err)
	template := x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, err := x509.CreateCertificate(nil, &template, &template, public, private)
	assert.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	assert.NoError(t, err)
	for file, block := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: cert},
		name + ".key": {Type: "PRIVATE KEY", Bytes: der}} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600))
	}
}
