package dispatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue"
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
				assert.True(t, f == dropped || f == refusesAll || len(bar.printed()) == 4, "d did not come at once")
				j := h.q.job("a")
				assert.True(t, j.State == ticket.Sent && j.Reason == "came out of bar", j)
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
		assert.Equal(t, len(bar.printed()), 301)
		tries := grill.attempts()[from:]
		for i := range tries[1:] {
			d := tries[i+1].Sub(tries[i])
			assert.True(t, d >= 30*time.Second && d <= time.Minute, d)
		}
		assert.True(t, len(tries) >= 5, len(tries))
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
		assert.True(t, !s.Up, s)
		h.advance(31 * time.Second)
		moved := len(bar.printed())
		n := len(grill.printed())
		assert.True(t, n > 0 && n+moved == 200, n, moved)
		s = h.status("grill")
		assert.True(t, s.Up && s.ActiveBackup == (ActiveBackup{}), s)
		// After the next failure the backup has to wait for its time again.
		grill.setFault(off)
		h.q.enqueue("grill", "later")
		h.advance(backupAfter - time.Second)
		assert.Equal(t, len(bar.printed()), moved, "the backup printed before its time")
	})
}

func TestBackupsAreTriedInOrderEachAfterItsTime(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar, pass := h.failing(off), h.failing(off), h.printer()
		h.Set([]Lane{grillLane(grill, bar, pass)})
		h.q.enqueue("grill", "a")
		h.advance(backupAfter + time.Second)
		assert.True(t, len(bar.attempts()) > 0 && len(pass.attempts()) == 0, bar.attempts(), pass.attempts())
		h.advance(backupAfter)
		h.wantPrinted(pass, "a"+forGrill)
		bar.setFault(fine)
		h.advance(time.Minute)
		h.q.enqueue("grill", "b")
		h.advance(time.Second)
		h.wantPrinted(bar, "b"+forGrill)
		assert.Equal(t, h.status("grill").ActiveBackup.Name, "bar")
	})
}

func TestATicketThatIsOutAlthoughThePrintWasInterruptedIsNotPrintedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.Set([]Lane{grillLane(h.failing(showsLate), h.printer())})
		h.q.enqueue("grill", "a")
		h.advance(time.Minute)
		h.wantEnds("grill a ack")
		assert.Equal(t, h.q.job("a").State, ticket.Shown)
	})
}

func TestABusyBackupIsInterruptedForTheNextOne(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar, pass := h.failing(off), h.printer(), h.printer()
		bar.dial = time.Hour
		h.Set([]Lane{grillLane(grill, bar, pass)})
		h.q.enqueue("grill", "a")
		h.advance(2*backupAfter + time.Minute)
		h.wantPrinted(pass, "a"+forGrill)
		grill.setFault(fine)
		grill.dial = time.Hour
		h.q.enqueue("grill", "b")
		h.advance(2 * time.Minute)
		assert.Equal(t, h.status("grill").Err, "not ready within 30s: dial: context canceled")
	})
}

func TestAHeldStationStartsNoBackup(t *testing.T) {
	each(t, map[string]time.Duration{
		"at once": 0, "in a pause": 500 * time.Millisecond, "after a while": backupAfter / 2,
	}, func(_ *testing.T, h *harness, start time.Duration) {
		_, bar := h.serveWithBackup(off, backupAfter)
		if start == 0 {
			h.q.hold("grill", true)
		}
		h.q.enqueue("grill", "a")
		h.advance(start)
		h.q.hold("grill", true)
		h.advance(time.Minute)
		for range 10 { // whatever wakes the worker
			h.Kick("grill")
			h.advance(10 * time.Minute)
		}
		h.wantPrinted(bar)
		h.q.hold("grill", false)
		h.advance(backupAfter - start - time.Second)
		h.wantPrinted(bar)
		h.advance(longestPause + 2*time.Second)
		h.wantPrinted(bar, "a"+forGrill)
	})
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
		assert.True(t, len(grill.attempts()) >= 3, grill.attempts())
	})
}

func TestABackupPrintsForTheDarkScreenThatShowedIt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		pass, d := h.printer(), h.shown("bar")
		assert.NoError(t, h.q.PrintShown(t.Context(), "bar", "grill", d.Ticket, h.q.KV("cards"), nil))
		h.Set([]Lane{{Name: "grill", Station: h.failing(off), Backups: []Backup{{"pass", pass, 0}}}})
		h.advance(time.Second)
		h.wantPrinted(pass, "shown FOR bar (screen down)")
	})
}

func TestARefusedTicketGoesToAnotherStationAtOnceAndTheNextOnesPrint(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar := h.printer(fine, refuses), h.printer()
		h.lanesWithRefusals(grill, bar, h.printer())
		h.q.enqueue("grill", "a", "b", "c")
		h.advance(0)
		h.wantPrinted(grill, "a", "c")
		h.wantPrinted(bar, "b REFUSED BY grill")
		moved, to := h.jobsOf("b", "grill")[0], h.jobsOf("b", "bar")[0]
		want := fmt.Sprintf("moved to bar as job %d: refused by grill: 422 no table", to.ID)
		assert.True(t, moved.State == ticket.Moved && moved.Reason == want, moved, want)
	})
}

func TestEachStationIsGivenARefusedTicketOnceAndThenAPersonGetsIt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.lanesWithRefusals(h.failing(refuses), h.failing(refuses), h.failing(refuses))
		h.q.enqueue("grill", "a")
		h.advance(time.Hour)
		h.wantEnds("grill a move to bar", "bar a move to pass", "pass a hold")
		j := h.jobsOf("a", "pass")[0]
		want := "no other station takes it; reprint it at another one, or cancel it: refused by pass: 422 no table"
		assert.True(t, j.State == ticket.Held && j.Reason == want, j)
		assert.True(t, slices.Equal(j.RefusedBy, []string{"grill", "bar"}), j)
	})
}

func TestATicketThatABackupRefusesIsNotPrintedThereAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar := h.serveWithBackup(off, 0, func(l *Lane) { l.OnRefusal = []string{"bar"} })
		bar.setFault(refuses)
		h.q.enqueue("grill", "a", "b")
		h.advance(0)
		j := h.jobsOf("a", "grill")[0]
		want := "dial: connection refused; on bar: no other station takes it; reprint it at another one, " +
			"or cancel it: refused by bar: 422 no table"
		assert.True(t, j.State == ticket.Held && j.Reason == want, j)
		grill.setFault(fine)
		bar.setFault(fine)
		h.advance(time.Minute)
		got := slices.Concat(grill.printed(), bar.printed())
		assert.True(t, len(got) <= 1, got, "want b alone")
	})
}

func TestARefusedTestTicketFailsAndStays(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.lanesWithRefusals(h.printer(refuses), h.printer(), h.printer())
		_, err := h.q.Accept(t.Context(), ticket.Request{ID: "test", Received: time.Now().UTC(), Body: []byte("{}"),
			Drafts: []ticket.Draft{{Station: "grill", Ticket: ticket.Ticket{Kind: ticket.Test, Request: "test"}}}})
		assert.NoError(t, err)
		h.advance(time.Minute)
		j := h.jobsOf("test", "grill")
		assert.True(t, len(j) == 1 && j[0].State == ticket.Failed && j[0].Reason == "refused by grill: 422 no table", j)
	})
}

// lanesWithRefusals serves grill and bar with these printers. A ticket that grill refuses goes to bar, then to pass;
// one that bar refuses goes to grill, then to pass.
func (h *harness) lanesWithRefusals(grill, bar, pass *fakePrinter) {
	h.Set([]Lane{
		{Name: "grill", Station: grill, OnRefusal: []string{"bar", "pass"}},
		{Name: "bar", Station: bar, OnRefusal: []string{"grill", "pass"}},
		{Name: "pass", Station: pass},
	})
}

// jobsOf are the jobs of an order at a station, the newest first.
func (h *harness) jobsOf(name, station string) []queue.Job {
	h.t.Helper()
	all, err := h.q.Jobs(h.t.Context(), queue.Filter{Station: station})
	assert.NoError(h.t, err)
	return slices.DeleteFunc(all, func(j queue.Job) bool { return j.Request[:len(name)] != name })
}
