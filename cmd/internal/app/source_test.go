package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/receiver"
	"ticketrail/receiver/source"
)

func TestWhatWaitedAtTheRelayTellsWhenItWasOrderedAndIsOnTheSlipIfItIsTooOld(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		withRelay(k)
		k.Printer("grill").ExpireAfter = time.Hour
	}, func(k *testDaemon) {
		k.must(k.App.Queue().HoldStation(k.T.Context(), "grill", "cleaning"))
		k.mustFetch(3*time.Hour, bodyOf(uuid.NewString(), "A1", at("grill", "Soup")))
		k.mustFetch(2*time.Hour, bodyOf(uuid.NewString(), "A2", at("grill", "Soup")))
		ordered := time.Now().Add(-59 * time.Minute)
		k.mustFetch(59*time.Minute, bodyOf(uuid.NewString(), "A3", at("grill", "Soup")))
		k.must(k.App.Queue().ResumeStation(k.T.Context(), "grill"))
		k.Advance(2 * time.Minute)
		k.WantPrinted("grill", "slip A3")
		slip, last := k.Printers["grill"].Tickets()[0].Text, k.Printers["grill"].Tickets()[1].Text
		assert.True(t, strings.Contains(slip, "#A1") && strings.Contains(slip, "#A2") && !strings.Contains(slip, "A3"),
			"on the slip", slip)
		zone, _ := time.LoadLocation("Australia/Melbourne")
		assert.Contains(t, last, ordered.In(zone).Format("15:04"))
	}, "grill")
}

func TestWhatTheBoxCannotPrintOfTheRelayIsKeptBeforeTheRelayIsTold(t *testing.T) {
	runDaemonWith(t, withRelay, func(k *testDaemon) {
		err := k.fetched(3*time.Hour, `{"records":7}`)
		if !errors.Is(err, source.ErrNever) {
			t.Fatal(err)
		}
		k.must(k.App.source.take(k.T.Context(), source.Arrival{Refused: &receiver.Reject{
			Time: time.Now().Add(-2 * time.Hour), Venue: "another", Code: "invalid_json", Body: []byte("x")}}))
		// Also when reading it took all the time there was, or it would be read again and again.
		late, cancel := context.WithCancel(k.T.Context())
		cancel()
		err = k.App.source.take(late, source.Arrival{Relayed: receiver.Relayed{Venue: venueID,
			Received: time.Now().Add(-4 * time.Hour).UTC(), Body: []byte(`{"records":8}`)}})
		if !errors.Is(err, source.ErrNever) {
			t.Fatal(err)
		}
		k.Restart()
		list := k.App.rejects.List()
		assert.True(t, len(list) == 3 && list[0].Code == "invalid_json" && list[0].Venue == venueID &&
			list[1].Size == 13, list)
		s := k.finding(finding.Fail, "orders")
		assert.True(t, strings.HasPrefix(s, "1 request refused: invalid json"), "the status says", s)
	}, "grill")
}

func TestADaemonWithoutItsTokenPrintsWhatComesDirectly(t *testing.T) {
	runDaemonWith(t, withRelay, func(k *testDaemon) {
		k.Accept("A1", at("grill", "Soup"))
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1")
		const want = "no order can be fetched"
		s := k.finding(finding.Fail, "relay")
		assert.True(t, strings.HasPrefix(s, want) && strings.Contains(s, "/relay.token: no such file"),
			"the status says", s)
		assert.Contains(t, k.App.statusLine(), "relay: "+want)
		k.wantMetric(0, "ticketrail_source_up")
	}, "grill")
}

func TestABoxWithoutAWebhookOpensNoPort(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		withRelay(k)
		k.Conf.Receiver.Listen = ""
	}, func(k *testDaemon) {
		assert.True(t, k.App.WebhookAddr() == nil, "it listens at", k.App.WebhookAddr())
		k.mustFetch(0, bodyOf(uuid.NewString(), "A1", at("grill", "Soup")))
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1")
		want := "1 order in the last hour; the last request 1m ago"
		s := k.finding(finding.OK, "orders")
		assert.True(t, strings.HasPrefix(s, want), "the status says", s)
		r := k.App.source.report()
		assert.True(t, r.Version == admin.ThisBuild().Version && r.Problems == 0, "the relay is told", r)
		k.must(k.App.Queue().HoldStation(k.T.Context(), "grill", "cleaning"))
		k.App.rejects.Keep(receiver.Reject{Time: time.Now(), Code: "schema_mismatch"})
		k.Advance(time.Minute)
		if r := k.App.source.report(); r.Problems != 2 { // the station on hold, and the refused order
			t.Errorf("the relay is told %+v", r)
		}
	}, "grill")
}

// withRelay gives the daemon a relay that cannot be reached: the tests in a bubble pass its requests on themselves.
func withRelay(k *testDaemon) {
	k.Conf.Source = config.Source{URL: "https://relay", TokenFile: "/relay.token", Venue: venueID}
}

// bodyOf is an order as the service sends it.
func bodyOf(id, number string, items ...string) string {
	return fmt.Sprintf(`{"records":[{"id":%q,"orderNumber":%q,"items":[%s]}],"status":"SUCCESS","count":1}`, id, number,
		strings.Join(items, ","))
}

// fetched passes on a request that the relay took some time ago.
func (k *testDaemon) fetched(age time.Duration, body string) error {
	return k.App.source.take(k.T.Context(), source.Arrival{Relayed: receiver.Relayed{Venue: venueID,
		Device: device, Received: time.Now().Add(-age).UTC(), Age: age, Body: []byte(body)}})
}

func (k *testDaemon) mustFetch(age time.Duration, body string) {
	k.T.Helper()
	k.must(k.fetched(age, body))
}
