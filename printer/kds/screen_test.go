package kds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/queue/kv"
	"ticketrail/queue/kv/kvtest"
	"ticketrail/queue/ticket"

	"ticketrail/printer/kds/board"
)

// A fakePrinter collects what came out of it.
type fakePrinter struct {
	mu   sync.Mutex
	out  []string
	fail func(d ticket.Delivery) (early, late error) // before and after begin
	slow time.Duration                               // after begin
}

func (r *fakePrinter) Print(ctx context.Context, d ticket.Delivery,
	begin func(context.Context) error) (ticket.Proof, error) {
	r.mu.Lock()
	fail, slow := r.fail, r.slow
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
	defer time.Sleep(slow)
	s := d.Ticket.Number
	if d.For != "" {
		s += " for " + d.For + " (" + d.Down + " down)"
	}
	if slices.Contains(d.Ticket.Notes, board.RescueNote) {
		s += ", was shown"
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

func (r *fakePrinter) setDelay(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow = by
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

func TestATicketIsShownWhenALivePageConfirmsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScreen(t, kvtest.New())
		defer s.Join("deaf")() // it is live and confirms nothing
		start := time.Now()
		time.AfterFunc(3*time.Second, func() { s.Confirm("stranger", []uint64{1}) })
		time.AfterFunc(4*time.Second, func() { s.Confirm("deaf", []uint64{2}) })
		time.AfterFunc(5*time.Second, func() { s.Confirm("deaf", []uint64{2, 1}) })
		var b beginCounter
		proof, err := s.Print(t.Context(), order(1, "Burger"), b.begin)
		if proof != ticket.Shown || err != nil || b.times() != 1 || time.Since(start) != 5*time.Second {
			t.Errorf("%s, %v, begun %d times, after %v", proof, err, b.times(), time.Since(start))
		}
		if c := card(s.Board(), 1); !c.Shown {
			t.Error("the card does not know")
		}
		start = time.Now()
		if proof, err := s.Print(t.Context(), order(1, "Burger"), b.begin); proof != ticket.Shown || err != nil ||
			time.Since(start) != 0 {
			t.Errorf("again: %s, %v, after %v", proof, err, time.Since(start))
		}
	})
}

func TestWithoutALivePageTheQueueWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := 0
		s := newTestScreen(t, kvtest.New(), func(o *ScreenOptions) { o.OnLive = func() { woken++ } })
		for _, when := range []string{"before the first page", "after the last"} {
			var b beginCounter
			_, err := s.Print(t.Context(), order(1, "Burger"), b.begin)
			if !ticket.IsNotReady(err) || b.times() != 0 {
				t.Errorf("%s: %v, begun %d times", when, err, b.times())
			}
			if got := jobs(s.Board()); got != "|" {
				t.Errorf("%s: board %q", when, got)
			}
			one, again, two := s.Join("a"), s.Join("a"), s.Join("b")
			one()
			one()
			if st := s.Status(); st.Live != 2 || !st.DarkSince.IsZero() {
				t.Errorf("status %+v", st)
			}
			again()
			two()
		}
		if woken != 2 {
			t.Errorf("the line was woken %d times", woken)
		}
	})
}

func TestACardThatNoPageConfirmedIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScreen(t, kvtest.New())
		leave := s.Join("a")
		time.AfterFunc(time.Second, leave)
		var b beginCounter
		start := time.Now()
		proof, err := s.Print(t.Context(), order(1, "Burger"), b.begin)
		if got := verdict(proof, err, b.times() > 0); got != "doubt" || time.Since(start) != 10*time.Second {
			t.Errorf("%s after %v: %v", got, time.Since(start), err)
		}
		// The page comes back: the same ticket, given again, has the same card.
		defer openPage(s, "a")()
		d := order(1, "Burger")
		d.Attempt, d.Doubt = 2, true
		if proof, err := s.Print(t.Context(), d, new(beginCounter).begin); proof != ticket.Shown || err != nil {
			t.Errorf("again: %s, %v", proof, err)
		}
		if c := card(s.Board(), 1); c.Duplicate || jobs(s.Board()) != "1 |" {
			t.Errorf("board %q, card %+v", jobs(s.Board()), c)
		}
	})
}

func TestWhatAPageConfirmedDoesNotCountOnceItFellSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScreen(t, kvtest.New())
		defer s.Join("a")()
		time.AfterFunc(time.Second, func() { s.Confirm("a", []uint64{1}) })
		if _, err := s.Print(t.Context(), order(1, "Burger"), new(beginCounter).begin); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		s.expirePage("a")
		defer s.Join("deaf")()
		if proof, err := s.Print(t.Context(), order(1, "Burger"), new(beginCounter).begin); err == nil {
			t.Errorf("%s by a page that says nothing", proof)
		}
	})
}

func TestABumpIsProofEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScreen(t, kvtest.New())
		defer s.Join("a")()
		time.AfterFunc(time.Second, func() {
			r, err := s.Do(t.Context(), "a", press(s.Board(), board.Bump, 1, 0))
			if r.Outcome != board.Done || err != nil {
				t.Errorf("%+v, %v", r, err)
			}
		})
		if proof, err := s.Print(t.Context(), order(1, "Burger"), new(beginCounter).begin); proof != ticket.Shown ||
			err != nil {
			t.Errorf("%s, %v", proof, err)
		}
	})
}

func TestATicketThatCannotBeStoredIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := kvtest.New()
		s := newTestScreen(t, store)
		defer openPage(s, "a")()
		store.Inject(kvtest.Failed)
		var b beginCounter
		proof, err := s.Print(t.Context(), order(1, "Burger"), b.begin)
		if got := verdict(proof, err, true); got != "again" || !errors.Is(err, kvtest.ErrStorage) {
			t.Errorf("%s: %v", got, err)
		}
		b.err = errors.New("full")
		if _, err := s.Print(t.Context(), order(1, "Burger"), b.begin); !errors.Is(err, b.err) {
			t.Errorf("begin fails: %v", err)
		}
	})
}

func TestAnInterruptedAttemptSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScreen(t, kvtest.New())
		defer s.Join("deaf")()
		cause := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := s.Print(ctx, order(1, "Burger"), new(beginCounter).begin); !errors.Is(err, cause) {
			t.Error(err)
		}
	})
}

func TestMetricsNameEachStation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		m := NewMetrics(reg)
		s := newTestScreen(t, kvtest.New(), func(o *ScreenOptions) { o.Metrics = m })
		m.Set([]*Screen{s})
		closed := openPage(s, "a")
		d := order(1, "Burger")
		d.Ticket.Received = time.Now().Add(-time.Minute)
		if _, err := s.Print(t.Context(), d, new(beginCounter).begin); err != nil {
			t.Error(err)
		}
		want := `
# HELP ticketrail_display_oldest_open_seconds Age of the oldest open ticket of a screen station; 0 if none is open.
# TYPE ticketrail_display_oldest_open_seconds gauge
ticketrail_display_oldest_open_seconds{station="hot-line"} 60
# HELP ticketrail_display_open_tickets Open tickets on a screen station's board.
# TYPE ticketrail_display_open_tickets gauge
ticketrail_display_open_tickets{station="hot-line"} 1
# HELP ticketrail_display_screens Live pages of a screen station; 0: the screen is dark.
# TYPE ticketrail_display_screens gauge
ticketrail_display_screens{station="hot-line"} 1
`
		names := []string{"ticketrail_display_screens", "ticketrail_display_open_tickets",
			"ticketrail_display_oldest_open_seconds"}
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
		if n, err := testutil.GatherAndCount(reg, "ticketrail_display_shown_seconds"); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		closed()
		m.Set(nil)
		if n, _ := testutil.GatherAndCount(reg, names...); n != 0 {
			t.Errorf("%d series of a station that is gone", n)
		}
	})
}
