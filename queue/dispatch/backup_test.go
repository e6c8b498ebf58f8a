package dispatch

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/queue/ticket"
)

func TestTheBackupPrintsWhatWaitsInOrderAfterItsTime(t *testing.T) {
	for _, f := range []fault{off, noPaper, panics, dropped, refusesAll} {
		t.Run(string(f), func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) {
				grill, bar := h.serveWithBackup(f, backupAfter)
				h.q.enqueue("grill", "a", "b", "c")
				h.advance(backupAfter - time.Second)
				h.wantPrinted(bar)
				h.advance(time.Minute) // for at most one more try of the own station alone
				h.wantPrinted(bar, "a"+forGrill, "b"+forGrill, "c"+forGrill)
				h.wantPrinted(grill)
				h.q.enqueue("grill", "d")
				h.advance(time.Second)
				if got := bar.printed(); f != dropped && f != refusesAll && len(got) != 4 {
					t.Errorf("the next one did not come out at once: %q", got)
				}
				if j := h.q.job("a"); j.State != ticket.Sent || j.Reason != "came out of bar" {
					t.Errorf("the job is %s, %q", j.State, j.Reason)
				}
			})
		})
	}
}

func TestADeadPrinterIsTriedRarelyWhileABackupPrints(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar := h.serveWithBackup(off, backupAfter)
		grill.dial = 10 * time.Second // as a connect time-out takes
		bar.takes = 100 * time.Millisecond
		h.q.enqueue("grill", "first")
		h.advance(5 * time.Minute)
		from := len(grill.attempts())
		for range 300 {
			h.q.enqueue("grill", "a")
			h.advance(time.Second)
		}
		h.advance(time.Minute)
		if n := len(bar.printed()); n != 301 {
			t.Errorf("%d tickets came out, want 301", n)
		}
		tries := grill.attempts()[from:]
		for i := range tries[1:] {
			if d := tries[i+1].Sub(tries[i]); d < 30*time.Second || d > time.Minute {
				t.Errorf("tried again after %v", d)
			}
		}
		if len(tries) < 5 {
			t.Errorf("tried %d times in five minutes", len(tries))
		}
	})
}

func TestTheOwnPrinterGetsItsTicketsBackAsSoonAsItPrints(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar := h.serveWithBackup(off, backupAfter)
		bar.takes = time.Second
		start := time.Now()
		h.q.enqueue("grill", names(200)...)
		h.advance(backupAfter + time.Minute)
		grill.setFault(fine)
		s := h.status("grill")
		want := ActiveBackup{Name: "bar", Since: start.Add(backupAfter + time.Second)}
		if diff := cmp.Diff(want, s.ActiveBackup); diff != "" || s.Up {
			t.Errorf("up is %t, who stands in (-want +got):\n%s", s.Up, diff)
		}
		h.advance(31 * time.Second)
		moved := len(bar.printed())
		if n := len(grill.printed()); n == 0 || n+moved != 200 {
			t.Errorf("%d came out of the grill, %d of the bar", n, moved)
		}
		if s := h.status("grill"); !s.Up || s.ActiveBackup != (ActiveBackup{}) {
			t.Errorf("status %+v", s)
		}
		// After the next failure the backup has to wait for its time again.
		grill.setFault(off)
		h.q.enqueue("grill", "later")
		h.advance(backupAfter - time.Second)
		if n := len(bar.printed()); n != moved {
			t.Error("the backup printed before its time")
		}
	})
}

func TestBackupsAreTriedInOrderEachAfterItsTime(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar, pass := h.printer(), h.printer(), h.printer()
		grill.setFault(off)
		bar.setFault(off)
		h.Set([]Lane{grillLane(grill, bar, pass)})
		h.q.enqueue("grill", "a")
		h.advance(backupAfter + time.Second)
		if len(bar.attempts()) == 0 || len(pass.attempts()) > 0 {
			t.Errorf("tried: bar %d times, pass %d times", len(bar.attempts()), len(pass.attempts()))
		}
		h.advance(backupAfter)
		h.wantPrinted(pass, "a"+forGrill)
		bar.setFault(fine)
		h.advance(time.Minute)
		h.q.enqueue("grill", "b")
		h.advance(time.Second)
		h.wantPrinted(bar, "b"+forGrill)
		if s := h.status("grill"); s.ActiveBackup.Name != "bar" {
			t.Errorf("%s stands in", s.ActiveBackup.Name)
		}
	})
}

func TestATicketThatIsOutAlthoughThePrintWasInterruptedIsNotPrintedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		// A screen that has the ticket already shows it without a begin.
		slow := func(ctx context.Context, _ ticket.Delivery, _ func(context.Context) error) (ticket.Proof, error) {
			<-ctx.Done()
			return ticket.Shown, nil
		}
		l := grillLane(nil, h.printer())
		l.Station = printFunc(slow)
		h.Set([]Lane{l})
		h.q.enqueue("grill", "a")
		h.advance(time.Minute)
		h.wantEnds("grill a ack")
		if j := h.q.job("a"); j.State != ticket.Shown {
			t.Errorf("the job is %s", j.State)
		}
	})
}

func TestABusyBackupIsInterruptedForTheNextOne(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar, pass := h.printer(), h.printer(), h.printer()
		grill.setFault(off)
		bar.dial = time.Hour
		h.Set([]Lane{grillLane(grill, bar, pass)})
		h.q.enqueue("grill", "a")
		h.advance(2*backupAfter + time.Minute)
		h.wantPrinted(pass, "a"+forGrill)
		grill.setFault(fine)
		grill.dial = time.Hour
		h.q.enqueue("grill", "b")
		h.advance(2 * time.Minute)
		if s := h.status("grill"); s.Err != "not ready within 30s: dial: context canceled" {
			t.Errorf("status says %q", s.Err)
		}
	})
}

func TestAHeldStationStartsNoBackup(t *testing.T) {
	for _, c := range []struct {
		name  string
		start time.Duration // of the hold
	}{{"at once", 0}, {"in a pause", 500 * time.Millisecond}, {"after a while", backupAfter / 2}} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) {
				_, bar := h.serveWithBackup(off, backupAfter)
				if c.start == 0 {
					h.q.hold("grill", true)
				}
				h.q.enqueue("grill", "a")
				h.advance(c.start)
				h.q.hold("grill", true)
				h.advance(time.Minute)
				for range 10 { // whatever wakes the worker
					h.Kick("grill")
					h.advance(10 * time.Minute)
				}
				h.wantPrinted(bar)
				h.q.hold("grill", false)
				h.advance(backupAfter - c.start - time.Second)
				h.wantPrinted(bar)
				h.advance(longestPause + 2*time.Second)
				h.wantPrinted(bar, "a"+forGrill)
			})
		})
	}
}

func TestAfterAKickTheOwnPrinterIsTriedFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar := h.serveWithBackup(off, backupAfter)
		h.q.enqueue("grill", "a")
		h.advance(backupAfter + time.Minute)
		h.q.enqueue("grill", "b")
		h.advance(time.Second)
		h.wantPrinted(bar, "a"+forGrill, "b"+forGrill)
		grill.setFault(fine)
		h.Kick("grill")
		h.q.enqueue("grill", "c")
		h.advance(0)
		h.wantPrinted(grill, "c")
	})
}

func TestTheOwnPrinterIsTriedOftenWhileTheBackupFailsToo(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar := h.serveWithBackup(off, 0)
		bar.setFault(off)
		h.q.enqueue("grill", "a")
		h.advance(8 * time.Second) // a printer with a backup that works is tried after 25 s
		if n := len(grill.attempts()); n < 3 {
			t.Errorf("tried %d times in 8 s", n)
		}
	})
}

func TestABackupPrintsForTheDarkScreenThatShowedIt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		pass := h.printer()
		dead := h.printer()
		dead.setFault(off)
		d := h.shown("bar")
		if err := h.q.PrintShown(t.Context(), "bar", "grill", d.Ticket, h.q.KV("cards"), nil); err != nil {
			t.Fatal(err)
		}
		h.Set([]Lane{{Name: "grill", Station: dead, Backups: []Backup{{"pass", pass, 0}}}})
		h.advance(time.Second)
		h.wantPrinted(pass, "shown FOR bar (screen down)")
	})
}
