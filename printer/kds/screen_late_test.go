package kds_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

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
				if _, err := s.Print(t.Context(), delivery(1), noBegin); err == nil {
					t.Fatal("shown by a page that says nothing")
				}
				say(s, func() {
					paper.err = errors.New("connection reset")
					if _, err := s.WrapBackup(paper).Print(t.Context(), delivery(1),
						noBegin); err == nil {
						t.Error("the paper came out")
					}
				})
				time.AfterFunc(3*time.Second, func() { s.Confirm("slow", []uint64{1}) })
				start := time.Now()
				d := delivery(1)
				d.Attempt, d.Doubt = 3, true
				wantShown(t, s, d)
				if after := time.Since(start); after != 3*time.Second {
					t.Errorf("after %v: the page said so after 3 s", after)
				}
				if c := s.Board().OrderWith(1).Tickets[0]; !c.Duplicate {
					t.Error("it may be on paper and is not marked")
				}
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
		if out := paper.printed(); len(out) != 2 || out[0] != "OPEN ORDERS #1 for hot-line (screen down)" {
			t.Errorf("came out: %q", out)
		}
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
		if got := k.states(); got != "pending pending" {
			t.Errorf("while nobody says that it shows them: %s", got)
		}
		defer openPage(b, "b")()
		time.Sleep(time.Minute)
		if got := k.states(); got != "shown shown" || jobs(b.Board()) != "1 2 |" || jobs(a.Board()) != "| 2 1" {
			t.Errorf("%s, boards %q and %q", got, jobs(a.Board()), jobs(b.Board()))
		}
		if c := b.Board().OrderWith(1).Tickets[0]; !c.Duplicate || c.For != "hot-line" {
			t.Errorf("card %+v", c)
		}
	})
}
