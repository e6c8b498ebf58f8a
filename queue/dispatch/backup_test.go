package dispatch

import (
	"context"
	"testing"
	"time"

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
				wantTrue(t, f == dropped || f == refusesAll || len(bar.printed()) == 4, "d did not come at once")
				j := h.q.job("a")
				wantTrue(t, j.State == ticket.Sent && j.Reason == "came out of bar", j)
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
		wantEqual(t, len(bar.printed()), 301)
		tries := grill.attempts()[from:]
		for i := range tries[1:] {
			d := tries[i+1].Sub(tries[i])
			wantTrue(t, d >= 30*time.Second && d <= time.Minute, d)
		}
		wantTrue(t, len(tries) >= 5, len(tries))
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
		wantSame(t, s.ActiveBackup, want)
		wantTrue(t, !s.Up, s)
		h.advance(31 * time.Second)
		moved := len(bar.printed())
		n := len(grill.printed())
		wantTrue(t, n > 0 && n+moved == 200, n, moved)
		s = h.status("grill")
		wantTrue(t, s.Up && s.ActiveBackup == (ActiveBackup{}), s)
		// After the next failure the backup has to wait for its time again.
		grill.setFault(off)
		h.q.enqueue("grill", "later")
		h.advance(backupAfter - time.Second)
		wantEqual(t, len(bar.printed()), moved, "the backup printed before its time")
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
		wantTrue(t, len(bar.attempts()) > 0 && len(pass.attempts()) == 0, bar.attempts(), pass.attempts())
		h.advance(backupAfter)
		h.wantPrinted(pass, "a"+forGrill)
		bar.setFault(fine)
		h.advance(time.Minute)
		h.q.enqueue("grill", "b")
		h.advance(time.Second)
		h.wantPrinted(bar, "b"+forGrill)
		wantEqual(t, h.status("grill").ActiveBackup.Name, "bar")
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
		wantEqual(t, h.q.job("a").State, ticket.Shown)
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
		wantEqual(t, h.status("grill").Err, "not ready within 30s: dial: context canceled")
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
		wantTrue(t, len(grill.attempts()) >= 3, grill.attempts())
	})
}

func TestABackupPrintsForTheDarkScreenThatShowedIt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		pass := h.printer()
		dead := h.printer()
		dead.setFault(off)
		d := h.shown("bar")
		must(t, h.q.PrintShown(t.Context(), "bar", "grill", d.Ticket, h.q.KV("cards"), nil))
		h.Set([]Lane{{Name: "grill", Station: dead, Backups: []Backup{{"pass", pass, 0}}}})
		h.advance(time.Second)
		h.wantPrinted(pass, "shown FOR bar (screen down)")
	})
}
