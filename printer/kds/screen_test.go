package kds_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/kds"
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
		proof, err := s.Print(t.Context(), delivery(1), b.begin)
		if proof != ticket.Shown || err != nil || b.n != 1 || time.Since(start) != 5*time.Second {
			t.Errorf("%s, %v, begun %d times, after %v", proof, err, b.n, time.Since(start))
		}
		if !s.Board().NeedPaper() {
			t.Error("the card does not know")
		}
		start = time.Now()
		wantShown(t, s, delivery(1))
		if after := time.Since(start); after != 0 {
			t.Errorf("again: after %v", after)
		}
	})
}

func TestWithoutALivePageTheQueueWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := 0
		s := kds.NewScreen(kds.ScreenOptions{Board: openBoard(t, "hot-line", queuetest.NewStore()),
			OnLive: func() { woken++ }})
		for _, when := range []string{"before the first page", "after the last"} {
			var b beginCounter
			_, err := s.Print(t.Context(), delivery(1), b.begin)
			if !ticket.IsNotReady(err) || b.n != 0 {
				t.Errorf("%s: %v, begun %d times", when, err, b.n)
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
		proof, err := s.Print(t.Context(), delivery(1), b.begin)
		if err == nil || ticket.IsUntouched(err) || ticket.IsNotReady(err) || ticket.IsPermanent(err) ||
			b.n != 1 || time.Since(start) != 10*time.Second {
			t.Errorf("%s, %v after %v", proof, err, time.Since(start))
		}
		// The page comes back: the same ticket, given again, has the same card.
		defer openPage(s, "a")()
		d := delivery(1)
		d.Attempt, d.Doubt = 2, true
		wantShown(t, s, d)
		if c := s.Board().OrderWith(1).Tickets[0]; c.Duplicate || jobs(s.Board()) != "1 |" {
			t.Errorf("board %q, card %+v", jobs(s.Board()), c)
		}
	})
}

func TestWhatAPageConfirmedDoesNotCountOnceItFellSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScreen(t, queuetest.NewStore())
		defer s.Join("a")()
		time.AfterFunc(time.Second, func() { s.Confirm("a", []uint64{1}) })
		wantShown(t, s, delivery(1))
		time.Sleep(time.Minute)
		s.ExpirePage("a")
		defer s.Join("deaf")()
		if proof, err := s.Print(t.Context(), delivery(1), noBegin); err == nil {
			t.Errorf("%s by a page that says nothing", proof)
		}
	})
}

func TestABumpIsProofEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScreen(t, queuetest.NewStore())
		defer s.Join("a")()
		time.AfterFunc(time.Second, func() { bump(t, s, 1) })
		wantShown(t, s, delivery(1))
	})
}

func TestATicketWhoseCardIsStoredIsInDoubtIfTheOneBeforeItStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := queuetest.NewStore()
		s := newTestScreen(t, store)
		leave := openPage(s, "a")
		_, err := s.Print(t.Context(), delivery(1), noBegin)
		must(t, err)
		defer leave()
		d := delivery(2)
		first := delivery(1).Ticket
		d.Ticket.Request, d.Ticket.Received = first.Request, first.Received.Add(time.Minute)
		d.Ticket.Changed = &ticket.Change{Order: first.Order()}
		store.InjectAt(store.Writes()+2, queuetest.Failed) // the first is the new card
		if _, err := s.Print(t.Context(), d, noBegin); err == nil || ticket.IsUntouched(err) {
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
		proof, err := s.Print(t.Context(), delivery(1), b.begin)
		if !ticket.IsUntouched(err) || !errors.Is(err, queuetest.ErrStorage) {
			t.Errorf("%s, %v", proof, err)
		}
		b.err = errors.New("full")
		if _, err := s.Print(t.Context(), delivery(1), b.begin); !errors.Is(err, b.err) {
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
		if _, err := s.Print(ctx, delivery(1), noBegin); !errors.Is(err, cause) {
			t.Error(err)
		}
	})
}
