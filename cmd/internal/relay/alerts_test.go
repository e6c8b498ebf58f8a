package relay

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/cmd/internal/app"
	"ticketrail/cmd/internal/monitoringtest"
	"ticketrail/config"
	"ticketrail/deploy"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	store "ticketrail/receiver/relay"
)

// The venues. The grill is always open, the bar opens for a minute in twelve hours.
const (
	openName   = "Harbour Grill"
	closedName = "Night Bar"
)

// A fleet is three servers, two relays and the box of a venue, each with its metrics.
type fleet struct {
	*cloud
	admin   *Admin
	metrics [2]string // addresses, of the relays
	relays  [2]*runningRelay
	box     string // folder
	boxAt   string // address of its metrics
	follows string // name of a server that does not lead the stream
}

// newFleet has no box yet.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{cloud: newCloud(t, 3), box: t.TempDir(), boxAt: monitoringtest.FreeAddress(t)}
	f.look = time.Second
	f.edit("max_bytes: 256MiB", "max_bytes: 2MiB")
	f.admin = f.cloud.admin()
	opens := time.Now().UTC().Add(12 * time.Hour)
	for _, v := range []store.Venue{
		{ID: grill, Name: openName, Timezone: "UTC", Hours: []string{"daily 00:00-24:00"}},
		{ID: bar, Name: closedName, Timezone: "UTC", Hours: []string{
			"daily " + opens.Format("15:04") + "-" + opens.Add(time.Minute).Format("15:04")}},
	} {
		_, _, err := f.admin.Add(t.Context(), f.operator, v, false, filepath.Join(f.dir, v.ID+".creds"))
		f.must(err)
	}
	for i := range f.relays {
		f.metrics[i] = monitoringtest.FreeAddress(t)
		f.startRelay(i)
	}
	o, err := f.admin.Overview(t.Context())
	f.must(err)
	f.follows = o.Stream.Replicas[0].Name
	return f
}

func (f *fleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fleet) startRelay(i int) {
	f.Helper()
	f.relays[i] = f.startAt(true, f.metrics[i])
}

func (f *fleet) stopRelay(i int) {
	f.Helper()
	f.must(f.relays[i].stop())
}

// restartRelays is what a person does, one relay after the other.
func (f *fleet) restartRelays() {
	f.Helper()
	for i := range f.relays {
		f.stopRelay(i)
		f.startRelay(i)
	}
}

// order sends an order until it is accepted: as the service does, a request that was answered 503 again.
func (f *fleet) order(venue, item string) {
	f.Helper()
	id := uuid.NewString()
	f.until("an order is accepted", func() error {
		if status, _ := f.relays[0].post(venue, id, item); status != http.StatusOK {
			return fmt.Errorf("answer %d", status)
		}
		return nil
	})
}

// startBox starts the box of the grill. Nobody has copied its credentials to it.
func (f *fleet) startBox() {
	f.Helper()
	f.must(os.WriteFile(filepath.Join(f.box, "ticketrail.yaml"), fmt.Appendf(nil, `
receiver: { listen: "" }
source: { nats: ["%s"], creds_file: relay.creds, venue: %s }
venues: [ { id: %s, name: %s, timezone: UTC, hours: [ "daily 00:00-24:00" ] } ]
printers: [ { name: grill, address: "tcp://grill" } ]
fallback: grill
storage: { path: t.db }
admin: { socket: s }
metrics: { listen: %q }
display: { listen: "" }
`, strings.Join(f.admin.Conf.NATS.URLs, `", "`), grill, grill, openName, f.boxAt), 0o600))
	printer := virtual.New(virtual.Options{Name: "grill", Can: virtual.Everything})
	a, err := app.New(f.Context(), app.Options{ConfigPath: filepath.Join(f.box, "ticketrail.yaml"), Log: f.Output(),
		Dialer: func(config.Printer) (transport.Dialer, error) { return printer, nil }})
	f.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	f.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Error(err)
		}
	})
}

// offline is a box that cannot connect, while its venue is open. Orders for it wait, and more come.
func (f *fleet) offline() []monitoringtest.Step {
	return []monitoringtest.Step{
		{Fires: []string{"SiteOffline " + openName, "SourceDisconnected", "OrdersWaitAtRelay " + openName},
			Cause: func() { f.startBox(); f.order(grill, "Soup"); f.order(bar, "Beer") },
			Cure: func() {
				f.must(os.Rename(filepath.Join(f.dir, grill+".creds"), filepath.Join(f.box, "relay.creds")))
			}},
		{Fires: []string{"BacklogGrows"}, Again: true, Cause: func() {
			for range 8 {
				f.order(grill, "Soup")
			}
		}},
	}
}

// faults are what a person has to see to at the servers and at the relays.
func (f *fleet) faults() []monitoringtest.Step {
	return []monitoringtest.Step{
		{Fires: []string{"StreamNearLimit"},
			Cause: func() {
				for range 4 {
					f.order(bar, strings.Repeat("Beer", 430_000/4))
				}
			},
			Cure: func() { f.edit("max_bytes: 2MiB", "max_bytes: 8MiB"); f.stopRelay(0); f.startRelay(0) }},
		{Fires: []string{"RelayNotReady"}, Cause: func() { f.stopRelay(1) }, Cure: func() { f.startRelay(1) }},
		{Fires: []string{"ReplicaDown " + f.follows},
			Cause: func() { f.servers.Kill(f.servers.Node(f.follows)) },
			Cure:  func() { f.must(f.servers.Start(f.Context(), f.servers.Node(f.follows))) }},
	}
}

// blind are relays that take orders, and cannot see the venues.
func (f *fleet) blind() []monitoringtest.Step {
	return []monitoringtest.Step{{Fires: []string{"RelayBlind"}, Cure: f.restartRelays, Cause: func() {
		js, err := jetstream.New(f.admin.nc)
		f.must(err)
		f.must(js.DeleteKeyValue(f.Context(), store.BoxesBucket))
	}}}
}

// outage is two of three servers gone. The third one answers, and stores nothing.
func (f *fleet) outage() []monitoringtest.Step {
	return []monitoringtest.Step{{Fires: []string{"NoRelay", "RelayNotReady"},
		Cause: func() { f.servers.Kill(0); f.servers.Kill(1) },
		Cure:  func() { f.must(f.servers.Start(f.Context(), 0)) }, // the second of them is enough
	}}
}

// relayRules are the rules as they are installed.
func relayRules(t *testing.T) string {
	t.Helper()
	b, err := deploy.Files.ReadFile("relay/ticketrail-relay.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheAlertsOfARelayFireAndClear(t *testing.T) {
	rules := relayRules(t)
	// What is too long after minutes is so after seconds here; TestEachAlertOfTheRelay... of deploy has the limits.
	for _, old := range []string{"oldest_age_seconds) > 180", "watched_timestamp_seconds > 120"} {
		now := old[:strings.LastIndexByte(old, ' ')] + " 5"
		if !strings.Contains(rules, old) {
			t.Fatalf("the rules lack %q", old)
		}
		rules = strings.Replace(rules, old, now, 1)
	}
	f := newFleet(t)
	m := monitoringtest.Start(t, rules, map[string][]string{"ticketrail-relay": f.metrics[:], "ticketrail": {f.boxAt}})
	m.Play(slices.Concat(f.offline(), f.faults()))
	m.Play(f.blind())
	m.Play(f.outage())
	slow := []string{"ReplicaDown n1", "ReplicaDown n2", "ReplicaDown n3"} // a busy machine copies late
	m.NothingElse(slow, f.offline(), f.faults(), f.blind(), f.outage())
}

func TestEveryAlertOfTheRelayFiresForReal(t *testing.T) {
	f := &fleet{cloud: &cloud{}}
	monitoringtest.EachFiresOrSaysWhyNot(t, relayRules(t),
		slices.Concat(f.offline(), f.faults(), f.blind(), f.outage()), nil)
}
