// Package natstest runs a cluster of real nats-server processes on the loopback interface. The relay's promises to a
// kitchen depend on servers that are killed, and only real processes can be.
//
// The server is the tool of go.mod: `go tool` builds it and keeps it in the build cache. No package imports it.
package natstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// MaxPayload is the servers' limit for a message: the largest body that a relay takes, and its headers.
const MaxPayload = 9 << 20

// Options configure a [Cluster].
type Options struct {
	Nodes int    // of the cluster; 1 is a server alone
	Store string // the most that JetStream takes of a node's disk, as 8MB; empty: the server decides
	Files []File // configurations that are there already, used instead of Nodes and Store
}

// A File is the configuration of a node: its path, and the addresses in it. server_name is n and a number from 1.
type File struct{ Path, Client, Status string }

// A Cluster is running servers. It is safe for concurrent use.
type Cluster struct {
	binary string
	nodes  []*node
}

type node struct {
	name                  string
	config                string // file
	client, route, status string // addresses

	mu      sync.Mutex // guards the fields below
	process *exec.Cmd  // nil: it does not run
	exited  chan struct{}
}

// Build returns the path of the nats-server of go.mod. The first call on a machine takes half a minute, others
// a fraction of a second. It must be called from within the module.
func Build(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "tool", "-n", "nats-server").Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return "", fmt.Errorf("build nats-server: go tool -n nats-server: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// ForTest starts a cluster that ends with the test, and waits until JetStream works.
func ForTest(t testing.TB, o Options) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // the first build of the server included
	defer cancel()

	cluster, err := start(ctx, o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		cluster.Stop()
		if t.Failed() {
			for _, n := range cluster.nodes {
				t.Logf("%s:\n%s", n.name, n.log())
			}
		}
	})
	return cluster
}

// start has a folder for each node: its configuration, log and JetStream store.
func start(ctx context.Context, o Options, dir string) (*Cluster, error) {
	binary, err := Build(ctx)
	if err != nil {
		return nil, err
	}

	cluster := &Cluster{binary: binary}
	for i, f := range o.Files {
		added := &node{name: fmt.Sprintf("n%d", i+1), config: f.Path, client: f.Client, status: f.Status}
		cluster.nodes = append(cluster.nodes, added)
	}

	for i := len(o.Files); i < o.Nodes; i++ {
		added := &node{name: fmt.Sprintf("n%d", i+1)}
		added.config = filepath.Join(dir, added.name, "nats.conf")
		for _, address := range []*string{&added.client, &added.route, &added.status} {
			if *address, err = freeAddress(); err != nil {
				return nil, err
			}
		}
		cluster.nodes = append(cluster.nodes, added)
	}

	for _, n := range cluster.nodes {
		if len(o.Files) == 0 {
			if err := os.MkdirAll(n.dir(), 0o700); err != nil {
				return nil, err
			}
			if err := os.WriteFile(n.config, []byte(cluster.configText(n, o.Store)), 0o600); err != nil {
				return nil, err
			}
		}
		if err := n.start(binary); err != nil {
			cluster.Stop()
			return nil, err
		}
	}

	if err := cluster.Ready(ctx); err != nil {
		cluster.Stop()
		return nil, err
	}
	return cluster, nil
}

func freeAddress() (string, error) {
	port, err := FreePort()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

// reserved are the ports that reserve has given out. Their UDP sockets stay open until the process ends.
var reserved struct {
	sync.Mutex
	sockets []net.PacketConn
}

// FreePort finds a port, with the ports that are so much above it, below those that systems give to outgoing
// connections: a program must find its ports free again after it was killed. No other caller gets one of them while
// this process runs, also not in another process.
func FreePort(above ...int) (port int, err error) {
	for range 100 {
		port = 10_000 + rand.IntN(22_000-slices.Max(append(above, 0)))
		err = nil
		for _, n := range append(above, 0) {
			err = errors.Join(err, reserve(port+n))
		}
		if err == nil {
			break
		}
	}
	return port, err
}

// reserve takes a TCP port if nobody listens there. The system knows of no TCP port that is kept without listening,
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

func (n *node) dir() string { return filepath.Dir(n.config) }

// configText is the part of a production node's configuration that matters: every message is synced before it is
// acknowledged.
func (c *Cluster) configText(n *node, most string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "server_name: %s\nlisten: %q\nhttp: %q\nmax_payload: %d\n", n.name, n.client, n.status, MaxPayload)
	fmt.Fprintf(&b, "jetstream { store_dir: %q, sync_interval: always", n.dir())

	if most != "" {
		fmt.Fprintf(&b, ", max_file_store: %s", most)
	}
	b.WriteString(" }\n")

	if len(c.nodes) > 1 {
		var routes []string
		for _, other := range c.nodes {
			routes = append(routes, fmt.Sprintf("%q", "nats://"+other.route))
		}
		fmt.Fprintf(&b, "cluster { name: test, listen: %q, routes: [%s] }\n", n.route, strings.Join(routes, ", "))
	}

	return b.String()
}

func (n *node) start(binary string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		return nil
	}

	out, err := os.OpenFile(filepath.Join(n.dir(), "server.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()

	process := exec.Command(binary, "-c", n.config)
	process.Stdout, process.Stderr, process.SysProcAttr = out, out, dieWithParent
	if err := process.Start(); err != nil {
		return fmt.Errorf("start nats-server %s: %w", n.name, err)
	}

	exited := make(chan struct{})
	n.process, n.exited = process, exited
	go func() {
		_ = process.Wait() // its log says how it ended
		close(exited)
	}()

	return nil
}

// Kill kills a node without warning, as kill -9 does, and waits until it is gone.
func (c *Cluster) Kill(i int) {
	stopped := c.nodes[i]
	stopped.mu.Lock()
	defer stopped.mu.Unlock()

	if stopped.process == nil {
		return
	}

	_ = stopped.process.Process.Kill() // the only error is that it has ended
	<-stopped.exited
	stopped.process = nil
}

// Start starts a node that was killed, on the ports that it had. It does not wait until the node works: see Ready.
func (c *Cluster) Start(i int) error { return c.nodes[i].start(c.binary) }

// Stop kills all nodes. It may be called more than once.
func (c *Cluster) Stop() {
	var wg sync.WaitGroup
	for i := range c.nodes {
		wg.Go(func() { c.Kill(i) })
	}
	wg.Wait()
}

// URL is where clients reach a node.
func (c *Cluster) URL(i int) string { return "nats://" + c.nodes[i].client }

// URLs lists all nodes, for a client.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.nodes))
	for i := range c.nodes {
		urls[i] = c.URL(i)
	}
	return urls
}

// Node is the number of the node with a server_name, as JetStream names a leader; -1: none has it.
func (c *Cluster) Node(name string) int {
	return slices.IndexFunc(c.nodes, func(n *node) bool { return n.name == name })
}

// PID is a node's process, to measure it; 0: it does not run.
func (c *Cluster) PID(i int) int {
	asked := c.nodes[i]
	asked.mu.Lock()
	defer asked.mu.Unlock()

	if asked.process == nil {
		return 0
	}
	return asked.process.Process.Pid
}

// log returns the log of a node.
func (n *node) log() string {
	text, err := os.ReadFile(filepath.Join(n.dir(), "server.log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Ready waits until each node that runs says that JetStream works there and its streams are up to date.
func (c *Cluster) Ready(ctx context.Context) error {

	for _, n := range c.nodes {
		for {
			why := n.health(ctx)
			if why == nil {
				break
			}

			n.mu.Lock()
			running, exited := n.process != nil, n.exited
			n.mu.Unlock()
			if !running {
				break
			}

			select {
			case <-exited:
				return fmt.Errorf("nats-server %s has ended:\n%s", n.name, n.log())
			case <-ctx.Done():
				return fmt.Errorf("wait for nats-server %s: %w: %w\n%s", n.name, ctx.Err(), why, n.log())
			case <-time.After(20 * time.Millisecond): // the server has no way to tell when it is ready
			}
		}
	}
	return nil
}

func (n *node) health(ctx context.Context) error {
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
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return fmt.Errorf("%s: %s", answer.Status, bytes.TrimSpace(text))
	}
	return nil
}
