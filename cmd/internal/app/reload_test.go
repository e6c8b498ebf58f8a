package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ticketrail/cmd/internal/app"
)

func TestAReloadAppliesTheWholeFileOrNothingAndARefusedFileIsInEveryListing(t *testing.T) {
	d := startOnFile(t, grillAndBar)
	wantSaid := func(refused bool) {
		t.Helper()
		metrics, said := d.metrics(), d.StatusLine()+"\n"+strings.Join(wrongOf(d.App), "\n")
		value := map[bool]int{true: 0, false: 1}[refused]
		if !strings.Contains(metrics, fmt.Sprintf("\nticketrail_config_last_reload_successful %d\n", value)) {
			t.Errorf("ticketrail_config_last_reload_successful is not %d", value)
		}
		if n := strings.Count(said, "configuration on disk is refused"); n != 2*(1-value) {
			t.Errorf("status and notices: %s", said)
		}
	}
	order := func(id string, grill int) {
		t.Helper()
		if got := d.order(id); got != 200 || d.waiting("grill") != grill || d.waiting("bar") != 0 {
			t.Errorf("order %s got %d and went to %+v", id, got, d.Queue().Stations())
		}
	}

	order("one", 1)
	d.rewrite(`routes: [ { to: [grill] } ]`, `routes: [ { when: "item.name ==", to: [bar] } ]`)
	if _, err := d.Reload(); err == nil || !strings.Contains(err.Error(), "routes[0].when") {
		t.Errorf("a wrong rule gives %v, want its path", err)
	}
	wantSaid(true)
	order("two", 2)

	d.rewrite(`{ when: "item.name ==", to: [bar] }`, `{ to: [bar] }`)
	d.rewrite(`{ listen: "127.0.0.1:0" }`, `{ listen: "127.0.0.1:1", path: /elsewhere }`)
	done, err := d.Reload()
	if err != nil || !slices.Equal(done.Restart, []string{"receiver.listen"}) {
		t.Errorf("needing a restart: %v, %v, want receiver.listen", done.Restart, err)
	}
	wantSaid(false)
	if got := d.order("three"); got != 404 {
		t.Errorf("the old path got %d, want 404", got)
	}

	d.rewrite(grillYAML+", ", "")
	d.rewrite("fallback: grill", "fallback: bar")
	if _, err := d.Reload(); err != nil || !strings.Contains(d.StatusLine(), "grill: no longer in the configuration") {
		t.Errorf("without grill: %v, %s", err, d.StatusLine())
	}
}

// TestTheLineOfSystemctlStatusReadsNoConfiguration asks as the watchdog does: a file on a disk that hangs must not let
// systemd kill a daemon that prints.
func TestTheLineOfSystemctlStatusReadsNoConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.yaml")
	write := func(text string) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("receiver: { listen: \"127.0.0.1:0\" }\nmetrics: { listen: \"\" }\ndisplay: { listen: \"\" }\n" +
		"admin: { socket: s }\nstorage: { path: t.db }\n" +
		"venues: [ { id: " + venueID + ", name: Harbour Grill, timezone: UTC } ]\n" + grillOnly)
	a, err := app.New(t.Context(), app.Options{ConfigPath: path, Log: t.Output(), NoSync: true})
	must(t, err)
	defer a.Close()

	write("printer: []")
	if line := a.StatusLine(); strings.Contains(line, "configuration") {
		t.Errorf("before somebody looked: %s", line)
	}
	if _, err := a.Findings(t.Context()); err != nil || !strings.Contains(a.StatusLine(), "configuration on disk") {
		t.Errorf("%v, afterwards: %s", err, a.StatusLine())
	}
}
