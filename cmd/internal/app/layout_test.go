package app_test

import (
	"strings"
	"testing"
	"time"

	"ticketrail/config"
)

func TestTicketsHaveTheConfiguredLayout(t *testing.T) {
	setup := func(k *testDaemon) {
		p := k.Printer("grill")
		p.Copies, p.Override = 2, config.Override{"columns": 32, "feed_before_cut": 7}
		p.Layout.UpperCase, p.Layout.Header = true, []string{"number"}
		p.Layout.Footer = []string{"thank you"}
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		k.Accept("A1", at("grill", "Burger"))
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1 A1")
		for i, ticket := range k.Printers["grill"].Tickets() {
			for _, want := range []string{"COPY " + string(rune('1'+i)) + "/2", "BURGER", "thank you",
				strings.Repeat("=", 32)} {
				if !strings.Contains(ticket.Text, want) {
					k.T.Errorf("copy %d lacks %q:\n%s", i+1, want, ticket.Text)
				}
			}
			if strings.Contains(ticket.Text, "Harbour") || strings.Contains(ticket.Text, strings.Repeat("=", 33)) ||
				ticket.Feed < 7 {
				k.T.Errorf("copy %d shows too much, or too wide, or feeds %d lines only:\n%s", i+1, ticket.Feed,
					ticket.Text)
			}
		}
	}, "grill")
}
