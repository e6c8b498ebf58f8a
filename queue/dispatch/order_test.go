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

func TestFirstAttemptsKeepTheOrderOfArrivalOverFailures(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill(off, off, fine, noPaper, fine, off, panics, fine, noPaper, off)
		k.q.put("grill", names(6)...)
		k.pass(10 * time.Minute)
		k.wantPaper(p, names(6)...)
	})
}

func TestAPrinterOffForThreeHoursDrainsInOrderOverARestart(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill()
		p.now(off)
		p.takes = time.Second
		for _, n := range names(100) {
			k.q.put("grill", n)
			k.pass(108 * time.Second)
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
		if j := k.q.job("order-000"); j.Attempts != len(tries) {
			t.Errorf("the head counts %d attempts of %d: another ticket was tried", j.Attempts, len(tries))
		}

		// The stop cuts one off: after the restart it comes again, marked, before anything else.
		p.now(fine)
		k.pass(longestPause)
		for len(p.printed()) < 50 {
			k.pass(100 * time.Millisecond)
		}
		if err := k.stopNow(); err != nil {
			t.Error(err)
		}
		k.q.close()
		k.q.open()
		k.start()
		n := len(p.printed())
		k.Set([]Lane{{Name: "grill", Station: p}})
		k.pass(time.Hour)
		want := names(100)
		k.wantPaper(p, slices.Insert(want, n, want[n-1]+" DUPLICATE")...)
		for name, j := range k.q.jobs() {
			if j.State != ticket.Sent {
				t.Errorf("%s is %s", name, j.State)
			}
		}
	})
}

func TestADeadStationNeverDelaysAnother(t *testing.T) {
	for _, f := range []fault{off, noPaper, cut, panics, never} {
		t.Run(string(f), func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				dead, alive, hangs := k.printer(), k.printer(), k.printer()
				dead.now(f)
				hangs.dial = 100 * time.Hour
				k.Set([]Lane{{Name: "dead", Station: dead}, {Name: "alive", Station: alive}, {Name: "hangs", Station: hangs}})
				var want []string
				for i := range 50 {
					n := fmt.Sprintf("order-%d", i)
					want = append(want, n)
					k.q.put("dead", n)
					k.q.put("hangs", n)
					k.q.put("alive", n)
					k.pass(0) // no time at all: only what is possible at once
					k.wantPaper(alive, want...)
					k.pass(time.Second)
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
	within(t, "poll", poll, 4*time.Second, 6*time.Second)
	within(t, "soon", soon, time.Second/2, time.Second)
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

func TestATicketThatGoesOutResetsTheBackoff(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill(off, off, off, off, off, off, fine, off, fine)
		k.q.put("grill", "a", "b")
		k.pass(10 * time.Minute)
		tries := p.attempts()
		if d := tries[8].Sub(tries[7]); d > 2*time.Second {
			t.Errorf("the first pause after a ticket that went out lasted %v", d)
		}
		p.faults = []fault{off, off, off, off, noPaper, off, fine}
		k.q.put("grill", "c")
		k.pass(10 * time.Minute)
		if tries = p.attempts(); tries[15].Sub(tries[14]) > 2*time.Second {
			t.Error("a printer that answers, if only to ask for paper, does not reset the backoff")
		}
	})
}

func TestAKickEndsAPauseAndBeginsTheBackoffAfresh(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill()
		p.now(off)
		k.q.put("grill", "a")
		k.pass(10 * time.Minute)
		n := len(p.attempts())
		if k.status("grill").NextTry.IsZero() {
			t.Error("the line is in no pause")
		}
		k.Kick("grill")
		k.Kick("no such line")
		k.pass(0)
		tries := p.attempts()
		if len(tries) != n+1 {
			t.Fatalf("%d attempts after the kick, want %d", len(tries), n+1)
		}
		k.pass(2 * time.Second)
		if got := len(p.attempts()); got != n+2 {
			t.Errorf("%d attempts two seconds later, want %d", got, n+2)
		}
	})
}

func TestAKickDisturbsNobodyElse(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.grill()
		p.takes = time.Minute
		k.Kick("grill") // idle
		k.q.put("grill", "a", "b")
		k.pass(time.Second)
		k.Kick("grill") // printing
		k.pass(2 * time.Minute)
		k.wantPaper(p, "a", "b")
		k.wantEnds("grill a ack", "grill b ack")
	})
}

func TestAQueueThatFailsIsTriedAgain(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		k.q.fails(errors.New("the disk is on fire"), nil)
		k.Set([]Lane{{Name: "grill", Station: p}})
		k.pass(time.Hour)
		k.q.fails(nil, nil)
		k.q.put("grill", "a")
		k.pass(longestPause)
		k.wantPaper(p, "a")
		if got, _ := k.logs.lines(t); len(got) != 2 {
			t.Errorf("an hour of the same error was logged as %q", got)
		}
		k.q.fails(errors.New("the disk is on fire again"), nil)
		k.q.put("grill", "b")
		k.pass(0)
		if d := time.Until(k.status("grill").NextTry); d <= 0 || d > 2*time.Second {
			t.Errorf("the first pause after a ticket that was settled lasts %v", d)
		}
	})
}

func TestATicketThatWasTakenBackInHandCostsItsLineNoPause(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		var out []string
		k.Set([]Lane{{Name: "grill", Station: printFunc(func(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
			time.Sleep(3 * time.Second) // it connects
			if err := begin(ctx); err != nil {
				return "", err
			}
			out = append(out, d.Ticket.Request)
			return ticket.Sent, nil
		})}})
		k.q.put("bar", "shown")
		lease, err := k.q.Queue.Take(t.Context(), "bar")
		if err == nil {
			err = lease.Ack(t.Context(), ticket.Shown, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		d := lease.Delivery()
		for _, card := range []ticket.Card{{Job: d.Job, Copy: &d.Ticket}, {Job: d.Job}} { // dark, and back a second later
			if _, err := k.q.Rescue(t.Context(), "bar", "grill", []ticket.Card{card}); err != nil {
				t.Fatal(err)
			}
			k.pass(time.Second)
		}
		k.q.put("grill", "order")
		k.pass(4500 * time.Millisecond) // one to connect for nothing, three for this one
		if !slices.Equal(out, []string{"order"}) {
			t.Errorf("%q came out", out)
		}
	})
}

// The queue's own rules end this sooner (it holds what was in doubt twice); this is for paper's sake.
func TestAQueueThatWillNotSettleIsNotAskedAtFullSpeed(t *testing.T) {
	for _, f := range []fault{fine, cut, off, never, noPaper} {
		t.Run(string(f), func(t *testing.T) {
			inKitchen(t, func(t *testing.T, k *kitchen) {
				p := k.printer()
				p.now(f)
				k.q.settling = func(context.Context) error { return errors.New("not now") }
				k.Set([]Lane{{Name: "grill", Station: p}})
				k.q.put("grill", "a")
				k.pass(10 * time.Minute)
				if n := len(p.attempts()); n > 160 || f != noPaper && n > 60 {
					t.Errorf("%d attempts in ten minutes", n)
				}
			})
		})
	}
}

func TestARecoveringStationFirstPrintsTheSlip(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		p.now(off)
		k.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		k.q.put("grill", "a", "b")
		k.pass(3 * time.Hour)
		k.q.put("grill", "c")
		k.pass(2 * time.Hour)
		p.now(fine)
		k.pass(longestPause)
		k.wantPaper(p, "slip a b", "c")
	})
}

func TestWhatIsCancelledOrGetsTooOldOnAHeldStationDoesNotPrint(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer(off)
		k.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		k.q.put("grill", "gone", "a", "b")
		k.pass(0) // the line is in a pause, the head is lent to nobody
		if err := k.q.Cancel(t.Context(), k.q.job("gone").ID, "left"); err != nil {
			t.Error(err)
		}
		k.q.hold("grill", true)
		k.pass(5 * time.Hour)
		k.q.put("grill", "c")
		k.wantPaper(p)
		k.q.hold("grill", false)
		k.pass(0)
		k.wantPaper(p, "slip a b", "c")
		if j := k.q.job("a"); j.Attempts != 0 || j.State != ticket.Expired {
			t.Errorf("%d attempts, %s", j.Attempts, j.State)
		}
	})
}

func TestTicketsPrintLateWhenTheQueueCannotExpireThem(t *testing.T) {
	inKitchen(t, func(t *testing.T, k *kitchen) {
		p := k.printer()
		k.q.fails(nil, errors.New("storage full"))
		k.q.put("grill", "a", "b")
		k.pass(5 * time.Hour)
		k.Set([]Lane{{Name: "grill", Station: p, ExpireAfter: 4 * time.Hour}})
		k.pass(time.Second)
		k.wantPaper(p, "a", "b")
	})
}
