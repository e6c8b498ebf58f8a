package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ticketrail/printer/virtual"
	"ticketrail/receiver/relay/natstest"
)

// A cloud is all that is not in the restaurant, as `ticketrail relay init` writes it: three NATS servers, two relays
// and a load balancer. Each of them is a real process, but the load balancer.
type cloud struct {
	t       *testing.T
	dir     string
	nodes   *natstest.Cluster
	servers []string // addresses of the nodes
	status  []string // addresses of the nodes' own pages
	wire    *line    // between the boxes and the servers
	relays  []*daemonProcess
	url     string // the webhook at the load balancer
}

// newCloud starts a cloud, after what prepare does with its folders.
func newCloud(t *testing.T, prepare ...func(*cloud)) *cloud {
	t.Helper()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // after the processes that use it
	c := &cloud{t: t, dir: filepath.Join(dir, "relay")}
	init := []string{"relay", "init", c.dir}
	var files []natstest.File
	var relays []string // addresses
	for i := range 3 {
		port, err := natstest.FreePort(2000, 4000) // for the cluster, and for its pages
		if err != nil {
			t.Fatal(err)
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		init, c.servers = append(init, "--node", address), append(c.servers, address)
		c.status = append(c.status, fmt.Sprintf("127.0.0.1:%d", port+4000))
		files = append(files, natstest.File{Path: filepath.Join(c.node(i), "nats-server.conf"), Client: address,
			Status: c.status[i]})
	}
	c.run(init...)
	c.wire = newLine(t, c.servers...)
	c.advertiseWire()
	for _, f := range prepare {
		f(c)
	}
	c.nodes = natstest.FilesForTest(t, files)
	conf, err := os.ReadFile(filepath.Join(c.dir, "relay/relay.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		r := &daemonProcess{t: t, dir: filepath.Join(dir, fmt.Sprint(i)), program: "ticketrail", command: "relay",
			conf: filepath.Join(c.dir, fmt.Sprintf("relay/relay%d.yaml", i))}
		address := freeAddr(t)
		text := string(conf) + "metrics: { listen: \"\" }\nlog: { level: warn }\n"
		if err := os.WriteFile(r.conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		edit(t, r.conf, "127.0.0.1:8443", address)
		if err := os.Mkdir(r.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		relays, c.relays = append(relays, address), append(c.relays, r)
		t.Cleanup(func() {
			r.kill()
			if t.Failed() && r.log != nil {
				t.Logf("last lines of relay %d:\n%s", i, r.log)
			}
		})
		r.start()
	}
	secret, err := os.ReadFile(filepath.Join(c.dir, "relay/relay.secret"))
	if err != nil {
		t.Fatal(err)
	}
	c.url = "http://" + newLine(t, relays...).address + "/webhooks/print/" + strings.TrimSpace(string(secret))
	return c
}

// advertiseWire keeps the boxes from learning of the ways around the wire.
func (c *cloud) advertiseWire() {
	c.t.Helper()
	for i, address := range c.servers {
		edit(c.t, filepath.Join(c.node(i), "nats-server.conf"), "client_advertise: \""+address,
			"client_advertise: \""+c.wire.address)
	}
}

// node is the folder of a node.
func (c *cloud) node(i int) string { return filepath.Join(c.dir, fmt.Sprintf("node%d", i+1)) }

// run runs the program, which must succeed.
func (c *cloud) run(args ...string) {
	c.t.Helper()
	out, err := exec.Command("ticketrail", args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("ticketrail %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// box adds a venue and has a box with it. The box is not started. Its printers have more keys.
func (c *cloud) box(venue, name, keys string) *daemonProcess {
	c.t.Helper()
	creds := filepath.Join(c.dir, venue+".creds")
	c.run("relay", "venues", "add", venue, "--name", name, "--timezone", "Australia/Melbourne", "--config",
		c.relays[0].conf, "--operator", filepath.Join(c.dir, "operator.secret"), "--out", creds)
	k := newDaemonWith(c.t, "", keys, func(string) virtual.Options {
		return virtual.Options{Can: virtual.Everything}
	}, "grill", "bar")
	edit(c.t, k.conf, "id: "+venueID, "id: "+venue)
	edit(c.t, k.conf, "printers:\n", fmt.Sprintf("source: { nats: [\"tls://%s\"], creds_file: %q }\nprinters:\n",
		c.wire.address, creds))
	return k
}

// edit changes a file.
func edit(t *testing.T, path, old, now string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(b, []byte(old)) {
		err = fmt.Errorf("%s has no %q:\n%s", path, old, b)
	}
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(now), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// leader is the node that leads the stream.
func (c *cloud) leader() int {
	c.t.Helper()
	found := -1
	client := http.Client{Timeout: 5 * time.Second}
	err := eventually(func() error {
		for i := range c.status {
			resp, err := client.Get("http://" + c.status[i] + "/jsz?accounts=true&streams=true")
			if err != nil {
				continue // it was killed
			}
			var said struct {
				Accounts []struct {
					Streams []struct {
						Name    string
						Cluster struct{ Leader string }
					} `json:"stream_detail"`
				} `json:"account_details"`
			}
			err = json.NewDecoder(resp.Body).Decode(&said)
			resp.Body.Close()
			for _, a := range said.Accounts {
				for _, s := range a.Streams {
					if err == nil && s.Name == "REQUESTS" && s.Cluster.Leader != "" {
						found = c.nodes.Node(s.Cluster.Leader)
						return nil
					}
				}
			}
		}
		return fmt.Errorf("no node knows a leader")
	})
	if err != nil || found < 0 {
		c.t.Fatal(found, err)
	}
	return found
}

// startNode starts a node that was killed.
func (c *cloud) startNode(i int) {
	c.t.Helper()
	if err := c.nodes.Start(c.t.Context(), i); err != nil {
		c.t.Fatal(err)
	}
}

// ready waits until all nodes have everything.
func (c *cloud) ready() {
	c.t.Helper()
	if err := c.nodes.Ready(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// endNode is systemctl stop nats-server.
func (c *cloud) endNode(i int) {
	c.t.Helper()
	pid := c.nodes.PID(i)
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	if err := eventually(func() error {
		if syscall.Kill(pid, 0) == nil {
			return fmt.Errorf("node %d still runs", i)
		}
		return nil
	}); err != nil {
		c.t.Fatal(err)
	}
	c.nodes.Kill(i) // it is gone; this says so
}

// waitUntilFetched waits until nothing waits for a box, as `ticketrail relay status` says.
func (c *cloud) waitUntilFetched() {
	c.t.Helper()
	if err := untilNone(c.waiting); err != nil {
		c.t.Fatalf("requests that wait for their boxes: %v", err)
	}
}

// waiting is how many requests wait.
func (c *cloud) waiting() (n int, err error) {
	// It fails while something needs a person, and shows what it shows.
	out, failed := exec.Command("ticketrail", "relay", "status", "--json", "--config", c.relays[0].conf).Output()
	var said struct{ Sites []struct{ Waiting int } }
	if err := json.Unmarshal(out, &said); err != nil {
		return 0, fmt.Errorf("relay status: %w, %w", failed, err)
	}
	for _, s := range said.Sites {
		n += s.Waiting
	}
	return n, nil
}

// A line carries TCP connections to any of some addresses, and can be cut. It is a load balancer too: an address that
// refuses is passed over.
type line struct {
	address string
	mu      sync.Mutex
	isCut   bool
	ends    map[net.Conn]bool
}

func newLine(t *testing.T, to ...string) *line {
	t.Helper()
	l, err := net.Listen("tcp", freeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	p := &line{address: l.Addr().String(), ends: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			wg.Go(func() { p.carry(in, to) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.cut(true)
		wg.Wait()
	})
	return p
}

func (p *line) carry(in net.Conn, to []string) {
	defer in.Close()
	for _, i := range rand.Perm(len(to)) {
		out, err := net.Dial("tcp", to[i])
		if err != nil {
			continue
		}
		defer out.Close()
		if !p.add(in, out) {
			return
		}
		defer p.remove(in, out)
		var back sync.WaitGroup
		back.Go(func() {
			io.Copy(in, out)
			in.Close()
		})
		io.Copy(out, in)
		out.Close()
		back.Wait()
		return
	}
}

func (p *line) add(ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range ends {
		p.ends[c] = true
	}
	return !p.isCut
}

func (p *line) remove(ends ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range ends {
		delete(p.ends, c)
	}
}

// cut ends all connections and refuses new ones, or lets them through again.
func (p *line) cut(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = yes
	for c := range p.ends {
		if yes {
			c.Close()
		}
	}
}
