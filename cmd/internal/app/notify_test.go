package app

import (
	"strings"
	"testing"
	"time"
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
		paper := k.printers["cold"].Tickets()[0].Text
		for _, want := range []string{"GRILL DOES NOT PRINT", "1 ticket waits"} {
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

func TestANoticeOfAStationWithoutBackupIsPrintedAtTheFallbackOnceThatWorks(t *testing.T) {
	runDaemonWith(t, withSlip, func(k *testDaemon) {
		k.printers["cold"].Refuse(true)
		k.printers["bar"].Refuse(true)
		k.accept("A1", at("cold", "Salad"), at("bar", "Cola"))
		k.advance(20 * time.Minute)
		k.printers["bar"].Refuse(false)
		k.advance(30 * time.Minute)
		k.wantPrinted("bar", "A1 NOTICE") // and none about bar itself, at another station
		k.wantPrinted("grill", "")
	}, "bar", "grill", "cold")
}
