package app_test

import (
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/receiver"
)

func TestTheOrdersOfTheLastHourAndTheLastRequestOfEachVenueAreToldAlsoAfterARestart(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		k.Conf.Venues = append(k.Conf.Venues, config.Venue{ID: otherVenue, Name: "Silent", Timezone: "UTC"})
	}, func(k *testDaemon) {
		expect := func(status string, last time.Time) {
			k.T.Helper()
			if s := k.finding(finding.OK, "orders"); !strings.HasPrefix(s, status) {
				k.T.Errorf("the status says %q, want %q", s, status)
			}
			const name = "ticketrail_venue_last_request_timestamp_seconds"
			all, _ := k.metric("ticketrail_receiver_last_request_timestamp_seconds")
			heard, _ := k.metric(name, "Harbour Grill")
			if int64(all) != last.Unix() || int64(heard) != last.Unix() {
				k.T.Errorf("the last requests are %v and %v, want %d", all, heard, last.Unix())
			}
			k.wantMetric(0, name, "Silent")
		}

		expect("0 orders in the last hour; none has come yet", time.Unix(0, 0))
		k.Accept("A1", at("grill", "Soup"))
		k.Accept("A2", at("grill", "Soup"))
		came := time.Now()
		time.Sleep(59 * time.Minute)
		expect("2 orders in the last hour; the last request 59m ago, at ", came)
		time.Sleep(2 * time.Minute)
		_, err := k.App.Queue().Reprint(k.T.Context(), 1, queue.ReprintOptions{}) // is no order
		k.must(err)
		k.Restart()
		expect("0 orders in the last hour; the last request 1h1m ago, at ", came)
		if got := k.Send(`{"records":7}`); !strings.HasPrefix(got, "400 ") {
			k.T.Fatal(got)
		}
		expect("0 orders in the last hour; the last request 0s ago, at ", time.Now()) // it reached the box
	}, "grill")
}

func TestTheStatusNamesRefusedRequestsForAnHour(t *testing.T) {
	runDaemon(t, func(k *testDaemon) {
		k.App.Rejects().Keep(receiver.Reject{Time: time.Now(), Code: "schema_mismatch", Message: "records: missing"})
		time.Sleep(time.Minute)
		if s := k.finding(finding.Fail, "orders"); !strings.HasPrefix(s, "1 request refused: schema mismatch") {
			t.Error(s)
		}
		time.Sleep(time.Hour)
		if s := k.finding(finding.Fail, "orders"); s != "" {
			t.Error(s)
		}
	}, "grill")
}
