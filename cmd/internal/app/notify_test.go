package app_test

import (
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
)

func TestANoticeIsPrintedAtTheBackupOfAStationThatFails(t *testing.T) {
	runDaemonWith(t, withSlip, func(k *testDaemon) {
		k.Printers["grill"].Refuse(true)
		k.Accept("A1", at("grill", "Burger"))
		k.Advance(2 * time.Minute)
		k.WantPrinted("cold", "")
		k.Advance(2 * time.Minute)
		k.WantPrinted("cold", "NOTICE")
		paper := strings.Join(strings.Fields(k.Printers["cold"].Tickets()[0].Text), " ")
		for _, want := range []string{"GRILL NEEDS SOMEBODY", "1 ticket waits"} {
			if !strings.Contains(paper, want) {
				k.T.Errorf("%q is missing in\n%s", want, paper)
			}
		}
		k.Restart()
		k.Advance(time.Hour)
		k.WantPrinted("cold", "NOTICE")
		k.WantPrinted("bar", "")
	}, "bar", "grill", "cold")
}

func TestANoticeOfAStationWithoutBackupIsPrintedAtTheFallback(t *testing.T) {
	runDaemonWith(t, withSlip, func(k *testDaemon) {
		k.Printers["cold"].Refuse(true)
		k.Accept("A1", at("cold", "Salad"))
		k.Advance(20 * time.Minute)
		k.WantPrinted("bar", "NOTICE")
	}, "bar", "grill", "cold")
}

func TestNoNoticeIsPrintedAtAStationThatFailsToo(t *testing.T) {
	runDaemonWith(t, withSlip, func(k *testDaemon) {
		k.Printers["cold"].Refuse(true)
		k.Printers["bar"].Refuse(true)
		k.Accept("A1", at("cold", "Salad"), at("bar", "Cola"))
		k.Advance(20 * time.Minute)
		k.Printers["bar"].Refuse(false)
		k.Advance(time.Hour)
		k.WantPrinted("bar", "A1")
		k.WantPrinted("grill", "")
	}, "bar", "grill", "cold")
}

func TestSilenceInOpeningHoursIsAFindingAndNightIsNot(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		k.Conf.Venues[0].Hours, k.Conf.Venues[0].Timezone = []config.Hours{hours(k.T, "daily 17:00-22:00")}, "UTC"
	}, func(k *testDaemon) { // the bubble begins at midnight
		until := func(hour, minute int) {
			midnight := time.Now().UTC().Truncate(24 * time.Hour)
			k.Advance(time.Until(midnight.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)))
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
				k.Accept("A1", at("grill", "Soup"))
			}
			until(step.hour, step.minute)
			s := k.finding(admin.Warn, "orders")
			if !strings.HasPrefix(s, step.want) || (s == "") != (step.want == "") {
				k.T.Errorf("at %d:%02d %q, want %q", step.hour, step.minute, s, step.want)
			}
			if open := k.App.Open(time.Now()); open != step.open {
				k.T.Errorf("at %d:%02d open is %t", step.hour, step.minute, open)
			}
		}
		k.reload(func(c *config.Config) { c.Venues = []config.Venue{c.Venues[0]}; c.Venues[0].Hours = nil })
		if !k.App.Open(time.Now()) {
			k.T.Error("a venue without hours is closed")
		}
	}, "grill")
}

// withSlip prints notices. grill has a backup; bar is the fallback and has none.
func withSlip(k *testDaemon) {
	k.Conf.Notify.Slip = true
	k.Conf.Fallback = "bar"
	k.Printer("grill").Backup, k.Printer("grill").HoldFor = "cold", 12*time.Hour
}
