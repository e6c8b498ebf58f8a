package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ticketrail/deploy/assert"
)

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
			d := tries[i].Sub(tries[i-1])
			assert.True(t, d >= time.Second && d <= 30*time.Second, i, d)
		}
		// 15 to 30 s a pause, over three hours.
		assert.True(t, len(tries) >= 300 && len(tries) <= 800, len(tries))
		assert.Equal(t, h.q.job("order-000").Attempts, len(tries), "another ticket was tried")

		// The stop cuts one off: after the restart it comes again, marked, before anything else.
		p.setFault(fine)
		h.advance(longestPause)
		for len(p.printed()) < 50 {
			h.advance(100 * time.Millisecond)
		}
		h.restart()
		n := len(p.printed())
		h.Set([]Lane{{Name: "grill", Station: p}})
		h.advance(time.Hour)
		want := names(100)
		h.wantPrinted(p, slices.Insert(want, n, want[n-1]+" DUPLICATE")...)
	})
}

func TestADeadStationNeverDelaysAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		alive, hangs := h.printer(), h.printer()
		hangs.dial = 100 * time.Hour
		lanes := []Lane{{Name: "alive", Station: alive}, {Name: "hangs", Station: hangs}}
		for _, f := range []fault{off, noPaper, cut, panics, unprintable} {
			lanes = append(lanes, Lane{Name: string(f), Station: h.failing(f)})
		}
		h.Set(lanes)

		for i, n := range names(20) {
			for _, l := range lanes {
				h.q.enqueue(l.Name, n)
			}
			h.advance(0) // no time at all
			h.wantPrinted(alive, names(20)[:i+1]...)
			h.advance(time.Second)
		}
	})
}

func TestPausesStayWithinTheirBounds(t *testing.T) {
	type pause func() time.Duration
	after := func(n int) pause { return func() time.Duration { return backoff(n) } }
	doubted := func(n int) pause {
		return func() time.Duration {
			f := failures{clean: 5, doubted: n - 1}
			return f.afterDoubt()
		}
	}
	refusedAfterDoubt := func() time.Duration { // it could be reached
		f := failures{clean: 5}
		f.afterDoubt()
		return f.afterCleanFailure()
	}
	for name, c := range map[string]struct {
		pause     pause
		low, high time.Duration
	}{
		"one failure":       {after(1), time.Second, 2 * time.Second},
		"two":               {after(2), 2 * time.Second, 4 * time.Second},
		"three":             {after(3), 4 * time.Second, 8 * time.Second},
		"four":              {after(4), 8 * time.Second, 16 * time.Second},
		"five":              {after(5), 15 * time.Second, 30 * time.Second},
		"a thousand":        {after(1000), 15 * time.Second, 30 * time.Second},
		"not ready":         {notReadyPause, 4 * time.Second, 6 * time.Second},
		"the marked copy":   {doubted(1), time.Second / 2, time.Second},
		"the second doubt":  {doubted(2), time.Second, 2 * time.Second},
		"the third":         {doubted(3), 2 * time.Second, 4 * time.Second},
		"the fourth":        {doubted(4), 4 * time.Second, 8 * time.Second},
		"a backup prints":   {ownRetryPause, 25 * time.Second, 30 * time.Second},
		"refused, reached ": {refusedAfterDoubt, time.Second, 2 * time.Second},
	} {
		seen := map[time.Duration]bool{}
		for range 1000 {
			d := c.pause()
			assert.True(t, d >= c.low && d <= c.high, name, d, c.low, c.high)
			seen[d] = true
		}
		assert.True(t, len(seen) >= 500, name, len(seen), "different pauses: no jitter")
	}
}

func TestATicketThatGoesOutResetsTheBackoff(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill(off, off, off, off, off, off, fine, off, fine)
		h.q.enqueue("grill", "a", "b")
		h.advance(10 * time.Minute)
		tries := p.attempts()
		d := tries[8].Sub(tries[7])
		assert.True(t, d <= 2*time.Second, "the first pause after a ticket that went out", d)
		p.faults = []fault{off, off, off, off, noPaper, off, fine}
		h.q.enqueue("grill", "c")
		h.advance(10 * time.Minute)
		tries = p.attempts()
		d = tries[15].Sub(tries[14])
		assert.True(t, d <= 2*time.Second, "the first pause after an answer, if only to ask for paper", d)
	})
}

func TestAPrinterThatIsNotReadySpendsNoAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		p.setFault(noPaper)
		h.q.enqueue("grill", "a")
		h.advance(time.Hour)
		n := len(p.attempts()) // every 4 to 6 s
		assert.True(t, n >= 600 && n <= 900, n)
		s := h.status("grill")
		assert.True(t, !s.Up && s.Known && s.NotReady == "status: no paper" && s.Attempt == 1, s)
		p.setFault(fine)
		h.advance(6 * time.Second) // however long it took, the cook does not wait longer
		h.wantPrinted(p, "a")
		assert.Equal(t, h.q.job("a").Attempts, 1)
	})
}

func TestAKickEndsAPauseAndResetsTheBackoff(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		p := h.serveGrill()
		h.Kick("grill") // idle
		h.Kick("no such lane")
		p.takes = time.Minute
		h.q.enqueue("grill", "a", "b")
		h.advance(time.Second)
		h.Kick("grill") // printing
		h.advance(2 * time.Minute)
		h.wantPrinted(p, "a", "b")
		h.wantEnds("grill a ack", "grill b ack")

		p.setFault(off)
		h.q.enqueue("grill", "c")
		h.advance(10 * time.Minute)
		n := len(p.attempts())
		assert.True(t, !h.status("grill").NextTry.IsZero(), "the lane is in no pause")
		h.Kick("grill")
		h.advance(0)
		assert.Equal(t, len(p.attempts()), n+1)
		h.advance(2 * time.Second)
		assert.Equal(t, len(p.attempts()), n+2)
	})
}

func TestAQueueThatFailsIsTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		firstPause := func(after string) {
			t.Helper()
			d := time.Until(h.status("grill").NextTry)
			assert.True(t, d > 0 && d <= 2*time.Second, after, d)
		}
		p := h.printer()
		h.q.setErrors(errors.New("the disk is on fire"), nil)
		h.Set([]Lane{{Name: "grill", Station: p}})
		h.advance(time.Hour)
		h.Kick("grill")
		h.advance(0)
		firstPause("a kick")

		h.q.setErrors(nil, nil)
		h.q.enqueue("grill", "a")
		h.advance(longestPause)
		h.wantPrinted(p, "a")
		logged, _ := h.logs.entries(t)
		assert.Equal(t, len(logged), 2, logged) // the error of an hour, and the ticket
		h.q.setErrors(errors.New("the disk is on fire"), nil)
		h.q.enqueue("grill", "b")
		h.advance(0)
		firstPause("a ticket that was settled")
		if got, _ := h.logs.entries(t); len(got) != 4 { // twice the error, twice a ticket
			t.Errorf("the same error after a ticket was printed is not logged: %q", got)
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
		assert.True(t, h.status("grill").Up, "the storage's failure is blamed on the printer")
	})
}

func TestATicketThatCannotBeSettledIsNotTakenInALoop(t *testing.T) {
	// The queue's own rules end this sooner: it holds a ticket that was in doubt twice.
	for _, f := range []fault{fine, cut, off, unprintable, noPaper, "in doubt before"} {
		t.Run(string(f), func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) {
				h.q.enqueue("grill", "a")
				if f == "in doubt before" {
					h.q.leaveInDoubt("grill")
				}
				tries := 0
				h.q.settling = func(context.Context) error {
					if tries++; tries > 200 {
						return nil // or the loop would not let the bubble's time pass
					}
					return errors.New("not now")
				}
				h.Set([]Lane{{Name: "grill", Station: h.failing(f), HoldDoubt: f == "in doubt before"}})
				h.advance(10 * time.Minute)
				assert.True(t, tries >= 2 && tries <= 160 && (f == noPaper || tries <= 60), tries)
			})
		})
	}
}

func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("order-%03d", i)
	}
	return out
}
