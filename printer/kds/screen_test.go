package kds

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/kds/board"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

func TestATicketIsShownWhenALivePageConfirmsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScreen(t, queuetest.NewStore())
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
		if !s.Board().NeedPaper() {
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
		s := newTestScreen(t, queuetest.NewStore(), func(o *ScreenOptions) { o.OnLive = func() { woken++ } })
		for _, when := range []string{"before the first page", "after the last"} {
			var b beginCounter
			_, err := s.Print(t.Context(), order(1, "Burger"), b.begin)
			if !ticket.IsNotReady(err) || b.times() != 0 {
				t.Errorf("%s: %v, begun %d times", when, err, b.times())
			}
			wantJobs(t, s.Board(), "|")
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
		s := newTestScreen(t, queuetest.NewStore())
		leave := s.Join("a")
		time.AfterFunc(time.Second, leave)
		var b beginCounter
		start := time.Now()
		proof, err := s.Print(t.Context(), order(1, "Burger"), b.begin)
		if err == nil || ticket.IsUntouched(err) || ticket.IsNotReady(err) || ticket.IsPermanent(err) ||
			b.times() != 1 || time.Since(start) != 10*time.Second {
			t.Errorf("%s, %v after %v", proof, err, time.Since(start))
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
		s := newTestScreen(t, queuetest.NewStore())
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
		s := newTestScreen(t, queuetest.NewStore())
		defer s.Join("a")()
		time.AfterFunc(time.Second, func() {
			r, err := s.Do(t.Context(), "a", press(s.Board(), board.Bump, 1))
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

func TestATicketWhoseCardIsStoredIsInDoubtIfTheOneBeforeItStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := queuetest.NewStore()
		s := newTestScreen(t, store)
		leave := openPage(s, "a")
		_, err := s.Print(t.Context(), order(1, "Burger"), new(beginCounter).begin)
		must(t, err)
		defer leave()
		d := order(2, "Soup")
		first := order(1, "Burger").Ticket
		d.Ticket.Request, d.Ticket.Received = first.Request, first.Received.Add(time.Minute)
		d.Ticket.Changed = &ticket.Change{Order: first.Order()}
		store.InjectAt(store.Writes()+2, queuetest.Failed) // the first is the new card
		if _, err := s.Print(t.Context(), d, new(beginCounter).begin); err == nil || ticket.IsUntouched(err) {
			t.Errorf("%v: the card of job 2 is on the board", err)
		}
		if _, stored := s.Board().State(2); !stored {
			t.Error("it is not")
		}
	})
}

func TestATicketThatCannotBeStoredIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := queuetest.NewStore()
		s := newTestScreen(t, store)
		defer openPage(s, "a")()
		store.Inject(queuetest.Failed)
		var b beginCounter
		proof, err := s.Print(t.Context(), order(1, "Burger"), b.begin)
		if !ticket.IsUntouched(err) || !errors.Is(err, queuetest.ErrStorage) {
			t.Errorf("%s, %v", proof, err)
		}
		b.err = errors.New("full")
		if _, err := s.Print(t.Context(), order(1, "Burger"), b.begin); !errors.Is(err, b.err) {
			t.Errorf("begin fails: %v", err)
		}
	})
}

func TestAnInterruptedAttemptSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScreen(t, queuetest.NewStore())
		defer s.Join("deaf")()
		cause := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := s.Print(ctx, order(1, "Burger"), new(beginCounter).begin); !errors.Is(err, cause) {
			t.Error(err)
		}
	})
}
