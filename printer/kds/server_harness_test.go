package kds_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
	"ticketrail/printer/virtual"
	"ticketrail/queue/kv"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

// A testServer is a server with two screens, hot-line and cold, in memory.
type testServer struct {
	t          testing.TB
	pairingsKV *queuetest.Store // of the pairings
	server     *kds.Server
	pairings   *kds.Pairings
	screens    map[string]*kds.Screen
	displays   []kds.ServedScreen
	network    *virtual.Network
	managed    []string // the calls of the control API, and who made them
	stop       func() error
}

// newTestServer returns a server that answers until t ends.
func newTestServer(t testing.TB) *testServer {
	w := &testServer{t: t, pairingsKV: queuetest.NewStore(), screens: map[string]*kds.Screen{}}
	for _, name := range []string{"hot-line", "cold"} {
		w.screens[name] = kds.NewScreen(kds.ScreenOptions{Name: name, Board: openBoard(t, name, queuetest.NewStore())})
		w.displays = append(w.displays, kds.ServedScreen{Screen: w.screens[name], Zone: utc})
	}
	w.start()
	return w
}

// withServer runs f with a server, on a clock of its own.
func withServer(t *testing.T, f func(t *testing.T, w *testServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newTestServer(t)) })
}

// start opens the pairings and the server, as a start of the program does.
func (w *testServer) start() {
	var err error
	w.pairings, err = kds.OpenPairings(w.pairingsKV, nil)
	assert.NoError(w.t, err)
	w.server = kds.NewServer(kds.ServerOptions{
		Pairings: w.pairings,
		Manage: func(_ http.ResponseWriter, r *http.Request, who string) {
			w.managed = append(w.managed, who+": "+r.Method+" "+r.URL.Path)
		},
	})
	w.server.Set(w.displays)

	w.network = virtual.NewNetwork()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, w.server, w.network) }()
	w.stop = sync.OnceValue(func() error { cancel(); return <-served })
	w.t.Cleanup(func() { assert.NoError(w.t, w.stop()) })
}

func (w *testServer) restart() {
	w.t.Helper()
	assert.NoError(w.t, w.stop())
	w.start()
}

// serve answers on l until ctx ends, as the daemon does.
func serve(ctx context.Context, s *kds.Server, l net.Listener) error {
	srv := s.HTTPServer()
	down := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		_ = srv.Shutdown(grace)
		down <- srv.Close()
	})
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-down
}

func (w *testServer) put(station string, jobs ...uint64) {
	w.t.Helper()
	for _, job := range jobs {
		w.add(station, delivery(job))
	}
}

func (w *testServer) add(station string, d ticket.Delivery) {
	w.t.Helper()
	assert.NoError(w.t, w.screens[station].Board().Add(w.t.Context(), d))
}

func openBoard(t testing.TB, station string, store kv.Store) *board.Board {
	t.Helper()
	b, err := board.OpenBoard(board.BoardOptions{Station: station, KV: store})
	assert.NoError(t, err)
	return b
}

func delivery(job uint64) ticket.Delivery {
	return ticket.Delivery{Job: job, Attempt: 1, Ticket: ticket.Ticket{
		Venue: "grill", Request: fmt.Sprint("request-", job), Number: fmt.Sprint(job), Received: time.Now(),
		Lines: []ticket.Line{{Quantity: "1", Name: "Burger"}},
	}}
}

// order names the order of a job on a screen in a command: "order":…,"version":…
func (w *testServer) order(station string, job uint64) string {
	o := w.screens[station].Orders().OrderWith(job)
	return fmt.Sprintf(`"order":%q,"version":%d`, o.Key, o.Version)
}

// client is a browser that connects from the given address.
func (w *testServer) client(from string) *http.Client {
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return w.network.DialFrom(ctx, from)
	}}
	w.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

func (w *testServer) get(c *http.Client, path string, header ...string) (int, string, http.Header) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://localhost"+path, nil)
	assert.NoError(w.t, err)
	return w.send(c, r, header)
}

func (w *testServer) post(c *http.Client, path, body string, header ...string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://localhost"+path,
		strings.NewReader(body))
	assert.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	code, text, _ := w.send(c, r, header)
	return code, text
}

// setHeader sets fields, each a name and its value.
func setHeader(r *http.Request, fields []string) {
	for field := range slices.Chunk(fields, 2) {
		r.Header.Set(field[0], field[1])
		if field[0] == "Host" {
			r.Host = field[1]
		}
	}
}

func (w *testServer) send(c *http.Client, r *http.Request, header []string) (int, string, http.Header) {
	w.t.Helper()
	setHeader(r, header)
	got, err := c.Do(r)
	if err != nil {
		if w.t.Context().Err() != nil {
			runtime.Goexit() // a page that was still talking when the test was over
		}
		w.t.Fatal(err)
	}
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	assert.NoError(w.t, err)
	return got.StatusCode, string(b), got.Header
}

// A streamEvent is one event of a stream.
type streamEvent struct{ kind, id, data string }

// An eventStream reads the events of a stream.
type eventStream struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
}

func (w *testServer) listen(c *http.Client, station, page, after string, header ...string) *eventStream {
	w.t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://localhost/screen/"+station+"/events?page="+page+"&after="+after,
		nil)
	assert.NoError(w.t, err)
	setHeader(r, header)
	got, err := c.Do(r)
	assert.NoError(w.t, err)
	assert.True(w.t, got.StatusCode == http.StatusOK && got.Header.Get("Content-Type") == "text/event-stream",
		got.Status, got.Header)
	w.t.Cleanup(func() { got.Body.Close() })
	return &eventStream{w.t, got.Body, bufio.NewReader(got.Body)}
}

// next returns the next event whose kind is not one of not; false at the end of the stream.
func (e *eventStream) next(not ...string) (streamEvent, bool) {
	var ev streamEvent
	for {
		line, err := e.in.ReadString('\n')
		if err != nil {
			return streamEvent{}, false
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && ev.kind != "" && !slices.Contains(not, ev.kind):
			return ev, true
		case line == "":
			ev = streamEvent{}
		case name == "event":
			ev.kind = value
		case name == "id":
			ev.id = value
		case name == "data":
			ev.data = value
		}
	}
}

func (e *eventStream) want(kind string, not ...string) streamEvent {
	e.t.Helper()
	ev, ok := e.next(not...)
	assert.True(e.t, ok && ev.kind == kind, ev, ok, kind)
	return ev
}

func wantLive(t *testing.T, s *kds.Screen, want int) {
	t.Helper()
	assert.Equal(t, s.Status().Live, want)
}

func decode[T any](t testing.TB, s string) (v T) {
	t.Helper()
	assert.NoError(t, json.Unmarshal([]byte(s), &v))
	return v
}

// drain reads the stream to its end.
func (e *eventStream) drain() {
	for ok := true; ok; _, ok = e.next() {
	}
}

const testPage = "page0001"

// shown says that a page holds the cards of these jobs, and which of them can be seen. Both are JSON.
func (w *testServer) shown(c *http.Client, station, page, jobs, visible string) (int, string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"page":%q,"jobs":%s,"visible":%s}`, page, jobs, visible)
	return w.post(c, "/screen/"+station+"/shown", body)
}

// answerBeats reads the stream of a page and answers heartbeats until ctx ends.
func (w *testServer) answerBeats(ctx context.Context, c *http.Client, station, page string) {
	e := w.listen(c, station, page, "")
	go func() {
		for ctx.Err() == nil {
			ev, ok := e.next()
			if !ok {
				return
			}
			if ev.kind == "hello" || ctx.Err() != nil {
				continue
			}
			var jobs []uint64
			for _, o := range w.screens[station].Board().Snapshot().Orders {
				jobs = append(jobs, o.Tickets[0].Job)
			}
			held, _ := json.Marshal(jobs)
			w.shown(c, station, page, string(held), "[]")
		}
		e.drain() // it keeps reading and answers nothing
	}()
}

// newTablet returns a browser on the network that keeps cookies.
func (w *testServer) newTablet(from string) *http.Client {
	c := w.client(from)
	c.Jar, _ = cookiejar.New(nil)
	return c
}

var codeOnPage = regexp.MustCompile(`id="code"[^>]*>([A-Z0-9]{4}-[A-Z0-9]{4})<`)

// code is the code that a browser shows.
func (w *testServer) code(c *http.Client) string {
	w.t.Helper()
	status, body, _ := w.get(c, "/")
	m := codeOnPage.FindStringSubmatch(body)
	assert.True(w.t, status == http.StatusOK && m != nil, status, body)
	return m[1]
}

func (w *testServer) maySee(c *http.Client, station string) bool {
	w.t.Helper()
	code, _, _ := w.get(c, "/screen/"+station+"/state")
	return code == http.StatusOK
}

// pair pairs the browser that shows code with a station.
func (w *testServer) pair(code, station string) (kds.Pairing, error) {
	return w.server.Pair(w.t.Context(), code, kds.Pairing{Station: station}, "a test")
}

// paired is a browser on the network that is paired with a station.
func (w *testServer) paired(from, station string) *http.Client {
	w.t.Helper()
	c := w.newTablet(from)
	_, err := w.pair(w.code(c), station)
	assert.NoError(w.t, err)
	return c
}

// manager is a browser that was paired to manage.
func (w *testServer) manager(from string) (*http.Client, kds.Pairing) {
	w.t.Helper()
	c := w.newTablet(from)
	p, err := w.server.Pair(w.t.Context(), w.code(c), kds.Pairing{Manager: true}, "a test")
	assert.NoError(w.t, err)
	return c, p
}

// typed sends a code as the page of a manager does.
func (w *testServer) typed(c *http.Client, code, station string, header ...string) (int, string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"code":%q,"station":%q,"manager":true,"Manager":true}`, code, station)
	return w.post(c, "/manage/pair", body, header...)
}

// ownPage is the header that a browser sends with the requests of a page of this server.
func ownPage() []string {
	return []string{"Origin", "http://localhost", "Sec-Fetch-Site", "same-origin"}
}

func noBegin(context.Context) error { return nil }

// utc is the zone of a kitchen.
func utc() *time.Location { return time.UTC }

func wantEqual(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
