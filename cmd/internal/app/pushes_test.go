package app_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

func TestADisplayOfOthersTakesTicketsInOrder(t *testing.T) {
	var f thirdParty
	runDaemonWith(t, withThirdParty(&f, func(c *config.KDS) { c.IncludeRaw = true }), func(k *testDaemon) {
		k.Accept("A1", at("fresh", "Salad"), at("grill", "Steak"))
		k.Accept("A2", at("fresh", "Soup"))
		k.Advance(time.Second)
		k.wantOutcomes("fresh", map[ticket.State]uint64{ticket.Taken: 2})
		if diff := cmp.Diff([]any{"/api/tickets", "/api/tickets"}, f.field("path")); diff != "" {
			t.Error(diff)
		}
		var numbers []any
		for _, raw := range f.field("raw") {
			record, _ := raw.(map[string]any)
			numbers = append(numbers, record["orderNumber"])
		}
		if diff := cmp.Diff([]any{"A1", "A2"}, numbers); diff != "" {
			t.Error(diff)
		}
		if l := k.status("fresh"); l.Kind != admin.KindKDS || l.Address != "http://kds.example" || !l.Up {
			t.Errorf("%+v", l)
		}
	}, "grill")
}

func TestAReloadChangesADisplayOfOthers(t *testing.T) {
	var f thirdParty
	runDaemonWith(t, withThirdParty(&f, func(*config.KDS) {}), func(k *testDaemon) {
		k.Accept("A1", at("fresh", "Salad"))
		synctest.Wait()
		k.reload(func(*config.Config) {})
		k.reload(func(c *config.Config) {
			d := c.KDS[0]
			d.URL = "http://kds.example/v2"
			c.KDS = []config.KDS{d}
		})
		k.Accept("A2", at("fresh", "Soup"))
		k.Advance(time.Second)
		if diff := cmp.Diff([]any{"/api/tickets", "/v2"}, f.field("path")); diff != "" {
			t.Error(diff)
		}
	}, "grill")
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
		if l := k.status("fresh"); l.Up || !strings.Contains(l.Waiting, "takes no tickets: 401 Unauthorized") ||
			l.Device == nil || l.Device.State != "refusing" || l.Device.Fine ||
			time.Until(l.NextTry) < 30*time.Second { // not the dispatcher's own next try, which asks nobody
			t.Errorf("%+v, %+v", l, l.Device)
		}
		k.wantCondition(1, "refusing", "fresh")
		k.WantPrinted("grill", "")
		if n := k.States()[ticket.Pending]; n != 5 {
			t.Errorf("%d tickets wait", n)
		}
		k.Advance(70 * time.Second) // hold_for is 2 min
		k.WantPrinted("grill", "A1@FRESH A2@FRESH A3@FRESH A4@FRESH A5@FRESH")

		f.status.Store(http.StatusOK) // the token is repaired
		k.Advance(time.Minute)
		k.Accept("A6", at("fresh", "Soup"))
		k.Advance(time.Second)
		k.WantPrinted("grill", "A1@FRESH A2@FRESH A3@FRESH A4@FRESH A5@FRESH")
		k.wantOutcomes("fresh", map[ticket.State]uint64{ticket.Sent: 5, ticket.Taken: 1})
		if l := k.status("fresh"); !l.Up || l.Waiting != "" || l.Device != nil {
			t.Errorf("%+v", l)
		}
		k.wantCondition(0, "refusing", "fresh")
	}, "grill")
}

func TestADisplayThatIsRepairedGetsWhatWaitsWithinAMinuteOrWhenAPersonSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		within time.Duration
		repair func(k *testDaemon)
	}{
		"by itself": {time.Minute, func(*testDaemon) {}},
		"resume":    {0, func(k *testDaemon) { k.App.Stations().Kick("fresh") }},
		"reload":    {0, func(k *testDaemon) { k.reload(func(*config.Config) {}) }},
	} {
		t.Run(name, func(t *testing.T) {
			var f thirdParty
			runDaemonWith(t, withThirdParty(&f, func(*config.KDS) {}), func(k *testDaemon) {
				f.status.Store(http.StatusForbidden)
				k.Accept("A1", at("fresh", "Salad"))
				k.Accept("A2", at("fresh", "Soup"))
				k.Advance(10 * time.Minute) // without a backup they wait
				if n := k.States()[ticket.Pending]; n != 2 || len(f.field("job")) > 15 {
					t.Errorf("%d tickets wait, asked %d times", n, len(f.field("job")))
				}
				f.status.Store(http.StatusOK)
				k.Advance(5 * time.Second) // not when it would be asked anyway
				c.repair(k)
				k.Advance(c.within)
				k.wantOutcomes("fresh", map[ticket.State]uint64{ticket.Taken: 2})
			}, "grill")
		})
	}
}

func TestATicketADisplayOfOthersRefusesComesOutElsewhereAtOnce(t *testing.T) {
	for name, change := range map[string]func(*config.KDS){
		"of the backup":   func(c *config.KDS) { c.Backup = "bar" },
		"of the fallback": func(*config.KDS) {},
	} {
		t.Run(name, func(t *testing.T) {
			var f thirdParty
			runDaemonWith(t, withThirdParty(&f, change), func(k *testDaemon) {
				f.status.Store(http.StatusUnprocessableEntity)
				id := k.Accept("A1", at("fresh", "Salad"))
				k.Advance(time.Second)
				f.status.Store(http.StatusOK)
				k.Accept("A2", at("fresh", "Soup"))
				k.Advance(time.Second)
				if name == "of the backup" {
					k.WantPrinted("bar", "A1-FRESH")
				} else {
					k.WantPrinted("grill", "A1-FRESH")
				}
				k.wantOutcomes("fresh", map[ticket.State]uint64{ticket.Taken: 1})
				jobs, err := k.App.Queue().Jobs(t.Context(), queue.Filter{Request: id, Station: "fresh"})
				if err != nil || len(jobs) != 1 || jobs[0].State != ticket.Moved ||
					!strings.Contains(jobs[0].Reason, "refused by fresh: ") ||
					!strings.Contains(jobs[0].Reason, "422 Unprocessable Entity") {
					t.Errorf("%+v, %v", jobs, err)
				}
			}, "grill", "bar")
		})
	}
}

func TestATicketThatNoStationCanTakeIsHeldForAPerson(t *testing.T) {
	var f thirdParty
	alone := func(k *testDaemon) {
		withThirdParty(&f, func(*config.KDS) {})(k)
		k.Conf.Fallback = "fresh"
	}
	runDaemonWith(t, alone, func(k *testDaemon) {
		f.status.Store(http.StatusBadRequest)
		k.Accept("A1", at("fresh", "Salad"))
		k.Advance(time.Hour)
		if n := k.States(); n[ticket.Held] != 1 || len(f.field("job")) != 1 {
			t.Errorf("%v, asked %d times", n, len(f.field("job")))
		}
	}, "grill")
}
