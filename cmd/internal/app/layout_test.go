package app

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/deploy/assert"
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
		for i, one := range k.Printers["grill"].Tickets() {
			wantText(t, one.Text, fmt.Sprintf("COPY %d/2", i+1), "BURGER", "thank you", strings.Repeat("=", 32))
			assert.True(t, !strings.Contains(one.Text, "Harbour"), one.Text)
			assert.True(t, !strings.Contains(one.Text, strings.Repeat("=", 33)), one.Text)
			assert.Contains(t, string(one.Raw), "\x1bd\x07") // feeds 7 lines
		}
	}, "grill")
}
