package kds_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
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
		assert.True(t, proof == ticket.Shown && err == nil && b.n == 1 && time.Since(start) == 5*time.Second, proof,
			err, b.n, time.Since(start))
		assert.True(t, s.Board().NeedPaper(), "the card does not know")
		start = time.Now()
		wantShown(t, s, delivery(1))
		assert.Equal(t, time.Since(start), 0)
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
			assert.True(t, ticket.IsNotReady(err) && b.n == 0, when, err, b.n)
			wantJobs(t, s.Board(), "|")
			one, again, two := s.Join("a"), s.Join("a"), s.Join("b")
			one()
			one()
			st := s.Status()
			assert.True(t, st.Live == 2 && st.DarkSince.IsZero(), st)
			again()
			two()
		}
		assert.Equal(t, woken, 2)
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
		assert.True(t, err != nil && !ticket.IsUntouched(err) && !ticket.IsNotReady(err) &&
			!ticket.IsPermanent(err) && b.n == 1 && time.Since(start) == 10*time.Second, proof, err, time.Since(start))
		// The page comes back: the same ticket, given again, has the same card.
		defer openPage(s, "a")()
		d := delivery(1)
		d.Attempt, d.Doubt = 2, true
		wantShown(t, s, d)
		c := s.Board().OrderWith(1).Tickets[0]
		assert.True(t, !c.Duplicate && jobs(s.Board()) == "1 |", jobs(s.Board()), c)
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
		proof, err := s.Print(t.Context(), delivery(1), noBegin)
		assert.True(t, err != nil, proof)
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
		assert.NoError(t, err)
		defer leave()
		d := delivery(2)
		first := delivery(1).Ticket
		d.Ticket.Request, d.Ticket.Received = first.Request, first.Received.Add(time.Minute)
		d.Ticket.Changed = &ticket.Change{Order: first.Order()}
		store.InjectAt(store.Writes()+2, queuetest.Failed) // the first is the new card
		_, err = s.Print(t.Context(), d, noBegin)
		assert.True(t, err != nil && !ticket.IsUntouched(err), err)
		_, stored := s.Board().State(2)
		assert.True(t, stored, "it is not")
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
		assert.True(t, ticket.IsUntouched(err) && errors.Is(err, queuetest.ErrStorage), proof, err)
		b.err = errors.New("full")
		_, err = s.Print(t.Context(), delivery(1), b.begin)
		assert.True(t, errors.Is(err, b.err), err)
	})
}

func TestAnInterruptedAttemptSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScreen(t, queuetest.NewStore())
		defer s.Join("deaf")()
		cause := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		_, err := s.Print(ctx, delivery(1), noBegin)
		assert.True(t, errors.Is(err, cause), err)
	})
}
