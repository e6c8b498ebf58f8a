package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/monitoringtest"
	"ticketrail/printer/kds/board"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/kv"
	"ticketrail/queue/ticket"
)

const silentVenue = "00000000-0000-4000-8000-000000000001"

// A kitchen is a daemon with real listeners, a real database and real time, and what is around it. Its stations
// have the names of what will be wrong with them.
type kitchen struct {
	t        *testing.T
	dir      string
	store    string // the database
	metrics  string // address
	conf     string // the text of the configuration
	printers map[string]*virtual.Printer
	clock    boxClock
	app      *App
	stop     func()
	pages    map[string]*page
	answers  map[string]*atomic.Int32 // the status that a third party answers
}

// boxClock is a wall clock that can be wrong.
type boxClock struct {
	ahead          atomic.Int64 // ns
	unsynchronized atomic.Bool
}

func (c *boxClock) Now() time.Time     { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *boxClock) Synchronized() bool { return !c.unsynchronized.Load() }

// newKitchen is not started. The database is in the folder store.
func newKitchen(t *testing.T, store string) *kitchen {
	t.Helper()
	k := &kitchen{t: t, dir: t.TempDir(), store: filepath.Join(store, "t.db"), metrics: monitoringtest.FreeAddress(t),
		printers: map[string]*virtual.Printer{}, answers: map[string]*atomic.Int32{},
		pages: map[string]*page{}, stop: func() {}}
	k.certificate("webhook", 90*24*time.Hour)
	k.certificate("display", 90*24*time.Hour)
	if err := os.WriteFile(k.path("whsec"), []byte("whsec_"+strings.Repeat("QUJD", 8)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var y strings.Builder
	fmt.Fprintf(&y, `receiver: { listen: "127.0.0.1:0",
  tls: { cert_file: webhook.crt, key_file: webhook.key } }
display: { listen: "127.0.0.1:0", tls: { cert_file: display.crt, key_file: display.key } }
metrics: { listen: %q }
admin: { socket: s }
storage: { path: %q }
venues:
  - { id: %s, name: Harbour Grill, timezone: UTC, hours: [ "daily 00:00-24:00" ] }
  - { id: %s, name: Silent Bar, timezone: UTC, hours: [ "daily 00:00-24:00" ] }
fallback: grill
screens:
  - { name: board, unseen_after: 10s }
  - { name: dark, hold_for: 5s }
`, k.metrics, k.store, venueID, silentVenue)
	third := http.NewServeMux()
	for _, name := range []string{"fresh", "closed", "phone"} {
		status := new(atomic.Int32)
		status.Store(http.StatusOK)
		k.answers[name] = status
		third.HandleFunc("/"+name, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.WriteHeader(int(status.Load()))
		})
	}
	srv := httptest.NewServer(third)
	t.Cleanup(srv.Close)
	fmt.Fprintf(&y, "kds: [ { name: fresh, url: %s/fresh }, { name: closed, url: %s/closed } ]\n", srv.URL, srv.URL)
	fmt.Fprintf(&y, "notify: { after: 0s, to: [ { name: phone, url: %s/phone, secret_file: whsec } ] }\n", srv.URL)
	routes := "routes:\n"
	y.WriteString("printers:\n")
	for name, keys := range map[string]string{"grill": "", "empty": "", "low": "", "held": "", "gone": "",
		"replaced": ", backup: grill, hold_for: 10s", "doubt": ", on_doubt: hold"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		k.printers[name] = virtual.New(virtual.Options{Name: name, Can: virtual.Everything})
		go k.printers[name].Serve(t.Context(), l)
		fmt.Fprintf(&y, "  - { name: %s, address: \"tcp://%s\", poll_every: 10s%s }\n", name, l.Addr(), keys)
	}
	for _, name := range []string{"grill", "empty", "low", "held", "gone", "replaced", "doubt", "board", "dark",
		"fresh", "closed"} {
		routes += fmt.Sprintf("  - { when: 'item.station == %q', to: [ %s ] }\n", name, name)
	}
	k.conf = y.String() + routes
	k.configure(k.conf)
	t.Cleanup(func() {
		k.stop()
		for screen := range k.pages {
			k.close(screen)
		}
	})
	return k
}

func (k *kitchen) path(name string) string { return filepath.Join(k.dir, name) }

func (k *kitchen) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *kitchen) configure(text string) {
	k.t.Helper()
	k.must(os.WriteFile(k.path("t.yaml"), []byte(text), 0o600))
}

// certificate makes a certificate that nobody trusts.
func (k *kitchen) certificate(name string, lasts time.Duration) {
	k.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	k.must(err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(lasts),
		DNSNames:     []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	k.must(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	k.must(err)
	for file, block := range map[string]*pem.Block{
		name + ".crt": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		k.must(os.WriteFile(k.path(file), pem.EncodeToMemory(block), 0o600))
	}
}

func (k *kitchen) start() {
	k.t.Helper()
	a, err := New(k.t.Context(), Options{ConfigPath: k.path("t.yaml"), Log: k.t.Output(), Clock: &k.clock})
	k.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	k.app = a
	k.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			k.t.Error(err)
		}
		k.stop = func() {}
	}
}

var insecure = &tls.Config{InsecureSkipVerify: true}

// The webhook looks at its certificate with each new connection.
var theService = &http.Client{Timeout: time.Minute,
	Transport: &http.Transport{TLSClientConfig: insecure, DisableKeepAlives: true}}

// send posts a request as the service does, and returns the status of the answer.
func (k *kitchen) send(venue, path, body string) int {
	k.t.Helper()
	req, err := http.NewRequest("POST", "https://"+k.app.WebhookAddr().String()+path, strings.NewReader(body))
	k.must(err)
	req.Header.Set("Content-Type", "application/json")
	if venue != "" {
		req.Header.Set("x-svc-venueid", venue)
	}
	req.Header.Set("x-svc-device-id", "tablet")
	resp, err := theService.Do(req)
	k.must(err)
	resp.Body.Close()
	return resp.StatusCode
}

// order sends an order with one item for a station.
func (k *kitchen) order(venue, station string) int {
	k.t.Helper()
	return k.send(venue, "/webhooks/print", orderFor(station))
}

func orderFor(station string) string {
	return fmt.Sprintf(`{"records":[{"id":%q,"orderNumber":%q,"items":[%s]}]}`,
		uuid.NewString(), station, at(station, strings.Repeat("Soup ", 80))) // long enough to break off in it
}

// accept sends an order until it is accepted. As the service does, it sends a request that was answered 503 again: on
// a busy machine a commit can take longer than respond_within.
func (k *kitchen) accept(venue, station string) {
	k.t.Helper()
	body := orderFor(station)
	got := 0
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if got = k.send(venue, "/webhooks/print", body); got != http.StatusServiceUnavailable {
			break
		}
	}
	if got != http.StatusOK {
		k.t.Fatalf("an order for %s got %d", station, got)
	}
}

// open opens the page of a screen.
func (k *kitchen) open(screen string) *page {
	k.t.Helper()
	k.close(screen)
	address := k.app.DisplayAddr().String()
	p := (&testDaemon{t: k.t}).openPageAt(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&tls.Dialer{Config: insecure}).DialContext(ctx, "tcp", address)
	}, screen)
	k.pages[screen] = p
	return p
}

func (k *kitchen) close(screen string) {
	if p := k.pages[screen]; p != nil {
		p.cancel()
		<-p.ended
	}
	delete(k.pages, screen)
}

// cancel cancels all jobs that are in a state.
func (k *kitchen) cancel(state ticket.State) {
	k.t.Helper()
	jobs, err := k.app.queue.Jobs(k.t.Context(), queue.Filter{States: []ticket.State{state}})
	k.must(err)
	for _, j := range jobs {
		k.must(k.app.queue.Cancel(k.t.Context(), j.ID, "test"))
	}
}

// leave leaves what came out elsewhere on paper.
func (k *kitchen) leave(screen string) {
	p := k.open(screen)
	for {
		p.mu.Lock()
		recall := p.recall
		p.mu.Unlock()
		for _, o := range recall {
			p.post("do", struct {
				Page string `json:"page"`
				board.Command
			}{p.id, board.Command{ID: uuid.NewString(), Do: board.Leave, Order: o.Key, Version: o.Version}}, nil)
		}
		if recall != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// grow makes the database large and more than half empty, as an evening with a long backlog does. Too much of it is
// in use to be compacted at the start.
func (k *kitchen) grow() {
	k.t.Helper()
	q, err := queue.Open(queue.Options{Path: k.store, NoSync: true, Clock: &k.clock})
	k.must(err)
	values := q.KV("history")
	const used, free = 10, 20 // of 4 MiB
	for n := range used + free {
		k.must(values.Put(k.t.Context(), fmt.Sprint(n), make([]byte, kv.MaxValue)))
	}
	for n := range free {
		k.must(values.Delete(k.t.Context(), fmt.Sprint(n)))
	}
	k.must(q.Close())
}

func (k *kitchen) tryTestTicket(station string) {
	k.t.Helper()
	_, err := admin.NewClient(k.path("s")).Test(k.t.Context(), station)
	k.must(err)
}
