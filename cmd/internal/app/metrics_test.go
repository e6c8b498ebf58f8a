package app_test

import (
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
)

func TestTheLastRequestOfEachVenueIsKnownAfterARestart(t *testing.T) {
	const other = "00000000-0000-4000-8000-000000000001"
	runDaemonWith(t, func(k *testDaemon) {
		k.Conf.Venues = append(k.Conf.Venues, config.Venue{ID: other, Name: "Silent", Timezone: "UTC"})
	}, func(k *testDaemon) {
		const name = "ticketrail_venue_last_request_timestamp_seconds"
		expect := func(step string, grill time.Time) {
			k.T.Helper()
			want := float64(grill.Unix())
			all, _ := k.metric("ticketrail_receiver_last_request_timestamp_seconds")
			heard, _ := k.metric(name, "Harbour Grill")
			silent, ok := k.metric(name, "Silent")
			if int64(all) != int64(want) || int64(heard) != int64(want) || silent != 0 || !ok {
				k.T.Errorf("%s: %v, %v and %v, want %v", step, all, heard, silent, want)
			}
		}
		expect("before the first", time.Unix(0, 0))
		came := time.Now()
		k.Accept("1", at("grill", "Burger"))
		expect("after the first", came)
		time.Sleep(time.Hour)
		came = time.Now()
		k.Accept("2", at("grill", "Fries"))
		time.Sleep(time.Hour)
		if _, err := k.App.Queue().Reprint(k.T.Context(), 1, queue.ReprintOptions{}); err != nil {
			k.T.Fatal(err)
		}
		k.Restart()
		expect("after a restart", came)
		came = time.Now()
		k.Accept("2", at("grill", "Burger"))
		expect("after the next", came)
	}, "grill")
}

func TestAVenueWithHoursIsOpenByTheClockOfItsZone(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) { // in a bubble it is midnight UTC: 11:00 in Melbourne
		k.Conf.Venues[0].Hours = []config.Hours{hours(t, "daily 18:00-23:00")}
		k.Conf.Venues = append(k.Conf.Venues, config.Venue{ID: "00000000-0000-4000-8000-000000000001",
			Name: "No hours"})
	}, func(k *testDaemon) {
		for hour := 11; hour < 24; hour++ {
			want := 0.0
			if hour >= 18 && hour < 23 {
				want = 1
			}
			if open, ok := k.metric("ticketrail_opening_hours", "Harbour Grill"); open != want || !ok {
				k.T.Errorf("at %d:00 open is %v, %v", hour, open, ok)
			}
			time.Sleep(time.Hour)
		}
		if _, ok := k.metric("ticketrail_opening_hours", "No hours"); ok {
			k.T.Error("a venue without hours has a series")
		}
	}, "grill")
}

func TestAStationIsUpOnlyWhenThatIsKnown(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		k.Printers["grill"] = virtual.New(virtual.Options{Name: "grill", Can: virtual.Everything})
		k.Printers["grill"].Refuse(true)
		k.Printer("bar").Confirm = "none"
	}, func(k *testDaemon) {
		expect := func(step, station string, want float64, known bool) {
			k.T.Helper()
			time.Sleep(10 * time.Minute)
			if up, ok := k.metric("ticketrail_station_up", station); up != want || ok != known {
				k.T.Errorf("%s: up of %s is %v, %v", step, station, up, ok)
			}
		}
		expect("unreachable, no order yet", "grill", 0, true)
		expect("never asked, no order yet", "bar", 0, false)
		k.Accept("1", at("bar", "Beer"))
		expect("after an order", "bar", 1, true)
		k.Printers["grill"].Refuse(false)
		expect("repaired", "grill", 1, true)
		k.Accept("2", at("grill", "Burger"))
		k.Printers["grill"].Set(virtual.PaperOut, true)
		expect("printed, then without paper", "grill", 0, true)
	}, "grill", "bar")
}
