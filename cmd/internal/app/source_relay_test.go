package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/relay"
	"ticketrail/receiver/relay/natstest"
)

// TestTheConnectionToTheRelayComesAndGoes has the connection itself, which the tests in a bubble cannot have.
func TestTheConnectionToTheRelayComesAndGoes(t *testing.T) {
	slow.Test(t) // it waits for a retry
	k := newFetchingBox(t)
	k.accept() // the box is off
	k.accept()
	k.configure("http://127.0.0.1:1")
	k.start()
	k.wantStatus(finding.Fail, "no order can be fetched")

	k.stop()
	k.configure(k.relay.URL)
	k.start()
	k.wantPrinted()
	k.wantStatus(finding.OK, "orders that wait there: 0")

	k.must(os.WriteFile(k.token, []byte("old\n"), 0o600)) // it was renewed
	k.accept()
	k.wantStatus(finding.Fail, "no order can be fetched (the relay refuses the token")
	k.must(os.WriteFile(k.token, []byte(theToken), 0o600))
	k.wantPrinted()
	k.away.Store(true)
	k.accept()
	k.wantStatus(finding.Fail, "no order can be fetched")
	k.stop()
	k.start() // the relay is away at the start
	k.away.Store(false)
	k.wantPrinted()
	k.wantStatus(finding.OK, "orders that wait there: 0")
}

// A fetchingBox is the whole daemon, which fetches from a relay with a real nats-server. A virtual printer is its
// kitchen.
type fetchingBox struct {
	*testing.T
	cloud   *relay.Stream
	relay   *httptest.Server
	away    atomic.Bool // the relay answers 502, as a load balancer without one
	conf    string      // its configuration file
	token   string      // its token's file
	printer *virtual.Printer
	app     *App
	stop    func()
	sent    []string // numbers of the orders, in order
}

const theToken = "the token of the venue"

func newFetchingBox(t *testing.T) *fetchingBox {
	dir := t.TempDir()
	k := &fetchingBox{T: t, conf: filepath.Join(dir, "ticketrail.yaml"), token: filepath.Join(dir, "relay.token"),
		printer: virtual.New(virtual.Options{Name: "grill", Columns: 48, Can: virtual.Everything})}
	nc, err := nats.Connect(natstest.Start(t, "").URL())
	k.must(err)
	t.Cleanup(nc.Close)
	k.cloud = relay.New(nc, relay.Options{Replicas: 1, MaxAge: time.Hour, MaxBytes: 64 << 20, MaxBody: 1 << 20,
		Logger: slog.New(slog.DiscardHandler)})
	k.eventually("the stream is there", func() bool { return k.cloud.Open(t.Context()) == nil })
	k.must(os.WriteFile(k.token, []byte(theToken), 0o600))
	venue := relay.VenueEntry{ID: venueID, Name: "Harbour Grill", Token: relay.Hash(theToken)}
	k.eventually("the venue is there", func() bool { return k.cloud.PutVenue(t.Context(), venue) == nil })
	door := k.cloud.NewDoor("secret", func(r *http.Request) string { return r.RemoteAddr }, nil)
	door.SetVenues([]relay.VenueEntry{venue}, true)
	k.relay = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if k.away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		door.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() { door.SetVenues(nil, true); k.relay.Close() })
	k.configure(k.relay.URL)
	return k
}

func (k *fetchingBox) must(err error) {
	k.Helper()
	assert.NoError(k, err)
}

// eventually waits for something that other processes do.
func (k *fetchingBox) eventually(what string, is func() bool) {
	k.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) { // between two questions
		if time.Now().After(end) {
			k.Fatalf("not within two minutes: %s", what)
		}
	}
}

func (k *fetchingBox) configure(url string) {
	k.Helper()
	k.must(os.WriteFile(k.conf, fmt.Appendf(nil, `
receiver: { listen: "127.0.0.1:0" }
source: { url: %q, token_file: relay.token }
venues: [ { id: %s, name: Harbour Grill, timezone: UTC } ]
printers: [ { name: grill, address: "tcp://grill" } ]
fallback: grill
storage: { path: t.db }
admin: { socket: s }
metrics: { listen: "" }
display: { listen: "" }
`, url, venueID), 0o600))
}

func (k *fetchingBox) start() {
	k.Helper()
	k.app, k.stop = run(k.T, Options{ConfigPath: k.conf, Log: k.Output(), Clock: syncedClock{},
		Dialer: func(config.Printer) (transport.Dialer, error) { return k.printer, nil }})
	k.Cleanup(k.stop)
}

// accept has the relay take the next order.
func (k *fetchingBox) accept() {
	k.Helper()
	number, id := fmt.Sprintf("A%d", len(k.sent)), uuid.NewString()
	k.sent = append(k.sent, number)
	body := []byte(bodyOf(id, number, at("grill", "Soup")))
	ctx, cancel := context.WithTimeout(k.Context(), 2*time.Minute)
	defer cancel()
	_, err := k.cloud.Accept(ctx, ticket.Request{Venue: venueID, ID: id, Device: "till",
		Received: time.Now().UTC(), Body: body})
	k.must(err)
}

// wantPrinted wants every order on paper once, in order.
func (k *fetchingBox) wantPrinted() {
	k.Helper()
	k.eventually("all is printed", func() bool { return len(k.printer.Tickets()) >= len(k.sent) })
	var got []string
	for _, one := range k.printer.Tickets() {
		got = append(got, wordOf(one))
	}
	assert.True(k, slices.Equal(got, k.sent), got, k.sent)
}

// wantStatus waits until the status says this about the relay.
func (k *fetchingBox) wantStatus(level finding.Level, text string) {
	k.Helper()
	k.eventually(fmt.Sprintf("the status says %s %s", level, text), func() bool {
		f := k.app.source.findings(time.Now())
		return len(f) == 1 && f[0].Level == level && strings.Contains(f[0].String(), text)
	})
}
