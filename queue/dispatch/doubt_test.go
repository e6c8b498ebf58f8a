package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

// The second attempt shows what the first one left: a banner or none.
func TestTheBannerIsThereExactlyWhenInDoubt(t *testing.T) {
	for _, c := range []struct {
		fault    fault
		paper    []string // what comes out in the end
		end      string   // of the first attempt
		attempts int      // counted, of the first
		state    ticket.State
	}{
		{fine, []string{"a"}, "ack", 0, ticket.Sent},
		{off, []string{"a"}, "retry", 1, ticket.Sent},
		{noPaper, []string{"a"}, "return", 0, ticket.Sent},
		{panics, []string{"a"}, "retry", 1, ticket.Sent},
		{never, nil, "bury", 0, ticket.Buried},
		{cut, []string{"a", "a DUPLICATE"}, "retry", 1, ticket.Sent},
		{noPaperMidway, []string{"a", "a DUPLICATE"}, "retry", 1, ticket.Sent},
		{panicsMidway, []string{"a", "a DUPLICATE"}, "retry", 1, ticket.Sent},
		{neverMidway, []string{"a"}, "bury", 0, ticket.Buried},
		{noProof, []string{"a"}, "ack", 0, ticket.Sent},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				p := k.printer()
				p.faults = []fault{c.fault}
				k.Set([]Line{{Name: "grill", Station: p}})
				k.q.put("grill", "a")
				k.pass(time.Minute)
				k.wantPaper(p, c.paper...)
				k.q.mu.Lock()
				first := k.q.log[0]
				k.q.mu.Unlock()
				if want := "grill a " + c.end; first != want {
					t.Errorf("the first attempt ended as %q, want %q", first, want)
				}
				j := k.q.job("a")
				if j.state != c.state || j.attempts != c.attempts {
					t.Errorf("the job is %s after %d failed attempts, want %s after %d", j.state, j.attempts, c.state, c.attempts)
				}
			})
		})
	}
}

func TestACleanFailureOfAMarkedReprintKeepsTheMark(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		p.faults = []fault{cut, off, noPaper, panics, off}
		k.Set([]Line{{Name: "grill", Station: p}})
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
				p := k.printer()
				p.faults = []fault{cut, again}
				k.Set([]Line{{Name: "grill", Station: p}})
				k.q.put("grill", "a", "b")
				k.pass(time.Second)
				k.wantPaper(p, "a", "a DUPLICATE") // the reprint comes at once
				k.pass(time.Minute)
				k.wantPaper(p, "a", "a DUPLICATE", "b")
				k.wantEnds("grill a retry", "grill a hold", "grill b ack")
				if j := k.q.job("a"); !strings.Contains(j.reason, "see what came out") {
					t.Errorf("the reason %q does not say what to do", j.reason)
				}
			})
		})
	}
}

func TestALineThatHoldsDoubtHoldsAtOnce(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		p.faults = []fault{off, cut}
		k.Set([]Line{{Name: "grill", Station: p, HoldDoubt: true}})
		k.q.put("grill", "a", "b")
		k.pass(time.Minute)
		k.wantPaper(p, "a", "b")
		k.wantEnds("grill a retry", "grill a hold", "grill b ack")
	})
}

func TestALineThatHoldsDoubtHoldsWhatACrashLeftInDoubt(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		k.q.put("grill", "a", "b")
		k.q.set("a", func(j *fakeJob) { j.doubts = 1 })
		k.Set([]Line{{Name: "grill", Station: p, HoldDoubt: true}})
		k.pass(time.Minute)
		k.wantPaper(p, "b")
		k.wantEnds("grill a hold", "grill b ack")
	})
}

func TestAPrinterThatBreaksOffEveryTicketDoesNotRunThroughItsLine(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		p.now(cut)
		k.Set([]Line{{Name: "grill", Station: p}})
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
		p := k.printer()
		p.now(noPaper)
		k.Set([]Line{{Name: "grill", Station: p}})
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
		if j := k.q.job("a"); j.attempts != 0 {
			t.Errorf("%d attempts were spent", j.attempts)
		}
	})
}

func TestNothingIsPrintedWhenBeginFails(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		fails := 3
		k.q.beginErr = func() error {
			if fails--; fails < 0 {
				return nil
			}
			return errors.New("storage failed")
		}
		k.Set([]Line{{Name: "grill", Station: p}})
		k.q.put("grill", "a")
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
		k.Set([]Line{{Name: "grill", Station: printFunc(func(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
			if d.Attempt > 1 {
				kept = begin             // for later
				return ticket.Shown, nil // a screen that has it already
			}
			if err := begin(ctx); err != nil {
				return "", err
			}
			second = begin(ctx)
			return "", second
		})}})
		k.q.put("grill", "a")
		k.pass(time.Minute)
		if second == nil {
			t.Error("a second begin went through")
		}
		if err := kept(t.Context()); !errors.Is(err, errOver) {
			t.Error("a begin after the print went through")
		}
		k.wantEnds("grill a retry", "grill a ack")
		if j := k.q.job("a"); j.doubts != 1 || j.state != ticket.Shown {
			t.Errorf("doubts %d, state %s", j.doubts, j.state)
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
