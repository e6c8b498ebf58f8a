// Package natstest runs real nats-server processes on the loopback interface. The relay's promises to a kitchen depend
// on servers that are killed, and only real processes can be.
//
// The server is the tool of go.mod: `go tool` builds it and keeps it in the build cache. No package imports it.
package natstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// MaxPayload is the servers' limit for a message: the largest body that a relay takes, and its headers.
const MaxPayload = 9 << 20

// A File is the configuration of a node: its path, and the addresses in it. server_name is n and a number from 1.
type File struct{ Path, Client, Status string }

// A Cluster is running servers. It is safe for concurrent use.
type Cluster struct {
	binary string
	nodes  []*node
}

type node struct {
	File

	mu      sync.Mutex // guards process
	process *exec.Cmd  // nil: it does not run
}

// Build returns the path of the nats-server of go.mod. The first call on a machine takes half a minute, others
// a fraction of a second. It must be called from within the module.
func Build(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-n", "nats-server").CombinedOutput()
	if err != nil {
		t.Fatalf("build nats-server: go tool -n nats-server: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// ForTest starts a cluster that ends with the test, and waits until JetStream works.
func ForTest(t testing.TB, files ...File) *Cluster {
	t.Helper()
	cluster := &Cluster{binary: Build(t)}
	for _, f := range files {
		cluster.nodes = append(cluster.nodes, &node{File: f})
	}

	t.Cleanup(func() {
		for i, n := range cluster.nodes {
			cluster.Kill(i)
			if t.Failed() {
				t.Log(n.log())
			}
		}
	})
	for i := range cluster.nodes {
		if err := cluster.Start(i); err != nil {
			t.Fatal(err)
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := cluster.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return cluster
}

// reserved are the ports that reserve has given out. Their UDP sockets stay open until the process ends.
var reserved struct {
	sync.Mutex
	sockets []net.PacketConn
}

// FreePort finds a port, with the ports that are so much above it, below those that systems give to outgoing
// connections: a program must find its ports free again after it was killed. No other caller gets one of them while
// this process runs, also not in another process.
func FreePort(t testing.TB, above ...int) (port int) {
	t.Helper()
	var err error
	for range 100 {
		port = 10_000 + rand.IntN(22_000-slices.Max(append(above, 0)))
		err = nil
		for _, n := range append(above, 0) {
			err = errors.Join(err, reserve(port+n))
		}
		if err == nil {
			return port
		}
	}

	t.Fatal(err)
	return 0
}

// reserve takes a TCP port if no program listens there. The system knows of no TCP port that is kept without listening,
// so a UDP port that belongs to it is kept.
func reserve(port int) error {
	socket, err := net.ListenPacket("udp4", fmt.Sprintf("127.0.0.1:%d", port+32_000))
	if err != nil {
		return err
	}

	reserved.Lock()
	reserved.sockets = append(reserved.sockets, socket)
	reserved.Unlock()

	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return listener.Close()
}

// Start starts a node that was killed, on the ports that it had. It does not wait until the node works: see Ready.
func (c *Cluster) Start(i int) error {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		return nil
	}

	log, err := os.OpenFile(n.logFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()

	process := exec.Command(c.binary, "-c", n.Path)
	process.Stdout, process.Stderr, process.SysProcAttr = log, log, dieWithParent
	if err := process.Start(); err != nil {
		return fmt.Errorf("start nats-server %s: %w", n.Path, err)
	}
	n.process = process
	return nil
}

// Kill kills a node without warning, as kill -9 does, and waits until it is gone.
func (c *Cluster) Kill(i int) { c.nodes[i].end(syscall.SIGKILL) }

// stopWithin is how long systemd waits for a node that it has told to end. Now and then a server whose disk was full
// does not end.
const stopWithin = 30 * time.Second

// Stop stops a node as systemd does, and waits until it is gone.
func (c *Cluster) Stop(i int) { c.nodes[i].end(syscall.SIGTERM) }

func (n *node) end(signal os.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return
	}

	process := n.process.Process
	_ = process.Signal(signal) // the only error is that it has ended
	kill := time.AfterFunc(stopWithin, func() { _ = process.Kill() })
	_ = n.process.Wait() // its log says how it ended
	kill.Stop()
	n.process = nil
}

// URLs lists where clients reach the nodes.
func (c *Cluster) URLs() (urls []string) {
	for _, n := range c.nodes {
		urls = append(urls, "nats://"+n.Client)
	}
	return urls
}

// Node is the number of the node with a server_name, as JetStream names a leader; -1: none has it.
func (c *Cluster) Node(name string) int {
	number, err := strconv.Atoi(strings.TrimPrefix(name, "n"))
	if err != nil {
		return -1
	}
	return number - 1
}

func (n *node) logFile() string { return filepath.Join(filepath.Dir(n.Path), "server.log") }

func (n *node) log() string {
	text, err := os.ReadFile(n.logFile())
	return fmt.Sprintf("%s: %v\n%s", n.logFile(), err, text)
}

// Ready waits until each node that runs says that JetStream works there and its streams are up to date.
func (c *Cluster) Ready(ctx context.Context) error {
	for _, n := range c.nodes {
		for n.runs() {
			why := n.health(ctx)
			if why == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%w: %w: %s", ctx.Err(), why, n.log())
			case <-time.After(20 * time.Millisecond): // the server has no way to tell when it is ready
			}
		}
	}
	return nil
}

func (n *node) runs() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process != nil
}

func (n *node) health(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Status+"/healthz", nil)
	if err != nil {
		return err
	}

	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()

	if answer.StatusCode != http.StatusOK {
		var text bytes.Buffer
		_, _ = text.ReadFrom(answer.Body)
		return fmt.Errorf("%s: %s", answer.Status, &text)
	}
	return nil
}
