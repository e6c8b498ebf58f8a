package app

import (
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
)

// withSlip prints notices. grill has a backup; bar is the fallback and has none.
func withSlip(k *testDaemon) {
	k.conf.Notify.Slip = true
	k.conf.Fallback = "bar"
	k.printer("grill").Backup, k.printer("grill").HoldFor = "cold", 12*time.Hour
}

func TestANoticeIsPrintedAtTheBackupOfAStationThatFails(t *testing.T) {
	runDaemonWith(t, withSlip, func(k *testDaemon) {
		k.printers["grill"].Refuse(true)
		k.accept("A1", at("grill", "Burger"))
		k.advance(2 * time.Minute)
		k.wantPrinted("cold", "")
		k.advance(2 * time.Minute)
		k.wantPrinted("cold", "NOTICE")
		paper := strings.Join(strings.Fields(k.printers["cold"].Tickets()[0].Text), " ")
		for _, want := range []string{"GRILL NEEDS SOMEBODY", "1 ticket waits"} {
			if !strings.Contains(paper, want) {
				k.t.Errorf("%q is missing in\n%s", want, paper)
			}
		}
		k.restart()
		k.advance(time.Hour)
		k.wantPrinted("cold", "NOTICE")
		k.wantPrinted("bar", "")
	}, "bar", "grill", "cold")
}

func TestANoticeOfAStationWithoutBackupIsPrintedAtTheFallback(t *testing.T) {
	runDaemonWith(t, withSlip, func(k *testDaemon) {
		k.printers["cold"].Refuse(true)
		k.accept("A1", at("cold", "Salad"))
		k.advance(20 * time.Minute)
		k.wantPrinted("bar", "NOTICE")
	}, "bar", "grill", "cold")
}

func TestNoNoticeIsPrintedAtAStationThatFailsToo(t *testing.T) {
	runDaemonWith(t, withSlip, func(k *testDaemon) {
		k.printers["cold"].Refuse(true)
		k.printers["bar"].Refuse(true)
		k.accept("A1", at("cold", "Salad"), at("bar", "Cola"))
		k.advance(20 * time.Minute)
		k.printers["bar"].Refuse(false)
		k.advance(time.Hour)
		k.wantPrinted("bar", "A1")
		k.wantPrinted("grill", "")
	}, "bar", "grill", "cold")
}

func TestSilenceInOpeningHoursIsAFindingAndNightIsNot(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		var h config.Hours
		if err := h.UnmarshalText([]byte("daily 17:00-22:00")); err != nil {
			k.t.Fatal(err)
		}
		k.conf.Venues[0].Hours, k.conf.Venues[0].Timezone = []config.Hours{h}, "UTC"
	}, func(k *testDaemon) { // the bubble begins at midnight
		until := func(hour, minute int) {
			midnight := time.Now().UTC().Truncate(24 * time.Hour)
			k.advance(time.Until(midnight.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)))
		}
		for _, step := range []struct {
			hour, minute int
			open         bool
			want         string
		}{
			{12, 0, false, ""}, {17, 50, true, ""},
			{18, 1, true, "nothing came for Harbour Grill, ever, although it is open"},
			{18, 2, true, ""}, // an order, below
			{19, 0, true, ""}, {19, 10, true, "nothing came for Harbour Grill since Sat 18:01"}, {22, 0, false, ""},
		} {
			if step.minute == 2 {
				k.accept("A1", at("grill", "Soup"))
			}
			until(step.hour, step.minute)
			s := k.stateOf(admin.Warn, "orders")
			if !strings.HasPrefix(s, step.want) || (s == "") != (step.want == "") {
				k.t.Errorf("at %d:%02d %q, want %q", step.hour, step.minute, s, step.want)
			}
			if open := k.app.venues.open(time.Now()); open != step.open {
				k.t.Errorf("at %d:%02d open is %t", step.hour, step.minute, open)
			}
		}
		k.reload(func(c *config.Config) { c.Venues = []config.Venue{c.Venues[0]}; c.Venues[0].Hours = nil })
		if !k.app.venues.open(time.Now()) {
			k.t.Error("a venue without hours is closed")
		}
	}, "grill")
}
