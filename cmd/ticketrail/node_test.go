package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A natsNode is a nats-server as a process: the relay's promises to a kitchen depend on servers that are killed.
type natsNode struct {
	t       *testing.T
	dir     string    // has its nats.conf
	status  string    // the address of its own pages
	program string    // the server of go.mod, which `go tool` builds and keeps in the build cache
	process *exec.Cmd // nil: it does not run
}

// startNodes starts the nodes of a cloud, which end with the test, and waits until JetStream works.
func (c *cloud) startNodes() {
	c.t.Helper()
	// The first call on a machine takes half a minute, others a fraction of a second.
	program, err := exec.CommandContext(c.t.Context(), "go", "tool", "-n", "nats-server").CombinedOutput()
	if err != nil {
		c.t.Fatalf("build nats-server: go tool -n nats-server: %v: %s", err, program)
	}

	for i := range c.status {
		node := &natsNode{t: c.t, dir: c.node(i), status: c.status[i], program: strings.TrimSpace(string(program))}
		c.nodes = append(c.nodes, node)
		c.t.Cleanup(func() {
			node.end(syscall.SIGKILL)
			if c.t.Failed() {
				c.t.Log(node.log())
			}
		})
		node.start()
	}
	c.ready()
}

// start starts a node that was killed, on the ports that it had. It does not wait until the node works: see ready.
func (n *natsNode) start() {
	n.t.Helper()
	if n.process != nil {
		return
	}
	log, err := os.OpenFile(n.logFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(n.t, err)
	defer func() { _ = log.Close() }()

	process := exec.Command(n.program, "-c", filepath.Join(n.dir, "nats.conf"))
	process.Stdout, process.Stderr = log, log
	// A test that panics runs no cleanup, and its servers must not stay.
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(n.t, process.Start())
	n.process = process
}

// end ends a node without warning, as kill -9 does, or as systemd does, and waits until it is gone. Now and then a
// server whose disk was full does not end: systemd waits for as long.
func (n *natsNode) end(signal os.Signal) {
	if n.process == nil {
		return
	}
	_ = n.process.Process.Signal(signal) // the only error is that it has ended
	kill := time.AfterFunc(30*time.Second, func() { _ = n.process.Process.Kill() })
	_ = n.process.Wait() // its log says how it ended
	kill.Stop()
	n.process = nil
}

func (n *natsNode) logFile() string { return filepath.Join(n.dir, "server.log") }

func (n *natsNode) log() string {
	text, err := os.ReadFile(n.logFile())
	return fmt.Sprintf("%s: %v\n%s", n.logFile(), err, text)
}

// ready waits until the node, if it runs, says that JetStream works there and its streams are up to date.
func (n *natsNode) ready(ctx context.Context) {
	n.t.Helper()
	for n.process != nil {
		why := n.health(ctx)
		if why == nil {
			return
		}
		select {
		case <-ctx.Done():
			n.t.Fatalf("%v: %v: %s", ctx.Err(), why, n.log())
		case <-time.After(20 * time.Millisecond): // the server has no way to tell when it is ready
		}
	}
}

func (n *natsNode) health(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.status+"/healthz", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()

	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return nil
}
