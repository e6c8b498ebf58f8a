package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ticketrail/deploy/assert"
)

func loadRelay(t *testing.T, text string) (*Relay, error) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string]string{"relay.yaml": text, "nats.password": "0123456789abcdefghijklmnop"} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	return LoadRelay(filepath.Join(dir, "relay.yaml"))
}

const goodRelay = "nats: { urls: ['nats://10.0.0.21:4222'], password_file: nats.password }\n"

func TestARelayNeedsOnlyItsServersAndTheirPassword(t *testing.T) {
	r, err := loadRelay(t, goodRelay)
	assert.NoError(t, err)
	assert.True(t, r.NATS.Replicas == 3 && r.NATS.DedupRetention == 72*time.Hour &&
		r.Receiver.Listen == "127.0.0.1:8443" && r.Metrics.Listen == "127.0.0.1:9321" &&
		r.NATS.Password.Reveal() == "0123456789abcdefghijklmnop", "it has other defaults", r)
	t.Setenv("TICKETRAIL_NATS_URLS", "tls://b:4222,nats://c:4222")
	want := []string{"tls://b:4222", "nats://c:4222"}
	r, err = loadRelay(t, goodRelay)
	assert.True(t, err == nil && slices.Equal(r.NATS.URLs, want), "with a variable it is", r, err)
}

func TestTheServersOfARelayNeedARestart(t *testing.T) {
	r, err := loadRelay(t, goodRelay)
	assert.NoError(t, err)
	other := *r
	other.NATS.Replicas, other.Log.Level = 1, "debug"
	keys := r.NeedsRestart(&other)
	assert.True(t, slices.Equal(keys, []string{"nats.replicas"}), keys)
}
