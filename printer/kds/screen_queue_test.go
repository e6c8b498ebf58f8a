package kds

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"

	"ticketrail/printer/kds/board"
)

// A screenHarness is a real queue with a dispatcher and one station, and what survives its
// restarts.
type screenHarness struct {
	t    *testing.T
	path string
	q    *queue.Queue
	d    *dispatch.Dispatcher
	seq  int
	// of newScreen
	s       *Screen
	flaky   flakyRescuer
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
	if err != nil {
		k.t.Fatal(err)
	}
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
			Digest: [32]byte{byte(k.seq)}, Drafts: []ticket.Draft{{Station: "hot-line", Ticket: d.Ticket}},
		})
		if err != nil {
			k.t.Fatal(err)
		}
	}
}

// states are the states of all jobs, the oldest first.
func (k *screenHarness) states() string {
	k.t.Helper()
	all, err := k.q.Jobs(context.Background(), queue.Filter{})
	if err != nil {
		k.t.Fatal(err)
	}
	slices.Reverse(all)
	var out []string
	for _, j := range all {
		out = append(out, string(j.State))
	}
	return strings.Join(out, " ")
}

// newScreen makes the station a screen with grill as its backup; grill is a station of its own too.
func (k *screenHarness) newScreen(paper *fakePrinter) *Screen {
	k.flaky.Rescuer = k.q
	s := NewScreen(ScreenOptions{
		Name: "hot-line", Board: open(k.t, k.q.KV("board hot-line")), Backup: "grill", Rescuer: &k.flaky,
		OnLive: func() { k.d.Kick("hot-line") },
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
	watching.Go(func() { s.RunRescue(ctx) })
	k.s, k.unwatch = s, func() { cancel(); watching.Wait() }
}

// closeAll stops everything.
func (k *screenHarness) closeAll() {
	k.t.Helper()
	k.unwatch()
	k.stop()
}

func TestTicketsWaitForAScreenAndAreShownAtOnceWhenOneOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newScreenHarness(t)
		s := k.newScreen(&fakePrinter{})
		defer k.closeAll()
		k.order(3)
		time.Sleep(10 * time.Second)
		if got := k.states(); strings.Contains(got, "shown") || jobs(s.Board()) != "|" {
			t.Errorf("before: %s, board %q", got, jobs(s.Board()))
		}
		defer openPage(s, "a")()
		time.Sleep(300 * time.Millisecond)
		if got := k.states(); got != "shown shown shown" || jobs(s.Board()) != "1 2 3 |" {
			t.Errorf("after: %s, board %q", got, jobs(s.Board()))
		}
	})
}

func TestTheQueueOfADarkScreenComesOutOfItsBackupInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, paper := newScreenHarness(t), &fakePrinter{}
		s := k.newScreen(paper)
		defer k.closeAll()
		closed := openPage(s, "a")
		k.order(2)
		time.Sleep(time.Second)
		closed()
		time.Sleep(5 * time.Second)
		k.order(3)
		time.Sleep(14 * time.Second)
		paper.wantPrinted(t)
		time.Sleep(time.Minute)
		paper.wantPrinted(t, "1 for hot-line (screen down), was shown", "2 for hot-line (screen down), was shown",
			"3 for hot-line (screen down)", "4 for hot-line (screen down)", "5 for hot-line (screen down)")
		if got := k.states(); got != "shown shown sent sent sent sent sent" {
			t.Error(got)
		}
		if got := jobs(s.Board()); got != "1 2 | 5 4 3" {
			t.Errorf("board %q", got)
		}
		k.order(1)
		time.Sleep(time.Minute)
		paper.wantPrinted(t, "6 for hot-line (screen down)")
		defer openPage(s, "a")()
		k.order(1)
		time.Sleep(time.Second)
		if got := jobs(s.Board()); got != "1 2 9 | 8 5 4 3" {
			t.Errorf("board %q", got)
		}
		paper.wantPrinted(t)
	})
}

func TestARestartShowsTheSameBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newScreenHarness(t)
		s := k.newScreen(&fakePrinter{})
		closed := openPage(s, "a")
		k.order(4)
		time.Sleep(time.Second)
		wantOutcome(t, s.Board(), press(s.Board(), board.Bump, 2, 0), board.Done)
		wantOutcome(t, s.Board(), press(s.Board(), board.ItemDone, 3, 0), board.Done)
		before := s.Board().Snapshot()
		closed()
		k.closeAll()
		k.start()
		s = k.newScreen(&fakePrinter{})
		defer k.closeAll()
		after := s.Board().Snapshot()
		hidden := cmpopts.IgnoreUnexported(board.Order{}, board.Ticket{})
		if diff := cmp.Diff(before.Orders, after.Orders, hidden); diff != "" {
			t.Errorf("open (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(before.Recall, after.Recall, hidden); diff != "" {
			t.Errorf("recall (-before +after):\n%s", diff)
		}
		if before.ID == after.ID {
			t.Error("a page cannot tell that it missed something")
		}
	})
}
