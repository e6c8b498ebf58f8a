package kds_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

const shown = "OPEN ORDERS #1 #3 for hot-line (screen down)"

func TestWhatWasShownAndNotBumpedComesOutOfTheBackupWhenTheScreenIsDark(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *kds.Screen, paper *fakePrinter) {
		time.Sleep(19 * time.Second)
		paper.wantPrinted(t)
		closed := openPage(s, "a") // just in time
		time.Sleep(time.Minute)
		closed()
		time.Sleep(19 * time.Second)
		paper.wantPrinted(t)
		time.Sleep(time.Second)
		synctest.Wait()
		paper.wantPrinted(t, shown)
		time.Sleep(time.Hour)
		closed = openPage(s, "a")
		time.Sleep(time.Minute)
		closed()
		time.Sleep(time.Hour) // dark again
		paper.wantPrinted(t)
		wantJobs(t, s.Board(), "1 3 |")
		wantPaper(t, s, map[uint64]string{1: "grill", 3: "grill"})
		got := k.states()
		assert.True(t, got == "shown shown shown sent" && k.sent.Load() == 1, got, k.sent.Load())
	})
}

func TestOpenTicketsThatCannotBeSentToPaperAreSentAgain(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *kds.Screen, paper *fakePrinter) {
		k.fails.Store(3)
		time.Sleep(time.Minute)
		paper.wantPrinted(t, shown)
		wantPaper(t, s, map[uint64]string{1: "grill", 3: "grill"})
		assert.Equal(t, k.sent.Load(), 4)
	})
}

func TestATicketThatEndsAsShownWhileTheScreenIsDarkGoesToPaperToo(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *kds.Screen, paper *fakePrinter) {
		leave := s.Join("slow")
		k.order(1)
		time.Sleep(5 * time.Second)
		s.Confirm("slow", []uint64{4})
		leave()
		time.Sleep(time.Minute)
		out := strings.Join(paper.printed(), " ")
		assert.True(t, strings.Count(out, "#4") == 1 && strings.Count(out, "#1") == 1, out)
	})
}

func TestTheBackupTakesTheCardOffTheBoardBeforeItPrints(t *testing.T) {
	withDarkScreen(t, func(t *testing.T, k *screenHarness, s *kds.Screen, paper *fakePrinter) {
		leave := s.Join("deaf")
		k.order(1)
		time.Sleep(11 * time.Second)
		wantJobs(t, s.Board(), "1 3 4 | 2")
		leave()
		time.Sleep(time.Minute)
		paper.wantPrinted(t, shown, "4 for hot-line (screen down), possible duplicate")
		wantJobs(t, s.Board(), "1 3 | 4 2")
		assert.Equal(t, s.WrapBackup(paper), s.WrapBackup(paper), "a backup is not the same over a reload")
	})
}

func TestTheBackupPrintsNothingWhileTheCardCannotBeTakenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, paper := queuetest.NewStore(), &fakePrinter{}
		s := newTestScreen(t, store)
		assert.NoError(t, s.Board().Add(t.Context(), delivery(1)))
		store.Inject(queuetest.Failed)
		proof, err := s.WrapBackup(paper).Print(t.Context(), delivery(1), noBegin)
		assert.True(t, ticket.IsUntouched(err) && errors.Is(err, queuetest.ErrStorage), proof, err)
		paper.wantPrinted(t)
	})
}

func TestATicketThatWasRefusedElsewhereSaysSoOnTheScreenAndAtItsBackup(t *testing.T) {
	store, paper := queuetest.NewStore(), &fakePrinter{}
	s := newTestScreen(t, store)
	d := delivery(1)
	d.For, d.RefusedBy = "fresh", []string{"fresh", "wall"}
	assert.NoError(t, s.Board().Add(t.Context(), d))
	for _, b := range []*board.Board{s.Board(), openBoard(t, "hot-line", store)} {
		c := b.OrderWith(1).Tickets[0]
		assert.True(t, slices.Equal(c.RefusedBy, d.RefusedBy) && c.Down == "", c)
	}
	_, err := s.WrapBackup(paper).Print(t.Context(), d, noBegin)
	assert.NoError(t, err)
	paper.wantPrinted(t, "1 for fresh ( down)")
}

func TestTheQueueOfADarkScreenComesOutOfItsBackupInOrder(t *testing.T) {
	withScreen(t, func(t *testing.T, k *screenHarness, s *kds.Screen, paper *fakePrinter) {
		closed := openPage(s, "a")
		k.order(2)
		time.Sleep(time.Second)
		closed()
		time.Sleep(5 * time.Second)
		k.order(3)
		time.Sleep(14 * time.Second)
		paper.wantPrinted(t)
		time.Sleep(time.Minute)
		paper.wantPrinted(t, "OPEN ORDERS #1 #2 for hot-line (screen down)",
			"3 for hot-line (screen down)", "4 for hot-line (screen down)", "5 for hot-line (screen down)")
		assert.Equal(t, k.states(), "shown shown sent sent sent sent")
		wantJobs(t, s.Board(), "1 2 | 5 4 3")
		k.order(1)
		time.Sleep(time.Minute)
		paper.wantPrinted(t, "6 for hot-line (screen down)")
		defer openPage(s, "a")()
		k.order(1)
		time.Sleep(time.Second)
		wantJobs(t, s.Board(), "1 2 8 | 7 5 4 3")
		paper.wantPrinted(t)
	})
}
