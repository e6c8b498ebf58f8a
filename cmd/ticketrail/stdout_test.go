package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A log station writes to standard output, and whoever reads that has ended: Go then ends the program by default.
func TestTheDaemonOutlivesTheReaderOfItsStandardOutput(t *testing.T) {
	k := newDaemon(t, "", "grill")
	text, err := os.ReadFile(k.conf)
	if err != nil {
		t.Fatal(err)
	}
	conf := strings.Replace(string(text), "routes:\n", "logs: [ { name: archive, to: stdout } ]\nroutes:\n"+
		"  - { to: [archive], continue: true }\n", 1)
	if err := os.WriteFile(k.conf, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	k.before = []string{"bash", "-c", `exec "$@" > >(exit)`, "bash"}
	k.start()
	o := k.newOrder("S-a-0000", "grill")
	if got := k.deliver(o); got.status != 200 {
		t.Fatalf("got %+v", got)
	}
	err = eventually(func() error {
		select {
		case err := <-k.exited:
			k.exited <- err // the cleanup waits for it
			t.Fatalf("it ended: %v", err)
		default:
		}
		out, err := exec.Command("ticketrail", "jobs", "list", "--json", "--config", k.conf).CombinedOutput()
		if err == nil && !strings.Contains(string(out), "broken pipe") {
			err = fmt.Errorf("the ticket is not in the queue:\n%s", out)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	k.stop()
}
