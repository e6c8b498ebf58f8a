package app

import (
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/queue"
)

func TestTheOrdersOfTheLastHourAndTheLastRequestOfEachVenueAreToldAlsoAfterARestart(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		k.Conf.Venues = append(k.Conf.Venues, config.Venue{ID: otherVenue, Name: "Silent", Timezone: "UTC"})
	}, func(k *testDaemon) {
		expect := func(status string, last time.Time) {
			k.T.Helper()
			s := k.finding(finding.OK, "orders")
			assert.True(k.T, strings.HasPrefix(s, status), "the status says", s, status)
			const name = "ticketrail_venue_last_request_timestamp_seconds"
			all, _ := k.metric("ticketrail_receiver_last_request_timestamp_seconds")
			heard, _ := k.metric(name, "Harbour Grill")
			assert.True(k.T, int64(all) == last.Unix() && int64(heard) == last.Unix(), "the last requests are", all,
				heard, last.Unix())
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
		came = time.Now()
		expect("0 orders in the last hour; the last request 0s ago, at ", came) // it reached the box
		refused := func(want string) {
			k.T.Helper()
			s := k.finding(finding.Fail, "orders")
			assert.True(k.T, strings.HasPrefix(s, want) && (s == "" || want != ""), s, want)
		}
		time.Sleep(59 * time.Minute)
		refused("1 request refused: schema mismatch")
		time.Sleep(time.Minute)
		refused("")
	}, "grill")
}
