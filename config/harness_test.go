package config

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// good is a configuration without a mistake.
const good = `
venues:
  - { id: 6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A11, name: Harbour Grill, timezone: Australia/Melbourne }
printers:
  - { name: grill, address: "tcp://192.168.1.50:9100" }
  - { name: bar, address: "file:///dev/usb/lp0", columns: 32, expire_after: 30m }
fallback: grill
`

// load loads text as a file.
func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ticketrail.yaml")
	assert.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return Load(path)
}

// mustLoad loads text that has no mistake.
func mustLoad(t *testing.T, text string) *Config {
	t.Helper()
	c, err := load(t, text)
	assert.NoError(t, err)
	return c
}

// goodConfig returns the configuration of good.
func goodConfig() Config {
	c := Default()
	grill, bar := DefaultPrinter(), DefaultPrinter()
	grill.Name, grill.Address = "grill", "tcp://192.168.1.50:9100"
	bar.Name, bar.Address, bar.Columns, bar.ExpireAfter = "bar", "file:///dev/usb/lp0", 32, 30*time.Minute
	c.Printers = []Printer{grill, bar}
	c.Venues = []Venue{{ID: "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", Name: "Harbour Grill",
		Timezone: "Australia/Melbourne"}}
	c.Fallback = "grill"
	return c
}

// secretFile makes a file and returns its name.
func secretFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "webhook")
	assert.NoError(t, os.WriteFile(name, []byte(text), mode))
	return name
}

// wantSame compares in depth.
func wantSame(t testing.TB, want, got any, options ...cmp.Option) {
	t.Helper()
	diff := cmp.Diff(want, got, options...)
	assert.True(t, diff == "", "(-want +got)\n"+diff)
}
