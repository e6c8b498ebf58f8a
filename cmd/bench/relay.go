package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/config"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/relay"
	"ticketrail/receiver/relay/natstest"
)

// relayRows are measured on a cluster of three servers on this machine. The last three have no bound: they say what a
// cloud for so many venues needs.
var relayRows = []row{
	{"relay-durable", "relay: durable acks/s, 256 connections ÷ messages published without it", "≥ 0.80",
		(*bench).relayDurable},
	{"relay-ack", "relay: p50 ack, one connection ÷ one publish", "≤ 1.5", (*bench).relayAck},
	{"relay-10", "relay: 10 venues, 500 requests a day", "each out once", sites(10)},
	{"relay-100", "relay: 100 venues", "each out once", sites(100)},
	{"relay-1000", "relay: 1,000 venues", "each out once", sites(1000)},
}

// A cloud is what stands between the service and the boxes: three nats-servers with the files that
// "ticketrail relay init" writes, and one relay, each a process of its own.
type cloud struct {
	*daemon // the relay
	b       *bench
	dir     string
	nodes   *natstest.Cluster
	data    []string // the folder of each node
	urls    []string
	access  *natsaccess.Operator
	nc      *nats.Conn // with the rights of a relay
	js      jetstream.JetStream
	stream  *relay.Stream
	venues  []string
}

// cloud starts a cloud for so many venues. Each has the requests of a day behind it, as many as history, which its
// box has taken. The next cleanUp stops all.
func (b *bench) cloud(venues, history int) *cloud {
	c := &cloud{b: b, dir: must(os.MkdirTemp(b.dir, "cloud-")), access: must(natsaccess.NewOperator())}
	b.cleanups = append(b.cleanups, func() error { return os.RemoveAll(c.dir) })
	for range venues {
		c.venues = append(c.venues, uuid.NewString())
	}
	c.startNodes()
	creds := c.path("relay.creds")
	check(os.WriteFile(creds, must(c.access.Relay("bench")), 0o600))
	c.nc = must(c.connect(creds))
	b.cleanups = append(b.cleanups, func() error { c.nc.Close(); return nil })
	c.js = must(jetstream.New(c.nc, jetstream.WithPublishAsyncMaxPending(1024)))
	as := config.DefaultRelay().NATS    // as the relay will open it
	check(c.insist(func() (err error) { // the cluster elects a leader
		c.stream, err = relay.Open(b.ctx, c.nc, relay.Options{Replicas: nodes, MaxAge: as.DedupRetention,
			MaxBytes: int64(as.MaxBytes)})
		return err
	}))
	c.fill(history)
	c.addVenues()
	conf := c.path("relay.yaml")
	check(os.WriteFile(conf, fmt.Appendf(nil, `receiver: { listen: "127.0.0.1:0", trusted_proxies: [127.0.0.1/32] }
metrics: { listen: "127.0.0.1:0" }
nats: { urls: [%s], creds_file: %q }
`, strings.Join(c.urls, ", "), creds), 0o600))
	c.daemon = b.start(b.path("ticketrail"), "relay", "--config", conf)
	return c
}

const nodes = 3

func (c *cloud) path(name string) string { return filepath.Join(c.dir, name) }

// startNodes starts the servers. The accounts of the venues are in their folders before that: to push a thousand to
// running servers takes minutes, and is not what is measured.
func (c *cloud) startNodes() {
	var all []natsaccess.Node
	var files []natstest.File
	for i := range nodes {
		folder := c.path(fmt.Sprintf("node%d", i+1))
		n := natsaccess.Node{Host: "127.0.0.1", Port: freePorts(), Etc: folder, Data: folder}
		all, c.data, c.urls = append(all, n), append(c.data, folder), append(c.urls, n.URL())
		files = append(files, natstest.File{
			Path:   filepath.Join(folder, "nats-server.conf"),
			Client: fmt.Sprintf("127.0.0.1:%d", n.Port), Status: fmt.Sprintf("127.0.0.1:%d", n.MonitorPort()),
		})
	}
	must(c.access.WriteNodes(c.dir, all))
	for _, v := range c.venues {
		token := must(c.access.VenueAccount(v, time.Now(), true))
		var claims struct{ Sub string } // the account's public key, the name of its file
		check(json.Unmarshal(must(base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])), &claims))
		for _, folder := range c.data {
			check(os.MkdirAll(filepath.Join(folder, "accounts"), 0o700))
			check(os.WriteFile(filepath.Join(folder, "accounts", claims.Sub+".jwt"), []byte(token), 0o600))
		}
	}
	ctx, cancel := context.WithTimeout(c.b.ctx, 2*time.Minute)
	defer cancel()
	c.nodes = must(natstest.New(ctx, natstest.Options{Files: files}))
	c.b.cleanups = append(c.b.cleanups, func() error { c.nodes.Stop(); return nil })
}

// freePorts finds a port for clients of which the two others of a node are free too.
func freePorts() int {
	for {
		l := must(net.Listen("tcp", "127.0.0.1:0"))
		port := l.Addr().(*net.TCPAddr).Port
		check(l.Close())
		n := natsaccess.Node{Port: port}
		ok := true
		for _, p := range []int{n.ClusterPort(), n.MonitorPort()} {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
			if err != nil {
				ok = false
				continue
			}
			check(l.Close())
		}
		if ok {
			return port
		}
	}
}

// connect connects with a credentials file, and waits until it has.
func (c *cloud) connect(creds string) (*nats.Conn, error) {
	nc, err := natsaccess.Connect(c.b.ctx, natsaccess.Options{URLs: c.urls, CredentialsFile: creds, Name: "bench"})
	if err != nil {
		return nil, err
	}
	for began := time.Now(); !nc.IsConnected(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > patience {
			nc.Close()
			return nil, fmt.Errorf("connect with %s: %w", creds, nc.LastError())
		}
	}
	return nc, nil
}

// message is an order as the relay stores it, under an id that no other has.
func (c *cloud) message(o order, venue string) *nats.Msg {
	request := o.withNewID()
	_, body, _ := strings.Cut(string(request), "\r\n\r\n")
	return &nats.Msg{
		Subject: fmt.Sprintf("requests.%s.%s", venue, uuid.NewString()), Data: []byte(body),
		Header: nats.Header{
			"Ticketrail-Id":       {`"` + exampleID + `"`},
			"Ticketrail-Device":   {`"` + deviceID + `"`},
			"Ticketrail-Digest":   {strings.Repeat("0", 64)},
			"Ticketrail-Received": {time.Now().UTC().Format(time.RFC3339Nano)},
		},
	}
}

// fill stores a day's requests. They are published many at once, as no relay does it: this is not measured.
func (c *cloud) fill(each int) {
	o := newOrder(0, 0)
	for range each {
		for _, v := range c.venues {
			must(c.js.PublishMsgAsync(c.message(o, v), jetstream.WithStallWait(patience)))
		}
	}
	select {
	case <-c.js.PublishAsyncComplete():
	case <-c.b.ctx.Done():
		check(context.Cause(c.b.ctx))
	}
	var state relay.State
	check(c.insist(func() (err error) { state, err = c.stream.State(c.b.ctx); return err }))
	if got, want := state.Messages, uint64(each*len(c.venues)); got != want {
		check(fmt.Errorf("%d requests of the day before are stored, want %d", got, want))
	}
}

// addVenues adds the venues to the relay, and has each box be where the stream ends.
func (c *cloud) addVenues() {
	next := must(c.stream.State(c.b.ctx)).Messages + 1
	var g errgroup.Group
	g.SetLimit(8)
	for i, v := range c.venues {
		g.Go(func() error {
			one := relay.Venue{ID: v, Name: fmt.Sprintf("Venue %d", i+1), Timezone: "Europe/Vienna"}
			// With a thousand of them a server may be busy for longer than a request is waited for.
			err := c.insist(func() error { return c.stream.PutVenue(c.b.ctx, one) })
			if err == nil && next > 1 {
				err = c.insist(func() error {
					_, err := c.js.ResetConsumerToSequence(c.b.ctx, relay.StreamName, v, next)
					return err
				})
			}
			return err
		})
	}
	check(g.Wait())
}

// insist repeats what fails, for as long as patience lasts.
func (c *cloud) insist(f func() error) error {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		err := f()
		if err == nil || c.b.ctx.Err() != nil || time.Since(began) > patience {
			return err
		}
	}
}

// bare publishes without a relay: one message after the other, each acknowledged. No answer of a relay can cost less.
type bare struct {
	cloud *cloud
	venue string
}

func (p bare) post(o order) error {
	ctx, cancel := context.WithTimeout(p.cloud.b.ctx, patience)
	defer cancel()
	_, err := p.cloud.js.PublishMsg(ctx, p.cloud.message(o, p.venue))
	return err
}

// forVenue is the order for another venue.
func (o order) forVenue(venue string) order {
	o.bytes = []byte(strings.Replace(string(o.bytes), venueID, venue, 1))
	return o
}

// orders are one for each venue.
func (c *cloud) orders() (all []order) {
	for _, v := range c.venues {
		all = append(all, newOrder(0, 0).forVenue(v))
	}
	return all
}

// relayDurable compares a relay with publishing straight to the servers, 256 at once. The quotient is what the relay
// costs, on cores that it shares with the servers and with this program.
func (b *bench) relayDurable() result {
	c := b.cloud(10, 0)
	c.waitReady()
	var direct []poster
	for i := range 256 {
		direct = append(direct, bare{c, c.venues[i%len(c.venues)]})
	}
	saturation := func() *load {
		return &load{orders: c.orders(), connections: len(direct), again: true, warmUp: time.Second / 2,
			lasts: pick(b, 4*time.Second, 2*time.Second)}
	}
	var used []float64
	ours, theirs := inTurns(b, pick(b, 5, 3), func() float64 {
		l, cpu := saturation(), cpuTime(c.pid)
		n := len(must(l.run(b.ctx, c.webhook)))
		used = append(used, float64((cpuTime(c.pid)-cpu).Microseconds())/(float64(n)*1.12))
		return float64(n) / l.lasts.Seconds()
	}, func() float64 {
		l := saturation()
		return float64(len(must(l.post(b.ctx, direct...)))) / l.lasts.Seconds()
	})
	ratio := median(ours) / median(theirs)
	return result{fmt.Sprintf("%.0f ÷ %.0f = %.2f (the relay used %.0f µs of a core for each request)",
		median(ours), median(theirs), ratio, median(used)), ratio >= 0.8}
}

// relayAck compares one answer of a relay with one publish.
func (b *bench) relayAck() result {
	const warmUp = 100
	c := b.cloud(10, 0)
	c.waitReady()
	conn := must(connect(b.ctx, c.webhook, 1))[0]
	defer conn.Close()
	conn.again = true
	o, direct := c.orders()[0], bare{c, c.venues[0]}
	as, ps := inTurns(b, warmUp+pick(b, 1500, 300),
		timed(func() error { return conn.post(o) }), timed(func() error { return direct.post(o) }))
	ack, publish := samples(as[warmUp:]), samples(ps[warmUp:])
	ratio := float64(ack.p50()) / float64(publish.p50())
	return result{fmt.Sprintf("%s ÷ %s = %.2f (p99 %s ÷ %s)",
		ack.p50(), publish.p50(), ratio, ack.p99(), publish.p99()), ratio <= 1.5}
}

// waitReady waits until the relay takes orders.
func (c *cloud) waitReady() {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get("http://" + c.metrics + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == contract.HTTPStored {
				return
			}
		}
		if time.Since(began) > patience {
			check(fmt.Errorf("the relay is not ready after %s: %v", patience, err))
		}
	}
}
