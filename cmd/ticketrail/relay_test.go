package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/cmd/internal/relay"
	"ticketrail/config"
	"ticketrail/deploy/slow"
	store "ticketrail/receiver/relay"
	"ticketrail/receiver/relay/natstest"
)

func TestTheVenuesOfARelayAreAddedRenewedAndRemovedByCommands(t *testing.T) {
	slow.Test(t, "go")
	dir, conf, node := trialRelay(t)
	creds := filepath.Join(dir, "grill.creds")
	relay := func(want int, args ...string) (out, errs string) {
		t.Helper()
		code, out, errs := runCommand(t, append(append([]string{"relay"}, args...), "--config", conf)...)
		if code != want {
			t.Fatalf("%v ends with %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out, errs
	}
	operator, out := "--operator="+filepath.Join(dir, "operator.secret"), "--out="+creds
	for _, wrong := range [][]string{{}, {"--name", "a\x1bb"}, {"--name", "Grill", "--timezone", "Nowhere"},
		{"--name", "Grill", "--hours", "never"}} {
		relay(exitUsage, append([]string{"venues", "add", venueID, operator, out}, wrong...)...)
	}
	added, _ := relay(exitOK, "venues", "add", venueID, "--name", "Harbour Grill", "--timezone", "Australia/Melbourne",
		"--hours", "daily 00:00-24:00", "--secret", operator, out)
	for _, want := range []string{"https://orders.example.com/webhooks/print/", "source:\n  nats:\n    - " + node.URL(),
		"creds_file: relay.creds", creds} {
		if !strings.Contains(added, want) {
			t.Errorf("add lacks %s:\n%s", want, added)
		}
	}
	first, err := natsaccess.ReadCredentials(creds)
	if err != nil || first.Name != venueID {
		t.Fatalf("the credentials are of %v, %v", first, err)
	}
	_, errs := relay(exitProblem, "venues", "add", venueID, "--name", "X", operator, out+"2")
	if !strings.Contains(errs, "venues renew "+venueID) {
		t.Errorf("adding it again says %s", errs)
	}
	list, _ := relay(exitOK, "venues", "list")
	if !strings.Contains(list, "Harbour Grill") || !strings.Contains(list, "own") {
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
	relay(exitOK, "venues", "renew", "harbour grill", operator, out)
	second, err := natsaccess.ReadCredentials(creds)
	if err != nil || second.User == first.User || second.Name != venueID {
		t.Errorf("the new credentials are of %v, %v", second, err)
	}
	relay(exitProblem, "venues", "renew", "nobody", operator, out)
	relay(exitProblem, "venues", "renew", venueID, "--operator="+creds, out)
	_, errs = relay(exitProblem, "venues", "renew", venueID, "--operator=none")
	if !strings.Contains(errs, "relay init") {
		t.Errorf("without the operator's file it says %s", errs)
	}

	// New credentials of the relays, and the end of those before.
	leaked := filepath.Join(dir, "leaked.creds")
	before, err := os.ReadFile(filepath.Join(dir, "relay", "relay.creds"))
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, map[string]string{leaked: string(before)})
	as := natsaccess.Options{URLs: []string{node.URL()}, CredentialsFile: leaked}
	if code, out, errs := runCommand(t, "relay", "renew", dir); code != exitOK ||
		!strings.Contains(out, node.Host+": "+dir+"/node1") || !strings.Contains(out, "ticketrail relay revoke "+dir) {
		t.Errorf("renew ends with %d: %s%s", code, out, errs)
	}
	if nc, err := natsaccess.Try(as); err != nil {
		t.Errorf("the credentials of before end too early: %v", err)
	} else {
		nc.Close()
	}
	code, out, errs := runCommand(t, "relay", "revoke", dir)
	if code != exitOK || !strings.Contains(out, "revoked all") {
		t.Errorf("revoke ends with %d: %s%s", code, out, errs)
	}
	if _, err := natsaccess.Try(as); err == nil || !natsaccess.Refused(err) {
		t.Errorf("the credentials of before are answered %v", err)
	}
	for _, command := range []string{"renew", "revoke"} {
		if code, _, errs := runCommand(t, "relay", command, filepath.Join(dir, "gone")); code == exitOK || errs == "" {
			t.Errorf("%s of no folder ends with %d: %s", command, code, errs)
		}
	}

	relay(exitOK, "venues", "remove", venueID, operator)
	if list, _ := relay(exitOK, "venues", "list", "--json"); strings.TrimSpace(list) != "[]" {
		t.Errorf("after remove the list is\n%s", list)
	}
}

func TestTheVenuesOfAFileAreAddedAndTheSameCommandGoesOnAfterAnError(t *testing.T) {
	slow.Test(t, "go")
	dir, conf, node := trialRelay(t)
	file, boxes := filepath.Join(dir, "venues.yaml"), filepath.Join(dir, "boxes")
	id := func(i int) string { return fmt.Sprintf("6f1c8f5e-52ad-4a0b-9e9b-%012d", i) }
	creds := func(i int) string { return filepath.Join(boxes, id(i)+".creds") }
	text := "venues:\n"
	for i := range 30 {
		text += fmt.Sprintf("  - { id: %s, name: Venue %d, timezone: Australia/Melbourne, devices: [T%[2]d], "+
			"hours: [\"fri-sun 18:30-02:15\"] }\n", id(i), i)
	}
	writeFiles(t, map[string]string{file: text})
	add := func(more ...string) (code int, out, errs string) {
		return runCommand(t, append([]string{"relay", "venues", "add", "--from", file, "--out", boxes, "--config", conf,
			"--operator", filepath.Join(dir, "operator.secret")}, more...)...)
	}
	for _, wrong := range [][]string{{id(1)}, {"--name", "X"}, {"--secret"}} {
		if code, _, errs := add(wrong...); code != exitUsage || !strings.Contains(errs, "from") {
			t.Errorf("%v ends with %d: %s", wrong, code, errs)
		}
	}
	// A folder in the place of a file is what stops the first run.
	if err := os.MkdirAll(filepath.Join(creds(10), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	code, out, errs := add()
	if code != exitProblem || strings.Count(out, "added ") != 10 ||
		!strings.Contains(errs, "10 of 30 venues were added") {
		t.Fatalf("the first run ends with %d: %s%s", code, out, errs)
	}
	if err := os.RemoveAll(creds(10)); err != nil {
		t.Fatal(err)
	}
	// As after a crash between the file and the servers.
	writeFiles(t, map[string]string{creds(10): "x"})
	before, err := os.ReadFile(creds(9))
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs = add()
	if code != exitOK || strings.Count(out, "is there ") != 10 || strings.Count(out, "added ") != 20 {
		t.Fatalf("the second run ends with %d: %s%s", code, out, errs)
	}
	if after, err := os.ReadFile(creds(9)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the credentials of a venue that was there are changed: %v", err)
	}
	for i := range 30 {
		nc, err := natsaccess.Try(natsaccess.Options{URLs: []string{node.URL()}, CredentialsFile: creds(i)})
		if err != nil {
			t.Fatalf("the box of %s: %v", id(i), err)
		}
		if n, err := store.Waiting(t.Context(), nc, id(i)); err != nil || n != 0 {
			t.Errorf("the box of %s: %d, %v", id(i), n, err)
		}
		nc.Close()
	}
	r, err := config.LoadRelay(conf)
	if err != nil {
		t.Fatal(err)
	}
	a, err := relay.OpenAdmin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	want, err := config.LoadVenues(file)
	if err != nil || !reflect.DeepEqual(a.Venues(), want) {
		t.Errorf("the relay has %+v, the file %+v, %v", a.Venues(), want, err)
	}

	// What cannot be added is said before anything is.
	fresh := "venues:\n  - { id: " + id(30) + ", name: New }\n"
	for more, want := range map[string]string{
		"  - { id: " + id(31) + ", name: NEW }\n":                      "\"NEW\" is already used by venues[0]",
		"  - { id: " + id(31) + ", name: venue 3 }\n":                  id(3) + " has that name already",
		"  - { id: " + id(31) + ", name: B, fallback: bar }\n":         "line 3: venues[1] (B).fallback: ",
		"  - { id: " + id(31) + ", name: B, secret_file: b.secret }\n": "line 3: venues[1] (B).secret_file: ",
	} {
		writeFiles(t, map[string]string{file: fresh + more})
		if code, out, errs := add(); code == exitOK || !strings.Contains(errs, want) || strings.Contains(out, "added") {
			t.Errorf("%s ends with %d, want %s: %s%s", more, code, want, out, errs)
		}
	}
}

func TestARelayFeedsTheWatchdogAsOftenAsSystemdWants(t *testing.T) {
	slow.Test(t, "go")
	dir, conf, _ := trialRelay(t)
	edit(t, conf, "listen: 127.0.0.1:8443", "listen: "+freeAddr(t))
	t.Setenv("TICKETRAIL_METRICS_LISTEN", freeAddr(t))
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

// trialRelay runs the server that init makes for a trial, in a new folder.
func trialRelay(t *testing.T) (dir, conf string, node natsaccess.Node) {
	t.Helper()
	dir, node = filepath.Join(t.TempDir(), "relay"), natsaccess.Node{Host: "127.0.0.1"}
	var err error
	if node.Port, err = natstest.FreePort(node.MonitorPort()); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runCommand(t, "relay", "init", dir, "--node", strings.TrimPrefix(node.URL(), "tls://"),
		"--url", "https://orders.example.com"); code != exitOK || !strings.Contains(out, "nats-server -c "+dir) {
		t.Fatalf("init ends with %d: %s%s", code, out, errs)
	}
	natstest.ForTest(t, natstest.Options{Files: []natstest.File{{
		Path:   filepath.Join(dir, "node1", "nats-server.conf"),
		Client: strings.TrimPrefix(node.URL(), "tls://"), Status: fmt.Sprintf("127.0.0.1:%d", node.MonitorPort()),
	}}})
	return dir, filepath.Join(dir, "relay", "relay.yaml"), node
}
