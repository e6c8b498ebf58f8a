package dispatch

import (
	"strings"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

func TestATicketInDoubtCarriesBothBanners(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.printer(), k.printer()
		grill.now(off)
		k.Set([]Line{backed(grill, bar)})
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

func TestADoubtLeftByTheBackupIsReprintedMarkedThenHeld(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.printer(), k.printer()
		grill.now(off)
		bar.faults = []fault{cut, cut}
		k.Set([]Line{backed(grill, bar)})
		k.q.put("grill", "a", "b")
		k.pass(holdFor + 2*time.Minute)
		k.wantPaper(bar, "a"+instead, "a"+instead+" DUPLICATE", "b"+instead)
		if j := k.q.job("a"); j.state != ticket.Held || !strings.Contains(j.reason, "bar") || !strings.Contains(j.reason, "see what came out") {
			t.Errorf("the job is %s: %s", j.state, j.reason)
		}
	})
}

func TestALineThatHoldsDoubtHoldsItsBackupsToo(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.printer(), k.printer()
		grill.now(off)
		bar.faults = []fault{cut}
		l := backed(grill, bar)
		l.HoldDoubt = true
		k.Set([]Line{l})
		k.q.put("grill", "a", "b")
		k.pass(holdFor + time.Minute)
		k.wantPaper(bar, "a"+instead, "b"+instead)
		if j := k.q.job("a"); j.state != ticket.Held {
			t.Errorf("the job is %s", j.state)
		}
	})
}

// A lease begins once: the fake queue fails the test if it is asked to again.
func TestAStationThatBeganAndPrintedNothingEndsTheAttempt(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.printer(), k.printer()
		grill.now(dropped)
		l := backed(grill, bar)
		l.Backups[0].After = 0
		k.Set([]Line{l})
		k.q.put("grill", "a", "b")
		k.pass(time.Second)
		k.wantPaper(bar, "a"+instead, "b"+instead)
		k.wantEnds("grill a retry", "grill a ack", "grill b ack")
	})
}

func TestACleanFailureAndTheBackupsPrintAreOneAttempt(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.printer(), k.printer()
		grill.now(off)
		l := backed(grill, bar)
		l.Backups[0].After = 0
		k.Set([]Line{l})
		k.q.put("grill", "a")
		k.pass(0)
		k.wantEnds("grill a ack")
	})
}

func TestWhenNobodyCanPrintTheReasonNamesThemAll(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.printer(), k.printer()
		grill.now(off)
		bar.now(noPaper)
		l := backed(grill, bar)
		l.Backups[0].After = 0
		k.Set([]Line{l})
		k.q.put("grill", "a")
		k.pass(0)
		k.wantEnds("grill a retry") // one of the two was an attempt
		if got, want := k.q.job("a").reason, "dial: connection refused; on bar: status: no paper"; got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
		bar.now(fine) // somebody brings paper; the pause is over in a moment
		k.pass(readyPoll * 2)
		k.wantPaper(bar, "a"+instead)
	})
}

func TestAStationThatMisbehavesAsABackupIsTreatedAsIfItWereTheOwn(t *testing.T) {
	for _, c := range []struct {
		fault fault
		paper []string
		state ticket.State
	}{
		{panics, []string{"a" + instead}, ticket.Sent},
		{panicsMidway, []string{"a" + instead, "a" + instead + " DUPLICATE"}, ticket.Sent},
		{never, nil, ticket.Buried},
		{neverMidway, []string{"a" + instead}, ticket.Buried},
		{noProof, []string{"a" + instead}, ticket.Sent},
		{noPaperMidway, []string{"a" + instead, "a" + instead + " DUPLICATE"}, ticket.Sent},
		{beginsTwice, []string{"a" + instead}, ticket.Sent},
		{neverBegins, []string{"a" + instead}, ticket.Sent},
		{beginsLate, []string{"a" + instead}, ticket.Sent},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				grill, bar := k.printer(), k.printer()
				grill.now(off)
				bar.faults = []fault{c.fault}
				k.Set([]Line{backed(grill, bar)})
				k.q.put("grill", "a")
				k.pass(holdFor + time.Minute)
				k.wantPaper(bar, c.paper...)
				if j := k.q.job("a"); j.state != c.state {
					t.Errorf("the job is %s, want %s", j.state, c.state)
				}
			})
		})
	}
}

func TestALateBeginOfTheOwnStationCannotBeginForTheBackup(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		grill, bar := k.printer(), k.printer()
		grill.now(beginsLate)
		bar.dial = 10 * time.Second // still dialling when the own station asks
		l := backed(grill, bar)
		l.Backups[0].After = 0
		k.Set([]Line{l})
		k.q.put("grill", "a")
		k.pass(2 * time.Minute)
		k.wantPaper(bar, "a"+instead)
	})
}
