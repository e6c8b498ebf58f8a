package kds

import (
	"testing"
	"testing/synctest"
	"time"
)

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
