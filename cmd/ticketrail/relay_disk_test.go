package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// diskOf gives a node a disk of its own.
func (c *cloud) diskOf(i int) {
	c.t.Helper()
	_, mount := mountDisk(c.t, "640M") // nats-server takes three quarters of it, and nats.max_bytes is 256MiB
	runShell(c.t, "mkdir -m 700 %s/data && ln -s %s/data %s/data", mount, mount, c.node(i))
}

// filler is a file of another program on a node's disk.
func (c *cloud) filler(i int) string {
	data, err := os.Readlink(filepath.Join(c.node(i), "data"))
	if err != nil {
		c.t.Fatal(err)
	}
	return filepath.Join(filepath.Dir(data), "filler")
}

// fillUntil fills the disks of nodes, also with what the servers free, until ask returns nil.
func (c *cloud) fillUntil(ask func() error, nodes ...int) {
	c.t.Helper()
	for _, i := range nodes {
		filler := c.filler(i)
		runShell(c.t, "fallocate -l $(($(df --output=avail -k %s | tail -1) - 64))k %s", filepath.Dir(filler), filler)
	}
	if err := eventually(func() error {
		for _, i := range nodes {
			exec.Command("sh", "-c", "cat /dev/zero >> "+c.filler(i)).Run() // ends when nothing fits any more
		}
		return ask()
	}); err != nil {
		c.t.Fatal(err)
	}
}

// isOff is an error if JetStream is on at a node.
func (c *cloud) isOff(i int) error {
	resp, err := http.Get("http://" + c.status[i] + "/healthz?js-enabled-only=true")
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return fmt.Errorf("JetStream of node %d is on", i)
	}
	return nil
}

// makeRoom makes room on the disks of nodes.
func (c *cloud) makeRoom(nodes ...int) {
	c.t.Helper()
	for _, i := range nodes {
		if err := os.Remove(c.filler(i)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// restart restarts nodes, one after another.
func (c *cloud) restart(nodes ...int) {
	c.t.Helper()
	for _, i := range nodes {
		c.endNode(i)
		c.startNode(i)
	}
	c.ready()
}

// wantStatus waits until `ticketrail relay status` says something.
func (c *cloud) wantStatus(want string) {
	c.t.Helper()
	if err := eventually(func() error {
		out, _ := exec.Command("ticketrail", "relay", "status", "--config", c.relays[0].conf).CombinedOutput()
		if text := strings.Join(strings.Fields(string(out)), " "); !strings.Contains(text, want) {
			return fmt.Errorf("relay status does not say %q but\n%s", want, out)
		}
		return nil
	}); err != nil {
		c.t.Error(err)
	}
}

// TestServersWithFullDisksLoseNothingAndWorkAgainAfterARestart: first the one that leads, which costs no order; then
// all of them.
func TestServersWithFullDisksLoseNothingAndWorkAgainAfterARestart(t *testing.T) {
	t.Parallel()
	c := newCloud(t, func(c *cloud) {
		for i := range c.servers {
			c.diskOf(i)
		}
	})
	v := c.venueUnderLoad(venueID, "Harbour Grill", "a", 3)
	answered := func(n int64) { v.senders.waitForAcks(v.senders.acks.Load() + n) }
	answered(20)
	i := c.leader()
	c.fillUntil(func() error { return c.isOff(i) }, i)
	answered(20)
	c.wantStatus(fmt.Sprintf("FAIL servers n%d is down or behind", i+1))
	c.makeRoom(i)
	if err := c.isOff(i); err != nil {
		t.Errorf("without a restart: %v", err)
	}
	c.restart(i)
	c.wantStatus("3 of 3 have every request")
	answered(20)

	var more []order // that are answered 200 until then
	n := 0
	c.fillUntil(func() error {
		o := v.box.newOrder(fmt.Sprintf("K-z-%d-0000", n), "grill")
		n++
		if got := v.sends.post(o, 0); got.status != http.StatusServiceUnavailable {
			more = append(more, o)
			return fmt.Errorf("an order is answered %+v", got)
		}
		log := c.relays[0].log.String() + c.relays[1].log.String()
		if !strings.Contains(log, "more than half of the NATS servers must run") {
			return fmt.Errorf("the log does not say what to do:\n%s", log)
		}
		return nil
	}, 0, 1, 2)
	c.makeRoom(0, 1, 2)
	c.restart(0, 1, 2)
	answered(20)
	c.check(v)
	v.box.checkPaper(more, nil, [][]order{more})
	for _, s := range v.box.stations {
		for number, got := range v.box.printedBy(s) {
			if got.whole != 1 || got.unmarked != 1 {
				t.Errorf("%s: %s came out %d times, %d unmarked; want once", s, number, got.whole, got.unmarked)
			}
		}
	}
}
