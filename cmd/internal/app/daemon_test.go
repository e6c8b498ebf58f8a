package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"ticketrail/config"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

const venueID = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"

// A testDaemon is the whole daemon in a synctest bubble, with a real bbolt file, and with real HTTP
// and ESC/POS bytes over pipes. Hours pass in milliseconds.
type testDaemon struct {
	t             *testing.T
	conf          *config.Config
	printers      map[string]*virtual.Printer
	service       http.RoundTripper // carries requests to the point-of-sale API
	display       *virtual.Network  // of the screens' pages; nil without screens
	changeOptions func(*Options)    // changes the options of the daemon; may be nil
	noPause       bool              // start returns before it is known which printers give no answer
	app           *App
	client        *http.Client
	stop          context.CancelFunc
	ended         chan error
}

// runDaemon runs f with a running daemon that has a printer for each station; the first one is the
// fallback. The printers answer no queries, as cheap ones do.
func runDaemon(t *testing.T, f func(*testDaemon), stations ...string) {
	runDaemonWith(t, func(*testDaemon) {}, f, stations...)
}

// runDaemonWith is runDaemon; setup changes the configuration and the printers before the start.
func runDaemonWith(t *testing.T, setup, f func(*testDaemon), stations ...string) {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // a rapid test makes thousands
	synctest.Test(t, func(t *testing.T) {
		conf := config.Default()
		conf.Storage.Path = filepath.Join(dir, "t.db")
		conf.Admin.Socket, conf.Metrics.Listen, conf.Display.Listen = "", "", ""
		conf.Log.Level = "debug"
		conf.Venues = []config.Venue{{ID: venueID, Name: "Harbour Grill", Timezone: "Australia/Melbourne"}}
		conf.Fallback = stations[0]
		k := &testDaemon{t: t, conf: &conf, printers: map[string]*virtual.Printer{}}
		for _, s := range stations {
			p := config.DefaultPrinter()
			p.Name, p.Address = s, "tcp://"+s
			conf.Printers = append(conf.Printers, p)
			conf.Routes = append(conf.Routes, config.Route{When: fmt.Sprintf("item.station == %q", s), To: []string{s}})
			k.printers[s] = virtual.New(virtual.Options{Name: s, Columns: 48})
		}
		setup(k)
		k.start()
		defer k.shutDown()
		f(k)
		k.checkBooks()
	})
}

// printer is the configuration of a station.
func (k *testDaemon) printer(name string) *config.Printer {
	i := slices.IndexFunc(k.conf.Printers, func(p config.Printer) bool { return p.Name == name })
	return &k.conf.Printers[i]
}

func (k *testDaemon) start() {
	k.t.Helper()
	l := virtual.NewNetwork()
	o := Options{
		Config: k.conf, Webhook: l, Log: k.t.Output(), Clock: syncedClock{}, Service: k.service,
		Dialer: func(p config.Printer) (transport.Dialer, error) { return k.printers[p.Name], nil },
	}
	if k.changeOptions != nil {
		k.changeOptions(&o)
	}
	a, err := New(k.t.Context(), o)
	if err != nil {
		k.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	k.app, k.stop, k.ended = a, stop, make(chan error, 1)
	go func() { k.ended <- a.Run(ctx) }()
	k.client = &http.Client{Transport: &http.Transport{DialContext: l.Dial}, Timeout: 5 * time.Second}
	if !k.noPause {
		time.Sleep(26 * time.Second) // the first poll gives a printer that long for its first answer
	}
}

// shutDown is systemctl stop.
func (k *testDaemon) shutDown() {
	k.t.Helper()
	if k.app == nil {
		return
	}
	k.client.CloseIdleConnections()
	k.stop()
	if err := <-k.ended; err != nil {
		k.t.Errorf("the daemon ended with %v", err)
	}
	k.app = nil
}

func (k *testDaemon) restart() { k.t.Helper(); k.shutDown(); k.start() }

// syncedClock is a clock that is always synchronized.
type syncedClock struct{}

func (syncedClock) Now() time.Time     { return time.Now() }
func (syncedClock) Synchronized() bool { return true }

// accept posts a request with a new id and the given items. It must be stored.
func (k *testDaemon) accept(number string, items ...string) string {
	k.t.Helper()
	id := uuid.NewString()
	if got := k.post(id, number, 0, items...); got != `200 {"status":"SUCCESS","duplicate":false` {
		k.t.Fatalf("order %s got %s", number, got)
	}
	return id
}

// post sends a request and returns the answer's status and body up to the number of jobs.
func (k *testDaemon) post(id, number string, retry int, items ...string) string {
	k.t.Helper()
	body := fmt.Sprintf(`{"records":[{"id":%q,"orderNumber":%q,"retryCount":%d,"_updatedAt":%q,"items":[%s]}],`+
		`"status":"SUCCESS","count":1}`,
		id, number, retry, time.Now().Format(time.RFC3339Nano), strings.Join(items, ","))
	return k.send(body)
}

func (k *testDaemon) send(body string) string {
	k.t.Helper()
	if !json.Valid([]byte(body)) {
		k.t.Fatalf("the test made invalid JSON: %s", body)
	}
	req, err := http.NewRequest("POST", "http://daemon/webhooks/print", strings.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("x-svc-venueid", strings.ToUpper(venueID))
	req.Header.Set("x-svc-device-id", "BW-E-Tablet-01")
	resp, err := k.client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	said, _, _ := bytes.Cut(b, []byte(`,"jobs"`))
	return fmt.Sprintf("%d %s", resp.StatusCode, bytes.TrimSpace(said))
}

// at is an item for a station.
func at(station, name string) string { return fmt.Sprintf(`{"station":%q,"name":%q}`, station, name) }

var printedNumber = regexp.MustCompile(`#([A-Z0-9]+)`)

var refusedBy = regexp.MustCompile(`REFUSED BY (.+?) *\n`)

var forStation = regexp.MustCompile(`FOR (.+?) \((?:printer|screen) down\)`)

// printed is what a printer printed, one word for each ticket: its number, then ! for POSSIBLE
// DUPLICATE, r for REPRINT, w for WAS ON THE SCREEN, @GRILL for FOR GRILL (printer down), -FRESH for
// REFUSED BY FRESH, ~ if it was not cut.
func (k *testDaemon) printed(station string) string {
	k.t.Helper()
	p := k.printers[station]
	if bad := p.Problems(); len(bad) > 0 {
		k.t.Errorf("%s got invalid bytes: %v", station, bad)
	}
	var out []string
	for _, t := range p.Tickets() {
		word := "?"
		if m := printedNumber.FindStringSubmatch(t.Text); m != nil {
			word = m[1]
		}
		if strings.Contains(t.Text, "** EXPIRED **") {
			word = "slip"
		}
		for _, m := range []struct{ mark, text string }{{"!", "POSSIBLE DUPLICATE"}, {"r", "REPRINT"},
			{"w", "WAS ON THE SCREEN"}} {
			if strings.Contains(t.Text, m.text) {
				word += m.mark
			}
		}
		if m := forStation.FindStringSubmatch(t.Text); m != nil {
			word += "@" + m[1]
		}
		if m := refusedBy.FindStringSubmatch(t.Text); m != nil {
			word += "-" + m[1]
		}
		if t.End != virtual.Cut {
			word += "~"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func (k *testDaemon) wantPrinted(station, paper string) {
	k.t.Helper()
	synctest.Wait()
	if got := k.printed(station); got != paper {
		k.t.Errorf("%s printed %q, want %q", station, got, paper)
	}
}

// advance lets time pass.
func (k *testDaemon) advance(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

// checkBooks checks promise 6.
func (k *testDaemon) checkBooks() {
	k.t.Helper()
	if n := k.app.queue.Unaccounted(); n != 0 {
		k.t.Errorf("the books do not balance by %d: %+v", n, k.app.queue.Stations())
	}
}

// states counts the jobs by state.
func (k *testDaemon) states() map[ticket.State]int {
	k.t.Helper()
	jobs, err := k.app.queue.Jobs(k.t.Context(), queue.Filter{})
	if err != nil {
		k.t.Fatal(err)
	}
	n := map[ticket.State]int{}
	for _, j := range jobs {
		n[j.State]++
	}
	return n
}

// notices are what every listing shows.
func (a *App) notices() (out []string) {
	for _, f := range a.health.problems() {
		out = append(out, f.String())
	}
	return out
}
