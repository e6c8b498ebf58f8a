package app

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/virtual"
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
