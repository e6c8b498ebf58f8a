package app

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/virtual"
)

func TestAnOrderHasItsPrintersConnectedWhileItIsWrittenDown(t *testing.T) {
	inBubble(t, func(k *kitchen) {
		clients := func() (n [2]int) {
			synctest.Wait()
			return [2]int{k.printers["grill"].Clients(), k.printers["bar"].Clients()}
		}
		id := k.put("A1", at("grill", "Steak"))
		k.put("A2", at("bar", "Wine"))
		time.Sleep(time.Minute)
		was := clients()
		k.post(id, "A1", 1, at("grill", "Steak")) // has come before: it is not a ticket that connects
		if now := clients(); now[0] != was[0]+1 || now[1] != was[1] {
			k.t.Errorf("connections were %d, are %d: want one more at the grill", was, now)
		}
		time.Sleep(time.Minute)
		if err := k.app.queue.HoldStation(k.t.Context(), "grill", "cleaning"); err != nil {
			k.t.Fatal(err)
		}
		was = clients()
		k.put("A3", at("grill", "Steak"))
		k.put("A4", at("grill", "Steak"))
		if now := clients(); now != was {
			k.t.Errorf("connections were %d, are %d: a held printer is somebody else's", was, now)
		}
		if err := k.app.queue.ResumeStation(k.t.Context(), "grill"); err != nil {
			k.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := k.paper("grill"); got != "A1 A3 A4" {
			k.t.Errorf("the grill has %q", got)
		}
	}, "grill", "bar")
}

func TestAfterAReloadAPrinterThatServesOneClientIsReachedAtOnce(t *testing.T) {
	inKitchen(t, func(k *kitchen) {
		k.printers["grill"] = virtual.New(virtual.Options{Name: "grill", Columns: 48, Can: virtual.Everything, Clients: 1, Hang: true})
		k.printer("grill").Linger = 30 * time.Second
	}, func(k *kitchen) {
		k.put("A1", at("grill", "Steak"))
		time.Sleep(5 * time.Second) // the connection is kept for the next ticket
		changed := *k.conf
		changed.Printers = slices.Clone(k.conf.Printers)
		changed.Printers[0].Confirm = "none"
		r, err := k.app.compile(&changed, k.app.live.Load())
		if err != nil {
			k.t.Fatal(err)
		}
		k.put("A2", at("grill", "Fish"))
		if _, err := k.app.apply(r); err != nil {
			k.t.Fatal(err)
		}
		began := time.Now()
		k.put("A3", at("grill", "Soup"))
		if err := k.printers["grill"].Wait(k.t.Context(), 3); err != nil {
			k.t.Fatal(err)
		}
		if waited := time.Since(began); waited > 5*time.Second {
			k.t.Errorf("the ticket after the reload waited for %s", waited)
		}
		if got := k.paper("grill"); got != "A1 A2 A3" {
			k.t.Errorf("on paper %q", got)
		}
	}, "grill")
}
