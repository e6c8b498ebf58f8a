package kds

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

	"github.com/google/go-cmp/cmp"

	"ticketrail/printer/kds/board"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/kv"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

// order is a ticket for the station hot-line.
func order(job uint64, names ...string) ticket.Delivery {
	d := ticket.Delivery{Job: job, Station: "hot-line", Attempt: 1, Ticket: ticket.Ticket{
		V: 1, Venue: "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", VenueName: "Harbour Grill",
		Request: fmt.Sprintf("0d9e1c52-7c1b-4d5e-8a66-%012d", job), Number: fmt.Sprint(job), Table: "B10",
		Received: time.Date(2026, 2, 6, 10, 49, 48, 0, time.UTC), Zone: "Australia/Melbourne",
	}}
	for _, n := range names {
		d.Ticket.Lines = append(d.Ticket.Lines, ticket.Line{Quantity: "1", Name: n})
	}
	return d
}

var presses int // over all tests: each press has its own id

// press is a command for the order of a job as it is now.
func press(b *board.Board, do board.Verb, job uint64) board.Command {
	presses++
	c := board.Command{ID: fmt.Sprint("press-", presses), Do: do, Order: "?"}
	if o := b.OrderWith(job); o != nil {
		c.Order, c.Version = o.Key, o.Version
	}
	return c
}

func wantOutcome(t *testing.T, b *board.Board, c board.Command, want board.Outcome) {
	t.Helper()
	if r, err := b.Do(t.Context(), c); r.Outcome != want || err != nil {
		t.Errorf("%s: %s, %v, want %s", c.Do, r.Outcome, err, want)
	}
}

// A beginCounter counts the calls of begin, which returns err.
type beginCounter struct {
	n   atomic.Int32
	err error
}

func (b *beginCounter) begin(context.Context) error { b.n.Add(1); return b.err }
func (b *beginCounter) times() int                  { return int(b.n.Load()) }

func open(t *testing.T, s kv.Store) *board.Board {
	t.Helper()
	b, err := board.OpenBoard(board.BoardOptions{Station: "hot-line", KV: s})
	must(t, err)
	return b
}

// Join opens a page that answers heartbeats, until leave is called.
func (s *Screen) Join(id string) (leave func()) {
	closed := s.streamOpened(id)
	s.pageAnswered(id, nil)
	return func() {
		closed()
		s.removePage(id, false)
	}
}

func put(t *testing.T, b *board.Board, ds ...ticket.Delivery) {
	t.Helper()
	for _, d := range ds {
		must(t, b.Add(context.Background(), d))
	}
}

// card is a ticket as pages see it; nil if they do not.
func card(b *board.Board, job uint64) *board.Ticket {
	o := b.OrderWith(job)
	if o == nil {
		return nil
	}
	i := slices.IndexFunc(o.Tickets, func(k board.Ticket) bool { return k.Job == job })
	if i < 0 {
		return nil
	}
	return &o.Tickets[i]
}

// wantJobs compares [jobs].
func wantJobs(t *testing.T, b *board.Board, want string) {
	t.Helper()
	if got := jobs(b); got != want {
		t.Errorf("board %q, want %q", got, want)
	}
}

// jobs is the board in one line: jobs of the open orders | jobs of those that can be recalled.
func jobs(b *board.Board) string {
	s := b.Snapshot()
	var out []string
	add := func(orders []*board.Order) {
		for _, o := range orders {
			for _, job := range o.Jobs() {
				out = append(out, fmt.Sprint(job))
			}
		}
	}
	add(s.Orders)
	out = append(out, "|")
	add(s.Recall)
	return strings.Join(out, " ")
}

// tickets are all tickets that pages see.
func tickets(b *board.Board) (out []board.Ticket) {
	s := b.Snapshot()
	for _, o := range append(s.Orders, s.Recall...) {
		out = append(out, o.Tickets...)
	}
	return out
}

// A fakePrinter collects its tickets.
type fakePrinter struct {
	mu   sync.Mutex
	out  []string
	fail func(d ticket.Delivery) (early, late error) // before and after begin
}

func (r *fakePrinter) Print(ctx context.Context, d ticket.Delivery,
	begin func(context.Context) error) (ticket.Proof, error) {
	r.mu.Lock()
	fail := r.fail
	r.mu.Unlock()
	var early, late error
	if fail != nil {
		early, late = fail(d)
	}
	if early != nil {
		return "", early
	}
	if err := begin(ctx); err != nil {
		return "", fmt.Errorf("begin: %w", err)
	}
	if ticket.IsUntouched(late) {
		return "", late
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
	return ticket.Sent, late
}

func (r *fakePrinter) wantPrinted(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if diff := cmp.Diff(want, r.out); diff != "" {
		t.Errorf("came out (-want +got):\n%s", diff)
	}
	r.out = nil
}

func (r *fakePrinter) fails(f func(ticket.Delivery) (early, late error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = f
}

// openPage is a page that confirms every card until it is closed.
func openPage(s *Screen, id string) (closed func()) {
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

func newTestScreen(t *testing.T, s kv.Store, change ...func(*ScreenOptions)) *Screen {
	t.Helper()
	o := ScreenOptions{Name: "hot-line", Board: open(t, s)}
	for _, f := range change {
		f(&o)
	}
	return NewScreen(o)
}

// A screenHarness is a real queue with a dispatcher and one station, and the parts that survive its
// restarts.
type screenHarness struct {
	t    *testing.T
	path string
	q    *queue.Queue
	d    *dispatch.Dispatcher
	seq  int
	// of newScreen
	s       *Screen
	sent    atomic.Int32 // how often the tickets of the dark screen were sent to paper
	fails   atomic.Int32 // how many of the first of these fail
	unwatch func()
}

func newScreenHarness(t *testing.T) *screenHarness {
	k := &screenHarness{t: t, path: filepath.Join(t.TempDir(), "ticketrail.db")}
	k.start()
	return k
}

func (k *screenHarness) start() {
	k.t.Helper()
	q, err := queue.Open(queue.Options{Path: k.path, Reserve: -1, NoSync: true})
	must(k.t, err)
	q.SetStations([]string{"hot-line", "grill"})
	k.q, k.d = q, dispatch.New(dispatch.Options{Queue: dispatch.From(q)})
}

func (k *screenHarness) stop() {
	k.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := k.d.Stop(ctx); err != nil {
		k.t.Error(err)
	}
	if n := k.q.Unaccounted(); n != 0 {
		k.t.Errorf("%d jobs are unaccounted for", n)
	}
	if err := k.q.Close(); err != nil {
		k.t.Error(err)
	}
}

func (k *screenHarness) order(n int) {
	k.t.Helper()
	for range n {
		k.seq++
		d := order(uint64(k.seq), "Burger")
		_, err := k.q.Accept(context.Background(), ticket.Request{
			Venue: d.Ticket.Venue, ID: d.Ticket.Request, Device: "d", Received: time.Now().UTC(), Body: []byte("{}"),
			Drafts: []ticket.Draft{{Station: "hot-line", Ticket: d.Ticket}},
		})
		must(k.t, err)
	}
}

// states are the states of all jobs, the oldest first.
func (k *screenHarness) states() string {
	k.t.Helper()
	all, err := k.q.Jobs(context.Background(), queue.Filter{})
	must(k.t, err)
	slices.Reverse(all)
	var out []string
	for _, j := range all {
		out = append(out, string(j.State))
	}
	return strings.Join(out, " ")
}

// newScreen makes the station a screen with grill as its backup; grill is a station of its own too.
func (k *screenHarness) newScreen(paper *fakePrinter) *Screen {
	cards := k.q.KV("board hot-line")
	s := NewScreen(ScreenOptions{
		Name: "hot-line", Board: open(k.t, cards), Backup: "grill", OnLive: func() { k.d.Kick("hot-line") },
		StorePaper: func(ctx context.Context, t ticket.Ticket, values map[string][]byte) error {
			if k.sent.Add(1) <= k.fails.Load() {
				return queuetest.ErrStorage
			}
			return k.q.PrintShown(ctx, "hot-line", "grill", t, cards, values)
		},
	})
	k.watch(s)
	k.d.Set([]dispatch.Lane{
		{Name: "hot-line", Station: s, Backups: []dispatch.Backup{{Name: "grill", Station: s.WrapBackup(paper),
			After: s.Options().HoldFor}}},
		{Name: "grill", Station: paper},
	})
	return s
}

func (k *screenHarness) watch(s *Screen) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { s.RunDark(ctx) })
	k.s, k.unwatch = s, func() { cancel(); watching.Wait() }
}

// closeAll stops everything.
func (k *screenHarness) closeAll() {
	k.t.Helper()
	k.unwatch()
	k.stop()
}

// withDarkScreen runs f with a screen that showed jobs 1 to 3, of which 2 is bumped, whose last
// page has just closed and whose backup is grill.
func withDarkScreen(t *testing.T, f func(t *testing.T, k *screenHarness, s *Screen, paper *fakePrinter)) {
	synctest.Test(t, func(t *testing.T) {
		k, paper := newScreenHarness(t), &fakePrinter{}
		s := k.newScreen(paper)
		defer k.closeAll()
		closed := openPage(s, "a")
		k.order(3)
		synctest.Wait()
		wantOutcome(t, s.Board(), press(s.Board(), board.Bump, 2), board.Done)
		closed()
		f(t, k, s, paper)
	})
}

// wantPaper checks where the cards say that they were printed.
func wantPaper(t *testing.T, s *Screen, want map[uint64]string) {
	t.Helper()
	got := map[uint64]string{}
	for _, c := range tickets(s.Board()) {
		if c.Paper != "" {
			got[c.Job] = c.Paper
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cards that say that they are on paper (-want +got):\n%s", diff)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
