package dispatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

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
		wantTrue(t, moved.State == ticket.Moved && moved.Reason == want, moved, want)
	})
}

func TestEachStationIsGivenARefusedTicketOnceAndThenAPersonGetsIt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		grill, bar, pass := h.printer(), h.printer(), h.printer()
		for _, p := range []*fakePrinter{grill, bar, pass} {
			p.setFault(refuses)
		}
		h.lanesWithRefusals(grill, bar, pass)
		h.q.enqueue("grill", "a")
		h.advance(time.Hour)
		h.wantEnds("grill a move to bar", "bar a move to pass", "pass a hold")
		j := h.jobsOf("a", "pass")[0]
		want := "no other station takes it; reprint it at another one, or cancel it: refused by pass: 422 no table"
		wantTrue(t, j.State == ticket.Held && j.Reason == want, j)
		wantTrue(t, slices.Equal(j.RefusedBy, []string{"grill", "bar"}), j)
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
		wantTrue(t, j.State == ticket.Held && j.Reason == want, j)
		grill.setFault(fine)
		bar.setFault(fine)
		h.advance(time.Minute)
		got := slices.Concat(grill.printed(), bar.printed())
		wantTrue(t, len(got) <= 1, got, "want b alone")
	})
}

func TestARefusedTestTicketFailsAndStays(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.lanesWithRefusals(h.printer(refuses), h.printer(), h.printer())
		_, err := h.q.Accept(t.Context(), ticket.Request{ID: "test", Received: time.Now().UTC(), Body: []byte("{}"),
			Drafts: []ticket.Draft{{Station: "grill", Ticket: ticket.Ticket{Kind: ticket.Test, Request: "test"}}}})
		must(t, err)
		h.advance(time.Minute)
		if j := h.jobsOf("test", "grill"); len(j) != 1 || j[0].State != ticket.Failed ||
			j[0].Reason != "refused by grill: 422 no table" {
			t.Errorf("%+v", j)
		}
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
	must(h.t, err)
	return slices.DeleteFunc(all, func(j queue.Job) bool { return j.Request[:len(name)] != name })
}
