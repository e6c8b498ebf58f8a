package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func loadRelay(t *testing.T, text string) (*Relay, error) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string]string{"relay.yaml": text, "nats.password": "0123456789abcdefghijklmnop"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	return LoadRelay(filepath.Join(dir, "relay.yaml"))
}

const goodRelay = "nats: { urls: ['nats://10.0.0.21:4222'], password_file: nats.password }\n"

func TestARelayNeedsOnlyItsServersAndTheirPassword(t *testing.T) {
	r, err := loadRelay(t, goodRelay)
	must(t, err)
	if r.NATS.Replicas != 3 || r.NATS.DedupRetention != 72*time.Hour || r.Receiver.Listen != "127.0.0.1:8443" ||
		r.Metrics.Listen != "127.0.0.1:9321" || r.NATS.Password.Reveal() != "0123456789abcdefghijklmnop" {
		t.Errorf("it has other defaults: %+v", r)
	}
	t.Setenv("TICKETRAIL_NATS_URLS", "tls://b:4222,nats://c:4222")
	want := []string{"tls://b:4222", "nats://c:4222"}
	if r, err = loadRelay(t, goodRelay); err != nil || !slices.Equal(r.NATS.URLs, want) {
		t.Errorf("with a variable it is %+v, %v", r, err)
	}
}

func TestMistakesInARelaysFileAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "nats.urls: is missing",
		"nats: { urls: ['nats://x@a:4222'] }": "line 1: nats.urls[0]: is not of the form nats://HOST:PORT or ",
		"nats: { urls: ['http://a:4222'] }":   "nats.urls[0]: is not of the form",
		"nats: { urls: ['tls://a'] }":         "nats.urls[0]: is not of the form",
		"nats: { urls: ['tls://a:1'] }":       "nats.password_file: is missing",
		"nats: { urls: ['tls://a:1'], password_file: none }":         "none: no such file",
		goodRelay + "printers: []":                                   "printers: unknown key",
		goodRelay + "replicas: 3":                                    "it exists as nats.replicas",
		goodRelay + "receiver: { listen: '0.0.0.0:8443' }":           "receiver.listen: 0.0.0.0:8443 is not a loopback",
		goodRelay + "venues: []":                                     "venues: unknown key",
		goodRelay + "metrics: { listen: '127.0.0.1:8443' }":          "is already used by receiver.listen",
		strings.Replace(goodRelay, "{", "{ replicas: 7,", 1):         "nats.replicas: 7 is not between 1 and 5",
		strings.Replace(goodRelay, "{", "{ max_bytes: 1kB,", 1):      "nats.max_bytes: 1000B is not between 1MiB and ",
		strings.Replace(goodRelay, "{", "{ dedup_retention: 72,", 1): "nats.dedup_retention: 72 has no unit",
	} {
		if _, err := loadRelay(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nis %v, want %s", text, err, want)
		}
	}
}

func TestTheServersOfARelayNeedARestart(t *testing.T) {
	r, err := loadRelay(t, goodRelay)
	must(t, err)
	other := *r
	other.NATS.Replicas, other.Log.Level = 1, "debug"
	if keys := r.NeedsRestart(&other); !slices.Equal(keys, []string{"nats.replicas"}) {
		t.Errorf("%v need a restart", keys)
	}
}
