package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

// The second attempt shows what the first one left: a banner or none, whichever station it was.
func TestTheBannerIsThereExactlyWhenInDoubt(t *testing.T) {
	for _, c := range []struct {
		fault    fault
		copies   []string // what comes out in the end
		end      string   // of the first attempt
		attempts int
		state    ticket.State
	}{
		{fine, []string{""}, "ack", 1, ticket.Sent},
		{off, []string{""}, "retry", 2, ticket.Sent},
		{noPaper, []string{""}, "return", 1, ticket.Sent},
		{panics, []string{""}, "retry", 2, ticket.Sent},
		{never, nil, "bury", 1, ticket.Buried},
		{cut, []string{"", " DUPLICATE"}, "retry", 2, ticket.Sent},
		{noPaperMidway, []string{"", " DUPLICATE"}, "retry", 2, ticket.Sent},
		{panicsMidway, []string{"", " DUPLICATE"}, "retry", 2, ticket.Sent},
		{neverMidway, []string{""}, "bury", 1, ticket.Buried},
		{noProof, []string{""}, "ack", 1, ticket.Sent},
		{dropped, []string{""}, "retry", 2, ticket.Sent},
		{beginsTwice, []string{""}, "ack", 1, ticket.Sent},
		{neverBegins, []string{""}, "ack", 1, ticket.Sent},
		{beginsLate, []string{""}, "retry", 2, ticket.Sent},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			check := func(k *kitchen, p *fakePrinter, name string) {
				p.faults = []fault{c.fault}
				k.q.put("grill", "a")
				k.pass(time.Minute)
				var want []string
				for _, mark := range c.copies {
					want = append(want, name+mark)
				}
				k.wantPaper(p, want...)
				if j := k.q.job("a"); j.State != c.state {
					t.Errorf("the job is %s, want %s", j.State, c.state)
				}
			}
			inKitchen(t, func(t *testing.T, k *kitchen) {
				check(k, k.grill(), "a")
				if want := "grill a " + c.end; k.q.ends[0] != want {
					t.Errorf("the first attempt ended as %q, want %q", k.q.ends[0], want)
				}
				if n := k.q.job("a").Attempts; n != c.attempts {
					t.Errorf("%d attempts were counted, want %d", n, c.attempts)
				}
			})
			inKitchen(t, func(t *testing.T, k *kitchen) {
				_, bar := k.backed(off, 0)
				check(k, bar, "a"+instead)
			})
		})
	}
}

func TestACleanFailureOfAMarkedReprintKeepsTheMark(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill(cut, off, noPaper, panics, off)
		k.q.put("grill", "a")
		k.pass(time.Minute)
		k.wantPaper(p, "a", "a DUPLICATE")
		k.wantEnds("grill a retry", "grill a retry", "grill a return", "grill a retry", "grill a retry", "grill a ack")
	})
}

func TestATicketInDoubtIsReprintedOnceMarkedThenHeld(t *testing.T) {
	for _, again := range []fault{cut, noPaperMidway, panicsMidway} {
		t.Run(string(again), func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				p := k.grill(cut, again)
				k.q.put("grill", "a", "b")
				k.pass(time.Second)
				k.wantPaper(p, "a", "a DUPLICATE") // the reprint comes at once
				k.pass(time.Minute)
				k.wantPaper(p, "a", "a DUPLICATE", "b")
				k.wantEnds("grill a retry", "grill a hold", "grill b ack")
				if j := k.q.job("a"); j.State != ticket.Held || !strings.Contains(j.Reason, "see what came out") {
					t.Errorf("%s: the reason %q does not say what to do", j.State, j.Reason)
				}
			})
		})
	}
}

func TestADoubtLeftByTheBackupIsReprintedMarkedThenHeld(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		_, bar := k.backed(off, holdFor)
		bar.faults = []fault{cut, cut}
		k.q.put("grill", "a", "b")
		k.pass(holdFor + 2*time.Minute)
		k.wantPaper(bar, "a"+instead, "a"+instead+" DUPLICATE", "b"+instead)
		if j := k.q.job("a"); j.State != ticket.Held || !strings.Contains(j.Reason, "on bar: ") {
			t.Errorf("the job is %s: %s", j.State, j.Reason)
		}
	})
}

func TestALineThatHoldsDoubtHoldsAtOnce(t *testing.T) {
	hold := func(l *Lane) { l.HoldDoubt = true }
	t.Run("its own printer's", func(t *testing.T) {
		inKitchen(t, func(t *testing.T, k *kitchen) {
			p := k.printer(off, cut)
			k.Set([]Lane{{Name: "grill", Station: p, HoldDoubt: true}})
			k.q.put("grill", "a", "b")
			k.pass(time.Minute)
			k.wantPaper(p, "a", "b")
			k.wantEnds("grill a retry", "grill a hold", "grill b ack")
		})
	})
	t.Run("its backup's", func(t *testing.T) {
		inKitchen(t, func(t *testing.T, k *kitchen) {
			_, bar := k.backed(off, 0, hold)
			bar.faults = []fault{cut}
			k.q.put("grill", "a", "b")
			k.pass(time.Minute)
			k.wantPaper(bar, "a"+instead, "b"+instead)
			k.wantEnds("grill a hold", "grill b ack")
		})
	})
	t.Run("what a crash left", func(t *testing.T) {
		inKitchen(t, func(t *testing.T, k *kitchen) {
			k.q.put("grill", "a", "b")
			l, err := k.q.Queue.Take(t.Context(), "grill")
			if err = errors.Join(err, l.Begin(t.Context()), l.Return(t.Context(), "")); err != nil {
				t.Fatal(err)
			}
			p := k.printer()
			k.Set([]Lane{{Name: "grill", Station: p, HoldDoubt: true}})
			k.pass(time.Minute)
			k.wantPaper(p, "b")
			k.wantEnds("grill a hold", "grill b ack")
		})
	})
}

// A knowing station never brings a ticket out twice.
type knowing struct{ *fakePrinter }

func (knowing) Idempotent() bool { return true }

func TestAStationThatKnowsATicketAgainIsGivenItUntilItIsOut(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer(cut, cut, off, cut)
		k.Set([]Lane{{Name: "grill", Station: knowing{p}, HoldDoubt: true}})
		k.q.put("grill", "a")
		k.pass(time.Minute)
		k.wantEnds("grill a retry", "grill a retry", "grill a retry", "grill a retry", "grill a ack")
	})
}

func TestAPrinterThatBreaksOffEveryTicketDoesNotRunThroughItsLine(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill()
		p.now(cut)
		k.q.put("grill", names(100)...)
		k.pass(10 * time.Minute)
		// At most one attempt in 15 s once the pauses have grown.
		if n := len(p.attempts()); n > 45 {
			t.Errorf("%d attempts in ten minutes", n)
		}
	})
}

func TestNotReadySpendsNoAttempt(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill()
		p.now(noPaper)
		k.q.put("grill", "a")
		k.pass(time.Hour)
		if n := len(p.attempts()); n < 600 || n > 900 {
			t.Errorf("looked %d times in an hour, want every 4 to 6 s", n)
		}
		if s := k.status("grill"); s.Up || s.Waiting != "status: no paper" || s.Attempt != 1 {
			t.Errorf("status is %+v", s)
		}
		p.now(fine)
		k.pass(6 * time.Second) // however long it took, the cook does not wait longer
		k.wantPaper(p, "a")
		if j := k.q.job("a"); j.Attempts != 1 {
			t.Errorf("%d attempts were spent", j.Attempts)
		}
	})
}

func TestNothingIsPrintedWhenBeginFails(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		fails := 3
		k.q.beginErr = func() error {
			if fails--; fails < 0 {
				return nil
			}
			return errors.New("storage failed")
		}
		p := k.grill()
		k.q.put("grill", "a")
		k.pass(0)
		k.wantEnds("grill a return") // and a pause
		k.pass(time.Minute)
		k.wantPaper(p, "a")
		k.wantEnds("grill a return", "grill a return", "grill a return", "grill a ack")
		if s := k.status("grill"); !s.Up {
			t.Error("the storage's failure is blamed on the printer")
		}
	})
}

// printFunc is a station that cannot be compared.
type printFunc func(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error)

func (f printFunc) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	return f(ctx, d, begin)
}

func TestBeginGoesThroughOnceAndOnlyDuringThePrint(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		var kept func(context.Context) error
		var second error
		print := func(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
			if d.Attempt > 1 {
				kept = begin             // for later
				return ticket.Shown, nil // a screen that has it already
			}
			if err := begin(ctx); err != nil {
				return "", err
			}
			second = begin(ctx)
			return "", second
		}
		k.Set([]Lane{{Name: "grill", Station: printFunc(print)}})
		k.q.put("grill", "a")
		k.pass(time.Minute)
		if second == nil {
			t.Error("a second begin went through")
		}
		if err := kept(t.Context()); !errors.Is(err, errOver) {
			t.Error("a begin after the print went through")
		}
		k.wantEnds("grill a retry", "grill a ack")
		if j := k.q.job("a"); j.State != ticket.Shown {
			t.Errorf("state %s", j.State)
		}
	})
}

func TestJudgeGivesEveryAttemptOneEnd(t *testing.T) {
	plain, paper, perm := errors.New("reset"), ticket.NotReady(errors.New("paper")), ticket.Permanent(errors.New("never"))
	for _, c := range []struct {
		name           string
		a              attempt
		doubted, holds bool
		end            ending
		result         result
	}{
		{"out", attempt{}, false, false, ack, ok},
		{"out, marked", attempt{begun: true}, true, true, ack, ok},
		{"refused", attempt{err: plain}, false, false, retry, refused},
		{"refused, line holds", attempt{err: plain}, false, true, retry, refused},
		{"refused, marked", attempt{err: plain}, true, false, retry, refused},
		{"broken", attempt{err: plain, begun: true}, false, false, retry, doubt},
		{"broken, marked", attempt{err: plain, begun: true}, true, false, hold, doubt},
		{"broken, line holds", attempt{err: plain, begun: true}, false, true, hold, doubt},
		{"broken, known", attempt{err: plain, begun: true, known: true}, true, true, retry, doubt},
		{"no paper", attempt{err: paper}, false, false, giveBack, notReady},
		{"no paper, marked", attempt{err: paper}, true, false, giveBack, notReady},
		{"no paper midway", attempt{err: paper, begun: true}, false, false, retry, doubt},
		{"no paper midway, marked", attempt{err: paper, begun: true}, true, false, hold, doubt},
		{"never", attempt{err: perm}, false, false, bury, permanent},
		{"never, midway", attempt{err: perm, begun: true}, false, true, bury, permanent},
		{"begin failed", attempt{err: plain, beginErr: plain}, true, true, giveBack, interrupted},
		{"shutdown", attempt{err: plain, interrupted: true}, false, false, giveBack, interrupted},
		{"shutdown, marked", attempt{err: plain, interrupted: true}, true, true, giveBack, interrupted},
		{"shutdown midway", attempt{err: plain, begun: true, interrupted: true}, false, false, giveBack, interrupted},
		{"shutdown midway, marked", attempt{err: plain, begun: true, interrupted: true}, true, false, hold, interrupted},
		{"shutdown midway, line holds", attempt{err: plain, begun: true, interrupted: true}, false, true, hold, interrupted},
		{"shutdown, permanent", attempt{err: perm, interrupted: true}, false, false, giveBack, interrupted},
	} {
		v := judge(c.a, c.doubted, c.holds)
		if v.end != c.end || v.result != c.result {
			t.Errorf("%s: end %d, result %s; want %d, %s", c.name, v.end, v.result, c.end, c.result)
		}
		if (v.reason == "") != (v.end == ack) {
			t.Errorf("%s: reason %q", c.name, v.reason)
		}
		if inDoubt := c.a.begun || c.doubted; v.end == bury && strings.Contains(v.reason, "may have come out") != inDoubt {
			t.Errorf("%s: reason %q, in doubt %t", c.name, v.reason, inDoubt)
		}
	}
}
