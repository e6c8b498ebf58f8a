package kds

import (
	"testing"
	"testing/synctest"
	"time"
)

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
		paper.wantPrinted(t, "OPEN ORDERS #1 #2 for hot-line (screen down)",
			"3 for hot-line (screen down)", "4 for hot-line (screen down)", "5 for hot-line (screen down)")
		if got := k.states(); got != "shown shown sent sent sent sent" {
			t.Error(got)
		}
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
