package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ticketrail/cmd/internal/natsaccess"
	daemon "ticketrail/cmd/internal/relay"
	"ticketrail/config"
	"ticketrail/receiver/relay"
	"ticketrail/receiver/relay/natstest"
	"ticketrail/receiver/sim"
)

// A relayDemo is the demo of many venues: three real NATS servers, a relay to which the service posts, and the box of
// each of two venues, which fetches from behind a router. All but the servers is in this process.
type relayDemo struct {
	*demo
	dir    string
	access *natsaccess.Operator
	nodes  *natstest.Cluster
	urls   []string
	asks   *relay.Stream // what "ticketrail relay status" asks
	leave  func()        // closes its connection
	boxes  []*box

	number int // of the last order

	mu    sync.Mutex          // guards paper
	paper map[string][]string // the numbers of the orders, as they came out, by printer
	want  map[string][]string // as they were sent and answered 200
}

// runRelay runs the demo with a relay. As in run, each deferred call undoes one step.
func (d *demo) runRelay(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "ticketrail-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &relayDemo{demo: d, dir: dir, number: 17, paper: map[string][]string{}, want: map[string][]string{},
		leave: func() {}}
	if r.access, err = natsaccess.NewOperator(); err != nil {
		return err
	}
	// The printers stop after the boxes.
	printing, unplug := context.WithCancel(context.Background())
	var printers sync.WaitGroup
	defer func() { unplug(); printers.Wait() }()
	for _, b := range []*box{
		{r: r, venue: venueID, name: "Harbour Grill", stations: []string{"grill", "bar"}},
		{r: r, venue: "0b6d2f0e-6a0f-4c0e-8a53-3c1f6c1d9e22", name: "Villa Verde", stations: []string{"kitchen"}},
	} {
		if err := b.plugIn(printing, &printers); err != nil {
			return err
		}
		r.boxes = append(r.boxes, b)
	}

	d.say(relayGreeting)
	// The first build of the server takes half a minute.
	starting, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if err := r.startNodes(starting); err != nil {
		return err
	}
	defer r.nodes.Stop()
	url, end, err := r.startRelay(starting)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	for _, b := range r.boxes {
		if err := b.start(starting); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.stop()) }()
	}

	err = r.play(ctx, &sender{sim.Sender{URL: url, Backoff: 250 * time.Millisecond}, d.say})
	if errors.Is(err, context.Canceled) {
		err = nil // Ctrl-C is the normal end
	}
	if err != nil {
		return err
	}
	settling, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	_ = r.printed(settling)
	return r.judge()
}

const relayGreeting = `ticketrail demo: a relay, the boxes of two venues, and three NATS servers

  Ctrl-C stops the demo and removes its files.

  service ── POST ─▶ relay ──▶ NATS ═ NATS ═ NATS ◀── fetch ── box ─▶ printers
`

// startNodes starts three servers with the files that "ticketrail relay init" writes.
func (r *relayDemo) startNodes(ctx context.Context) error {
	var nodes []natsaccess.Node
	var files []natstest.File
	for i := range 3 {
		port, err := freePorts()
		if err != nil {
			return err
		}
		folder := filepath.Join(r.dir, fmt.Sprintf("node%d", i+1))
		n := natsaccess.Node{Host: "127.0.0.1", Port: port, Etc: folder, Data: folder}
		nodes, r.urls = append(nodes, n), append(r.urls, n.URL())
		files = append(files, natstest.File{
			Path:   filepath.Join(folder, "nats-server.conf"),
			Client: fmt.Sprintf("127.0.0.1:%d", n.Port), Status: fmt.Sprintf("127.0.0.1:%d", n.MonitorPort()),
		})
	}
	if _, err := r.access.WriteNodes(r.dir, nodes); err != nil {
		return err
	}
	var err error
	r.nodes, err = natstest.New(ctx, natstest.Options{Files: files})
	return err
}

// freePorts finds a port for clients of which the two others of a node are free too.
func freePorts() (int, error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		n := natsaccess.Node{Port: l.Addr().(*net.TCPAddr).Port}
		free := []net.Listener{l}
		for _, p := range []int{n.ClusterPort(), n.MonitorPort()} {
			if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p)); err == nil {
				free = append(free, l)
			}
		}
		for _, l := range free {
			err = errors.Join(err, l.Close())
		}
		if len(free) == 3 {
			return n.Port, err
		}
	}
	return 0, errors.New("find three free ports: there are none")
}

// judge compares the papers with what was answered 200: each order once, and in order.
func (r *relayDemo) judge() error {
	ok := true
	for _, b := range r.boxes {
		if b.halt == nil { // after Ctrl-C
			r.say("  %s is off; its orders wait", b.name)
			continue
		}
		for _, s := range b.stations {
			r.mu.Lock()
			got, want := strings.Join(r.paper[b.printer(s)], " "), strings.Join(r.want[b.printer(s)], " ")
			r.mu.Unlock()
			r.say("  %-22s %s", b.printer(s), got)
			if got != want {
				ok = false
				r.say("  %-22s %s", "  answered 200", want)
			}
		}
		r.queue = b.app.Queue()
		ok = r.books() && ok
	}
	if !ok {
		return errors.New("what came out is not what was answered 200, or the books do not balance: please report this")
	}
	r.say("every order that was answered 200 came out once, and in order")
	return nil
}

// join waits for the relay, and makes the venues known to it.
func (r *relayDemo) join(ctx context.Context, creds, metrics string) error {
	err := until(ctx, "the relay", func(context.Context) (bool, error) {
		resp, err := http.Get("http://" + metrics + "/readyz")
		if err != nil {
			return false, nil
		}
		return resp.StatusCode == http.StatusOK, resp.Body.Close()
	})
	if err != nil {
		return err
	}
	nc, err := natsaccess.Connect(ctx, natsaccess.Options{URLs: r.urls, CredentialsFile: creds, Name: "demo"})
	if err != nil {
		return err
	}
	r.leave = nc.Close
	connected := func(context.Context) (bool, error) { return nc.IsConnected(), nil }
	if err := until(ctx, "the servers", connected); err != nil {
		return err
	}
	c := config.DefaultRelay() // as the relay has opened it
	if r.asks, err = relay.Open(ctx, nc, relay.Options{Replicas: c.NATS.Replicas, MaxAge: c.NATS.DedupRetention,
		MaxBytes: int64(c.NATS.MaxBytes)}); err != nil {
		return err
	}
	for _, b := range r.boxes {
		if err := b.register(ctx); err != nil {
			return fmt.Errorf("add venue %s: %w", b.name, err)
		}
	}
	return nil
}

// startRelay runs the real relay, and adds the venues to it. It returns where the service posts to, and what ends it.
func (r *relayDemo) startRelay(ctx context.Context) (url string, end func() error, err error) {
	credentials, err := r.access.Relay("demo")
	if err != nil {
		return "", nil, err
	}
	creds := filepath.Join(r.dir, "relay.creds")
	if err := os.WriteFile(creds, credentials, 0o600); err != nil {
		return "", nil, err
	}
	webhook, err := listen("127.0.0.1:8443")
	if err != nil {
		return "", nil, err
	}
	metrics, err := listen("127.0.0.1:9321")
	if err != nil {
		return "", nil, errors.Join(err, webhook.Close())
	}
	conf := filepath.Join(r.dir, "relay.yaml")
	yaml := fmt.Appendf(nil, `receiver: { listen: "%s" }
metrics: { listen: "%s" }
nats: { urls: [%s], creds_file: %q }
log: { level: error }
`, webhook.Addr(), metrics.Addr(), strings.Join(r.urls, ", "), creds)
	if err := os.WriteFile(conf, yaml, 0o600); err != nil {
		return "", nil, errors.Join(err, webhook.Close(), metrics.Close())
	}
	// Not ctx: it ends before the orders are printed.
	running, halt := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- daemon.Run(running,
			daemon.Options{ConfigPath: conf, Webhook: webhook, Metrics: metrics, Log: os.Stderr})
	}()
	end = func() error { r.leave(); halt(); return <-ended }
	if err := r.join(ctx, creds, metrics.Addr().String()); err != nil {
		return "", nil, errors.Join(err, end())
	}
	url = "http://" + webhook.Addr().String() + path
	r.say("  venues and servers   http://%s/\n  relay's webhook      %s\n  configuration        %s",
		metrics.Addr(), url, conf)
	return url, end, nil
}
