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
		{unprintable, nil, "hold", 0, ticket.Held},
		{cut, []string{"", " DUPLICATE"}, "retry", 2, ticket.Sent},
		{noPaperMidway, []string{"", " DUPLICATE"}, "retry", 2, ticket.Sent},
		{panicsMidway, []string{"", " DUPLICATE"}, "retry", 2, ticket.Sent},
		{unprintableMidway, []string{""}, "hold", 1, ticket.Held},
		{noProof, []string{""}, "ack", 1, ticket.Sent},
		{unknownProof, []string{""}, "ack", 1, ticket.Sent},
		{dropped, []string{""}, "retry", 2, ticket.Sent},
		{refuses, nil, "hold", 0, ticket.Held},
		{refusesAll, []string{""}, "return", 1, ticket.Sent},
		{beginsTwice, []string{""}, "ack", 1, ticket.Sent},
		{neverBegins, []string{""}, "ack", 1, ticket.Sent},
		{beginsLate, []string{""}, "retry", 2, ticket.Sent},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			check := func(h *harness, p *fakePrinter, name string) {
				p.faults = []fault{c.fault}
				h.q.enqueue("grill", "a")
				h.advance(time.Minute)
				var want []string
				for _, mark := range c.copies {
					want = append(want, name+mark)
				}
				h.wantPrinted(p, want...)
				if j := h.q.job("a"); j.State != c.state {
					t.Errorf("the job is %s, want %s", j.State, c.state)
				}
			}
			inBubble(t, func(t *testing.T, h *harness) {
				check(h, h.serveGrill(), "a")
				if want := "grill a " + c.end; h.q.ends[0] != want {
					t.Errorf("the first attempt ended as %q, want %q", h.q.ends[0], want)
				}
				if n := h.q.job("a").Attempts; n != c.attempts {
					t.Errorf("%d attempts were checkedPrinter, want %d", n, c.attempts)
				}
			})
			inBubble(t, func(t *testing.T, h *harness) {
				_, bar := h.serveWithBackup(off, 0)
				check(h, bar, "a"+forGrill)
			})
		})
	}
}

func TestAMarkedReprintThatFailsBeforeTheFirstByteKeepsTheMark(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill(cut, off, noPaper, panics, off)
		h.q.enqueue("grill", "a")
		h.advance(time.Minute)
		h.wantPrinted(p, "a", "a DUPLICATE")
		h.wantEnds("grill a retry", "grill a retry", "grill a return", "grill a retry", "grill a retry", "grill a ack")
	})
}

func TestATicketInDoubtIsReprintedOnceMarkedThenHeld(t *testing.T) {
	for _, again := range []fault{cut, noPaperMidway, panicsMidway} {
		t.Run(string(again), func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) {
				p := h.serveGrill(cut, again)
				h.q.enqueue("grill", "a", "b")
				h.advance(time.Second)
				h.wantPrinted(p, "a", "a DUPLICATE") // the reprint comes at once
				h.advance(time.Minute)
				h.wantPrinted(p, "a", "a DUPLICATE", "b")
				h.wantEnds("grill a retry", "grill a hold", "grill b ack")
				if j := h.q.job("a"); j.State != ticket.Held || !strings.Contains(j.Reason, "check what came out") {
					t.Errorf("%s: the reason %q does not say what to do", j.State, j.Reason)
				}
			})
		})
	}
}

func TestATicketLeftInDoubtByTheBackupIsReprintedMarkedThenHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		_, bar := h.serveWithBackup(off, backupAfter)
		bar.faults = []fault{cut, cut}
		h.q.enqueue("grill", "a", "b")
		h.advance(backupAfter + 2*time.Minute)
		h.wantPrinted(bar, "a"+forGrill, "a"+forGrill+" DUPLICATE", "b"+forGrill)
		if j := h.q.job("a"); j.State != ticket.Held || !strings.Contains(j.Reason, "on bar: ") {
			t.Errorf("the job is %s: %s", j.State, j.Reason)
		}
	})
}

func TestALaneWithHoldDoubtHoldsAtOnce(t *testing.T) {
	hold := func(l *Lane) { l.HoldDoubt = true }
	t.Run("its own printer's", func(t *testing.T) {
		inBubble(t, func(t *testing.T, h *harness) {
			p := h.printer(off, cut)
			h.Set([]Lane{{Name: "grill", Station: p, HoldDoubt: true}})
			h.q.enqueue("grill", "a", "b")
			h.advance(time.Minute)
			h.wantPrinted(p, "a", "b")
			h.wantEnds("grill a retry", "grill a hold", "grill b ack")
		})
	})
	t.Run("its backup's", func(t *testing.T) {
		inBubble(t, func(t *testing.T, h *harness) {
			_, bar := h.serveWithBackup(off, 0, hold)
			bar.faults = []fault{cut}
			h.q.enqueue("grill", "a", "b")
			h.advance(time.Minute)
			h.wantPrinted(bar, "a"+forGrill, "b"+forGrill)
			h.wantEnds("grill a hold", "grill b ack")
		})
	})
	t.Run("what a crash left", func(t *testing.T) {
		inBubble(t, func(t *testing.T, h *harness) {
			h.q.enqueue("grill", "a", "b")
			l, err := h.q.Queue.Take(t.Context(), "grill")
			if err = errors.Join(err, l.Begin(t.Context()), l.Return(t.Context(), "")); err != nil {
				t.Fatal(err)
			}
			p := h.printer()
			h.Set([]Lane{{Name: "grill", Station: p, HoldDoubt: true}})
			h.advance(time.Minute)
			h.wantPrinted(p, "b")
			h.wantEnds("grill a hold", "grill b ack")
		})
	})
}

// An idempotentPrinter says that it never prints a ticket twice.
type idempotentPrinter struct{ *fakePrinter }

func (idempotentPrinter) Idempotent() bool { return true }

func TestAnIdempotentStationIsGivenATicketInDoubtUntilItIsOut(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer(cut, cut, off, cut)
		h.Set([]Lane{{Name: "grill", Station: idempotentPrinter{p}, HoldDoubt: true}})
		h.q.enqueue("grill", "a")
		h.advance(time.Minute)
		h.wantEnds("grill a retry", "grill a retry", "grill a retry", "grill a retry", "grill a ack")
	})
}

func TestAPrinterThatBreaksOffEveryTicketDoesNotWasteItsQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		p.setFault(cut)
		h.q.enqueue("grill", names(100)...)
		h.advance(10 * time.Minute)
		// At most one attempt in 15 s once the pauses have grown.
		if n := len(p.attempts()); n > 45 {
			t.Errorf("%d attempts in ten minutes", n)
		}
	})
}

func TestAPrinterThatIsNotReadySpendsNoAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		p.setFault(noPaper)
		h.q.enqueue("grill", "a")
		h.advance(time.Hour)
		if n := len(p.attempts()); n < 600 || n > 900 {
			t.Errorf("looked %d times in an hour, want every 4 to 6 s", n)
		}
		if s := h.status("grill"); s.Up || !s.Known || s.Waiting != "status: no paper" || s.Attempt != 1 {
			t.Errorf("status is %+v", s)
		}
		p.setFault(fine)
		h.advance(6 * time.Second) // however long it took, the cook does not wait longer
		h.wantPrinted(p, "a")
		if j := h.q.job("a"); j.Attempts != 1 {
			t.Errorf("%d attempts were spent", j.Attempts)
		}
	})
}

func TestNothingIsPrintedWhenBeginFails(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		fails := 3
		h.q.beginErr = func() error {
			if fails--; fails < 0 {
				return nil
			}
			return errors.New("storage failed")
		}
		p := h.serveGrill()
		h.q.enqueue("grill", "a")
		h.advance(0)
		h.wantEnds("grill a return") // and a pause
		h.advance(time.Minute)
		h.wantPrinted(p, "a")
		h.wantEnds("grill a return", "grill a return", "grill a return", "grill a ack")
		if s := h.status("grill"); !s.Up {
			t.Error("the storage's failure is blamed on the printer")
		}
	})
}

// printFunc is a station that cannot be compared.
type printFunc func(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error)

func (f printFunc) Print(
	ctx context.Context, d ticket.Delivery, begin func(context.Context) error,
) (ticket.Proof, error) {
	return f(ctx, d, begin)
}

func TestBeginIsPassedOnOnceAndOnlyDuringThePrint(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
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
		h.Set([]Lane{{Name: "grill", Station: printFunc(print)}})
		h.q.enqueue("grill", "a")
		h.advance(time.Minute)
		if second == nil {
			t.Error("a second begin went through")
		}
		if err := kept(t.Context()); !errors.Is(err, errAttemptOver) {
			t.Error("a begin after the print went through")
		}
		h.wantEnds("grill a retry", "grill a ack")
		if j := h.q.job("a"); j.State != ticket.Shown {
			t.Errorf("state %s", j.State)
		}
	})
}

func TestJudgeGivesEveryAttemptOneEnd(t *testing.T) {
	plain, paper, perm := errors.New("reset"), ticket.NotReady(errors.New("paper")),
		ticket.Permanent(errors.New("never"))
	for _, c := range []struct {
		name           string
		a              attempt
		doubted, holds bool
		end            ending
		result         result
	}{
		{"out", attempt{}, false, false, endAck, resultOK},
		{"out, marked", attempt{begun: true}, true, true, endAck, resultOK},
		{"refused", attempt{err: plain}, false, false, endRetry, resultCleanFailure},
		{"refused, lane holds", attempt{err: plain}, false, true, endRetry, resultCleanFailure},
		{"refused, marked", attempt{err: plain}, true, false, endRetry, resultCleanFailure},
		{"broken", attempt{err: plain, begun: true}, false, false, endRetry, resultDoubt},
		{"broken, marked", attempt{err: plain, begun: true}, true, false, endHold, resultDoubt},
		{"broken, lane holds", attempt{err: plain, begun: true}, false, true, endHold, resultDoubt},
		{"broken, known", attempt{err: plain, begun: true, idempotent: true}, true, true, endRetry, resultDoubt},
		{"no paper", attempt{err: paper}, false, false, endReturn, resultNotReady},
		{"no paper, marked", attempt{err: paper}, true, false, endReturn, resultNotReady},
		{"no paper midway", attempt{err: paper, begun: true}, false, false, endRetry, resultDoubt},
		{"no paper midway, marked", attempt{err: paper, begun: true}, true, false, endHold, resultDoubt},
		{"never", attempt{err: perm}, false, false, endMove, resultPermanent},
		{"never, marked", attempt{err: perm}, true, false, endMove, resultPermanent},
		{"never, lane holds", attempt{err: perm}, false, true, endMove, resultPermanent},
		{"never, says its answer", attempt{err: ticket.Untouched(perm)}, false, false, endMove, resultPermanent},
		{"unprintable, midway", attempt{err: perm, begun: true}, false, false, endHold, resultPermanent},
		{"unprintable midway, idempotent", attempt{err: perm, begun: true, idempotent: true}, false, true,
			endMove, resultPermanent},
		{"nothing taken, says its answer", attempt{err: ticket.Untouched(paper)}, false, false, endReturn,
			resultNotReady},
		{"begin failed", attempt{err: plain, beginErr: plain}, true, true, endReturn, resultInterrupted},
		{"shutdown", attempt{err: plain, interrupted: true}, false, false, endReturn, resultInterrupted},
		{"shutdown, marked", attempt{err: plain, interrupted: true}, true, true, endReturn, resultInterrupted},
		{"shutdown midway", attempt{err: plain, begun: true, interrupted: true}, false, false, endReturn,
			resultInterrupted},
		{"shutdown midway, marked", attempt{err: plain, begun: true, interrupted: true}, true, false, endHold,
			resultInterrupted},
		{"shutdown midway, lane holds", attempt{err: plain, begun: true, interrupted: true}, false, true, endHold,
			resultInterrupted},
		{"shutdown, permanent", attempt{err: perm, interrupted: true}, false, false, endReturn, resultInterrupted},
	} {
		v := judge(c.a, c.doubted, c.holds)
		if v.end != c.end || v.result != c.result {
			t.Errorf("%s: end %d, result %s; want %d, %s", c.name, v.end, v.result, c.end, c.result)
		}
		if (v.reason == "") != (v.end == endAck) {
			t.Errorf("%s: reason %q", c.name, v.reason)
		}
	}
}
