package app

import (
	"testing"
	"testing/synctest"
	"time"
)

// The line is held, so it is not the ticket that connects.
func TestAnOrderHasItsPrintersConnectedWhileItIsWrittenDown(t *testing.T) {
	inBubble(t, func(k *kitchen) {
		k.put("A1", at("grill", "Steak"), at("bar", "Wine"))
		time.Sleep(time.Minute)
		if err := k.app.queue.HoldStation(k.t.Context(), "grill", "cleaning"); err != nil {
			t.Fatal(err)
		}
		grill, bar := k.printers["grill"].Clients(), k.printers["bar"].Clients()
		k.put("A2", at("grill", "Steak"))
		synctest.Wait()
		if n := k.printers["grill"].Clients() - grill; n != 1 {
			t.Errorf("the grill's printer got %d connections, want 1", n)
		}
		if n := k.printers["bar"].Clients() - bar; n != 0 {
			t.Errorf("the bar's printer got %d connections, want none", n)
		}
		time.Sleep(time.Minute)
		if err := k.app.queue.ResumeStation(k.t.Context(), "grill"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := k.paper("grill"); got != "A1 A2" {
			t.Errorf("the grill has %q", got)
		}
	}, "grill", "bar")
}
