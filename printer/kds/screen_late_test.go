package kds_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/kds"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/queuetest"
)

func TestALateConfirmationOfAWithdrawnCardIsNoProofForItsNewCard(t *testing.T) {
	for name, say := range map[string]func(s *kds.Screen, withdraw func()){
		"before it was taken off": func(s *kds.Screen, withdraw func()) { s.Confirm("slow", []uint64{1}); withdraw() },
		"after":                   func(s *kds.Screen, withdraw func()) { withdraw(); s.Confirm("slow", []uint64{1}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, paper := newTestScreen(t, queuetest.NewStore()), &fakePrinter{}
				defer s.Join("slow")()
				_, err := s.Print(t.Context(), delivery(1), noBegin)
				assert.True(t, err != nil, "shown by a page that says nothing")
				say(s, func() {
					paper.err = errors.New("connection reset")
					_, err := s.WrapBackup(paper).Print(t.Context(), delivery(1), noBegin)
					assert.True(t, err != nil, "the paper came out")
				})
				time.AfterFunc(3*time.Second, func() { s.Confirm("slow", []uint64{1}) })
				start := time.Now()
				d := delivery(1)
				d.Attempt, d.Doubt = 3, true
				wantShown(t, s, d)
				assert.Equal(t, time.Since(start), 3*time.Second)
				assert.True(t, s.Board().OrderWith(1).Tickets[0].Duplicate, "it may be on paper and is not marked")
			})
		})
	}
}

func TestNewTicketsWaitForThoseThatWereShownEvenIfTheScreenHasJustGoneDark(t *testing.T) {
	withScreen(t, func(t *testing.T, k *screenHarness, s *kds.Screen, paper *fakePrinter) {
		closed := openPage(s, "a")
		k.order(1)
		time.Sleep(time.Second)
		closed()
		leave := s.Join("deaf") // a page that is live and confirms nothing, until it leaves
		k.order(1)
		time.Sleep(25 * time.Second)
		leave()
		time.Sleep(time.Minute)
		out := paper.printed()
		assert.True(t, len(out) == 2 && out[0] == "OPEN ORDERS #1 for hot-line (screen down)", out)
	})
}

func TestAScreenThatBacksUpAScreenHoldsNoTicket(t *testing.T) {
	withScreen(t, func(t *testing.T, k *screenHarness, a *kds.Screen, _ *fakePrinter) {
		b := kds.NewScreen(kds.ScreenOptions{Name: "cold", Board: openBoard(t, "cold", queuetest.NewStore()),
			OnLive: func() { k.d.Kick("hot-line") }})
		k.d.Set([]dispatch.Lane{{Name: "hot-line", Station: a,
			Backups: []dispatch.Backup{{Name: "cold", Station: a.WrapBackup(b), After: 20 * time.Second}}}})
		leave := a.Join("deaf")
		k.order(2)
		time.Sleep(15 * time.Second)
		leave()
		for range 4 { // the other screen's page comes and goes
			leave := b.Join("deaf")
			time.Sleep(15 * time.Second)
			leave()
			time.Sleep(15 * time.Second)
		}
		assert.Equal(t, k.states(), "pending pending")
		defer openPage(b, "b")()
		time.Sleep(time.Minute)
		got := k.states()
		assert.True(t, got == "shown shown" && jobs(b.Board()) == "1 2 |" && jobs(a.Board()) == "| 2 1", got,
			jobs(a.Board()), jobs(b.Board()))
		c := b.Board().OrderWith(1).Tickets[0]
		assert.True(t, c.Duplicate && c.For == "hot-line", c)
	})
}
