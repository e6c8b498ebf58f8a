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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/queue/logtest"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
	"ticketrail/receiver/sim"
)

const (
	venueID = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	device  = "BW-E-Tablet-01"
)

// intake answers as a test wants and remembers what it was given, as a queue would.
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
			return ticket.Receipt{Duplicate: true, Conflict: known.Digest != q.Digest}
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

// testbed is a receiver with everything a test may want to look at.
type testbed struct {
	*Receiver
	intake  *intake
	reg     *prometheus.Registry
	log     *logtest.Log
	mu      sync.Mutex
	rejects []Reject
}

func newTestbed(tb testing.TB, change func(*Options, *Policy)) *testbed {
	tb.Helper()
	b := &testbed{intake: &intake{}, reg: prometheus.NewPedanticRegistry(), log: &logtest.Log{}}
	p := testPolicy(tb)
	o := Options{
		Intake: b.intake, Policy: p, Registerer: b.reg,
		Logger: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Reject: func(r Reject) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.rejects = append(b.rejects, r)
		},
	}
	if change != nil {
		change(&o, p)
	}
	r, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	b.Receiver = r
	return b
}

func testPolicy(tb testing.TB) *Policy {
	tb.Helper()
	compiled, err := plan.Compile(plan.Config{Fallback: "grill"})
	if err != nil {
		tb.Fatal(err)
	}
	return &Policy{
		Plan: compiled,
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
type pipeListener struct{ *sim.Listener }

// A rawConn is one raw connection to a served testbed: what the wire carries is what a test says.
type rawConn struct {
	net.Conn
	tb testing.TB
	in *bufio.Reader
}

// serve runs b's server until the test is over. stop shuts it down.
func (b *testbed) serve(tb testing.TB) (l *pipeListener, stop func() error) {
	l = &pipeListener{sim.Listen()}
	srv := b.HTTPServer()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = srv.Serve(l) }()
	stop = func() error {
		defer func() { _ = srv.Close(); <-ended }()
		return srv.Shutdown(context.Background())
	}
	tb.Cleanup(func() { _ = srv.Close(); <-ended })
	return l, stop
}

func (p *pipeListener) dial(tb testing.TB) *rawConn {
	tb.Helper()
	c, err := p.Dial(context.Background(), "", "")
	if err != nil {
		tb.Fatal(err)
	}
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

// requestHead is a request's head, right in every way but for what more says.
func requestHead(more ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: box\r\n%s: %s\r\n%s: %s\r\nContent-Type: application/json\r\n%s\r\n",
		contract.PathWebhook, contract.HeaderVenue, venueID, contract.HeaderDevice, device, strings.Join(more, ""))
}

func contentLength(n int) string { return fmt.Sprintf("Content-Length: %d\r\n", n) }

func requestWith(body string) string { return requestHead(contentLength(len(body))) + body }
