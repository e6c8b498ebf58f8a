package app

import (
	"bytes"
	"cmp"
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
	"ticketrail/deploy/assert"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/plan"
)

// venueID is the venue of the daemon, and device the tablet that its requests come from.
const (
	venueID = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	device  = "BW-E-Tablet-01"
)

// answerStored is the answer to an order that was stored, and answerKnown to one that had been stored before.
const (
	answerStored = `200 {"status":"SUCCESS","duplicate":false`
	answerKnown  = `200 {"status":"SUCCESS","duplicate":true`
)

// A testDaemon is the whole daemon in a synctest bubble: the real database file, real HTTP and real ESC/POS bytes, but
// over pipes, with virtual printers and by the bubble's clock, so that an evening in the kitchen takes milliseconds. A
// test posts orders, breaks and repairs printers, lets time pass, starts the daemon again, and looks at the paper. It
// changes the exported fields before Start.
type testDaemon struct {
	T        *testing.T
	Conf     *config.Config
	Printers map[string]*virtual.Printer // by station
	// NoPause lets Start return before it is known which printers give no answer.
	NoPause bool
	App     *App // nil while it is stopped

	service http.RoundTripper // carries requests to the point-of-sale API; nil is the network
	display *virtual.Network  // of the screens' pages; nil without screens
	mails   *mailbox          // of people who are told; nil: nobody is

	changes []func(*Options) // of each start
	client  *http.Client
	stop    func()
}

// runDaemon runs f with a daemon that has a printer for each station; the first one is the fallback. The printers
// answer no queries, as cheap ones do. At the end the books must balance.
func runDaemon(t *testing.T, f func(*testDaemon), stations ...string) {
	runDaemonWith(t, func(*testDaemon) {}, f, stations...)
}

// runDaemonWith is runDaemon; setup changes the configuration, the printers and the options before the start.
func runDaemonWith(t *testing.T, setup, f func(*testDaemon), stations ...string) {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	assert.NoError(t, err)
	defer os.RemoveAll(dir) // a rapid test makes thousands

	synctest.Test(t, func(t *testing.T) {
		conf := config.Default()
		conf.Storage.Path = filepath.Join(dir, "t.db")
		conf.Admin.Socket, conf.Metrics.Listen, conf.Display.Listen = "", "", ""
		conf.Log.Level = "debug"
		conf.Fonts = []string{filepath.Join(dir, "none.ttf")} // the fonts of the machine differ, and take long to read
		conf.Venues = []config.Venue{{ID: venueID, Name: "Harbour Grill", Timezone: "Australia/Melbourne"}}
		conf.Fallback = stations[0]
		k := &testDaemon{T: t, Conf: &conf, Printers: map[string]*virtual.Printer{}}
		for _, s := range stations {
			printer := config.DefaultPrinter()
			printer.Name, printer.Address = s, "tcp://"+s
			conf.Printers = append(conf.Printers, printer)
			conf.Routes = append(conf.Routes, plan.Route{When: fmt.Sprintf("item.station == %q", s), To: []string{s}})
			k.Printers[s] = virtual.New(virtual.Options{Name: s, Columns: 48})
		}

		setup(k)

		k.Start()
		defer k.Stop()
		f(k)
		assert.Equal(t, k.App.Queue().Unaccounted(), 0, "the books do not balance by", k.App.Queue().Stations())
	})
}

// Printer is the configuration of a station.
func (k *testDaemon) Printer(name string) *config.Printer {
	i := slices.IndexFunc(k.Conf.Printers, func(p config.Printer) bool { return p.Name == name })
	return &k.Conf.Printers[i]
}

// firstPoll is how long the first poll waits for the first answer of a printer, and a second.
const firstPoll = 26 * time.Second

// Start starts the daemon. Its commits are not synced: losses of a power cut are proved elsewhere.
func (k *testDaemon) Start() {
	k.T.Helper()
	network := virtual.NewNetwork()
	options := Options{
		Config: k.Conf, Webhook: network, Log: k.T.Output(), Clock: syncedClock{}, NoSync: true,
		Service: k.service,
		Dialer:  func(p config.Printer) (transport.Dialer, error) { return k.Printers[p.Name], nil },
	}

	for _, change := range k.changes {
		change(&options)
	}
	k.App, k.stop = run(k.T, options)
	k.client = &http.Client{Transport: &http.Transport{DialContext: network.Dial}, Timeout: 5 * time.Second}
	if !k.NoPause {
		time.Sleep(firstPoll)
	}
}

// Stop is systemctl stop.
func (k *testDaemon) Stop() {
	k.T.Helper()
	if k.App == nil {
		return
	}

	k.client.CloseIdleConnections()
	k.stop()
	k.App = nil
}

// Restart is systemctl restart.
func (k *testDaemon) Restart() {
	k.T.Helper()
	k.Stop()
	k.Start()
}

// syncedClock is a clock that is always synchronized.
type syncedClock struct{}

// Now is the time.
func (syncedClock) Now() time.Time { return time.Now() }

// Synchronized is always true.
func (syncedClock) Synchronized() bool { return true }

// Advance lets time pass.
func (k *testDaemon) Advance(by time.Duration) {
	time.Sleep(by) // the bubble's clock
	synctest.Wait()
}

// at is an item for a station, as JSON.
func at(station, name string) string { return fmt.Sprintf(`{"station":%q,"name":%q}`, station, name) }

// Accept posts an order with a new id, which it returns, and the given items. It must be stored.
func (k *testDaemon) Accept(number string, items ...string) (id string) {
	k.T.Helper()
	id = uuid.NewString()
	if got := k.Post(id, number, 0, items...); got != answerStored {
		k.T.Fatalf("order %s got %s", number, got)
	}
	return id
}

// Post posts an order, and returns the answer like Send. Orders of one number are of one check.
func (k *testDaemon) Post(id, number string, retry int, items ...string) string {
	k.T.Helper()
	now := time.Now().Format(time.RFC3339Nano)
	return k.Send(fmt.Sprintf(`{"records":[{"id":%q,"orderNumber":%q,"checkId":%q,"retryCount":%d,"_updatedAt":%q,`+
		`"items":[%s]}],"status":"SUCCESS","count":1}`, id, number, "check "+number, retry, now,
		strings.Join(items, ",")))
}

// Send posts a body, which must be JSON, and returns the status and the body of the answer up to the number of jobs.
func (k *testDaemon) Send(body string) string {
	k.T.Helper()
	if !json.Valid([]byte(body)) {
		k.T.Fatalf("the test made invalid JSON: %s", body)
	}

	resp, err := k.client.Do(printRequest(k.T, "daemon", body))
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

// printRequest is a print request as the service sends it: the id of the venue may be in any case.
func printRequest(t *testing.T, host, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequest("POST", "http://"+host+"/webhooks/print", strings.NewReader(body))
	assert.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("x-svc-venueid", strings.ToUpper(venueID))
	req.Header.Set("x-svc-device-id", device)
	return req
}

var (
	printedNumber = regexp.MustCompile(`#([A-Z0-9]+)`)
	refusedBy     = regexp.MustCompile(`REFUSED BY (.+?) *\n`)
	forStation    = regexp.MustCompile(`FOR (.+?) \((?:printer|screen) down\)`)
)

// numberOn is the number of the order on a ticket; empty if the ticket ends before it.
func numberOn(t virtual.Ticket) string {
	if match := printedNumber.FindStringSubmatch(t.Text); match != nil {
		return match[1]
	}
	return ""
}

// wordOf is a ticket on paper as one word: its number, then ! for POSSIBLE DUPLICATE, r for REPRINT, w for WAS ON THE
// SCREEN, @GRILL for FOR GRILL (printer down), -FRESH for REFUSED BY FRESH, ~ if it was not cut.
func wordOf(t virtual.Ticket) string {
	word := cmp.Or(numberOn(t), "?")
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

// WantPrinted compares the paper of a station, one word for each ticket. The bytes must be valid.
func (k *testDaemon) WantPrinted(station, paper string) {
	k.T.Helper()
	synctest.Wait()
	printer := k.Printers[station]
	bad := printer.Problems()
	assert.True(k.T, len(bad) == 0, station, bad)

	var out []string
	for _, t := range printer.Tickets() {
		out = append(out, wordOf(t))
	}

	assert.Equal(k.T, strings.Join(out, " "), paper, station)
}

// States counts the jobs by state.
func (k *testDaemon) States() map[ticket.State]int {
	k.T.Helper()
	jobs, err := k.App.Queue().Jobs(k.T.Context(), queue.Filter{})
	k.must(err)
	count := map[ticket.State]int{}
	for _, j := range jobs {
		count[j.State]++
	}
	return count
}
