package app

import (
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue/ticket"
)

// line is what printers list knows of a station.
func (k *kitchen) line(name string) admin.Line {
	k.t.Helper()
	for _, l := range k.app.lines() {
		if l.Name == name {
			return l
		}
	}
	k.t.Fatalf("no line is called %s", name)
	return admin.Line{}
}

func TestABackupStandsInAndHandsBack(t *testing.T) {
	inKitchen(t, func(k *kitchen) {
		k.printer("grill").Backup, k.printer("grill").HoldFor = "bar", 2*time.Minute
		k.printer("bar").Backup, k.printer("bar").HoldFor = "cold", 3*time.Minute
	}, func(k *kitchen) {
		grill, bar := k.printers["grill"], k.printers["bar"]
		grill.Refuse(true)
		k.put("A1", at("grill", "Burger"))
		k.pass(time.Minute)
		k.put("A2", at("grill", "Fries"), at("bar", "Cola"))
		k.want("bar", "A2")
		if l := k.line("grill"); l.StandIn != "" {
			t.Errorf("%s stands in too early", l.StandIn)
		}
		k.pass(2 * time.Minute)
		k.want("bar", "A2 A1@GRILL A2@GRILL")
		if l := k.line("grill"); l.StandIn != "bar" || l.Up {
			t.Errorf("%+v, want it down and bar to stand in", l)
		}
		for _, s := range k.app.queue.Stations() {
			if s.Name == "grill" && s.Books.Outcomes[ticket.Sent] != 2 || s.Name == "bar" && s.Books.Outcomes[ticket.Sent] != 1 {
				t.Errorf("the books of %s are %+v: the tickets of grill are grill's", s.Name, s.Books)
			}
		}
		// Both dead: the backup's backup, after the patience of both.
		bar.Refuse(true)
		k.put("A3", at("grill", "Salad"))
		k.pass(10 * time.Minute)
		k.want("cold", "A3@GRILL")
		// Whichever returns first; in the end it is itself.
		grill.Refuse(false)
		k.pass(5 * time.Minute)
		k.put("A4", at("grill", "Soup"))
		k.pass(5 * time.Minute)
		k.put("A5", at("grill", "Pie"))
		k.pass(time.Second)
		if got := strings.Fields(k.paper("grill")); len(got) == 0 || got[len(got)-1] != "A5" {
			t.Errorf("grill works again and printed %v", got)
		}
		if l := k.line("grill"); l.StandIn != "" || !l.Up {
			t.Errorf("%+v, want it up and nobody to stand in", l)
		}
	}, "grill", "bar", "cold")
}

func TestAHeldStationIsNotStoodInFor(t *testing.T) {
	inKitchen(t, func(k *kitchen) { k.printer("grill").Backup = "bar" }, func(k *kitchen) {
		if err := k.app.queue.HoldStation(k.t.Context(), "grill", "cleaning"); err != nil {
			t.Fatal(err)
		}
		k.put("A1", at("grill", "Burger"))
		k.pass(time.Hour)
		k.want("bar", "")
		if err := k.app.queue.ResumeStation(k.t.Context(), "grill"); err != nil {
			t.Fatal(err)
		}
		k.pass(time.Second)
		k.want("grill", "A1")
	}, "grill", "bar")
}
