package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestAReloadAppliesTheWholeFileOrNothingAndARefusedFileIsInEveryListing(t *testing.T) {
	d := startOnFile(t, grillAndBar)
	wantSaid := func(refused bool) {
		t.Helper()
		metrics, said := d.metrics(), d.statusLine()+"\n"+strings.Join(wrongOf(d.App), "\n")
		value := map[bool]int{true: 0, false: 1}[refused]
		assert.True(t, strings.Contains(metrics, fmt.Sprintf("\nticketrail_config_last_reload_successful %d\n", value)),
			"ticketrail_config_last_reload_successful is not", value)
		n := strings.Count(said, "configuration on disk is refused")
		assert.Equal(t, n, 2*(1-value), "status and notices", said)
	}
	order := func(id string, grill int) {
		t.Helper()
		got := d.order(id)
		assert.True(t, got == 200 && d.waiting("grill") == grill && d.waiting("bar") == 0, id, got,
			d.Queue().Stations())
	}

	order("one", 1)
	d.rewrite(`routes: [ { to: [grill] } ]`, `routes: [ { when: "item.name ==", to: [bar] } ]`)
	_, err := d.Reload()
	assert.True(t, err != nil && strings.Contains(err.Error(), "routes[0].when"), "a wrong rule gives", err)
	wantSaid(true)
	order("two", 2)

	d.rewrite(`{ when: "item.name ==", to: [bar] }`, `{ to: [bar] }`)
	d.rewrite(`{ listen: "127.0.0.1:0" }`, `{ listen: "127.0.0.1:1", path: /elsewhere }`)
	done, err := d.Reload()
	assert.True(t, err == nil && slices.Equal(done.Restart, []string{"receiver.listen"}), "needing a restart",
		done.Restart, err)
	wantSaid(false)
	got := d.order("three")
	assert.Equal(t, got, 404, "the old path got")

	d.rewrite(grillYAML+", ", "")
	d.rewrite("fallback: grill", "fallback: bar")
	_, err = d.Reload()
	assert.True(t, err == nil && strings.Contains(d.statusLine(), "grill: no longer in the configuration"),
		"without grill", err, d.statusLine())
}

// TestTheLineOfSystemctlStatusReadsNoConfiguration asks as the watchdog does: a file on a disk that hangs must not let
// systemd kill a daemon that prints.
func TestTheLineOfSystemctlStatusReadsNoConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.yaml")
	write := func(text string) {
		t.Helper()
		assert.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("receiver: { listen: \"127.0.0.1:0\" }\nmetrics: { listen: \"\" }\ndisplay: { listen: \"\" }\n" +
		"admin: { socket: s }\nstorage: { path: t.db }\n" +
		"venues: [ { id: " + venueID + ", name: Harbour Grill, timezone: UTC } ]\n" + grillOnly)
	a, err := New(t.Context(), Options{ConfigPath: path, Log: t.Output(), NoSync: true})
	assert.NoError(t, err)
	defer a.Close()

	write("printer: []")
	line := a.statusLine()
	assert.True(t, !strings.Contains(line, "configuration"), "before somebody looked", line)
	_, err = a.findings(t.Context())
	assert.True(t, err == nil && strings.Contains(a.statusLine(), "configuration on disk"), err, a.statusLine())
}
