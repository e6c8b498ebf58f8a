package receiver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

const (
	venueID = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	device  = "BW-E-Tablet-01"
)

// burger is the body of an order.
var burger = string(contract.Example("burger.json"))

func prefixes(ss ...string) (out []netip.Prefix) {
	for _, s := range ss {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// intake answers as a test wants and remembers the requests, as a queue would.
type intake struct {
	accept func(context.Context, ticket.Request) (ticket.Receipt, error) // nil: take it

	mu     sync.Mutex
	stored []ticket.Request
}

func (i *intake) Accept(ctx context.Context, q ticket.Request) (ticket.Receipt, error) {
	if i.accept != nil {
		return i.accept(ctx, q)
	}
	return i.store(q), nil
}

// acceptAfter has every request stored after a while, by a disk that cannot be told to hurry, nor to
// stop. Like the queue it is not waited for longer than ctx says.
func (i *intake) acceptAfter(wait time.Duration) {
	i.accept = func(ctx context.Context, q ticket.Request) (ticket.Receipt, error) {
		done := make(chan ticket.Receipt, 1)
		time.AfterFunc(wait, func() { done <- i.store(q) })
		select {
		case r := <-done:
			return r, nil
		case <-ctx.Done():
			return ticket.Receipt{}, ctx.Err()
		}
	}
}

func (i *intake) store(q ticket.Request) ticket.Receipt {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, known := range i.stored {
		if known.Venue == q.Venue && known.ID == q.ID {
			_, was := ticket.Shares(known.Drafts)
			_, is := ticket.Shares(q.Drafts)
			return ticket.Receipt{Duplicate: true, Conflict: was != is}
		}
	}
	i.stored = append(i.stored, q)
	return ticket.Receipt{Jobs: len(q.Drafts)}
}

func (i *intake) requests() []ticket.Request {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stored
}

// An oddPlan does something else before it plans.
type oddPlan struct {
	Planner
	first func(contract.PrintRequest)
}

func (p oddPlan) Split(r contract.PrintRequest, v plan.Venue, device string, at time.Time, n plan.Names) plan.Result {
	p.first(r)
	return p.Planner.Split(r, v, device, at, n)
}

// testbed is a receiver with everything a test may want to look at.
type testbed struct {
	*Receiver
	intake  *intake
	reg     *prometheus.Registry
	log     *queuetest.Log
	mu      sync.Mutex
	rejects []Reject
}

func newTestbed(tb testing.TB, change func(*Options, *Policy)) *testbed {
	tb.Helper()
	b := &testbed{intake: &intake{}, reg: prometheus.NewPedanticRegistry(), log: &queuetest.Log{}}
	p := testPolicy(tb)
	o := Options{
		Intake: b.intake, Policy: p, Registerer: b.reg,
		Classify: func(error) Code { return StorageFailed },
		Logger:   slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Reject: func(r Reject) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.rejects = append(b.rejects, r)
		},
	}
	if change != nil {
		change(&o, p)
	}
	b.Receiver = New(o)
	return b
}

func testPolicy(tb testing.TB) *Policy {
	tb.Helper()
	compiled, err := plan.Compile(plan.Config{Fallback: "grill"})
	assert.NoError(tb, err)
	return &Policy{
		Path: contract.PathWebhook, VenueHeader: contract.HeaderVenue, DeviceHeader: contract.HeaderDevice,
		MaxBody: 1 << 20, Plan: compiled, RespondWithin: time.Minute, // a slow machine is not a slow disk
		Venues: []Venue{{Venue: plan.Venue{ID: strings.ToUpper(venueID), Name: "Harbour Grill",
			Zone: "Australia/Melbourne"}}},
	}
}

func (b *testbed) rejected() []Reject {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rejects
}

// post makes a request that is right in every way.
func post(body []byte) *http.Request {
	req := httptest.NewRequest(http.MethodPost, contract.PathWebhook, bytes.NewReader(body))
	req.Header.Set(contract.HeaderVenue, venueID)
	req.Header.Set(contract.HeaderDevice, device)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	return req
}

func (b *testbed) do(req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, req)
	return w
}

// want makes a request and checks the status of its answer.
func (b *testbed) want(tb testing.TB, req *http.Request, status int, when ...any) {
	tb.Helper()
	if w := b.do(req); w.Code != status {
		tb.Errorf("%v: answered %d %s, want %d", when, w.Code, w.Body, status)
	}
}

// scrape is the metrics, one line a series: name{label values} value.
func (b *testbed) scrape(tb testing.TB) string {
	tb.Helper()
	families, err := b.reg.Gather()
	assert.NoError(tb, err)
	var out strings.Builder
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, " ") + "}"
			}
			v := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			fmt.Fprintf(&out, "%s %g\n", name, v)
		}
	}
	return out.String()
}

// count checks one series.
func (b *testbed) count(tb testing.TB, name string, want float64) {
	tb.Helper()
	all := b.scrape(tb)
	if !strings.Contains("\n"+all, fmt.Sprintf("\n%s %g\n", name, want)) {
		tb.Errorf("want %s %g in\n%s", name, want, all)
	}
}

// errorOf reads an answer other than 200: its code and message.
func errorOf(tb testing.TB, body []byte) (code Code, message string) {
	tb.Helper()
	var a failureBody
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil || a.Status != "ERROR" || a.Error.Code == "" || a.Error.Message == "" {
		tb.Fatalf("answer %s: %v", body, err)
	}
	return a.Error.Code, a.Error.Message
}

// pipeListener is where a testbed is served.
type pipeListener struct{ *virtual.Network }

// A rawConn is one raw connection to a served testbed: a test chooses each byte.
type rawConn struct {
	net.Conn
	tb testing.TB
	in *bufio.Reader
}

// bubble runs a story with a served testbed on a clock that moves only when all wait.
func bubble(t *testing.T, change func(*Options, *Policy), story func(t *testing.T, b *testbed, l *pipeListener)) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestbed(t, func(o *Options, p *Policy) {
			p.RespondWithin = 4 * time.Second // as usual
			if change != nil {
				change(o, p)
			}
		})
		story(t, b, b.serve(t))
	})
}

// wantElapsed checks how much time a story has taken so far.
func wantElapsed(t *testing.T, start time.Time, want time.Duration) {
	t.Helper()
	assert.Equal(t, time.Since(start), want)
}

// serve runs b's server until the test is over.
func (b *testbed) serve(tb testing.TB) *pipeListener {
	l := &pipeListener{virtual.NewNetwork()}
	srv := b.HTTPServer()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = srv.Serve(l) }()
	tb.Cleanup(func() { _ = srv.Close(); <-ended })
	return l
}

func (p *pipeListener) dial(tb testing.TB) *rawConn {
	tb.Helper()
	c, err := p.Dial(context.Background(), "", "")
	assert.NoError(tb, err)
	tb.Cleanup(func() { _ = c.Close() })
	return &rawConn{c, tb, bufio.NewReader(c)}
}

// send writes without waiting for the server to read: a pipe has no buffer.
func (l *rawConn) send(parts ...string) {
	go func() { _, _ = io.WriteString(l, strings.Join(parts, "")) }()
}

// answer reads one answer.
func (l *rawConn) answer() (*http.Response, []byte) {
	l.tb.Helper()
	resp, err := http.ReadResponse(l.in, nil)
	if err != nil {
		l.tb.Fatalf("read answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		l.tb.Fatalf("read answer: %v", err)
	}
	return resp, body
}

// want reads one answer and checks it.
func (l *rawConn) want(status int, code Code) *http.Response {
	l.tb.Helper()
	resp, body := l.answer()
	got := Code("")
	if resp.StatusCode != 200 {
		got, _ = errorOf(l.tb, body)
	}
	if resp.StatusCode != status || got != code {
		l.tb.Fatalf("answer %d %s, want %d %s", resp.StatusCode, body, status, code)
	}
	return resp
}

// wantClosed waits for the server to close the connection.
func (l *rawConn) wantClosed() {
	l.tb.Helper()
	if b, err := io.ReadAll(l.in); err != nil || len(b) > 0 {
		l.tb.Fatalf("want the connection closed, got %q, %v", b, err)
	}
}

// requestHead is a request's head, right in every way but for more.
func requestHead(more ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: box\r\n%s: %s\r\n%s: %s\r\nContent-Type: application/json\r\n%s\r\n",
		contract.PathWebhook, contract.HeaderVenue, venueID, contract.HeaderDevice, device, strings.Join(more, ""))
}

func contentLength(n int) string { return fmt.Sprintf("Content-Length: %d\r\n", n) }

func requestWith(body string) string { return requestHead(contentLength(len(body))) + body }
