package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/relay"
	"ticketrail/receiver/relay/natstest"
)

// A fetchingBox is the whole daemon, which fetches from a real nats-server. A virtual printer is its kitchen.
type fetchingBox struct {
	t       *testing.T
	nats    *natstest.Cluster
	cloud   *relay.Stream
	conf    string // its configuration file
	printer *virtual.Printer
	app     *App
	stop    func()
	url     string
	sent    []string // numbers of the orders, in order
}

// dialNATS connects without credentials.
func dialNATS(urls []string) (*nats.Conn, error) {
	o := nats.GetDefaultOptions()
	for _, u := range urls {
		o.Servers = append(o.Servers, strings.Replace(u, "tls://", "nats://", 1))
	}
	o.RetryOnFailedConnect, o.MaxReconnect, o.ReconnectWait = true, -1, 50*time.Millisecond
	o.ReconnectBufSize = -1
	return o.Connect()
}

func newFetchingBox(t *testing.T) *fetchingBox {
	k := &fetchingBox{t: t, nats: natstest.ForTest(t, 1, nil), conf: filepath.Join(t.TempDir(), "ticketrail.yaml"),
		printer: virtual.New(virtual.Options{Name: "grill", Columns: 48, Can: virtual.Everything})}
	nc, err := dialNATS(k.nats.URLs())
	k.must(err)
	t.Cleanup(nc.Close)
	k.eventually("the stream is there", func() bool {
		k.cloud, err = relay.Open(t.Context(), nc, relay.Options{Replicas: 1, MaxAge: time.Hour, MaxBody: 1 << 20})
		return err == nil
	})
	k.eventually("the venue is there", func() bool {
		return k.cloud.PutVenue(t.Context(), relay.Venue{ID: venueID, Name: "Harbour Grill"}) == nil
	})
	k.configure(k.nats.URLs()...)
	return k
}

func (k *fetchingBox) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// eventually waits for something that other processes do.
func (k *fetchingBox) eventually(what string, is func() bool) {
	k.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) { // between two questions
		if time.Now().After(end) {
			k.t.Fatalf("not within two minutes: %s", what)
		}
	}
}

func (k *fetchingBox) configure(urls ...string) {
	k.t.Helper()
	for i, u := range urls {
		urls[i] = strings.Replace(u, "nats://", "tls://", 1)
	}
	k.must(os.WriteFile(k.conf, fmt.Appendf(nil, `
receiver: { listen: "127.0.0.1:0" }
source: { nats: [%s], creds_file: relay.creds }
venues: [ { id: %s, name: Harbour Grill, timezone: UTC } ]
printers: [ { name: grill, address: "tcp://grill" } ]
fallback: grill
storage: { path: t.db }
admin: { socket: s }
metrics: { listen: "" }
display: { listen: "" }
`, `"`+strings.Join(urls, `", "`)+`"`, venueID), 0o600))
}

func (k *fetchingBox) start() {
	k.t.Helper()
	a, err := New(k.t.Context(), Options{ConfigPath: k.conf, Log: k.t.Output(), Clock: syncedClock{},
		Dialer: func(config.Printer) (transport.Dialer, error) { return k.printer, nil },
		Relay:  func(_ context.Context, c config.Source) (*nats.Conn, error) { return dialNATS(c.NATS) }})
	k.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	k.app, k.url = a, "http://"+a.WebhookAddr().String()+"/webhooks/print"
	k.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			k.t.Error(err)
		}
		k.stop = func() {}
	}
	k.t.Cleanup(func() { k.stop() })
}

// order makes the next order.
func (k *fetchingBox) order() (id, body string) {
	number := fmt.Sprintf("A%d", len(k.sent))
	k.sent = append(k.sent, number)
	id = uuid.NewString()
	return id, bodyOf(id, number, at("grill", "Soup"))
}

// accept has the relay take an order.
func (k *fetchingBox) accept(id, body string) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), 2*time.Minute)
	defer cancel()
	_, err := k.cloud.Accept(ctx, ticket.Request{Venue: venueID, ID: id, Device: "till", Received: time.Now().UTC(),
		Body: []byte(body), Digest: sha256.Sum256([]byte(body))})
	k.must(err)
}

// post sends an order directly. If the disk is too slow, it is sent again, as the service does.
func (k *fetchingBox) post(body string) {
	k.t.Helper()
	status := 0
	k.eventually("an order is answered", func() bool {
		status = k.postOnce(body)
		return status != http.StatusServiceUnavailable
	})
	if status != http.StatusOK {
		k.t.Fatalf("answered %d", status)
	}
}

func (k *fetchingBox) postOnce(body string) (status int) {
	k.t.Helper()
	req, err := http.NewRequestWithContext(k.t.Context(), http.MethodPost, k.url, bytes.NewReader([]byte(body)))
	k.must(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("x-svc-venueid", venueID)
	req.Header.Set("x-svc-device-id", "till")
	resp, err := http.DefaultClient.Do(req)
	k.must(err)
	resp.Body.Close()
	return resp.StatusCode
}

func (k *fetchingBox) printed() (out []string) {
	for _, one := range k.printer.Tickets() {
		m := printedNumber.FindStringSubmatch(one.Text)
		if m == nil || strings.Contains(one.Text, "POSSIBLE DUPLICATE") {
			k.t.Fatalf("printed\n%s", one.Text)
		}
		out = append(out, m[1])
	}
	return out
}

// wantPrinted wants every order on paper once, in order.
func (k *fetchingBox) wantPrinted() {
	k.t.Helper()
	k.eventually("all is printed", func() bool { return len(k.printed()) >= len(k.sent) })
	if got := k.printed(); !slices.Equal(got, k.sent) {
		k.t.Errorf("printed %q, want %q", got, k.sent)
	}
}

// relayLine is what the status says of the relay.
func (k *fetchingBox) relayLine() admin.Finding {
	for _, f := range k.app.source.findings(time.Now(), time.UTC) {
		return f
	}
	return admin.Finding{}
}

func (k *fetchingBox) wantStatus(level admin.Level, text string) {
	k.t.Helper()
	k.eventually(fmt.Sprintf("the status says %s %s", level, text), func() bool {
		f := k.relayLine()
		return f.Level == level && strings.Contains(f.Text, text)
	})
}

func TestOrdersOfTheRelayPrintInOrderWhateverIsAwayMeanwhile(t *testing.T) {
	k := newFetchingBox(t)
	k.accept(k.order()) // the box is off
	k.accept(k.order())
	k.start()
	k.wantPrinted()
	k.wantStatus(admin.OK, "nothing waits there; it heard of this box")

	id, body := k.order() // both ways, this one first
	k.post(body)
	k.accept(id, body)
	id, body = k.order()
	k.accept(id, body)
	k.eventually("it is printed", func() bool { return len(k.printed()) == len(k.sent) })
	k.post(body)
	k.wantPrinted()

	for range 3 { // the connection comes and goes
		k.nats.Kill(0)
		_, body = k.order()
		k.post(body)
		k.wantPrinted()
		k.must(k.nats.Start(t.Context(), 0))
		k.accept(k.order())
		k.wantPrinted()
	}
	k.nats.Kill(0)
	k.wantStatus(admin.Fail, "no order can be fetched since")
	k.stop()
	k.start() // the relay is away at the start
	_, body = k.order()
	k.post(body)
	k.wantPrinted()
	k.must(k.nats.Start(t.Context(), 0))
	k.accept(k.order())
	k.wantPrinted()
	k.wantStatus(admin.OK, "nothing waits there")
	if n := k.app.queue.Unaccounted(); n != 0 {
		t.Errorf("the books do not balance by %d", n)
	}
}

func TestAnOrderIsAsOldAsTheServersSay(t *testing.T) {
	k := newFetchingBox(t)
	k.start()
	k.must(k.app.queue.HoldStation(t.Context(), "grill", "cleaning"))
	k.stop()
	before := time.Now()
	k.accept(k.order())
	const away = 1500 * time.Millisecond
	time.Sleep(away) // of the servers' time
	k.start()
	var at queue.StationState
	k.eventually("it is fetched", func() bool {
		at = k.app.queue.Stations()[0]
		return at.Pending == 1
	})
	if most := time.Since(before) + time.Second; at.Oldest < away || at.Oldest > most {
		t.Errorf("it is %s old, want %s to %s", at.Oldest, away, most)
	}
	k.must(k.app.queue.ResumeStation(t.Context(), "grill"))
	k.wantPrinted()
}

func TestAReloadWithOtherServersConnectsAgain(t *testing.T) {
	k := newFetchingBox(t)
	k.configure("nats://127.0.0.1:1")
	k.start()
	k.wantStatus(admin.Fail, "no order can be fetched since")
	k.accept(k.order())
	k.configure(k.nats.URLs()...)
	_, err := k.app.Reload()
	k.must(err)
	k.wantPrinted()
	k.wantStatus(admin.OK, "connected to")
	current := func() *relay.Source {
		k.app.source.mu.Lock()
		defer k.app.source.mu.Unlock()
		return k.app.source.relay
	}
	before := current()
	_, err = k.app.Reload() // nothing has changed
	k.must(err)
	k.accept(k.order())
	k.wantPrinted()
	if current() != before {
		t.Error("the connection was made anew")
	}
}
