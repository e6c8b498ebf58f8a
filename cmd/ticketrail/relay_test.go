package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ticketrail/config"
	"ticketrail/deploy/slow"
	"ticketrail/receiver/relay/natstest"
	"ticketrail/receiver/source"
)

func TestTheVenuesOfARelayAreAddedRenewedAndRemovedByCommands(t *testing.T) {
	dir, conf := trialRelay(t)
	startRelay(t, conf)
	file := filepath.Join(dir, "grill.token")
	relay := func(want int, args ...string) (out, errs string) {
		t.Helper()
		code, out, errs := runCommand(t, append(append([]string{"relay"}, args...), "--config", conf)...)
		if code != want {
			t.Fatalf("%v ends with %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out, errs
	}
	to := "--out=" + file
	for _, wrong := range [][]string{{}, {"--name", "a\x1bb"}, {"--name", "Grill", "--timezone", "Nowhere"},
		{"--name", "Grill", "--hours", "never"}} {
		relay(exitUsage, append([]string{"venues", "add", venueID, to}, wrong...)...)
	}
	added, _ := relay(exitOK, "venues", "add", venueID, "--name", "Harbour Grill", "--timezone", "Australia/Melbourne",
		"--hours", "daily 00:00-24:00", to)
	for _, want := range []string{"https://orders.example.com/webhooks/print/",
		"source:\n  url: https://orders.example.com\n  token_file: relay.token\n  venue: " + venueID, file} {
		if !strings.Contains(added, want) {
			t.Errorf("add lacks %s:\n%s", want, added)
		}
	}
	first, err := config.Source{TokenFile: file}.Token()
	if err != nil || len(first) != 43 || strings.Contains(added, first) {
		t.Fatalf("the token is %q, %v", first, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read it: %v, %v", info, err)
	}
	const another = "22222222-2222-4222-8222-222222222222"
	for want, wrong := range map[string][]string{"venues renew " + venueID: {venueID, "--name", "X", to + "2"},
		"has that name already": {another, "--name", "HARBOUR grill", to + "2"},
		"is not the id":         {"X", "--name", "X", to + "2"},
		"exists already: move":  {another, "--name", "X", to}} {
		_, errs := relay(exitProblem, append([]string{"venues", "add"}, wrong...)...)
		if !strings.Contains(errs, want) {
			t.Errorf("adding %v says %s", wrong, errs)
		}
	}
	list, _ := relay(exitOK, "venues", "list")
	if !strings.Contains(list, "Harbour Grill") || !strings.Contains(list, "Australia/Melbourne") {
		t.Errorf("the list is\n%s", list)
	}
	status, errs := relay(exitProblem, "status")
	if !strings.Contains(status, "FAIL  venue    Harbour Grill: its box was never heard of") ||
		!strings.Contains(errs, "needs a person: venue") {
		t.Errorf("the status is\n%s%s", status, errs)
	}
	for line := range strings.Lines(overviewOf(status)) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("the table has %d columns: %s", n, line)
		}
	}
	var parsed struct {
		Sites []struct{ ID string }
	}
	text, _ := relay(exitProblem, "status", "--json")
	err = json.Unmarshal([]byte(text), &parsed)
	if err != nil || len(parsed.Sites) != 1 || parsed.Sites[0].ID != venueID {
		t.Errorf("as JSON it is %v, %s", err, text)
	}
	relay(exitOK, "venues", "renew", "harbour grill", to)
	second, err := config.Source{TokenFile: file}.Token()
	if err != nil || second == first {
		t.Errorf("the new token is that of before, %v", err)
	}
	relay(exitProblem, "venues", "renew", "nobody", to)
	relay(exitOK, "venues", "remove", venueID)
	if list, _ := relay(exitOK, "venues", "list", "--json"); strings.TrimSpace(list) != "[]" {
		t.Errorf("after remove the list is\n%s", list)
	}
}

func TestARelayFeedsTheWatchdogAsOftenAsSystemdWants(t *testing.T) {
	slow.Test(t)
	dir, conf := trialRelay(t)
	said, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "n"))
	t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
	t.Setenv("WATCHDOG_USEC", "30000")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		ended <- (&cli{out: io.Discard, err: io.Discard}).run(ctx, []string{"relay", "--config", conf})
	}()
	if err := said.SetReadDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	// With an interval of its own it would be silent for too long.
	for pings, b := 0, make([]byte, 4096); pings < 20; {
		n, err := said.Read(b)
		if err != nil {
			t.Fatalf("after %d pings: %v", pings, err)
		}
		if bytes.HasPrefix(b[:n], []byte("WATCHDOG=1\nSTATUS=")) {
			pings++
		}
	}
	cancel()
	if code := <-ended; code != exitOK {
		t.Errorf("it ends with %d", code)
	}
}

// overviewOf is the table of a status.
func overviewOf(status string) string {
	_, table, _ := strings.Cut(status, "\n\n")
	return table
}

// trialRelay runs a server, and returns a folder with the files of a relay.
func trialRelay(t *testing.T) (dir, conf string) {
	t.Helper()
	const password = "the-only-user-of-the-servers-0123456789"
	dir = t.TempDir()
	conf = filepath.Join(dir, "relay.yaml")
	writeFiles(t, map[string]string{
		filepath.Join(dir, "nats.password"): password,
		filepath.Join(dir, "relay.secret"):  "the-end-of-the-address-0123456789",
		conf: fmt.Sprintf(`
receiver: { listen: %q, secret_file: relay.secret, external_url: "https://orders.example.com" }
nats: { urls: [ %q ], password_file: nats.password, replicas: 1, max_bytes: 64MiB }
metrics: { listen: "" }
`, freeAddr(t), natstest.Start(t, password).URL())})
	return dir, conf
}

// startRelay runs a relay until the test ends, and returns its address when it takes orders.
func startRelay(t *testing.T, conf string) (url string) {
	t.Helper()
	r, err := config.LoadRelay(conf)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, log := make(chan int, 1), new(bytes.Buffer)
	go func() {
		ended <- (&cli{out: io.Discard, err: log}).run(ctx, []string{"relay", "--config", conf})
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != exitOK || t.Failed() {
			t.Errorf("the relay ends with %d: %s", code, log)
		}
	})
	url = "http://" + r.Receiver.Listen
	if err := eventually(func() error {
		resp, err := http.Get(url + source.PathNext)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return url
}
