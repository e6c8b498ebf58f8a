package config

import (
	"os"
	"path/filepath"
	"slices"
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

func TestTheServersOfARelayNeedARestart(t *testing.T) {
	r, err := loadRelay(t, goodRelay)
	must(t, err)
	other := *r
	other.NATS.Replicas, other.Log.Level = 1, "debug"
	if keys := r.NeedsRestart(&other); !slices.Equal(keys, []string{"nats.replicas"}) {
		t.Errorf("%v need a restart", keys)
	}
}
