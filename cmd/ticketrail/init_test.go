package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestInitWithAllFlagsAsksNothingAndTheFirstOrderPrints(t *testing.T) {
	k := newDaemon(t, "", "unused")
	paper, address := virtualPrinter(t)
	second, address2 := virtualPrinter(t)
	t.Setenv("TICKETRAIL_RECEIVER_LISTEN", "127.0.0.1:0") // others may have the usual ports
	t.Setenv("TICKETRAIL_METRICS_LISTEN", "127.0.0.1:0")
	code, out, errs := runCommand(t, "init", "--config", k.dir+"/kitchen.yaml",
		"--venue", `Zoë's "Grill"`, "--venue-id", venueID,
		"--timezone", "Europe/Paris", "--printer", "grill="+address, "--printer", "bar="+address2,
		"--reach", "proxy", "--host", "kitchen.example.com")
	if code != 0 || errs != "" {
		t.Fatalf("ends with %d\n%s%s", code, out, errs)
	}
	if err := eventually(func() error { // the cut comes after the answer that proves the ticket
		if n, m := paper.TicketCount(), second.TicketCount(); n != 1 || m != 1 {
			return fmt.Errorf("%d and %d test tickets, want one for each station", n, m)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	said := regexp.MustCompile(`https://kitchen\.example\.com/webhooks/print(/[\w-]{32})\n`).FindStringSubmatch(out)
	if said == nil {
		t.Fatalf("no address for the service in\n%s", out)
	}
	k.conf = filepath.Join(k.dir, "kitchen.yaml")
	code, out, errs = runCommand(t, "check", "--config", k.conf)
	if code != exitOK || strings.Contains(errs, "warning") {
		t.Errorf("check ends with %d\n%s%s", code, out, errs)
	}
	k.start()
	k.url += said[1]
	k.accept(newOrder("1", "grill"))
	if err := eventually(func() error {
		if n := paper.TicketCount(); n != 2 {
			return fmt.Errorf("%d tickets", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
