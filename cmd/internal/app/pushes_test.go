package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

func TestADisplayOfOthersTakesTicketsAtTheURLOfTheLastReload(t *testing.T) {
	var f thirdParty
	runDaemonWith(t, withThirdParty(&f, func(c *config.KDS) { c.IncludeRaw = true }), func(k *testDaemon) {
		k.Accept("A1", at("fresh", "Salad"), at("grill", "Steak"))
		k.Advance(time.Second)
		k.reload(func(c *config.Config) {
			d := c.KDS[0]
			d.URL = "http://kds.example/v2"
			c.KDS = []config.KDS{d}
		})
		k.Accept("A2", at("fresh", "Soup"))
		k.Advance(time.Second)

		k.wantOutcomes("fresh", map[ticket.State]uint64{ticket.Taken: 2})
		var got []string
		for i, raw := range f.field("raw") {
			got = append(got, fmt.Sprintf("%s %s", f.field("path")[i], raw.(map[string]any)["orderNumber"]))
		}
		diff := cmp.Diff([]string{"/api/tickets A1", "/v2 A2"}, got)
		assert.True(t, diff == "", diff)
		l := k.status("fresh")
		assert.True(t, l.Kind == finding.KindDisplay && l.Address == "http://kds.example" && l.Up, l)
	}, "grill")
}

func TestADisplayThatIsRepairedGetsWhatWaitsWhenAPersonSaysSo(t *testing.T) {
	for name, resume := range map[string]func(k *testDaemon){
		"resume": func(k *testDaemon) { k.App.stations.Kick("fresh") },
		"reload": func(k *testDaemon) { k.reload(func(*config.Config) {}) },
	} {
		var f thirdParty
		runDaemonWith(t, withThirdParty(&f, func(*config.KDS) {}), func(k *testDaemon) {
			f.status.Store(http.StatusForbidden)
			k.Accept("A1", at("fresh", "Salad"))
			k.Accept("A2", at("fresh", "Soup"))
			k.Advance(10 * time.Minute) // without a backup they wait
			n := k.States()[ticket.Pending]
			assert.True(t, n == 2 && len(f.field("job")) <= 15, name, n, len(f.field("job")))
			f.status.Store(http.StatusOK)
			k.Advance(5 * time.Second) // not when it would be asked anyway
			resume(k)
			k.wantOutcomes("fresh", map[ticket.State]uint64{ticket.Taken: 2})
		}, "grill")
	}
}

func TestATokenThatIsRotatedInTheEveningCostsNoOrder(t *testing.T) {
	var f thirdParty
	runDaemonWith(t, withThirdParty(&f, func(c *config.KDS) { c.Backup = "grill" }), func(k *testDaemon) {
		k.wantCondition(0, "refusing", "fresh")
		f.status.Store(http.StatusUnauthorized)
		for _, n := range []string{"A1", "A2", "A3", "A4", "A5"} {
			k.Accept(n, at("fresh", "Salad"))
		}
		k.Advance(time.Minute)
		if l := k.status("fresh"); l.Up || !strings.Contains(l.NotReady, "takes no tickets: 401 Unauthorized") ||
			l.Device == nil || l.Device.State != "refusing" || l.Device.Fine ||
			time.Until(l.NextTry) < 30*time.Second { // not the dispatcher's own next try, which asks no display
			t.Errorf("%+v, %+v", l, l.Device)
		}
		k.wantCondition(1, "refusing", "fresh")
		k.WantPrinted("grill", "")
		assert.Equal(t, k.States()[ticket.Pending], 5)
		k.Advance(70 * time.Second) // hold_for is 2 min
		k.WantPrinted("grill", "A1@FRESH A2@FRESH A3@FRESH A4@FRESH A5@FRESH")

		f.status.Store(http.StatusOK) // the token is repaired
		k.Advance(time.Minute)
		k.Accept("A6", at("fresh", "Soup"))
		k.Advance(time.Second)
		k.WantPrinted("grill", "A1@FRESH A2@FRESH A3@FRESH A4@FRESH A5@FRESH")
		k.wantOutcomes("fresh", map[ticket.State]uint64{ticket.Sent: 5, ticket.Taken: 1})
		l := k.status("fresh")
		assert.True(t, l.Up && l.NotReady == "" && l.Device == nil, l)
		k.wantCondition(0, "refusing", "fresh")
	}, "grill")
}
