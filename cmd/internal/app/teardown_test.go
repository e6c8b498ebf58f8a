package app

import (
	"os"
	"regexp"
	"testing"
	"time"

	"ticketrail/receiver/contract"
)

// The longest stop fits into the time that systemd gives: else the database of a busy box would be
// killed while it is closed.
func TestAStopEndsBeforeSystemdKillsTheDaemon(t *testing.T) {
	unit, err := os.ReadFile("../../../deploy/ticketrail.service")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^TimeoutStopSec=(\w+)$`).FindSubmatch(unit)
	if found == nil {
		t.Fatal("the unit file has no TimeoutStopSec")
	}
	killAfter, err := time.ParseDuration(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	// A station that ignores its context, and a request that hangs until the webhook's grace ends.
	const stuckStation, requests = 10 * time.Second, contract.WebhookTimeout + time.Second
	if sum := ticketTimeout + stuckStation + requests; sum > stopTimeout || stopTimeout >= killAfter {
		t.Errorf("the steps of a stop take up to %s of %s, and systemd kills after %s", sum, stopTimeout, killAfter)
	}
}

// A station that hangs delays a stop once, also if printing was stopped before: the App is closed
// after Run has stopped printing.
func TestPrintingIsStoppedOnlyOnce(t *testing.T) {
	a := &App{}
	a.stopOnce.Do(func() {}) // Run has stopped printing
	if err := a.stopPrinting(t.Context()); err != nil {
		t.Errorf("the teardown stops printing again: %v", err)
	}
}
