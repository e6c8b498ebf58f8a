package dispatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/queue/ticket"
)

func TestWhatWaitsComesOutOfTheBackupInOrderOnceItsTimeHasCome(t *testing.T) {
	for _, f := range []fault{off, noPaper, panics, dropped} {
		t.Run(string(f), func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				grill, bar := k.backed(f, holdFor)
				k.q.put("grill", "a", "b", "c")
				k.pass(holdFor - time.Second)
				k.wantPaper(bar)
				k.pass(time.Minute) // one more turn at most, where the own station must be tried alone
				k.wantPaper(bar, "a"+instead, "b"+instead, "c"+instead)
				k.wantPaper(grill)
				k.q.put("grill", "d")
				k.pass(time.Second)
				if got := bar.printed(); f != dropped && len(got) != 4 {
					t.Errorf("the next one did not come out at once: %q", got)
				}
				if j := k.q.job("a"); j.State != ticket.Sent || j.Reason != "came out of bar" {
					t.Errorf("the job is %s, %q", j.State, j.Reason)
				}
			})
		})
	}
}

func TestADeadPrinterIsTriedRarelyWhileAnotherStandsIn(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.backed(off, holdFor)
		grill.dial = 10 * time.Second // what a connect time-out takes
		bar.takes = 100 * time.Millisecond
		k.q.put("grill", "first")
		k.pass(5 * time.Minute)
		from := len(grill.attempts())
		for range 600 {
			k.q.put("grill", "a")
			k.pass(time.Second)
		}
		k.pass(time.Minute)
		if n := len(bar.printed()); n != 601 {
			t.Errorf("%d tickets came out, want 601", n)
		}
		tries := grill.attempts()[from:]
		for i := range tries[1:] {
			if d := tries[i+1].Sub(tries[i]); d < 30*time.Second || d > time.Minute {
				t.Errorf("tried again after %v", d)
			}
		}
		if len(tries) < 10 {
			t.Errorf("tried %d times in ten minutes", len(tries))
		}
	})
}

func TestTheOwnPrinterHasItsTicketsBackAsSoonAsItPrints(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.backed(off, holdFor)
		bar.takes = time.Second
		start := time.Now()
		k.q.put("grill", names(200)...)
		k.pass(holdFor + time.Minute)
		grill.now(fine)
		s := k.status("grill")
		want := StandIn{Name: "bar", Since: start.Add(holdFor + time.Second)}
		if diff := cmp.Diff(want, s.StandIn); diff != "" || s.Up {
			t.Errorf("up is %t, who stands in (-want +got):\n%s", s.Up, diff)
		}
		k.pass(31 * time.Second)
		moved := len(bar.printed())
		if n := len(grill.printed()); n == 0 || n+moved != 200 {
			t.Errorf("%d came out of the grill, %d of the bar", n, moved)
		}
		if s := k.status("grill"); !s.Up || s.StandIn != (StandIn{}) {
			t.Errorf("status %+v", s)
		}
		// What fails next has to wait again before anybody stands in.
		grill.now(off)
		k.q.put("grill", "later")
		k.pass(holdFor - time.Second)
		if n := len(bar.printed()); n != moved {
			t.Error("the backup printed before its time")
		}
	})
}

func TestBackupsAreTriedInOrderEachAfterItsTime(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar, pass := k.printer(), k.printer(), k.printer()
		grill.now(off)
		bar.now(off)
		k.Set([]Lane{backed(grill, bar, pass)})
		k.q.put("grill", "a")
		k.pass(holdFor + time.Second)
		if len(bar.attempts()) == 0 || len(pass.attempts()) > 0 {
			t.Errorf("tried: bar %d times, pass %d times", len(bar.attempts()), len(pass.attempts()))
		}
		k.pass(holdFor)
		k.wantPaper(pass, "a"+instead)
		bar.now(fine)
		k.pass(time.Minute)
		k.q.put("grill", "b")
		k.pass(time.Second)
		k.wantPaper(bar, "b"+instead)
		if s := k.status("grill"); s.StandIn.Name != "bar" {
			t.Errorf("%s stands in", s.StandIn.Name)
		}
	})
}

func TestWithBothDeadWhicheverReturnsFirstPrints(t *testing.T) {
	for _, first := range []string{"grill", "bar"} {
		t.Run(first, func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				grill, bar := k.backed(noPaper, holdFor)
				p, mark := grill, ""
				if first == "bar" {
					p, mark = bar, instead
				}
				bar.now(off)
				k.q.put("grill", "a", "b")
				k.pass(time.Hour)
				p.now(fine)
				k.pass(longestPause)
				k.wantPaper(p, "a"+mark, "b"+mark)
			})
		})
	}
}

// Two ways to be busy for ever: with the ticket of another line before begin, and with this
// one after it. Only the first may be given up.
func TestAStationThatIsNotReadyInTimeIsGivenUpForABackupOneThatPrintsIsNot(t *testing.T) {
	for _, c := range []struct {
		name         string
		grill        *fakePrinter
		onGrill, bar []string
	}{
		{"waits before begin", &fakePrinter{dial: time.Hour}, nil, []string{"a" + instead, "b" + instead}},
		{"prints for long", &fakePrinter{takes: 10 * time.Minute}, []string{"a", "b"}, nil},
		{"is in both for long", &fakePrinter{dial: readyWithin - time.Second, takes: 10 * time.Minute}, []string{"a", "b"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				c.grill.t = t
				bar := k.printer()
				k.Set([]Lane{backed(c.grill, bar)})
				k.q.put("grill", "a", "b")
				k.pass(30 * time.Minute)
				k.wantPaper(c.grill, c.onGrill...)
				k.wantPaper(bar, c.bar...)
				if s := k.status("grill"); c.onGrill == nil && s.Err != "not ready within 30s: dial: context canceled" {
					t.Errorf("status says %q", s.Err)
				}
			})
		})
	}
}

func TestABusyBackupIsGivenUpForTheNextOne(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar, pass := k.printer(), k.printer(), k.printer()
		grill.now(off)
		bar.dial = time.Hour
		k.Set([]Lane{backed(grill, bar, pass)})
		k.q.put("grill", "a")
		k.pass(2*holdFor + time.Minute)
		k.wantPaper(pass, "a"+instead)
	})
}

func TestALineWithoutBackupsWaitsForItsStationAsLongAsItTakes(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill()
		p.dial = time.Hour
		k.q.put("grill", "a")
		k.pass(time.Hour + time.Minute)
		k.wantPaper(p, "a")
	})
}

func TestAHoldByAPersonStartsNoBackup(t *testing.T) {
	for _, c := range []struct {
		name  string
		start time.Duration // of the hold
	}{{"at once", 0}, {"in a pause", 500 * time.Millisecond}, {"after a while", holdFor / 2}} {
		t.Run(c.name, func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				_, bar := k.backed(off, holdFor)
				if c.start == 0 {
					k.q.hold("grill", true)
				}
				k.q.put("grill", "a")
				k.pass(c.start)
				k.q.hold("grill", true)
				k.pass(time.Minute)
				for range 10 { // whatever wakes the line meanwhile
					k.Kick("grill")
					k.pass(10 * time.Minute)
				}
				k.wantPaper(bar)
				k.q.hold("grill", false)
				k.pass(holdFor - c.start - time.Second)
				k.wantPaper(bar)
				k.pass(longestPause + 2*time.Second)
				k.wantPaper(bar, "a"+instead)
			})
		})
	}
}

func TestAPersonWhoDidSomethingSeesTheOwnPrinterTriedFirst(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.backed(off, holdFor)
		k.q.put("grill", "a")
		k.pass(holdFor + time.Minute)
		k.q.put("grill", "b")
		k.pass(time.Second)
		k.wantPaper(bar, "a"+instead, "b"+instead)
		grill.now(fine)
		k.Kick("grill")
		k.q.put("grill", "c")
		k.pass(0)
		k.wantPaper(grill, "c")
	})
}

func TestTheSlipOfWhatExpiredComesOutOfTheBackup(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		_, bar := k.backed(off, holdFor, func(l *Lane) { l.ExpireAfter = time.Hour })
		bar.now(off)
		k.q.put("grill", "a", "b")
		k.pass(time.Hour + time.Minute)
		k.q.put("grill", "c")
		bar.now(fine)
		k.pass(longestPause)
		k.wantPaper(bar, "slip a b"+instead, "c"+instead)
	})
}

func TestATicketInDoubtCarriesBothBanners(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.backed(off, holdFor)
		k.q.put("grill", "a")
		k.pass(holdFor - 10*time.Second)
		grill.now(cut)
		k.Kick("grill")
		k.pass(0)
		grill.now(off)
		k.pass(time.Minute)
		k.wantPaper(grill, "a")
		k.wantPaper(bar, "a"+instead+" DUPLICATE")
	})
}

// A lease begins once: the queue fails the test if it is asked to again.
func TestAStationThatBeganAndPrintedNothingEndsTheAttempt(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		_, bar := k.backed(dropped, 0)
		k.q.put("grill", "a", "b")
		k.pass(time.Second)
		k.wantPaper(bar, "a"+instead, "b"+instead)
		k.wantEnds("grill a retry", "grill a ack", "grill b ack")
	})
}

func TestWhenNobodyCanPrintTheReasonNamesThemAll(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		_, bar := k.backed(off, 0)
		bar.now(noPaper)
		k.q.put("grill", "a")
		k.pass(0)
		k.wantEnds("grill a retry") // one of the two was an attempt
		if got, want := k.q.job("a").Reason, "dial: connection refused; on bar: status: no paper"; got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
		bar.now(fine) // somebody brings paper; the pause is over in a moment
		k.pass(readyPoll * 2)
		k.wantPaper(bar, "a"+instead)
	})
}

func TestALateBeginOfTheOwnStationCannotBeginForTheBackup(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		_, bar := k.backed(beginsLate, 0)
		bar.dial = 10 * time.Second // still dialling when the own station asks
		k.q.put("grill", "a")
		k.pass(2 * time.Minute)
		k.wantPaper(bar, "a"+instead)
	})
}
