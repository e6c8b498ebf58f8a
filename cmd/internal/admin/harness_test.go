package admin

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/deploy/assert"
	"ticketrail/printer/layout"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
)

// A testDaemon is a server on a socket, with a real queue behind it: job 1 is sent, job 2 waits at
// bar, and job 3 is held at old, which is no longer in the configuration.
type testDaemon struct {
	*Client
	path   string
	queue  *queue.Queue
	kicked []string // in the order of the requests, one at a time
	fail   error    // the error of pairing a browser
	// With both set, a request for the list of stations sends on entered, and waits until release
	// is closed.
	entered, release chan struct{}
	stop             context.CancelFunc
	served           chan error
	server           *Server
}

// startDaemon starts a daemon; change may alter it and its options before that.
func startDaemon(t *testing.T, change ...func(*testDaemon, *Options)) *testDaemon {
	t.Helper()
	d := &testDaemon{path: socketPath(t), queue: testQueue(t), served: make(chan error, 1)}
	o := Options{
		Queue: d.queue, Kick: func(station string) { d.kicked = append(d.kicked, station) },
		Rejects: testRejects(t, d.queue),
		PrintLate: func(_ context.Context, one Reject, lenient bool) (ticket.Receipt, error) {
			if !lenient {
				return ticket.Receipt{}, &receiver.Hindrance{Message: "it still cannot be read"}
			}
			return ticket.Receipt{Jobs: 2, Duplicate: !one.Printed.IsZero()}, nil
		},
		Displays: testDisplays{t, d},
		Stations: func() []finding.Station {
			if d.entered != nil {
				d.entered <- struct{}{}
				<-d.release
			}
			return finding.Join([]finding.Station{{Name: "bar", Known: true, Error: "connection refused"}},
				d.queue.Stations(), time.Now())
		},
		Findings: func(context.Context) ([]finding.Finding, error) {
			return []finding.Finding{
				{Level: finding.Fail, Subject: "database", Text: "the database was damaged", Do: "see the log"},
				{Level: finding.Fail, Subject: "bar", Station: true},
				{Level: finding.Warn, Subject: "clock", Text: "wrong"},
			}, nil
		},
		Zone:   func() *time.Location { return time.Local },
		Layout: func(string) (layout.Options, error) { return layout.Options{Columns: 32}, nil },
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, f := range change {
		f(d, &o)
	}
	l, err := Listen(d.path)
	assert.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	d.Client, d.stop, d.server = NewClient(d.path), cancel, New(o)
	go func() {
		d.served <- httpserver.Serve(ctx, l, d.server.HTTPServer(), httpserver.Options{Grace: 5 * time.Second})
	}()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-d.served)
		_, err = os.Lstat(d.path)
		assert.True(t, err != nil, "the socket is still there after a graceful stop")
	})
	return d
}

// testQueue is a queue with the three jobs.
func testQueue(t *testing.T) *queue.Queue {
	t.Helper()
	q, err := queue.Open(queue.Options{Path: filepath.Join(t.TempDir(), "t.db"), NoSync: true, Reserve: -1})
	assert.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, q.Close()) })
	q.SetStations([]string{"grill", "bar", "old"})
	accept := func(id string, received int64, stations ...string) {
		r := ticket.Request{ID: id, Received: time.Unix(received, 0), Body: []byte(`{"id": 1}` + "\xff")}
		for _, s := range stations {
			r.Drafts = append(r.Drafts,
				ticket.Draft{Station: s, Ticket: ticket.Ticket{Request: id, Received: r.Received}})
		}
		_, err := q.Accept(t.Context(), r)
		assert.NoError(t, err)
	}
	accept("req-a", 1000, "grill", "bar")
	accept("req-b", 2000, "old")
	sent, err := q.Take(t.Context(), "grill")
	assert.NoError(t, err)
	assert.NoError(t, sent.Begin(t.Context(), false))
	assert.NoError(t, sent.Settle(t.Context(), queue.Settlement{End: queue.Ack, Proof: ticket.Sent}))
	held, err := q.Take(t.Context(), "old")
	assert.NoError(t, err)
	assert.NoError(t, held.Settle(t.Context(), queue.Settlement{End: queue.Hold, Reason: "paper"}))
	q.SetStations([]string{"grill", "bar"})
	return q
}

// acceptAtBar puts a request with these tickets into the queue.
func (d *testDaemon) acceptAtBar(t *testing.T, tickets ...ticket.Ticket) {
	t.Helper()
	r := ticket.Request{ID: "more", Received: time.Now(), Body: []byte("{}")}
	for _, one := range tickets {
		r.Drafts = append(r.Drafts, ticket.Draft{Station: "bar", Ticket: one})
	}
	_, err := d.queue.Accept(t.Context(), r)
	assert.NoError(t, err)
}

// testRejects has one refused request.
func testRejects(t *testing.T, q *queue.Queue) *receiver.Rejects {
	t.Helper()
	r, err := receiver.OpenRejects(q.KV("rejects"), q.KV("bodies"), slog.New(slog.DiscardHandler),
		prometheus.NewRegistry())
	if err == nil {
		t.Cleanup(func() { _ = r.Close(context.Background()) })
		err = r.Store(t.Context(), receiver.Reject{Time: time.Now(), Code: "schema_mismatch",
			Message: "records: missing", Body: []byte("{\x00")})
	}
	assert.NoError(t, err)
	return r
}

type testDisplays struct {
	t *testing.T
	d *testDaemon
}

func (d testDisplays) Screens() Screens {
	return Screens{Screens: []Screen{{Name: "hot"}}, Pairings: []Pairing{}}
}

func (testDisplays) Timeline(job uint64) ([]Moment, error) {
	if job != 1 {
		return nil, nil
	}
	return []Moment{
		{At: time.Unix(1002, 0).UTC(), Text: "bumped at grill"}, {At: time.Unix(1000, 0).UTC(), Text: "accepted"},
		{At: time.Unix(1001, 0).UTC(), Text: "shown on grill"},
	}, nil
}

func (d testDisplays) Pair(ctx context.Context, code, station string, manager bool) (Pairing, error) {
	_, ok := ctx.Deadline()
	assert.True(d.t, ok, "the daemon was asked without a deadline")
	return Pairing{ID: "of " + code, Station: station, Manager: manager}, d.d.fail
}

func (d testDisplays) Revoke(_ context.Context, id string) (Pairing, error) {
	return Pairing{ID: id}, nil
}

// socketPath is a short path: the path of a unix socket has at most 107 bytes.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ta")
	assert.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s.sock")
}
