package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/relay/natstest"
	"ticketrail/receiver/source"
)

// testTime is for a whole step of a test; it is only reached by a test that fails.
const testTime = 3 * time.Minute

func connect(t *testing.T, urls ...string) *nats.Conn {
	t.Helper()
	servers := nats.GetDefaultOptions()
	servers.Servers = urls
	servers.AllowReconnect, servers.MaxReconnect = true, -1
	servers.ReconnectWait, servers.ReconnectJitter = 50*time.Millisecond, 50*time.Millisecond
	servers.PingInterval, servers.MaxPingsOut, servers.Timeout = time.Second, 2, testTime
	nc, err := servers.Connect()
	assert.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

func testOptions(replicas int) Options {
	return Options{Replicas: replicas, MaxAge: 72 * time.Hour, MaxBytes: 64 << 20, MaxBody: 1 << 20,
		Logger: slog.New(slog.DiscardHandler)}
}

// openStream opens the stream of a server, or of a cluster of three.
func openStream(t *testing.T, nc *nats.Conn, replicas int) *Stream {
	t.Helper()
	return openWith(t, nc, testOptions(replicas))
}

func openWith(t *testing.T, nc *nats.Conn, o Options) (s *Stream) {
	t.Helper()
	s = New(nc, o)
	patiently(t, func() error { return s.Open(t.Context()) })
	return s
}

// patiently asks again while servers are slow or elect a leader.
func patiently(t *testing.T, do func() error) {
	t.Helper()
	for end := time.Now().Add(testTime); ; time.Sleep(10 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// cluster starts three servers, with at most so many bytes on the disk of each; 0: as they like. As in production,
// every message is synced before it is acknowledged.
func cluster(t *testing.T, diskMost int64) (c []*natstest.Server) {
	t.Helper()
	slow.Test(t)
	var ports []int
	var routes []*url.URL
	for range 3 {
		port := natstest.FreePort()
		ports = append(ports, port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}

	for i, port := range ports {
		c = append(c, natstest.Start(t, "", func(o *natstest.Options) {
			o.ServerName, o.JetStreamMaxStore, o.Routes = fmt.Sprint("n", i+1), diskMost, routes
			o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "test", "127.0.0.1", port
		}))
	}
	restart(t, c)
	return c
}

func urls(c []*natstest.Server) (all []string) {
	for _, one := range c {
		all = append(all, one.URL())
	}
	return all
}

// oneNode starts a server alone, which has the same rules as a cluster.
func oneNode(t *testing.T) (*natstest.Server, *Stream) {
	t.Helper()
	e := natstest.Start(t, "")
	return e, openStream(t, connect(t, e.URL()), 1)
}

// oneVenue is a server alone, with a venue and a relay.
func oneVenue(t *testing.T) (s *Stream, venue string, d *relay) {
	t.Helper()
	_, s = oneNode(t)
	venue = addVenue(t, s)
	return s, venue, openDoor(t, s)
}

// leaderOf is the node that leads the stream.
func leaderOf(t *testing.T, s *Stream) (leader int) {
	t.Helper()
	waitFor(t, "the stream has a leader", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		info, err := s.stream.Info(ctx)
		if err == nil {
			leader = slices.Index([]string{"n1", "n2", "n3"}, info.Cluster.Leader)
		}
		return err == nil && leader >= 0
	})
	return leader
}

// waitFor waits for another goroutine or a server.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(testTime); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// restart starts nodes again and waits until those that run are up to date.
func restart(t *testing.T, running []*natstest.Server, nodes ...*natstest.Server) {
	t.Helper()
	for _, one := range nodes {
		one.Start()
	}
	for _, one := range append(nodes, running...) {
		waitFor(t, one.URL()+" is up to date", one.Ready)
	}
}

func addVenue(t *testing.T, s *Stream) string {
	t.Helper()
	venue := uuid.NewString()
	patiently(t, func() error {
		return s.PutVenue(t.Context(), VenueEntry{ID: venue, Name: "Trattoria", Token: Hash(tokenOf(venue))})
	})
	return venue
}

// tokenOf is the token of a venue that a test has added.
func tokenOf(venue string) string { return "token of " + venue }

// A relay is a door, behind a real HTTP server, that lets in the boxes of the venues that are there.
type relay struct {
	*Door
	url string
}

func openDoor(t *testing.T, s *Stream) *relay {
	t.Helper()
	d := s.NewDoor("the password of all relays", func(r *http.Request) string { return r.Header.Get("From") }, nil)
	if err := s.nc.Flush(); err != nil { // the server knows its subscriptions
		t.Fatal(err)
	}
	srv := httptest.NewServer(d.Handler())
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.Run(ctx) })
	t.Cleanup(func() {
		stop()
		wg.Wait()
		srv.Close()
	})
	r := &relay{d, srv.URL}
	r.letIn(t)
	return r
}

// letIn lets in the venues, as a relay does.
func (r *relay) letIn(t *testing.T) {
	t.Helper()
	patiently(t, func() error {
		all, err := venues(t, r.stream)
		if err == nil {
			r.SetVenues(all, true)
		}
		return err
	})
}

// venues are those that the servers have.
func venues(t *testing.T, s *Stream) (all []VenueEntry, err error) {
	t.Helper()
	sites, _, err := s.Sites(t.Context(), nil)
	for _, one := range sites {
		all = append(all, one.VenueEntry)
	}
	return all, err
}

// request is a request with some content. Its body says which it is.
func request(venue, id, content string) ticket.Request {
	body := fmt.Sprintf(`{"records":[{"id":%q,"items":[{"name":%q}]}]}`, id, content)
	return ticket.Request{Venue: venue, ID: id, Device: "till-1", Received: time.Now().UTC(), Body: []byte(body),
		Content: ticket.DigestOf([]byte(body))}
}

func accept(t *testing.T, s *Stream, r ticket.Request) ticket.Receipt {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	for {
		receipt, err := s.Accept(ctx, r)
		if err == nil {
			return receipt
		}
		if ctx.Err() != nil || !isNoAnswer(err) { // a slow machine
			t.Fatal(err)
		}
	}
}

// wantReceipt accepts a request and compares the answer. A publish that servers have stored and did not answer in time
// is tried again, and known then.
func wantReceipt(t *testing.T, what string, s *Stream, r ticket.Request, want ticket.Receipt) {
	t.Helper()
	start := time.Now()
	got := accept(t, s, r)
	if got == (ticket.Receipt{Duplicate: true}) && time.Since(start) > storeTime {
		t.Logf("%s: the servers needed %s", what, time.Since(start))
		return
	}
	if got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// A box is the Take of a [source.Source]: it remembers the requests.
type box struct {
	mu   sync.Mutex
	took []source.Arrival
	fail func(source.Arrival) error // the result of Take; nil: it takes all
	more chan struct{}              // receives after each
}

func newBox() *box { return &box{more: make(chan struct{}, 1)} }

func (b *box) take(_ context.Context, a source.Arrival) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() {
		select {
		case b.more <- struct{}{}:
		default:
		}
	}()
	if b.fail != nil {
		if err := b.fail(a); err != nil {
			return err
		}
	}
	b.took = append(b.took, a)
	return nil
}

func (b *box) taken() []source.Arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]source.Arrival(nil), b.took...)
}

// wait waits until the box has taken n.
func (b *box) wait(t *testing.T, n int) []source.Arrival {
	t.Helper()
	end := time.After(testTime)
	for {
		if took := b.taken(); len(took) >= n {
			return took
		}
		select {
		case <-b.more:
		case <-end:
			t.Fatalf("the box took %d, want %d", len(b.taken()), n)
		}
	}
}

// runBox runs a box that takes all, until the test ends.
func runBox(t *testing.T, r *relay, venue string) *box {
	t.Helper()
	b := newBox()
	b.run(t, r, venue)
	return b
}

// run runs a box at a relay until the test ends, or until stop is called.
func (b *box) run(t *testing.T, r *relay, venue string) (s *source.Source, stop func()) {
	t.Helper()
	s = source.New(source.Options{URL: r.url, Venue: venue, Take: b.take, Transport: new(http.Transport),
		Logger: r.stream.log, Token: func() (string, error) { return tokenOf(venue), nil },
		Report: func() source.Report { return source.Report{Version: "1.2.3", Problems: 4} }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return s, stop
}

var errDisk = errors.New("the disk is full")
