package app

import (
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/notify"
	"ticketrail/config"
	"ticketrail/deploy/assert"
)

func TestANoticeIsPrintedAtTheBackupElseAtTheFallbackUnlessThatFailsToo(t *testing.T) {
	for _, c := range []struct {
		off   []string
		order string // a station that is off
		at    string // where the notice is printed; empty: nowhere
	}{
		{[]string{"grill"}, "grill", "cold"},
		{[]string{"cold"}, "cold", "bar"}, // it has no backup
		{[]string{"cold", "bar"}, "cold", ""},
	} {
		runDaemonWith(t, func(k *testDaemon) {
			k.Conf.Notify.Slip = true
			k.Printer("grill").Backup, k.Printer("grill").HoldFor = "cold", 12*time.Hour
		}, func(k *testDaemon) {
			for _, off := range c.off {
				k.Printers[off].Refuse(true)
			}
			k.Accept("A1", at(c.order, "Salad"), at(c.off[len(c.off)-1], "Cola"))
			k.Advance(2 * time.Minute)
			for name := range k.Printers {
				k.WantPrinted(name, "")
			}
			k.Advance(2 * time.Minute)
			k.Restart()
			k.Advance(time.Hour)
			for name := range k.Printers {
				want := ""
				if name == c.at {
					want = "NOTICE"
				}
				k.WantPrinted(name, want)
			}
			if c.at != "" {
				wantText(t, k.lastOf(c.at), strings.ToUpper(c.order)+" NEEDS SOMEBODY", "1 ticket waits")
			}
		}, "bar", "grill", "cold")
	}
}

func TestEachFindingOfAStationIsPrintedOnceAndAgainIfMoreTicketsWait(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		held := finding.New("station/grill/tickets_held", finding.Fail, "1 ticket waits", "", "decide")
		held.Subject, held.Since, held.Count = "grill", time.Now(), 1
		more, shared, anew := held, held, held
		more.Count, shared.ID = 2, "station/grill/shared"
		anew.Since = held.Since.Add(time.Hour)

		for _, f := range []finding.Finding{held, held, shared, more, anew} {
			assert.NoError(k.T, k.App.printNotice(k.T.Context(), notify.Event{Finding: f}))
		}
		k.Advance(time.Minute)
		k.WantPrinted("bar", "NOTICE NOTICE NOTICE NOTICE")
	}, "bar", "grill")
}

func TestSilenceInOpeningHoursIsAFindingAndNightIsNot(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		k.Conf.Venues[0].Hours = []config.Hours{hours(k.T, "daily 17:00-22:00")}
	}, func(k *testDaemon) {
		began := time.Now() // at midnight UTC: 11:00 in Melbourne
		until := func(hour, minute int) {
			k.Advance(time.Until(began.Add(time.Duration(hour-11)*time.Hour + time.Duration(minute)*time.Minute)))
		}
		for _, step := range []struct {
			hour, minute int
			open         bool
			want         string
		}{
			{12, 0, false, ""}, {17, 50, true, ""},
			{18, 1, true, "nothing came for Harbour Grill, although it is open (no request of it has ever come)"},
			{18, 2, true, ""}, // an order, below
			{19, 0, true, ""}, {19, 10, true, "nothing came for Harbour Grill, although it is"}, {22, 0, false, ""},
		} {
			if step.minute == 2 {
				k.Accept("A1", at("grill", "Soup"))
			}
			until(step.hour, step.minute)
			s := k.finding(finding.Warn, "orders")
			assert.True(k.T, strings.HasPrefix(s, step.want) && (s == "") == (step.want == ""), step.hour, step.minute,
				s, step.want)
			series, _ := k.metric("ticketrail_opening_hours", "Harbour Grill")
			open := k.App.venues.open(time.Now())
			assert.True(k.T, open == step.open && (series == 1) == open, step.hour, step.minute, open, series)
		}
		k.reload(func(c *config.Config) { c.Venues = []config.Venue{c.Venues[0]}; c.Venues[0].Hours = nil })
		_, ok := k.metric("ticketrail_opening_hours", "Harbour Grill")
		assert.True(k.T, !ok && k.App.venues.open(time.Now()), "a venue without hours is closed, or has a series")
	}, "grill")
}
