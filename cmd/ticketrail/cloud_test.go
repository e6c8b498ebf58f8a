package main

import (
	"encoding/json"
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
	"syscall"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"ticketrail/deploy"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

// TestA200OfTheCloudIsAPromise kills servers, relays and boxes, freezes relays and cuts the line between the box and
// the cloud, under load, at moments of chance's choosing.
func TestA200OfTheCloudIsAPromise(t *testing.T) {
	slow.Test(t, "go")
	t.Parallel()
	c := newCloud(t)
	c.line = newLine(t, strings.TrimPrefix(c.url, "http://"))
	v := c.venueUnderLoad(4)
	victims := []string{"leader", "relay", "box", "two nodes", "box", "line", "line", "freeze", "freeze"}
	rand.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for _, victim := range victims {
		v.senders.waitForMore(1 + rand.Int64N(20))
		time.Sleep(rand.N(15 * time.Millisecond)) // a random moment, not a wait for anything
		switch victim {
		case "relay":
			r := c.relays[rand.IntN(len(c.relays))]
			r.kill()
			v.senders.waitForMore(rand.Int64N(5)) // through the other
			r.start()
		case "freeze":
			r := c.relays[rand.IntN(len(c.relays))]
			must(t, r.cmd.Process.Signal(syscall.SIGSTOP))
			v.senders.waitForMore(20 + rand.Int64N(40)) // for some seconds
			must(t, r.cmd.Process.Signal(syscall.SIGCONT))
		case "line":
			c.line.cut()
			v.senders.waitForMore(rand.Int64N(20))
			c.line.mend()
		case "box":
			v.box.kill()
			v.senders.waitForMore(rand.Int64N(5))
			v.box.start()
			v.box.wantNoLoss()
		case "leader":
			i := c.leader()
			c.nodes[i].end(syscall.SIGKILL)
			v.senders.waitForMore(rand.Int64N(5)) // by the two others
			c.nodes[i].start()
		case "two nodes":
			i := rand.IntN(len(c.nodes))
			for _, n := range []int{i, (i + 1) % 3} {
				c.nodes[n].end(syscall.SIGKILL)
			}
			for _, n := range []int{i, (i + 1) % 3} {
				c.nodes[n].start()
			}
		}
	}
	// Each node gets an empty disk, one after the other: no person has to do anything else, neither there nor at a box.
	for _, n := range c.nodes {
		c.ready()
		c.wantStatus("3 of 3 have every request")
		n.end(syscall.SIGKILL)
		must(t, os.RemoveAll(n.dir+"/data"))
		n.start()
		v.senders.waitForMore(1 + rand.Int64N(5))
	}
	c.ready()
	c.wantStatus("3 of 3 have every request")
	v.senders.waitForMore(20)
	c.check(v)
}

// TestTwoDisksThatAreLostAtOnceStopNoBox: no person does anything at a box or a relay. With a copy of the third disk,
// as deploy/relay/README.md says, no order is lost; without it, those may be that no box had fetched.
func TestTwoDisksThatAreLostAtOnceStopNoBox(t *testing.T) {
	slow.Test(t, "go")
	t.Parallel()
	c := newCloud(t)
	v := c.venueUnderLoad(3)
	v.senders.waitForMore(20)
	lost, third := c.nodes[:2], c.nodes[2]
	lost[0].end(syscall.SIGKILL)
	v.senders.waitForMore(1) // the third disk has it, and all before it
	lost[1].end(syscall.SIGKILL)
	third.end(syscall.SIGTERM)
	for _, n := range lost {
		must(t, os.RemoveAll(n.dir+"/data"))
		runShell(t, "cp -a %s/data %s/data", third.dir, n.dir)
	}
	for _, n := range c.nodes {
		n.start()
	}
	v.senders.waitForMore(20)
	c.ready()
	c.wantStatus("3 of 3 have every request")
	v.senders.stopAndWait()
	before := v.senders
	c.wantPrinted(v, before.acked)

	v.senders = startSenders(c.sends(v.box), "b", 3)
	v.senders.waitForMore(20)
	for _, n := range lost {
		n.end(syscall.SIGKILL)
	}
	for _, n := range lost {
		must(t, os.RemoveAll(n.dir+"/data"))
		n.start()
	}
	v.senders.waitForMore(20)
	v.senders.stopAndWait()

	v.senders = startSenders(c.sends(v.box), "c", 3)
	v.senders.waitForMore(20)
	c.check(v, before.acked...)
}

// TestServersWithFullDisksLoseNothingAndWorkAgainAfterARestart: first the one that leads, under load; then all of them,
// with one order at a time. With more of them nats-server 2.15.2 may lose what it has acknowledged while a second disk
// gets full: the log of the group is deleted on a node that could not write the order before, and this node votes for
// one that has less. deploy/relay/README.md says how to prevent it.
func TestServersWithFullDisksLoseNothingAndWorkAgainAfterARestart(t *testing.T) {
	slow.Test(t, append(loopDisk, "go", "fallocate")...)
	t.Parallel()
	c := newCloud(t, func(c *cloud) {
		for _, n := range c.nodes {
			n.ownDisk()
		}
	})
	v := c.venueUnderLoad(3)
	v.senders.waitForMore(20)
	i := c.leader()
	c.fillUntil(func() error { return c.isOff(i) }, i)
	v.senders.waitForMore(20)
	c.wantStatus(fmt.Sprintf("FAIL servers n%d is down or behind", i+1))
	c.makeRoom(i)
	err := c.isOff(i)
	assert.True(t, err == nil, "without a restart", err)
	c.restart(i)
	c.wantStatus("3 of 3 have every request")
	v.senders.waitForMore(20)

	before := v.senders
	before.stopAndWait()
	through := c.sends(v.box)
	var more []order // that are answered 200 until then
	n := 0
	c.fillUntil(func() error {
		o := newOrder(fmt.Sprintf("K-z-%d-0000", n), "grill")
		n++
		got := through.post(o, 0)
		if got.status == http.StatusOK {
			more = append(more, o)
		}
		if got.status != http.StatusServiceUnavailable {
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
	v.senders = startSenders(through, "b", 3)
	v.senders.waitForMore(20)
	c.check(v, slices.Concat(before.acked, more)...)
	v.box.checkPaper(slices.Concat(before.acked, more), before.lost, append(before.perSender, more))
	v.box.wantEachOnce()
}

// A cloud is all that is not in the restaurant, with the files of deploy/relay: three NATS servers, two relays and a
// load balancer. Each of them is a real process, but the load balancer.
type cloud struct {
	t       *testing.T
	dir     string
	nodes   []*natsNode
	servers []string // addresses
	relays  []*daemonProcess
	url     string // the load balancer
	line    *line  // of the box; nil: it reaches the load balancer directly
}

const (
	cloudSecret   = "the-end-of-the-address-0123456789"
	cloudPassword = "CHANGE-ME-0123456789-0123456789"
)

// newCloud starts a cloud, after prepare had its folders.
func newCloud(t *testing.T, prepare ...func(*cloud)) *cloud {
	t.Helper()
	dir := shortDir(t) // it is removed after the processes that use it have ended
	c := &cloud{t: t, dir: dir}
	c.configureNodes()
	for _, f := range prepare {
		f(c)
	}
	c.startNodes()
	c.url = "http://" + newLine(t, c.startRelays("replicas: 3")...).address
	return c
}

// startRelays starts two relays of the servers, and returns their addresses.
func (c *cloud) startRelays(more string) (addresses []string) {
	t := c.t
	t.Helper()
	writeFiles(t, map[string]string{filepath.Join(c.dir, "nats.password"): cloudPassword,
		filepath.Join(c.dir, "relay.secret"): cloudSecret})
	for i := range 2 {
		r := &daemonProcess{t: t, dir: filepath.Join(c.dir, fmt.Sprint(i)), program: realProgram, command: "relay",
			conf: filepath.Join(c.dir, fmt.Sprintf("relay%d.yaml", i))}
		address := freeAddr(t)
		writeFiles(t, map[string]string{r.conf: fmt.Sprintf(`
receiver: { listen: %q, secret_file: relay.secret, trusted_proxies: [ 127.0.0.1/32 ] }
nats: { urls: [ %s ], password_file: nats.password, max_bytes: 256MiB, %s }
metrics: { listen: "" }
log: { level: warn }
`, address, `"nats://`+strings.Join(c.servers, `", "nats://`)+`"`, more)})
		must(t, os.Mkdir(r.dir, 0o700))
		addresses, c.relays = append(addresses, address), append(c.relays, r)
		t.Cleanup(func() {
			r.kill()
			if t.Failed() && r.log != nil {
				t.Logf("last lines of relay %d:\n%s", i, r.log)
			}
		})
		r.start()
	}
	return addresses
}

// configureNodes writes deploy/relay/nats.conf for three nodes on this machine.
func (c *cloud) configureNodes() {
	c.t.Helper()
	conf, err := deploy.Files.ReadFile("relay/nats.conf")
	must(c.t, err)
	replace := []string{"CHANGE-ME", cloudPassword}
	var routes []string
	for i := range 3 {
		name := fmt.Sprintf("n%d", i+1)
		n := &natsNode{&program{t: c.t, dir: filepath.Join(c.dir, name), address: freeAddr(c.t)}, freeAddr(c.t)}
		c.nodes, c.servers, routes = append(c.nodes, n), append(c.servers, n.address), append(routes, freeAddr(c.t))
		replace = append(replace, fmt.Sprintf("10.0.0.2%d:6222", i+1), routes[i])
	}
	for i, n := range c.nodes {
		own := append([]string{"0.0.0.0:4222", n.address, "127.0.0.1:8222", n.status,
			"0.0.0.0:6222", routes[i], "/var/lib/nats", n.dir + "/data"}, replace...)
		must(c.t, os.MkdirAll(n.dir, 0o700))
		n.write("nats.conf",
			"server_name: "+filepath.Base(n.dir)+"\n"+strings.NewReplacer(own...).Replace(string(conf)))
	}
}

// run runs a command, which must succeed.
func (c *cloud) run(args ...string) {
	c.t.Helper()
	if code, out, errs := runCommand(c.t, args...); code != exitOK {
		c.t.Fatalf("ticketrail %s ends with %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
}

// box adds the venue and has a box with it. The box is not started.
func (c *cloud) box() *daemonProcess {
	c.t.Helper()
	token := filepath.Join(c.dir, "box.token")
	c.run("relay", "venues", "add", venueID, "--name", "Harbour Grill", "--timezone", "Australia/Melbourne", "--config",
		c.relays[0].conf, "--out", token)
	k, url := newDaemon(c.t, "", "grill", "bar"), c.url
	if c.line != nil {
		url = "http://" + c.line.address
	}
	edit(c.t, k.conf, "printers:\n", fmt.Sprintf("source: { url: %q, token_file: %q }\nprinters:\n", url, token))
	return k
}

// leader is the node that leads the stream.
func (c *cloud) leader() (leader int) {
	c.t.Helper()
	must(c.t, eventually(func() error {
		for _, n := range c.nodes {
			var said struct {
				Accounts []struct {
					Streams []struct {
						Name    string
						Cluster struct{ Leader string }
					} `json:"stream_detail"`
				} `json:"account_details"`
			}
			_, page, _ := n.page("/jsz?accounts=true&streams=true") // nothing of one that was killed
			_ = json.Unmarshal(page, &said)
			for _, a := range said.Accounts {
				for _, s := range a.Streams {
					leader = slices.Index([]string{"n1", "n2", "n3"}, s.Cluster.Leader)
					if s.Name == "REQUESTS" && leader >= 0 {
						return nil
					}
				}
			}
		}
		return errors.New("no node knows a leader")
	}))
	return leader
}

// restart stops nodes as systemd does and starts them again, one after another, and waits until all have everything.
func (c *cloud) restart(nodes ...int) {
	c.t.Helper()
	for _, i := range nodes {
		c.nodes[i].end(syscall.SIGTERM)
		c.nodes[i].start()
	}
	c.ready()
}

// waiting is how many requests wait.
func (c *cloud) waiting() (n int, err error) {
	// It fails while something needs a person, and shows all the same.
	_, out, errs := runCommand(c.t, "relay", "status", "--json", "--config", c.relays[0].conf)
	var said struct{ Sites []struct{ Waiting int } }
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		return 0, fmt.Errorf("relay status: %w\n%s", err, errs)
	}
	for _, s := range said.Sites {
		n += s.Waiting
	}
	return n, nil
}

// ownDisk gives a node a disk of its own.
func (n *natsNode) ownDisk() {
	n.t.Helper()
	_, mount := mountDisk(n.t, "640M") // nats-server takes three quarters of it, and nats.max_bytes is 256MiB
	runShell(n.t, "mkdir -m 700 %s/data && ln -s %s/data %s/data", mount, mount, n.dir)
}

// filler is a file of another program on a node's disk.
func (n *natsNode) filler() string {
	data, err := os.Readlink(filepath.Join(n.dir, "data"))
	must(n.t, err)
	return filepath.Join(filepath.Dir(data), "filler")
}

// fillUntil fills the disks of nodes, also the space that the servers free, until ask returns nil.
func (c *cloud) fillUntil(ask func() error, nodes ...int) {
	c.t.Helper()
	for _, i := range nodes {
		filler := c.nodes[i].filler()
		runShell(c.t, "fallocate -l $(($(df --output=avail -k %s | tail -1) - 64))k %s", filepath.Dir(filler), filler)
	}
	must(c.t, eventually(func() error {
		for _, i := range nodes {
			exec.Command("sh", "-c", "cat /dev/zero >> "+c.nodes[i].filler()).Run() // ends when nothing fits any more
		}
		return ask()
	}))
}

// isOff is an error if JetStream is on at a node.
func (c *cloud) isOff(i int) error {
	status, _, err := c.nodes[i].page("/healthz?js-enabled-only=true")
	if err == nil && status == http.StatusOK {
		err = fmt.Errorf("JetStream of node %d is on", i)
	}
	return err
}

// makeRoom makes room on the disks of nodes.
func (c *cloud) makeRoom(nodes ...int) {
	c.t.Helper()
	for _, i := range nodes {
		must(c.t, os.Remove(c.nodes[i].filler()))
	}
}

// wantStatus waits until `ticketrail relay status` says something.
func (c *cloud) wantStatus(want string) {
	c.t.Helper()
	must(c.t, eventually(func() error {
		_, out, errs := runCommand(c.t, "relay", "status", "--config", c.relays[0].conf)
		if text := strings.Join(strings.Fields(out), " "); !strings.Contains(text, want) {
			return fmt.Errorf("relay status does not say %q but\n%s%s", want, out, errs)
		}
		return nil
	}))
}

// A venueUnderLoad is a box, and the tills that send to the relay.
type venueUnderLoad struct {
	box     *daemonProcess
	senders *senderGroup
}

func (c *cloud) venueUnderLoad(senders int) *venueUnderLoad {
	v := &venueUnderLoad{box: c.box()}
	v.box.start()
	v.senders = startSenders(c.sends(v.box), "a", senders)
	return v
}

// sends is a box whose orders go to the relay.
func (c *cloud) sends(box *daemonProcess) *daemonProcess {
	through := *box
	through.url = c.url + "/webhooks/print/" + cloudSecret
	through.client = &http.Client{Timeout: 5 * time.Second,
		Transport: paced{http.DefaultTransport, rate.NewLimiter(20, 1)}}
	return &through
}

// A paced transport sends as much as a kitchen can print: the test shall not wait for paper.
type paced struct {
	http.RoundTripper
	limit *rate.Limiter
}

func (p paced) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := p.limit.Wait(r.Context()); err != nil {
		return nil, err
	}
	return p.RoundTripper.RoundTrip(r)
}

// check stops the tills, waits for the paper and compares it with the answers. It waits for the paper itself: the relay
// knows of no request that waits while the server that serves the box has not copied the last ones.
func (c *cloud) check(v *venueUnderLoad, more ...order) {
	c.t.Helper()
	v.senders.stopAndWait()
	if c.nodes != nil {
		c.ready()
	}
	c.wantPrinted(v, append(more, v.senders.acked...))
	err := untilNone(c.waiting)
	assert.True(c.t, err == nil, "requests that wait for their box", err)
	v.senders.k = v.box // whose paper it is
	v.senders.check()
	v.box.stop()
	for _, r := range c.relays {
		r.stop()
	}
}

// wantPrinted waits until orders are on paper.
func (c *cloud) wantPrinted(v *venueUnderLoad, orders []order) {
	c.t.Helper()
	if err := untilNone(func() (missing int, _ error) {
		if _, err := v.box.reprintHeld(); err != nil {
			return 0, err
		}
		paper := map[string]map[string]printed{}
		for _, s := range v.box.stations {
			paper[s] = v.box.printedBy(s)
		}
		for _, o := range orders {
			for _, s := range o.stations {
				if paper[s][o.number].whole == 0 {
					missing++
				}
			}
		}
		return missing, nil
	}); err != nil {
		c.t.Fatalf("tickets of orders that were answered 200: %v", err)
	}
}

// A line forwards each connection to any of some addresses. One that refuses is passed over.
type line struct {
	t        *testing.T
	address  string
	to       []string
	listener net.Listener
	mu       sync.Mutex
	open     []net.Conn
}

func newLine(t *testing.T, to ...string) *line {
	l := &line{t: t, address: freeAddr(t), to: to}
	l.mend()
	t.Cleanup(l.cut)
	return l
}

func (l *line) mend() {
	l.t.Helper()
	listener, err := net.Listen("tcp", l.address)
	must(l.t, err)
	l.listener = listener
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return // it was cut
			}
			l.mu.Lock()
			l.open = append(l.open, in)
			l.mu.Unlock()
			go forward(in, l.to)
		}
	}()
}

// cut drops all that is on the line, and refuses more.
func (l *line) cut() {
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.open {
		one.Close()
	}
	l.open = nil
}

func forward(in net.Conn, to []string) {
	defer in.Close()
	for _, i := range rand.Perm(len(to)) {
		out, err := net.Dial("tcp", to[i])
		if err != nil {
			continue
		}
		defer out.Close()
		go func() {
			io.Copy(in, out)
			in.Close()
		}()
		io.Copy(out, in)
		return
	}
}
