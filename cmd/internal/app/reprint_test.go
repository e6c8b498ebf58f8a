package app_test

import (
	"strings"
	"testing"
	"time"

	"ticketrail/printer/kds/board"
	"ticketrail/queue"
)

func TestAReprintIsThatOfTheLatestReplacement(t *testing.T) {
	fish := `{"station":"grill","name":"Fish","quantity":3}`
	chips := `{"station":"grill","name":"Chips","quantity":2}`
	runDaemon(t, func(k *testDaemon) {
		id := k.Accept("142", fish, chips)
		k.Post(id, "142", 0, `{"station":"grill","name":"Fish","quantity":2}`, chips,
			`{"station":"grill","name":"Fish","quantity":1,"isVoid":true}`)
		k.Advance(time.Minute)
		for range 2 {
			if got := k.reprint(1, queue.ReprintOptions{}); got.Latest != 2 {
				t.Errorf("%+v, want a copy of job 2", got)
			}
			wantText(t, k.lastOf("grill"), []string{"REPRINT", "\n2x Fish", "** VOID ** 1x Fish", "\n2x Chips"},
				[]string{"3x Fish"})
			k.Restart() // it is computed from what is stored
		}
	}, "grill")
}

func TestAReprintNamesWhatAnotherRequestHasCancelled(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		fish := at("grill", "Fish")
		voidFish := `{"station":"grill","name":"Fish","isVoid":true}`
		k.Accept("142", fish)   // job 1
		k.Accept("7", voidFish) // another order
		at := time.Now()
		k.Accept("142", voidFish)
		k.Advance(time.Minute)
		k.reprint(1, queue.ReprintOptions{})
		zone, err := time.LoadLocation("Australia/Melbourne")
		if err != nil {
			t.Fatal(err)
		}
		later := "VOID at " + at.In(zone).Format("15:04") + ": job 3"
		text := k.lastOf("grill")
		wantText(t, text, []string{"REPRINT", "\n1x Fish", later}, []string{"** VOID **"})
		if strings.Index(text, later) > strings.Index(text, "Fish") {
			t.Errorf("it is not at the head:\n%s", text)
		}
		k.reprint(3, queue.ReprintOptions{}) // the cancellation itself
		wantText(t, k.lastOf("grill"), []string{"REPRINT", "** VOID ** 1x Fish"}, []string{"VOID at"})
	}, "grill")
}

func TestACardOfAReprintNamesALaterVoid(t *testing.T) {
	runDaemonWith(t, withScreens(testScreen("hot-line")), func(k *testDaemon) {
		p := k.openPage("hot-line")
		defer p.close()
		k.Accept("142", at("hot-line", "Fish"))
		k.Accept("142", `{"station":"hot-line","name":"Fish","isVoid":true}`)
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
		if c == nil || !c.Reprint || len(c.Notes) != 1 || !strings.HasPrefix(c.Notes[0].Text, "VOID at ") {
			t.Errorf("the ticket is %+v", c)
		}
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
