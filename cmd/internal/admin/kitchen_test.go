package admin

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"ticketrail/cmd/internal/httpserver"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
)

// kitchen stands in for the daemon's parts. It fails the test when it is asked for
// something the server should have refused by itself.
type kitchen struct {
	t       *testing.T
	mu      sync.Mutex // guards cargo to fail
	cargo   map[uint64]queue.Job
	lines   map[string]*queue.StationState
	last    uint64
	reasons map[uint64]string
	fail    error // what the next change answers
	// With both set, Job says on entered that it is asked and answers when release closes.
	entered, release chan struct{}
}

func newKitchen(t *testing.T) *kitchen {
	return &kitchen{
		t: t, last: 100,
		cargo: map[uint64]queue.Job{
			7: {ID: 7, Request: "req-a", Station: "grill", State: ticket.Sent, ReceivedAt: time.Unix(1000, 0).UTC(), FinishedAt: new(time.Unix(1003, 0).UTC())},
			8: {ID: 8, Request: "req-a", Station: "bar", State: ticket.Pending, ReceivedAt: time.Unix(1000, 0).UTC()},
			9: {ID: 9, Request: "req-b", Station: "old", State: ticket.Held, ReceivedAt: time.Unix(2000, 0).UTC(), Reason: "paper"},
		},
		lines: map[string]*queue.StationState{
			"grill": {Name: "grill", Configured: true},
			"bar":   {Name: "bar", Configured: true, Pending: 1, Oldest: 90 * time.Second},
			"old":   {Name: "old", Held: 1},
		},
		reasons: map[uint64]string{},
	}
}

func (k *kitchen) Jobs(ctx context.Context, f queue.Filter) ([]queue.Job, error) {
	k.police(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []queue.Job
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(k.cargo))) {
		j := k.cargo[id]
		if (len(f.States) == 0 || slices.Contains(f.States, j.State)) && (f.Station == "" || f.Station == j.Station) &&
			(f.Request == "" || f.Request == j.Request) && !j.ReceivedAt.Before(f.Since) && (f.Limit == 0 || len(out) < f.Limit) {
			out = append(out, j)
		}
	}
	return out, nil
}

func (k *kitchen) Job(ctx context.Context, id uint64) (queue.Job, ticket.Ticket, []byte, error) {
	k.police(ctx)
	if k.entered != nil {
		k.entered <- struct{}{}
		<-k.release
	}
	k.mu.Lock()
	j, ok := k.cargo[id]
	k.mu.Unlock()
	if !ok {
		return queue.Job{}, ticket.Ticket{}, nil, fmt.Errorf("job %d: %w", id, queue.ErrNotFound)
	}
	return j, ticket.Ticket{Request: j.Request}, []byte(`{"id": 1}` + "\xff"), nil
}

// change makes a new job of an old one, under the lock.
func (k *kitchen) change(ctx context.Context, id uint64, station, reason string, to ticket.State) (uint64, error) {
	k.police(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail != nil {
		return 0, k.fail
	}
	j, ok := k.cargo[id]
	if !ok {
		return 0, fmt.Errorf("job %d: %w", id, queue.ErrNotFound)
	}
	j.State, k.reasons[id] = to, reason
	k.cargo[id] = j
	if to == ticket.Cancelled {
		return 0, nil
	}
	if station == "" {
		station = j.Station
	}
	if l := k.lines[station]; l == nil || !l.Configured {
		k.t.Errorf("a ticket was sent to %q, which is no configured printer", station)
	}
	k.last++
	k.cargo[k.last] = queue.Job{ID: k.last, Station: station, State: ticket.Pending, Of: id}
	return k.last, nil
}

func (k *kitchen) Reprint(ctx context.Context, id uint64, station, reason string) (uint64, error) {
	return k.change(ctx, id, station, reason, ticket.Sent)
}

func (k *kitchen) Move(ctx context.Context, ids []uint64, to string) ([]uint64, error) {
	if len(ids) == 0 {
		k.t.Error("no tickets were to be moved")
	}
	var out []uint64
	for _, id := range ids {
		n, err := k.change(ctx, id, to, "", ticket.Moved)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func (k *kitchen) MoveAll(ctx context.Context, from, to string) ([]uint64, error) {
	jobs, _ := k.Jobs(ctx, queue.Filter{Station: from})
	var ids []uint64
	for _, j := range jobs {
		if j.State.Open() {
			ids = append(ids, j.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return k.Move(ctx, ids, to)
}

func (k *kitchen) Cancel(ctx context.Context, id uint64, reason string) error {
	_, err := k.change(ctx, id, "", reason, ticket.Cancelled)
	return err
}

func (k *kitchen) Stations() []queue.StationState {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []queue.StationState
	for _, n := range slices.Sorted(maps.Keys(k.lines)) {
		out = append(out, *k.lines[n])
	}
	return out
}

func (k *kitchen) HoldStation(ctx context.Context, station, reason string) error {
	k.police(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lines[station] == nil {
		k.t.Errorf("the unknown line %q was held", station)
		return nil
	}
	k.lines[station].Hold = &queue.Hold{Reason: reason, Since: time.Unix(3000, 0).UTC()}
	return nil
}

func (k *kitchen) ResumeStation(ctx context.Context, station string) error {
	k.police(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines[station].Hold = nil
	return nil
}

func (k *kitchen) TestTicket(ctx context.Context, station string) (uint64, error) {
	return k.change(ctx, 7, station, "", ticket.Sent)
}

func (k *kitchen) List() []Reject {
	return []Reject{{ID: 2, Reject: receiver.Reject{Code: "schema_mismatch", Message: "records: missing", Body: []byte("{\x00")}}}
}

func (k *kitchen) police(ctx context.Context) {
	if _, ok := ctx.Deadline(); !ok {
		k.t.Error("the daemon's parts were asked without a deadline")
	}
}

func (k *kitchen) options() Options {
	return Options{
		Jobs: k, Desk: k, Stations: k, Tester: k, Rejects: k,
		Reload: func(context.Context) (Reloaded, error) { return Reloaded{Orphans: []string{"old"}}, nil },
		Statuses: func() []Status {
			return []Status{{Name: "bar", Address: "tcp://10.0.0.9:9100", Known: true, Since: time.Unix(50, 0), Err: "connection refused", NextTry: time.Unix(60, 0)}}
		},
		Notices: func() []string { return []string{"the database was damaged"} },
		Logger:  slog.New(slog.NewTextHandler(k.t.Output(), nil)),
	}
}

// place is a short path: a socket's may have some hundred bytes.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ta")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s.sock")
}

// open serves o at a socket of its own and returns a client for it.
func open(t *testing.T, o Options) (*Client, string) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	path := place(t)
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- httpserver.Serve(ctx, l, s.HTTPServer(), httpserver.Options{Grace: 5 * time.Second}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve returns %v after a graceful stop", err)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("the socket is still there after a graceful stop")
		}
	})
	return NewClient(path), path
}
