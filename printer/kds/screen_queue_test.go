package kds

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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

func TestAScreenWhosePageComesAndGoesHoldsNoTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, paper := newScreenHarness(t), &fakePrinter{}
		s := k.newScreen(paper)
		defer k.closeAll()
		k.order(1)
		for range 3 {
			leave := s.Join("deaf")
			time.Sleep(11 * time.Second)
			leave()
			time.Sleep(time.Second)
		}
		defer openPage(s, "a")()
		time.Sleep(10 * time.Second)
		if got := k.states(); got != "shown" {
			t.Errorf("%s, board %q", got, jobs(s.Board()))
		}
		if c := card(s.Board(), 1); c == nil || c.Duplicate {
			t.Errorf("card %+v", c)
		}
	})
}
