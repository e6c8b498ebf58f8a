package app

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// A fresh is a third-party kitchen display.
type fresh struct {
	l      *virtual.Network
	status atomic.Int32

	mu  sync.Mutex
	got []map[string]any // what was posted, whatever the answer
}

// withKDS adds such a display, with a route to it.
func withKDS(f *fresh, change func(*config.KDS)) func(*testDaemon) {
	return func(k *testDaemon) {
		f.l = virtual.NewNetwork()
		f.status.Store(http.StatusCreated)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			var doc map[string]any
			if err := json.Unmarshal(b, &doc); err != nil {
				k.t.Errorf("it got %s: %v", b, err)
			}
			doc["path"] = r.URL.Path
			f.mu.Lock()
			f.got = append(f.got, doc)
			f.mu.Unlock()
			w.WriteHeader(int(f.status.Load()))
		})}
		go srv.Serve(f.l)
		k.t.Cleanup(func() { srv.Close() })
		c := config.DefaultKDS()
		c.Name, c.URL = "fresh", "http://kds.example/api/tickets"
		change(&c)
		k.conf.KDS = []config.KDS{c}
		k.conf.Routes = append(k.conf.Routes, config.Route{When: `item.station == "fresh"`, To: []string{"fresh"}})
		k.changeOptions = func(o *Options) { o.Dial = f.l.Dial }
	}
}

func (f *fresh) field(name string) (out []any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.got {
		out = append(out, d[name])
	}
	return out
}

func TestADisplayOfOthersTakesTicketsInOrder(t *testing.T) {
	var f fresh
	runDaemonWith(t, withKDS(&f, func(c *config.KDS) { c.IncludeRaw = true }), func(k *testDaemon) {
		k.accept("A1", at("fresh", "Salad"), at("grill", "Steak"))
		k.accept("A2", at("fresh", "Soup"))
		k.advance(time.Second)
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

func TestTicketsADisplayOfOthersDoesNotTakeComeOutOfItsBackup(t *testing.T) {
	var f fresh
	runDaemonWith(t, withKDS(&f, func(c *config.KDS) { c.Backup = "grill" }), func(k *testDaemon) {
		f.status.Store(http.StatusTooManyRequests)
		k.accept("A1", at("fresh", "Salad"))
		k.advance(5 * time.Minute)
		k.wantPrinted("grill", "A1@FRESH")
		k.accept("A2", at("fresh", "Soup"))
		f.status.Store(http.StatusOK)
		k.advance(10 * time.Minute)
		k.accept("A3", at("fresh", "Pie"))
		k.advance(10 * time.Minute)
		outcomes := k.outcomes("fresh")
		if outcomes[ticket.Taken] == 0 || outcomes[ticket.Taken]+outcomes[ticket.Sent] != 3 {
			t.Errorf("%v", outcomes)
		}
	}, "grill")
}

func TestAReloadChangesADisplayOfOthers(t *testing.T) {
	var f fresh
	runDaemonWith(t, withKDS(&f, func(*config.KDS) {}), func(k *testDaemon) {
		k.accept("A1", at("fresh", "Salad"))
		synctest.Wait()
		k.reload(func(*config.Config) {})
		k.reload(func(c *config.Config) {
			d := c.KDS[0]
			d.URL = "http://kds.example/v2"
			c.KDS = []config.KDS{d}
		})
		k.accept("A2", at("fresh", "Soup"))
		k.advance(time.Second)
		if diff := cmp.Diff([]any{"/api/tickets", "/v2"}, f.field("path")); diff != "" {
			t.Error(diff)
		}
	}, "grill")
}

func TestATokenThatIsRotatedInTheEveningCostsNoOrder(t *testing.T) {
	var f fresh
	runDaemonWith(t, withKDS(&f, func(c *config.KDS) { c.Backup = "grill" }), func(k *testDaemon) {
		if v := k.condition("fresh", "refusing"); v != 0 {
			t.Errorf("the condition is %g before anything happened", v)
		}
		f.status.Store(http.StatusUnauthorized)
		for _, n := range []string{"A1", "A2", "A3", "A4", "A5"} {
			k.accept(n, at("fresh", "Salad"))
		}
		k.advance(time.Minute)
		if l := k.status("fresh"); l.Up || !strings.Contains(l.Waiting, "takes no tickets: 401 Unauthorized") ||
			l.Device == nil || l.Device.State != "refusing" || l.Device.Fine ||
			time.Until(l.NextTry) < 30*time.Second { // not the dispatcher's own next try, which asks nobody
			t.Errorf("%+v, %+v", l, l.Device)
		}
		if v := k.condition("fresh", "refusing"); v != 1 {
			t.Errorf("the condition is %g", v)
		}
		k.wantPrinted("grill", "")
		if n := k.states()[ticket.Pending]; n != 5 {
			t.Errorf("%d tickets wait", n)
		}
		k.advance(70 * time.Second) // hold_for is 2 min
		k.wantPrinted("grill", "A1@FRESH A2@FRESH A3@FRESH A4@FRESH A5@FRESH")

		f.status.Store(http.StatusOK) // the token is repaired
		k.advance(time.Minute)
		k.accept("A6", at("fresh", "Soup"))
		k.advance(time.Second)
		k.wantPrinted("grill", "A1@FRESH A2@FRESH A3@FRESH A4@FRESH A5@FRESH")
		k.wantOutcomes("fresh", map[ticket.State]uint64{ticket.Sent: 5, ticket.Taken: 1})
		if l := k.status("fresh"); !l.Up || l.Waiting != "" || l.Device != nil {
			t.Errorf("%+v", l)
		}
		if v := k.condition("fresh", "refusing"); v != 0 {
			t.Errorf("the condition is %g after the repair", v)
		}
	}, "grill")
}

func TestADisplayThatIsRepairedGetsWhatWaitsWithinAMinuteOrWhenAPersonSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		within time.Duration
		repair func(k *testDaemon)
	}{
		"by itself": {time.Minute, func(*testDaemon) {}},
		"resume":    {0, func(k *testDaemon) { k.app.stations.Kick("fresh") }},
		"reload":    {0, func(k *testDaemon) { k.reload(func(*config.Config) {}) }},
	} {
		t.Run(name, func(t *testing.T) {
			var f fresh
			runDaemonWith(t, withKDS(&f, func(*config.KDS) {}), func(k *testDaemon) {
				f.status.Store(http.StatusForbidden)
				k.accept("A1", at("fresh", "Salad"))
				k.accept("A2", at("fresh", "Soup"))
				k.advance(10 * time.Minute) // without a backup they wait
				if n := k.states()[ticket.Pending]; n != 2 || len(f.field("job")) > 15 {
					t.Errorf("%d tickets wait, asked %d times", n, len(f.field("job")))
				}
				f.status.Store(http.StatusOK)
				k.advance(5 * time.Second) // not when it would be asked anyway
				c.repair(k)
				k.advance(c.within)
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
			var f fresh
			runDaemonWith(t, withKDS(&f, change), func(k *testDaemon) {
				f.status.Store(http.StatusUnprocessableEntity)
				id := k.accept("A1", at("fresh", "Salad"))
				k.advance(time.Second)
				f.status.Store(http.StatusOK)
				k.accept("A2", at("fresh", "Soup"))
				k.advance(time.Second)
				if name == "of the backup" {
					k.wantPrinted("bar", "A1-FRESH")
				} else {
					k.wantPrinted("grill", "A1-FRESH")
				}
				k.wantOutcomes("fresh", map[ticket.State]uint64{ticket.Taken: 1})
				jobs, err := k.app.queue.Jobs(t.Context(), queue.Filter{Request: id, Station: "fresh"})
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
	var f fresh
	alone := func(k *testDaemon) {
		withKDS(&f, func(*config.KDS) {})(k)
		k.conf.Fallback = "fresh"
	}
	runDaemonWith(t, alone, func(k *testDaemon) {
		f.status.Store(http.StatusBadRequest)
		k.accept("A1", at("fresh", "Salad"))
		k.advance(time.Hour)
		if n := k.states(); n[ticket.Held] != 1 || len(f.field("job")) != 1 {
			t.Errorf("%v, asked %d times", n, len(f.field("job")))
		}
	}, "grill")
}
