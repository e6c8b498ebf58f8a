package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"ticketrail/deploy/slow"
)

func TestInitWithAllFlagsAsksNothingAndTheFirstOrderPrints(t *testing.T) {
	slow.Test(t) // it waits for printers
	k := newDaemon(t, "", "unused")
	paper, address := virtualPrinter(t)
	second, address2 := virtualPrinter(t)
	told := recipient(t)
	t.Setenv("TICKETRAIL_RECEIVER_LISTEN", "127.0.0.1:0") // others may have the usual ports
	t.Setenv("TICKETRAIL_METRICS_LISTEN", "127.0.0.1:0")
	code, out, errs := runCommand(t, "init", "--config", k.dir+"/kitchen.yaml",
		"--venue", `Zoë's "Grill"`, "--venue-id", venueID,
		"--timezone", "Europe/Paris", "--hours", "daily 10:00-23:00", "--tell", told.address,
		"--printer", "grill="+address, "--printer", "bar="+address2,
		"--reach", "proxy", "--host", "kitchen.example.com")
	if code != 0 || errs != "" {
		t.Fatalf("ends with %d\n%s%s", code, out, errs)
	}
	if n := told.count.Load(); n != 1 {
		t.Errorf("%d test messages", n)
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
	if next := os.Args[0] + " check --online"; !strings.Contains(out, next) {
		t.Errorf("%q is not in\n%s", next, out)
	}
	k.conf = filepath.Join(k.dir, "kitchen.yaml")
	if text, err := os.ReadFile(k.conf); strings.Count(string(text), "profile: epson-tm-t88 ") != 2 {
		t.Errorf("not every printer was asked for its model, %v:\n%s", err, text)
	}
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

// told is somebody who counts the messages to its address.
type told struct {
	address string
	count   atomic.Int64
}

func recipient(t *testing.T) *told {
	t.Helper()
	r := new(told)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r.count.Add(1)
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(s.Close)
	r.address = "ntfy://" + strings.TrimPrefix(s.URL, "http://") + "/topic?scheme=http"
	return r
}
