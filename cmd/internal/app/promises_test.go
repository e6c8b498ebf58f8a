package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/daemontest"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// The promises of ARCHITECTURE.md, each tested with the whole daemon. cmd/ticketrail also tests the
// first one with kill -9 and power cuts.

func TestA200IsAPromise(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		k.Printers["grill"].Refuse(true)
		k.Accept("A1", at("grill", "Burger"))
		k.Accept("A2", at("grill", "Fries"))
		k.Restart()
		k.Advance(time.Minute)
		k.Printers["grill"].Refuse(false)
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1 A2")
	}, "grill")
}

func TestARetryNeverPrintsTwice(t *testing.T) {
	setup := func(k *testDaemon) {
		k.Conf.Storage.HistoryRetention, k.Conf.Storage.DedupRetention = time.Hour, 8*time.Hour
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		id := k.Accept("A1", at("grill", "Burger"), at("bar", "Cola"))
		again := daemontest.Known
		for retry, asked := range []string{id, strings.ToUpper(id), id} {
			if got := k.Post(asked, "A1", retry+1, at("grill", "Burger"), at("bar", "Cola")); got != again {
				t.Errorf("the retry got %s", got)
			}
		}
		k.Restart()
		k.Advance(7 * time.Hour) // the history has forgotten it
		if got := k.Post(id, "A1", 3, at("grill", "Burger"), at("bar", "Cola")); got != again {
			t.Errorf("the retry after seven hours got %s", got)
		}
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1")
		k.WantPrinted("bar", "A1")
	}, "grill", "bar")
}

// TestARetryWithNewItemIDsPrintsNothing: the answer was lost, and the service makes the ids of the items anew.
func TestARetryWithNewItemIDsPrintsNothing(t *testing.T) {
	burger := func(id int) string {
		return fmt.Sprintf(`{"id":"0b7c1d7e-0000-4000-8000-%012d","station":"grill","name":"Burger"}`, id)
	}
	runDaemon(t, func(k *testDaemon) {
		id := k.Accept("A1", burger(1), at("grill", "Chips"))
		for retry := range 10 {
			k.Post(id, "A1", retry+1, at("grill", "Chips"), burger(retry+2))
		}
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1")
	}, "grill")
}

func TestARetryAfterAReloadWithOtherRoutesPrintsNothing(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		id := k.Accept("A1", at("grill", "Burger"))
		k.Advance(time.Minute)
		k.reload(func(c *config.Config) { c.Routes = []config.Route{{To: []string{"bar"}}} })
		k.Post(id, "A1", 1, at("grill", "Burger"))
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1")
		k.WantPrinted("bar", "")
	}, "grill", "bar")
}

func TestOtherContentUnderAKnownIDPrintsOnceAsAWholeTicket(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		id := k.Accept("A1", at("grill", "Burger"), at("bar", "Cola"))
		k.Advance(time.Second)
		void := `{"station":"grill","name":"Burger","isVoid":true}`
		for range 3 {
			if got := k.Post(id, "A1", 1, void, at("bar", "Cola"),
				at("bar", "Wine")); got != daemontest.Known {
				t.Errorf("got %s", got)
			}
			k.Advance(time.Second)
		}
		k.WantPrinted("grill", "A1 A1")
		k.WantPrinted("bar", "A1 A1")
		if last := k.Printers["bar"].Tickets()[1].Text; !strings.Contains(last, "CHANGED – replaces #A1 of ") ||
			!strings.Contains(last, "Wine") || !strings.Contains(last, "Cola") {
			t.Errorf("the change is not marked:\n%s", last)
		}
		if last := k.Printers["grill"].Tickets()[1].Text; !strings.Contains(last, "VOID") {
			t.Errorf("it has no void:\n%s", last)
		}
	}, "grill", "bar")
}

func TestEveryLineThatWasOrderedComesOutSomewhere(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		k.Accept("A1", at("bar", "Cola"), at("nowhere", "Umbrella"), `{"childItems":[{"name":"lonely"}],"price":3}`)
		k.Accept("A2") // a record without items
		k.Advance(time.Minute)
		k.WantPrinted("bar", "A1")
		k.WantPrinted("grill", "A1 A2")
		text := k.Printers["grill"].Tickets()[0].Text
		for _, want := range []string{"NO ROUTE", "Umbrella", "lonely", `"price":3`} {
			if !strings.Contains(text, want) {
				t.Errorf("the fallback's ticket lacks %s:\n%s", want, text)
			}
		}
	}, "grill", "bar")
}

func TestOneStationOneOrder(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		k.Printers["grill"].Refuse(true)
		for _, n := range []string{"A1", "A2", "A3", "A4"} {
			k.Accept(n, at("grill", "Burger"), at("bar", "Cola"))
		}
		k.Advance(10 * time.Second)         // a printer that answers nothing is probed once
		k.WantPrinted("bar", "A1 A2 A3 A4") // a dead station never delays another
		k.Advance(3 * time.Hour)
		k.Printers["grill"].Refuse(false)
		k.Advance(time.Minute)
		k.Accept("A5", at("grill", "Burger"))
		k.Advance(time.Second)
		k.WantPrinted("grill", "A1 A2 A3 A4 A5") // without a banner, because nothing was in doubt
	}, "grill", "bar")
}

func TestWeNeverClaimWhatWeDoNotKnow(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		grill := k.Printers["grill"]
		// Broken off once: the second copy has the banner.
		grill.ResetAfter(padding()+200, 1)
		k.Accept("A1", at("grill", "Burger"))
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1~ A1!")
		// Broken off twice: the ticket is held, and the queue continues.
		grill.ResetAfter(padding()+350, 2)
		k.Accept("A2", at("grill", strings.Repeat("Burger ", 20)))
		k.Accept("A3", at("grill", "Burger"))
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1~ A1! A2~ A2!~ A3")
		if got := k.States(); got[ticket.Held] != 1 || got[ticket.Sent] != 2 {
			t.Errorf("states are %v, want one held and two sent", got)
		}
		// Refused connections are no doubt.
		grill.Refuse(true)
		k.Accept("A4", at("grill", "Burger"))
		k.Advance(time.Hour)
		grill.Refuse(false)
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1~ A1! A2~ A2!~ A3 A4")
	}, "grill")
}

func TestTheBooksBalance(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		ctx := k.T.Context()
		k.Printers["grill"].Refuse(true)
		for _, n := range []string{"A1", "A2", "A3", "A4"} {
			k.Accept(n, at("grill", "Burger"))
			k.CheckBooks()
		}
		k.Advance(time.Minute)
		if _, err := k.App.Queue().Move(ctx, []uint64{2}, "bar"); err != nil {
			t.Error(err)
		}
		k.CheckBooks()
		if err := k.App.Queue().Cancel(ctx, 3, "the table left"); err != nil {
			t.Error(err)
		}
		k.CheckBooks()
		k.Restart()
		k.CheckBooks()
		k.Printers["grill"].Refuse(false)
		k.Advance(time.Minute)
		k.WantPrinted("bar", "A2")
		k.WantPrinted("grill", "A1 A4")
		if _, err := k.App.Queue().Reprint(ctx, 1, queue.ReprintOptions{Reason: "the cook lost it"}); err != nil {
			t.Error(err)
		}
		k.Advance(time.Second)
		k.WantPrinted("grill", "A1 A4 A1r")
		k.CheckBooks()
	}, "grill", "bar")
}

func TestAVoidIsNeverTakenForAnOrder(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		for _, v := range []string{`"isVoid":true`, `"void":1`, `"voided":"true"`, `"status":"Voided"`,
			`"kdsStatus":"CANCELLED"`, `"quantity":-2`} {
			k.Accept("A1", `{"station":"grill","name":"Burger",`+v+`,"childItems":[{"name":"cheese"}]}`)
		}
		k.Advance(time.Minute)
		tickets := k.Printers["grill"].Tickets()
		if len(tickets) != 6 {
			t.Fatalf("%d tickets, want 6", len(tickets))
		}
		for _, tk := range tickets {
			for _, l := range tk.Lines {
				text := l.String()
				if !strings.Contains(text, "Burger") && !strings.Contains(text, "cheese") {
					continue
				}
				inverted := false
				for _, s := range l {
					inverted = inverted || s.Invert
				}
				if !inverted || !strings.Contains(text, "VOID") {
					t.Errorf("%q is not marked as a void", text)
				}
			}
		}
	}, "grill")
}

func TestAThousandItemsAndLongNamesPrintCompletely(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		items := make([]string, 1000)
		for i := range items {
			items[i] = at("grill", "Burger")
		}
		items[500] = at("grill", strings.Repeat("x", 4999)+"Z")
		k.Accept("A1", items...)
		k.Advance(10 * time.Minute)
		k.WantPrinted("grill", "A1")
		text := k.Printers["grill"].Tickets()[0].Text
		if n := strings.Count(text, "Burger"); n != 999 {
			t.Errorf("%d burgers came out, want 999", n)
		}
		if n := strings.Count(text, "x") - strings.Count(text, "1x"); n < 4999 {
			t.Errorf("%d letters of the long name came out, want 4999", n)
		}
	}, "grill")
}

func TestOldTicketsExpireOntoOneSlip(t *testing.T) {
	runDaemonWith(t, withoutPolls, func(k *testDaemon) {
		k.Printers["grill"].Refuse(true)
		k.Accept("A1", at("grill", "Burger"))
		k.Advance(time.Hour)
		k.Accept("A2", at("grill", "Fries"))
		k.Advance(3*time.Hour + 30*time.Minute)
		k.Accept("A3", at("grill", "Salad"))
		k.Advance(45 * time.Minute) // A1 and A2 are older than four hours now, at different times
		k.Printers["grill"].Refuse(false)
		k.Advance(time.Minute)
		k.WantPrinted("grill", "slip A3")
		printout := k.Printers["grill"].Tickets()[0].Text
		if !strings.Contains(printout, "A1") || !strings.Contains(printout, "A2") || strings.Contains(printout, "A3") {
			t.Errorf("the slip lists the wrong tickets:\n%s", printout)
		}
		if got := k.States(); got[ticket.Expired] != 2 {
			t.Errorf("states are %v, want two expired", got)
		}
	}, "grill")
}

func TestATicketThatARestartInterruptsIsInDoubt(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		k.Printers["grill"].StallAfter(padding() + 250)
		k.Accept("A1", at("grill", "Burger"))
		k.Advance(time.Second)
		k.Stop() // the current ticket cannot finish
		k.Printers["grill"].Repair()
		k.Start()
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1~ A1!")
		jobs := k.States()
		if jobs[ticket.Sent] != 1 {
			t.Errorf("states are %v, want it sent", jobs)
		}
	}, "grill")
}
