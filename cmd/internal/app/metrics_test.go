package app

import (
	"strings"
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
)

// value is the value of a metric of one series; false: there is no such series.
func (k *testDaemon) value(name, label string) (float64, bool) {
	k.t.Helper()
	families, err := k.app.registry.Gather()
	if err != nil {
		k.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetGauge().GetValue(), true
			}
		}
	}
	return 0, false
}

func TestTheLastRequestOfEachVenueIsKnownAfterARestart(t *testing.T) {
	const other = "00000000-0000-4000-8000-000000000001"
	runDaemonWith(t, func(k *testDaemon) {
		k.conf.Venues = append(k.conf.Venues, config.Venue{ID: other, Name: "Silent", Timezone: "UTC"})
	}, func(k *testDaemon) {
		const name = "ticketrail_venue_last_request_timestamp_seconds"
		expect := func(step string, grill time.Time) {
			k.t.Helper()
			want := float64(grill.Unix())
			all, _ := k.value("ticketrail_receiver_last_request_timestamp_seconds", "")
			heard, _ := k.value(name, "Harbour Grill")
			silent, ok := k.value(name, "Silent")
			if int64(all) != int64(want) || int64(heard) != int64(want) || silent != 0 || !ok {
				k.t.Errorf("%s: %v, %v and %v, want %v", step, all, heard, silent, want)
			}
		}
		expect("before the first", time.Unix(0, 0))
		came := time.Now()
		k.accept("1", at("grill", "Burger"))
		expect("after the first", came)
		time.Sleep(time.Hour)
		came = time.Now()
		k.accept("2", at("grill", "Fries"))
		time.Sleep(time.Hour)
		if _, err := k.app.queue.Reprint(k.t.Context(), 1, queue.ReprintOptions{}); err != nil {
			k.t.Fatal(err)
		}
		k.restart()
		expect("after a restart", came)
		came = time.Now()
		k.accept("2", at("grill", "Burger"))
		expect("after the next", came)
	}, "grill")
}

func TestAVenueWithHoursIsOpenByTheClockOfItsZone(t *testing.T) {
	var evening config.Hours
	if err := evening.UnmarshalText([]byte("daily 18:00-23:00")); err != nil {
		t.Fatal(err)
	}
	runDaemonWith(t, func(k *testDaemon) { // in a bubble it is midnight UTC: 11:00 in Melbourne
		k.conf.Venues[0].Hours = []config.Hours{evening}
		k.conf.Venues = append(k.conf.Venues, config.Venue{ID: "00000000-0000-4000-8000-000000000001",
			Name: "No hours"})
	}, func(k *testDaemon) {
		for hour := 11; hour < 24; hour++ {
			want := truth(hour >= 18 && hour < 23)
			if open, ok := k.value("ticketrail_opening_hours", "Harbour Grill"); open != want || !ok {
				k.t.Errorf("at %d:00 open is %v, %v", hour, open, ok)
			}
			time.Sleep(time.Hour)
		}
		if _, ok := k.value("ticketrail_opening_hours", "No hours"); ok {
			k.t.Error("a venue without hours has a series")
		}
	}, "grill")
}

func TestAStationIsUpOnlyWhenThatIsKnown(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) {
		k.printers["grill"] = virtual.New(virtual.Options{Name: "grill", Can: virtual.Everything})
		k.printers["grill"].Refuse(true)
		k.printer("bar").Confirm = "none"
	}, func(k *testDaemon) {
		expect := func(step, station string, want float64, known bool) {
			k.t.Helper()
			time.Sleep(10 * time.Minute)
			if up, ok := k.value("ticketrail_station_up", station); up != want || ok != known {
				k.t.Errorf("%s: up of %s is %v, %v", step, station, up, ok)
			}
		}
		expect("unreachable, no order yet", "grill", 0, true)
		expect("never asked, no order yet", "bar", 0, false)
		k.accept("1", at("bar", "Beer"))
		expect("after an order", "bar", 1, true)
		k.printers["grill"].Refuse(false)
		expect("repaired", "grill", 1, true)
		k.accept("2", at("grill", "Burger"))
		k.printers["grill"].Set(virtual.PaperOut, true)
		expect("printed, then without paper", "grill", 0, true)
	}, "grill", "bar")
}

func TestTheBoxIsInTheMetrics(t *testing.T) {
	a, _ := startOnFile(t, grillOnly)
	if got := postTo(t, a, "one", "x"); got != 200 {
		t.Fatal(got)
	}
	_, text := get(t, a, "/metrics")
	for _, want := range []string{"ticketrail_queue_disk_free_bytes", "ticketrail_queue_reserve_bytes 1.6777216e+07",
		"ticketrail_queue_file_free_bytes", "ticketrail_clock_synchronized"} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, "ticketrail_queue_file_free_bytes 0\n") || strings.Contains(text, "disk_free_bytes 0\n") {
		t.Error("no free bytes")
	}
}
