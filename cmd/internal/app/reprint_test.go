package app_test

import (
	"strings"
	"testing"
	"time"

	"ticketrail/printer/kds/board"
	"ticketrail/queue"
)

func TestAReprintTellsThePresent(t *testing.T) {
	fish := `{"station":"grill","name":"Fish","quantity":3}`
	chips := `{"station":"grill","name":"Chips","quantity":2}`
	runDaemon(t, func(k *testDaemon) {
		id := k.Accept("142", fish, chips)
		k.Post(id, "142", 0, `{"station":"grill","name":"Fish","quantity":2}`, chips,
			`{"station":"grill","name":"Fish","quantity":1,"isVoid":true}`)
		k.Advance(time.Minute)
		has, lacks := []string{"REPRINT", "\n2x Fish", "** VOID ** 1x Fish", "\n2x Chips"}, []string{"3x Fish", "Later"}
		if got := k.reprint(1, queue.ReprintOptions{}); got.Voided != 1 || len(got.Later) != 0 {
			t.Errorf("%+v, want one voided", got)
		}
		wantText(t, k.lastOf("grill"), has, lacks)
		k.Restart() // it is computed from what is stored
		k.reprint(1, queue.ReprintOptions{})
		wantText(t, k.lastOf("grill"), has, lacks)
		k.reprint(1, queue.ReprintOptions{AsItWas: true})
		wantText(t, k.lastOf("grill"), []string{"REPRINT", "\n3x Fish", "\n2x Chips"}, []string{"VOID"})
	}, "grill")
}

func TestAReprintNamesWhatAnotherRequestHasCancelled(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		fish, cola := at("grill", "Fish"), at("bar", "Cola")
		voidFish := `{"station":"grill","name":"Fish","isVoid":true}`
		k.Accept("142", fish, cola) // jobs 1 and 2
		k.Accept("7", voidFish)     // another order
		k.Accept("142", fish)       // ordered once more, job 4
		at := time.Now()
		k.Accept("142", voidFish)
		k.Advance(time.Minute)
		if got := k.reprint(1, queue.ReprintOptions{}); got.Voided != 0 || len(got.Later) != 1 {
			t.Errorf("%+v, want one void that came later", got)
		}
		zone, err := time.LoadLocation("Australia/Melbourne")
		if err != nil {
			t.Fatal(err)
		}
		later := "Later for #142: VOID at " + at.In(zone).Format("15:04") + " (job 5)"
		text := k.lastOf("grill")
		wantText(t, text, []string{"REPRINT", "\n1x Fish", later}, []string{"** VOID **"})
		if strings.Index(text, later) < strings.Index(text, "Fish") {
			t.Errorf("it is not at the end:\n%s", text)
		}
		k.reprint(2, queue.ReprintOptions{}) // the cola is not concerned
		wantText(t, k.lastOf("bar"), []string{"REPRINT", "Cola"}, []string{"VOID"})
		k.reprint(5, queue.ReprintOptions{}) // the cancellation itself
		wantText(t, k.lastOf("grill"), []string{"REPRINT", "** VOID ** 1x Fish"}, []string{"Later"})
		k.reprint(1, queue.ReprintOptions{AsItWas: true})
		wantText(t, k.lastOf("grill"), []string{"REPRINT", "\n1x Fish"}, []string{"VOID"})
	}, "grill", "bar")
}

func TestACardOfAReprintTellsThePresent(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		defer p.close()
		id := k.Accept("142", at("hot-line", "Fish"), at("hot-line", "Chips"))
		k.Post(id, "142", 0, `{"station":"hot-line","name":"Fish","isVoid":true}`, at("hot-line", "Chips"))
		k.Accept("142", `{"station":"hot-line","name":"Chips","isVoid":true}`)
		k.Advance(time.Minute)
		copied := k.reprint(1, queue.ReprintOptions{}).Job
		p.mu.Lock()
		var c *board.Ticket
		for _, o := range p.orders {
			for _, k := range o.Tickets {
				if k.Job == copied && o.MustAckVoid {
					c = &k
				}
			}
		}
		p.mu.Unlock()
		if c == nil || !c.Reprint || !c.Items[0].Void || c.Items[1].Void ||
			len(c.Notes) != 1 || !strings.Contains(c.Notes[0].Text, "Later for #142: VOID at ") {
			t.Errorf("the ticket is %+v", c)
		}
		k.reprint(1, queue.ReprintOptions{Station: "grill"}) // a cook's print button
		wantText(t, k.lastOf("grill"), []string{"REPRINT", "** VOID ** 1x Fish", "\n1x Chips", "Later for #142"}, nil)
	}, "grill")
}

func (k *testDaemon) reprint(job uint64, o queue.ReprintOptions) queue.Reprinted {
	k.T.Helper()
	got, err := k.App.Queue().Reprint(k.T.Context(), job, o)
	if err != nil {
		k.T.Fatal(err)
	}
	k.Advance(time.Minute)
	return got
}
