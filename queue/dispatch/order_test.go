package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("order-%03d", i)
	}
	return out
}

func TestTicketsKeepTheirOrderThroughFailures(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill(off, off, fine, noPaper, fine, off, panics, fine, noPaper, off)
		h.q.enqueue("grill", names(6)...)
		h.advance(10 * time.Minute)
		h.wantPrinted(p, names(6)...)
	})
}

func TestAPrinterOffForThreeHoursDrainsInOrderOverARestart(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		p.setFault(off)
		p.takes = time.Second
		for _, n := range names(100) {
			h.q.enqueue("grill", n)
			h.advance(108 * time.Second)
		}
		tries := p.attempts()
		for i := 1; i < len(tries); i++ {
			if d := tries[i].Sub(tries[i-1]); d < time.Second || d > longestPause {
				t.Errorf("pause %d lasted %v", i, d)
			}
		}
		// 15 to 30 s a pause, over three hours.
		if n := len(tries); n < 300 || n > 800 {
			t.Errorf("%d attempts in three hours", n)
		}
		if j := h.q.job("order-000"); j.Attempts != len(tries) {
			t.Errorf("the head counts %d attempts of %d: another ticket was tried", j.Attempts, len(tries))
		}

		// The stop cuts one off: after the restart it comes again, marked, before anything else.
		p.setFault(fine)
		h.advance(longestPause)
		for len(p.printed()) < 50 {
			h.advance(100 * time.Millisecond)
		}
		if err := h.stopAtOnce(); err != nil {
			t.Error(err)
		}
		h.q.close()
		h.q.open()
		h.start()
		n := len(p.printed())
		h.Set([]Lane{{Name: "grill", Station: p}})
		h.advance(time.Hour)
		want := names(100)
		h.wantPrinted(p, slices.Insert(want, n, want[n-1]+" DUPLICATE")...)
		for name, j := range h.q.jobs() {
			if j.State != ticket.Sent {
				t.Errorf("%s is %s", name, j.State)
			}
		}
	})
}

func TestADeadStationNeverDelaysAnother(t *testing.T) {
	for _, f := range []fault{off, noPaper, cut, panics, unprintable} {
		t.Run(string(f), func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) {
				dead, alive, hangs := h.printer(), h.printer(), h.printer()
				dead.setFault(f)
				hangs.dial = 100 * time.Hour
				h.Set([]Lane{{Name: "dead", Station: dead}, {Name: "alive", Station: alive},
					{Name: "hangs", Station: hangs}})
				var want []string
				for i := range 50 {
					n := fmt.Sprintf("order-%d", i)
					want = append(want, n)
					h.q.enqueue("dead", n)
					h.q.enqueue("hangs", n)
					h.q.enqueue("alive", n)
					h.advance(0) // no time at all: only what is possible at once
					h.wantPrinted(alive, want...)
					h.advance(time.Second)
				}
			})
		})
	}
}

func TestPausesStayWithinTheirBounds(t *testing.T) {
	for n, want := range []struct{ low, high time.Duration }{
		1:    {time.Second, 2 * time.Second},
		2:    {2 * time.Second, 4 * time.Second},
		3:    {4 * time.Second, 8 * time.Second},
		4:    {8 * time.Second, 16 * time.Second},
		5:    {15 * time.Second, 30 * time.Second},
		6:    {15 * time.Second, 30 * time.Second},
		1000: {15 * time.Second, 30 * time.Second},
	} {
		if want.high == 0 {
			continue
		}
		within(t, fmt.Sprintf("backoff(%d)", n), func() time.Duration { return backoff(n) }, want.low, want.high)
	}
	within(t, "notReadyPause", notReadyPause, 4*time.Second, 6*time.Second)
	within(t, "reprintPause", reprintPause, time.Second/2, time.Second)
}

func within(t *testing.T, what string, f func() time.Duration, low, high time.Duration) {
	t.Helper()
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := f()
		if d < low || d > high {
			t.Fatalf("%s gave %v, want %v to %v", what, d, low, high)
		}
		seen[d] = true
	}
	if len(seen) < 500 {
		t.Errorf("%s gave only %d different pauses of 1000: no jitter", what, len(seen))
	}
}

func TestThePauseAfterDoubtIsShortOnceAndThenGrows(t *testing.T) {
	for range 100 {
		f := failures{clean: 5}
		for i, longest := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
			if d := f.afterDoubt(); d < longest/2 || d > longest {
				t.Errorf("pause %d lasts %v, want %v to %v", i, d, longest/2, longest)
			}
		}
		if d := f.afterCleanFailure(); d > 2*time.Second {
			t.Errorf("the first refusal of a printer that could be reached costs %v", d)
		}
	}
}

func TestATicketThatGoesOutResetsTheBackoff(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill(off, off, off, off, off, off, fine, off, fine)
		h.q.enqueue("grill", "a", "b")
		h.advance(10 * time.Minute)
		tries := p.attempts()
		if d := tries[8].Sub(tries[7]); d > 2*time.Second {
			t.Errorf("the first pause after a ticket that went out lasted %v", d)
		}
		p.faults = []fault{off, off, off, off, noPaper, off, fine}
		h.q.enqueue("grill", "c")
		h.advance(10 * time.Minute)
		if tries = p.attempts(); tries[15].Sub(tries[14]) > 2*time.Second {
			t.Error("a printer that answers, if only to ask for paper, does not reset the backoff")
		}
	})
}

func TestAKickEndsAPauseAndResetsTheBackoff(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		p.setFault(off)
		h.q.enqueue("grill", "a")
		h.advance(10 * time.Minute)
		n := len(p.attempts())
		if h.status("grill").NextTry.IsZero() {
			t.Error("the line is in no pause")
		}
		h.Kick("grill")
		h.Kick("no such lane")
		h.advance(0)
		tries := p.attempts()
		if len(tries) != n+1 {
			t.Fatalf("%d attempts after the kick, want %d", len(tries), n+1)
		}
		h.advance(2 * time.Second)
		if got := len(p.attempts()); got != n+2 {
			t.Errorf("%d attempts two seconds later, want %d", got, n+2)
		}
	})
}

func TestAKickDoesNotDisturbAnIdleOrPrintingStation(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		p.takes = time.Minute
		h.Kick("grill") // idle
		h.q.enqueue("grill", "a", "b")
		h.advance(time.Second)
		h.Kick("grill") // printing
		h.advance(2 * time.Minute)
		h.wantPrinted(p, "a", "b")
		h.wantEnds("grill a ack", "grill b ack")
	})
}

func TestAQueueThatFailsIsTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer()
		h.q.setErrors(errors.New("the disk is on fire"), nil)
		h.Set([]Lane{{Name: "grill", Station: p}})
		h.advance(time.Hour)
		h.q.setErrors(nil, nil)
		h.q.enqueue("grill", "a")
		h.advance(longestPause)
		h.wantPrinted(p, "a")
		if got, _ := h.logs.entries(t); len(got) != 2 {
			t.Errorf("an hour of the same error was logged as %q", got)
		}
		h.q.setErrors(errors.New("the disk is on fire"), nil)
		h.q.enqueue("grill", "b")
		h.advance(0)
		if d := time.Until(h.status("grill").NextTry); d <= 0 || d > 2*time.Second {
			t.Errorf("the first pause after a ticket that was settled lasts %v", d)
		}
		if got, _ := h.logs.entries(t); len(got) != 4 { // twice the error, twice a ticket
			t.Errorf("the same error after a ticket was printed is not logged: %q", got)
		}
	})
}

func TestATicketCancelledWhileInHandCostsItsQueueNoPause(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		var out []string
		h.Set([]Lane{{Name: "grill", Station: printFunc(func(ctx context.Context, d ticket.Delivery,
			begin func(context.Context) error) (ticket.Proof, error) {
			time.Sleep(3 * time.Second) // it connects
			if err := begin(ctx); err != nil {
				return "", err
			}
			out = append(out, d.Ticket.Request)
			return ticket.Sent, nil
		})}})
		d := h.shown("bar")
		// dark, and back a second later
		for _, card := range []ticket.RescueCard{{Job: d.Job, Ticket: &d.Ticket}, {Job: d.Job}} {
			if _, err := h.q.Rescue(t.Context(), "bar", "grill", []ticket.RescueCard{card}); err != nil {
				t.Fatal(err)
			}
			h.advance(time.Second)
		}
		h.q.enqueue("grill", "order")
		h.advance(4500 * time.Millisecond) // one to connect for nothing, three for this one
		if !slices.Equal(out, []string{"order"}) {
			t.Errorf("%q came out", out)
		}
	})
}

// The queue's own rules end this sooner (it holds what was in doubt twice); this is for paper's sake.
func TestATicketThatCannotBeSettledIsNotPrintedInALoop(t *testing.T) {
	for _, f := range []fault{fine, cut, off, unprintable, noPaper} {
		t.Run(string(f), func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) {
				p := h.printer()
				p.setFault(f)
				h.q.settling = func(context.Context) error { return errors.New("not now") }
				h.Set([]Lane{{Name: "grill", Station: p}})
				h.q.enqueue("grill", "a")
				h.advance(10 * time.Minute)
				if n := len(p.attempts()); n > 160 || f != noPaper && n > 60 {
					t.Errorf("%d attempts in ten minutes", n)
				}
			})
		})
	}
}

func TestATicketThatCannotBeHeldIsNotTakenInALoop(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.q.enqueue("grill", "a")
		l, err := h.q.Queue.Take(t.Context(), "grill")
		if err = errors.Join(err, l.Begin(t.Context()), l.Return(t.Context(), "")); err != nil {
			t.Fatal(err)
		}
		tries := 0
		h.q.settling = func(context.Context) error {
			if tries++; tries > 100 {
				return nil // or the loop would not let the bubble's time pass
			}
			return errors.New("not now")
		}
		h.Set([]Lane{{Name: "grill", Station: h.printer(), HoldDoubt: true}})
		h.advance(10 * time.Minute)
		if tries < 2 || tries > 60 {
			t.Errorf("%d tries in ten minutes", tries)
		}
	})
}

func TestARecoveringStationFirstPrintsTheSlip(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer()
		p.setFault(off)
		h.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		h.q.enqueue("grill", "a", "b")
		h.advance(3 * time.Hour)
		h.q.enqueue("grill", "c")
		h.advance(2 * time.Hour)
		p.setFault(fine)
		h.advance(longestPause)
		h.wantPrinted(p, "slip a b", "c")
	})
}

func TestASlipNeverExpires(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer()
		p.setFault(noPaper)
		h.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: time.Hour}})
		h.q.enqueue("grill", "a")
		h.advance(2 * time.Hour) // the slip takes the place of the ticket
		h.q.hold("grill", true)
		h.advance(2 * time.Hour) // and gets too old itself
		p.setFault(fine)
		h.q.mu.Lock()
		h.q.ends = nil
		h.q.mu.Unlock()
		h.q.hold("grill", false)
		h.advance(time.Second)
		h.wantPrinted(p, "slip a")
		h.wantEnds("grill  ack") // and was not returned first
	})
}

func TestATicketCancelledOrTooOldOnAHeldStationDoesNotPrint(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer(off)
		h.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		h.q.enqueue("grill", "gone", "a", "b")
		h.advance(0) // the worker is in a pause, the head is not lent
		if err := h.q.Cancel(t.Context(), h.q.job("gone").ID, "left"); err != nil {
			t.Error(err)
		}
		h.q.hold("grill", true)
		h.advance(5 * time.Hour)
		h.q.enqueue("grill", "c")
		h.wantPrinted(p)
		h.q.hold("grill", false)
		h.advance(0)
		h.wantPrinted(p, "slip a b", "c")
		if j := h.q.job("a"); j.Attempts != 0 || j.State != ticket.Expired {
			t.Errorf("%d attempts, %s", j.Attempts, j.State)
		}
	})
}

func TestTicketsPrintLateWhenTheQueueCannotExpireThem(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.printer()
		h.q.setErrors(nil, errors.New("storage full"))
		h.q.enqueue("grill", "a", "b")
		h.advance(5 * time.Hour)
		h.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		h.advance(10 * time.Second)
		h.wantPrinted(p, "a", "b")
	})
}
