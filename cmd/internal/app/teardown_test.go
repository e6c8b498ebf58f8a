package app

import (
	"log/slog"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/queue/dispatch"
)

// TestAStopEndsBeforeSystemdKillsTheDaemon adds the longest steps: else the daemon of a busy box would be killed while
// it closes the database.
func TestAStopEndsBeforeSystemdKillsTheDaemon(t *testing.T) {
	unit, err := os.ReadFile("../../../deploy/ticketrail.service")
	assert.NoError(t, err)
	found := regexp.MustCompile(`(?m)^TimeoutStopSec=(\w+)$`).FindSubmatch(unit)
	if found == nil {
		t.Fatal("the unit file has no TimeoutStopSec")
	}
	killAfter, err := time.ParseDuration(string(found[1]))
	assert.NoError(t, err)

	// A station that ignores its context, and then a request that hangs, whoever has sent it.
	webhook, _, err := daemon.Webhook(config.TLS{}, httpserver.Files{}, slog.New(slog.DiscardHandler),
		prometheus.NewRegistry())
	assert.NoError(t, err)
	requests := max(webhook.Grace, operatorGrace, station.PageGrace, keepWithin, reportWithin)
	sum := ticketTimeout + dispatch.LongestStop + requests
	assert.True(t, sum <= stopTimeout && stopTimeout < killAfter, "the steps of a stop take up to", sum, stopTimeout,
		killAfter)
}

// TestPrintingIsStoppedOnlyOnce closes the App after Run has stopped printing: a station that hangs delays a stop once.
func TestPrintingIsStoppedOnlyOnce(t *testing.T) {
	a := &App{}
	a.stopOnce.Do(func() {}) // Run has stopped printing
	err := a.stopPrinting(t.Context())
	assert.True(t, err == nil, "the teardown stops printing again", err)
}
