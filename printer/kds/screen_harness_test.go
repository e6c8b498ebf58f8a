package kds_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/kv"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

// A beginCounter counts the calls of begin, which returns err.
type beginCounter struct {
	n   int
	err error
}

func (b *beginCounter) begin(context.Context) error { b.n++; return b.err }

// jobs is the board in one line: jobs of the open orders | jobs of those that can be recalled.
func jobs(b *board.Board) string {
	snap := b.Snapshot()
	var out []string
	add := func(orders []*board.Order) {
		for _, o := range orders {
			for _, job := range o.Jobs() {
				out = append(out, fmt.Sprint(job))
			}
		}
	}
	add(snap.Orders)
	out = append(out, "|")
	add(snap.Recall)
	return strings.Join(out, " ")
}

// wantJobs compares [jobs].
func wantJobs(t *testing.T, b *board.Board, want string) {
	t.Helper()
	wantEqual(t, "board", want, jobs(b))
}

// A fakePrinter collects its tickets, and returns err after each.
type fakePrinter struct {
	mu  sync.Mutex
	out []string
	err error
}

func (r *fakePrinter) Print(ctx context.Context, d ticket.Delivery,
	begin func(context.Context) error) (ticket.Proof, error) {
	if err := begin(ctx); err != nil {
		return "", fmt.Errorf("begin: %w", err)
	}
	s := d.Ticket.Number
	for _, l := range d.Ticket.Lines {
		if l.Course != "" { // its order
			s += " " + l.Course[:2]
		}
	}
	if d.For != "" {
		s += " for " + d.For + " (" + d.Down + " down)"
	}
	if d.Doubt {
		s += ", possible duplicate"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = append(r.out, s)
	return ticket.Sent, r.err
}

// printed are the tickets that came out since it was asked last.
func (r *fakePrinter) printed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.out
	r.out = nil
	return out
}

func (r *fakePrinter) wantPrinted(t *testing.T, want ...string) {
	t.Helper()
	wantEqual(t, "came out", want, r.printed())
}

// openPage is a page that confirms every card until it is closed.
func openPage(s *kds.Screen, id string) (closed func()) {
	leave := s.Join(id)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			changed := s.Board().Changed()
			var held []uint64
			for _, o := range s.Board().Snapshot().Orders {
				held = append(held, o.Jobs()...)
			}
			s.Confirm(id, held)
			select {
			case <-changed:
			case <-stop:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(stop); <-done; leave() })
}

// bump bumps the order of a job, as its page does.
func bump(t *testing.T, s *kds.Screen, job uint64) {
	t.Helper()
	o := s.Board().OrderWith(job)
	r, err := s.Do(t.Context(), "a", board.Command{ID: "bump", Do: board.Bump, Order: o.Key, Version: o.Version})
	assert.True(t, r.Outcome == board.Done && err == nil, r, err)
}

// wantShown prints a ticket, which a page confirms.
func wantShown(t *testing.T, s *kds.Screen, d ticket.Delivery) {
	t.Helper()
	proof, err := s.Print(t.Context(), d, noBegin)
	assert.True(t, proof == ticket.Shown && err == nil, d.Job, proof, err)
}

func newTestScreen(t *testing.T, s kv.Store) *kds.Screen {
	t.Helper()
	return kds.NewScreen(kds.ScreenOptions{Name: "hot-line", Board: openBoard(t, "hot-line", s)})
}

// A screenHarness is the queue and the dispatcher of a screen.
type screenHarness struct {
	t     *testing.T
	q     *queue.Queue
	d     *dispatch.Dispatcher
	seq   uint64       // the latest job that was ordered
	sent  atomic.Int32 // how often the tickets of the dark screen were sent to paper
	fails atomic.Int32 // how many of the first of these fail
}

// withScreen runs f with a screen that has grill, a station of its own too, as its backup.
func withScreen(t *testing.T, f func(t *testing.T, k *screenHarness, s *kds.Screen, paper *fakePrinter)) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ticketrail.db")
		q, err := queue.Open(queue.Options{Path: path, Reserve: -1, NoSync: true})
		assert.NoError(t, err)
		q.SetStations([]string{"hot-line", "grill"})
		d := dispatch.New(dispatch.Options{Queue: dispatch.From(q)})
		k, paper := &screenHarness{t: t, q: q, d: d}, &fakePrinter{}

		cards := q.KV("board hot-line")
		s := kds.NewScreen(kds.ScreenOptions{
			Name: "hot-line", Board: openBoard(t, "hot-line", cards), Backup: "grill",
			OnLive: func() { k.d.Kick("hot-line") },
			StorePaper: func(ctx context.Context, t ticket.Ticket, values map[string][]byte) error {
				if k.sent.Add(1) <= k.fails.Load() {
					return queuetest.ErrStorage
				}
				return q.PrintShown(ctx, "hot-line", "grill", t, cards, values)
			},
		})
		k.d.Set([]dispatch.Lane{
			{Name: "hot-line", Station: s, Backups: []dispatch.Backup{{Name: "grill", Station: s.WrapBackup(paper),
				After: s.Options().HoldFor}}},
			{Name: "grill", Station: paper},
		})
		ctx, cancel := context.WithCancel(context.Background())
		var watching sync.WaitGroup
		watching.Go(func() { s.RunDark(ctx) })

		defer func() {
			cancel()
			watching.Wait()
			assert.NoError(t, k.d.Stop(ctx))
			assert.Equal(t, q.Unaccounted(), 0)
			assert.NoError(t, q.Close())
		}()
		f(t, k, s, paper)
	})
}

// withDarkScreen runs f with a screen that showed jobs 1 to 3, of which 2 is bumped, and whose last page has just
// closed.
func withDarkScreen(t *testing.T, f func(t *testing.T, k *screenHarness, s *kds.Screen, paper *fakePrinter)) {
	withScreen(t, func(t *testing.T, k *screenHarness, s *kds.Screen, paper *fakePrinter) {
		closed := openPage(s, "a")
		k.order(3)
		synctest.Wait()
		bump(t, s, 2)
		closed()
		f(t, k, s, paper)
	})
}

func (k *screenHarness) order(n int) {
	k.t.Helper()
	for range n {
		k.seq++
		d := delivery(k.seq)
		_, err := k.q.Accept(context.Background(), ticket.Request{
			Venue: d.Ticket.Venue, ID: d.Ticket.Request, Device: "d", Received: time.Now().UTC(), Body: []byte("{}"),
			Drafts: []ticket.Draft{{Station: "hot-line", Ticket: d.Ticket}},
		})
		assert.NoError(k.t, err)
	}
}

// states are the states of all jobs, the oldest first.
func (k *screenHarness) states() string {
	k.t.Helper()
	all, err := k.q.Jobs(context.Background(), queue.Filter{})
	assert.NoError(k.t, err)
	var out []string
	for _, j := range slices.Backward(all) {
		out = append(out, string(j.State))
	}
	return strings.Join(out, " ")
}

// wantPaper checks where the cards say that they were printed.
func wantPaper(t *testing.T, s *kds.Screen, want map[uint64]string) {
	t.Helper()
	got := map[uint64]string{}
	snap := s.Board().Snapshot()
	for _, o := range slices.Concat(snap.Orders, snap.Recall) {
		for _, k := range o.Tickets {
			if k.Paper != "" {
				got[k.Job] = k.Paper
			}
		}
	}
	wantEqual(t, "cards that say that they are on paper", want, got)
}
