// Package daemontest is the harness for tests of the whole daemon, from the request to the paper. [Run] starts it in a
// synctest bubble: the real database file, real HTTP and real ESC/POS bytes, but over pipes, with virtual printers and
// by the bubble's clock, so that an evening in the kitchen takes milliseconds. A test posts orders, breaks and repairs
// printers, lets time pass, starts the daemon again, and looks at the paper.
package daemontest

import (
	"bytes"
	"cmp"
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

	"ticketrail/cmd/internal/app"
	"ticketrail/config"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/plan"
)

// VenueID is the venue of the daemon, and Device the tablet that its requests come from.
const (
	VenueID = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	Device  = "BW-E-Tablet-01"
)

// Stored is the answer to an order that was stored, and Known to one that had been stored before.
const (
	Stored = `200 {"status":"SUCCESS","duplicate":false`
	Known  = `200 {"status":"SUCCESS","duplicate":true`
)

// A Daemon is the whole daemon in a bubble. A test changes its exported fields before [Daemon.Start].
type Daemon struct {
	T        *testing.T
	Conf     *config.Config
	Printers map[string]*virtual.Printer // by station
	// Options changes the options of each start; it may be nil.
	Options func(*app.Options)
	// NoPause lets Start return before it is known which printers give no answer.
	NoPause bool
	App     *app.App // nil while it is stopped

	client *http.Client
	stop   context.CancelFunc
	ended  chan error
}

// Run runs f with a daemon that has a printer for each station; the first one is the fallback. The printers answer no
// queries, as cheap ones do. At the end the books must balance.
func Run(t *testing.T, f func(*Daemon), stations ...string) {
	RunWith(t, func(*Daemon) {}, f, stations...)
}

// RunWith is Run; setup changes the configuration and the printers before the start.
func RunWith(t *testing.T, setup, f func(*Daemon), stations ...string) {
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
		conf.Fonts = []string{filepath.Join(dir, "none.ttf")} // the fonts of the machine differ, and take long to read
		conf.Venues = []config.Venue{{ID: VenueID, Name: "Harbour Grill", Timezone: "Australia/Melbourne"}}
		conf.Fallback = stations[0]
		d := &Daemon{T: t, Conf: &conf, Printers: map[string]*virtual.Printer{}}
		for _, s := range stations {
			printer := config.DefaultPrinter()
			printer.Name, printer.Address = s, "tcp://"+s
			conf.Printers = append(conf.Printers, printer)
			conf.Routes = append(conf.Routes, plan.Route{When: fmt.Sprintf("item.station == %q", s), To: []string{s}})
			d.Printers[s] = virtual.New(virtual.Options{Name: s, Columns: 48})
		}

		setup(d)

		d.Start()
		defer d.Stop()
		f(d)
		if missing := d.App.Queue().Unaccounted(); missing != 0 {
			t.Errorf("the books do not balance by %d: %+v", missing, d.App.Queue().Stations())
		}
	})
}

// Printer is the configuration of a station.
func (d *Daemon) Printer(name string) *config.Printer {
	i := slices.IndexFunc(d.Conf.Printers, func(p config.Printer) bool { return p.Name == name })
	return &d.Conf.Printers[i]
}

// firstPoll is how long the first poll waits for the first answer of a printer, and a second.
const firstPoll = 26 * time.Second

// Start starts the daemon. Its commits are not synced: losses of a power cut are proved elsewhere.
func (d *Daemon) Start() {
	d.T.Helper()
	network := virtual.NewNetwork()
	options := app.Options{
		Config: d.Conf, Webhook: network, Log: d.T.Output(), Clock: SyncedClock{}, NoSync: true,
		Dialer: func(p config.Printer) (transport.Dialer, error) { return d.Printers[p.Name], nil },
	}

	if d.Options != nil {
		d.Options(&options)
	}
	started, err := app.New(d.T.Context(), options)
	if err != nil {
		d.T.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	d.App, d.stop, d.ended = started, stop, make(chan error, 1)
	go func() { d.ended <- started.Run(ctx) }()
	d.client = &http.Client{Transport: &http.Transport{DialContext: network.Dial}, Timeout: 5 * time.Second}
	if !d.NoPause {
		time.Sleep(firstPoll)
	}
}

// Stop is systemctl stop.
func (d *Daemon) Stop() {
	d.T.Helper()
	if d.App == nil {
		return
	}

	d.client.CloseIdleConnections()
	d.stop()
	if err := <-d.ended; err != nil {
		d.T.Errorf("the daemon ended with %v", err)
	}
	d.App = nil
}

// Restart is systemctl restart.
func (d *Daemon) Restart() {
	d.T.Helper()
	d.Stop()
	d.Start()
}

// SyncedClock is a clock that is always synchronized.
type SyncedClock struct{}

// Now is the time.
func (SyncedClock) Now() time.Time { return time.Now() }

// Synchronized is always true.
func (SyncedClock) Synchronized() bool { return true }

// Advance lets time pass.
func (d *Daemon) Advance(by time.Duration) {
	time.Sleep(by) // the bubble's clock
	synctest.Wait()
}

// Item is an item for a station, as JSON.
func Item(station, name string) string { return fmt.Sprintf(`{"station":%q,"name":%q}`, station, name) }

// Accept posts an order with a new id, which it returns, and the given items. It must be stored.
func (d *Daemon) Accept(number string, items ...string) (id string) {
	d.T.Helper()
	id = uuid.NewString()
	if got := d.Post(id, number, 0, items...); got != Stored {
		d.T.Fatalf("order %s got %s", number, got)
	}
	return id
}

// Post posts an order, and returns the answer like Send. Orders of one number are of one check.
func (d *Daemon) Post(id, number string, retry int, items ...string) string {
	d.T.Helper()
	now := time.Now().Format(time.RFC3339Nano)
	return d.Send(fmt.Sprintf(`{"records":[{"id":%q,"orderNumber":%q,"checkId":%q,"retryCount":%d,"_updatedAt":%q,`+
		`"items":[%s]}],"status":"SUCCESS","count":1}`, id, number, "check "+number, retry, now,
		strings.Join(items, ",")))
}

// Send posts a body, which must be JSON, and returns the status and the body of the answer up to the number of jobs.
func (d *Daemon) Send(body string) string {
	d.T.Helper()
	if !json.Valid([]byte(body)) {
		d.T.Fatalf("the test made invalid JSON: %s", body)
	}

	req, err := http.NewRequest("POST", "http://daemon/webhooks/print", strings.NewReader(body))
	if err != nil {
		d.T.Fatal(err)
	}

	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("x-svc-venueid", strings.ToUpper(VenueID))
	req.Header.Set("x-svc-device-id", Device)
	resp, err := d.client.Do(req)
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

var (
	printedNumber = regexp.MustCompile(`#([A-Z0-9]+)`)
	refusedBy     = regexp.MustCompile(`REFUSED BY (.+?) *\n`)
	forStation    = regexp.MustCompile(`FOR (.+?) \((?:printer|screen) down\)`)
)

// Number is the number of the order on a ticket; empty if the ticket ends before it.
func Number(t virtual.Ticket) string {
	if match := printedNumber.FindStringSubmatch(t.Text); match != nil {
		return match[1]
	}
	return ""
}

// Word is a ticket on paper as one word: its number, then ! for POSSIBLE DUPLICATE, r for REPRINT, w for WAS ON THE
// SCREEN, @GRILL for FOR GRILL (printer down), -FRESH for REFUSED BY FRESH, ~ if it was not cut.
func Word(t virtual.Ticket) string {
	word := cmp.Or(Number(t), "?")
	if strings.Contains(t.Text, "EXPIRED") {
		word = "slip"
	}

	for _, m := range []struct{ mark, text string }{
		{"!", "POSSIBLE DUPLICATE"}, {"r", "REPRINT"}, {"w", "WAS ON THE SCREEN"},
	} {
		if strings.Contains(t.Text, m.text) {
			word += m.mark
		}
	}

	if match := forStation.FindStringSubmatch(t.Text); match != nil {
		word += "@" + match[1]
	}
	if match := refusedBy.FindStringSubmatch(t.Text); match != nil {
		word += "-" + match[1]
	}

	if t.End != virtual.Cut {
		word += "~"
	}
	return word
}

// WantPrinted compares the paper of a station, one [Word] for each ticket. The bytes must be valid.
func (d *Daemon) WantPrinted(station, paper string) {
	d.T.Helper()
	synctest.Wait()
	printer := d.Printers[station]
	if bad := printer.Problems(); len(bad) > 0 {
		d.T.Errorf("%s got invalid bytes: %v", station, bad)
	}

	var out []string
	for _, t := range printer.Tickets() {
		out = append(out, Word(t))
	}

	if got := strings.Join(out, " "); got != paper {
		d.T.Errorf("%s printed %q, want %q", station, got, paper)
	}
}

// States counts the jobs by state.
func (d *Daemon) States() map[ticket.State]int {
	d.T.Helper()
	jobs, err := d.App.Queue().Jobs(d.T.Context(), queue.Filter{})
	if err != nil {
		d.T.Fatal(err)
	}

	count := map[ticket.State]int{}
	for _, j := range jobs {
		count[j.State]++
	}
	return count
}
