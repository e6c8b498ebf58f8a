package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/plan"
)

// TestMain uses one processor: in Go 1.26 two timers of a synctest bubble that fire at the same time on two processors
// share one context of the race detector, and the process crashes in it. See raceCtx in the runtime's time.go. The race
// detector finds the same races on one processor.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}

// change changes the options of each start.
func (k *testDaemon) change(f func(*Options)) {
	k.changes = append(k.changes, f)
}

func (k *testDaemon) must(err error) {
	k.T.Helper()
	assert.NoError(k.T, err)
}

// newPrinter is a printer that serves one client at a time.
func newPrinter(name string, can virtual.Capability) *virtual.Printer {
	return virtual.New(virtual.Options{Name: name, Columns: 48, Kanji: true, Can: can, Clients: 1})
}

// withCapability replaces the printers by ones with that capability.
func withCapability(can virtual.Capability) func(*testDaemon) {
	return func(k *testDaemon) {
		for name := range k.Printers {
			k.Printers[name] = newPrinter(name, can)
		}
	}
}

// withoutPolls leaves idle printers in peace, so that days pass faster.
func withoutPolls(k *testDaemon) {
	for i := range k.Conf.Printers {
		k.Conf.Printers[i].PollEvery = 0
	}
}

// reload applies a changed configuration.
func (k *testDaemon) reload(change func(*config.Config)) {
	k.T.Helper()
	next := *k.Conf
	next.Printers = slices.Clone(next.Printers)
	change(&next)
	built, err := k.App.build(&next)
	k.must(err)
	k.App.apply(built)
	k.Conf = &next
}

// control posts to the control API.
func (k *testDaemon) control(path, body string) (code int, said string) {
	req := httptest.NewRequest("POST", path, strings.NewReader(body))
	req.Header.Set(admin.HeaderAPI, admin.API)
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	k.App.control.ServeHTTP(w, req)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// status is the status of a station, as printers list has it.
func (k *testDaemon) status(name string) finding.Station {
	k.T.Helper()
	for _, l := range k.App.stations.List() {
		if l.Name == name {
			return l
		}
	}
	k.T.Fatalf("no station is called %s", name)
	return finding.Station{}
}

// finding is the finding about a subject at a level, as ticketrail status has it; empty if there is none.
func (k *testDaemon) finding(level finding.Level, subject string) string {
	k.T.Helper()
	for _, f := range k.findings() {
		if f.Level == level && f.Subject == subject {
			return f.String()
		}
	}
	return ""
}

// findings are the daemon's present findings.
func (k *testDaemon) findings() []finding.Finding {
	k.T.Helper()
	all, err := k.App.findings(k.T.Context())
	k.must(err)
	return all
}

// wrongOf are a daemon's findings that are not fine, as sentences.
func wrongOf(a *App) (out []string) {
	all, err := a.findings(context.Background())
	if err != nil {
		return []string{err.Error()}
	}
	for _, f := range all {
		if f.Level != finding.OK {
			out = append(out, f.String())
		}
	}
	return out
}

// wantOutcomes compares how many tickets of a station have which outcome, by its books.
func (k *testDaemon) wantOutcomes(station string, want map[ticket.State]uint64) {
	k.T.Helper()
	synctest.Wait()
	got := map[ticket.State]uint64{}
	for _, s := range k.App.Queue().Stations() {
		for state, n := range s.Books.Outcomes {
			if s.Name == station && n > 0 {
				got[state] = uint64(n)
			}
		}
	}
	diff := gocmp.Diff(want, got)
	assert.True(k.T, diff == "", station, diff)
}

// metric is the value of a gauge with those labels, in the order of their names; false: there is no such series.
func (k *testDaemon) metric(name string, labels ...string) (float64, bool) {
	k.T.Helper()
	families, err := k.App.registry.Gather()
	k.must(err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var has []string
			for _, l := range m.Label {
				has = append(has, l.GetValue())
			}
			if f.GetName() == name && slices.Equal(has, labels) {
				return m.GetGauge().GetValue(), true
			}
		}
	}
	return 0, false
}

// wantMetric compares the value of a gauge, which must be there.
func (k *testDaemon) wantMetric(want float64, name string, labels ...string) {
	k.T.Helper()
	got, ok := k.metric(name, labels...)
	assert.True(k.T, got == want && ok, name, labels, got, ok, want)
}

func (k *testDaemon) wantCondition(want float64, condition, station string) {
	k.T.Helper()
	k.wantMetric(want, "ticketrail_station_condition", condition, station)
}

// lastOf is the text of the last ticket of a station, on one line.
func (k *testDaemon) lastOf(station string) string {
	k.T.Helper()
	synctest.Wait()
	tickets := k.Printers[station].Tickets()
	if len(tickets) == 0 {
		k.T.Fatalf("%s has printed nothing", station)
	}
	return strings.Join(strings.Fields(tickets[len(tickets)-1].Text), " ")
}

func wantText(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		assert.Contains(t, text, part)
	}
}

// A thirdParty is a third-party kitchen display.
type thirdParty struct {
	status atomic.Int32 // of its answers

	mu  sync.Mutex
	got []map[string]any // the posted messages, whatever the answer
}

// withThirdParty adds such a display, fresh, with a route to it.
func withThirdParty(f *thirdParty, change func(*config.KDS)) func(*testDaemon) {
	return func(k *testDaemon) {
		l := virtual.NewNetwork()
		f.status.Store(http.StatusCreated)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			var doc map[string]any
			err := json.Unmarshal(b, &doc)
			assert.True(k.T, err == nil, "it got", string(b), err)
			doc["path"] = r.URL.Path
			f.mu.Lock()
			f.got = append(f.got, doc)
			f.mu.Unlock()
			w.WriteHeader(int(f.status.Load()))
		})}
		go srv.Serve(l)
		k.T.Cleanup(func() { srv.Close() })

		c := config.Defaults[config.KDS]()
		c.Name, c.URL = "fresh", "http://kds.example/api/tickets"
		change(&c)
		k.Conf.KDS = []config.KDS{c}
		k.Conf.Routes = append(k.Conf.Routes, plan.Route{When: `item.station == "fresh"`, To: []string{"fresh"}})
		k.change(func(o *Options) { o.Dial = l.Dial })
	}
}

// field is a field of everything that was posted.
func (f *thirdParty) field(name string) (out []any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.got {
		out = append(out, d[name])
	}
	return out
}

// A fileDaemon is a daemon with a configuration file and real sockets, which a bubble cannot have.
type fileDaemon struct {
	*App
	t    *testing.T
	path string // of the file
	text string // in the file
}

// Printers at an address where no program listens.
const (
	grillYAML = `{ name: grill, address: "tcp://127.0.0.1:1" }`
	barYAML   = `{ name: bar, address: "tcp://127.0.0.1:1" }`

	grillOnly   = "printers: [ " + grillYAML + " ]\nfallback: grill\n"
	grillAndBar = "printers: [ " + grillYAML + ", " + barYAML + " ]\nroutes: [ { to: [grill] } ]\nfallback: grill\n"
)

// startOnFile starts a daemon with that text in its file, after the lines that every file needs.
func startOnFile(t *testing.T, text string) *fileDaemon {
	t.Helper()
	if !strings.Contains(text, "display:") {
		text += "display: { listen: \"\" }\n"
	}
	d := &fileDaemon{t: t, path: filepath.Join(t.TempDir(), "t.yaml"), text: `receiver: { listen: "127.0.0.1:0" }
metrics: { listen: "127.0.0.1:0" }
admin: { socket: s }
storage: { path: t.db }
fonts: [ none.ttf ]
venues: [ { id: ` + venueID + `, name: Harbour Grill, timezone: UTC } ]
` + text}
	d.write()
	a, stop := run(t, Options{ConfigPath: d.path, Log: t.Output(), NoSync: true})
	d.App = a
	t.Cleanup(stop)
	return d
}

// run starts a daemon; stop may be called twice.
func run(t *testing.T, o Options) (a *App, stop func()) {
	t.Helper()
	a, err := New(t.Context(), o)
	assert.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	return a, sync.OnceFunc(func() {
		cancel()
		err := <-ended
		assert.True(t, err == nil, "the daemon ended with", err)
	})
}

// hours are opening hours.
func hours(t *testing.T, text string) (h config.Hours) {
	t.Helper()
	assert.NoError(t, h.UnmarshalText([]byte(text)))
	return h
}

func (d *fileDaemon) write() {
	d.t.Helper()
	assert.NoError(d.t, os.WriteFile(d.path, []byte(d.text), 0o600))
}

// rewrite replaces a text in the file.
func (d *fileDaemon) rewrite(old, new string) {
	d.t.Helper()
	if !strings.Contains(d.text, old) {
		d.t.Fatalf("the file does not contain %q", old)
	}
	d.text = strings.Replace(d.text, old, new, 1)
	d.write()
}

// order posts an order, and posts it again if the disk was too slow, as the service does. It returns the status.
func (d *fileDaemon) order(id string) (status int) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		body := fmt.Sprintf(`{"records":[{"id":%q,"items":[{"name":"x"}]}]}`, id)
		resp, err := http.DefaultClient.Do(printRequest(d.t, d.WebhookAddr().String(), body))
		assert.NoError(d.t, err)
		resp.Body.Close()
		if status = resp.StatusCode; status != http.StatusServiceUnavailable {
			break
		}
	}
	return status
}

// get is the status and the body of a page.
func (d *fileDaemon) get(url string) (int, string) {
	d.t.Helper()
	resp, err := http.Get(url)
	assert.NoError(d.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	assert.NoError(d.t, err)
	return resp.StatusCode, string(b)
}

// metrics is the text for Prometheus.
func (d *fileDaemon) metrics() string {
	d.t.Helper()
	_, text := d.get("http://" + d.MetricsAddr().String() + "/metrics")
	return text
}

// waiting is how many tickets wait at a station.
func (d *fileDaemon) waiting(station string) (n int) {
	for _, s := range d.Queue().Stations() {
		if s.Name == station {
			n = s.Pending + s.Printing
		}
	}
	return n
}

// jobsOf are the jobs of a station in a state; of any state, if it is empty.
func (k *testDaemon) jobsOf(station string, state ticket.State) []queue.Job {
	k.T.Helper()
	f := queue.Filter{Station: station}
	if state != "" {
		f.States = []ticket.State{state}
	}
	jobs, err := k.App.Queue().Jobs(k.T.Context(), f)
	k.must(err)
	slices.SortFunc(jobs, func(a, b queue.Job) int { return cmp.Compare(a.ID, b.ID) })
	return jobs
}
