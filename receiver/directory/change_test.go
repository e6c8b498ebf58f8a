package directory

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/receiver/posapi"
)

func TestZoneIsThatOfTheNewestPayrollPeriod(t *testing.T) {
	later := period("2026-02-02", "Asia/Tokyo")
	later.UpdatedAt = time.Unix(1, 0)
	for _, c := range []struct {
		periods []posapi.PayrollPeriod
		want    string
	}{
		{nil, ""},
		{[]posapi.PayrollPeriod{period("2026-01-05", "Europe/Lisbon")}, "Europe/Lisbon"},
		{[]posapi.PayrollPeriod{period("2026-01-19", "Europe/Lisbon"), period("2026-02-02", "Europe/Oslo"),
			period("2025-12-29", "UTC")}, "Europe/Oslo"},
		{[]posapi.PayrollPeriod{period("2026-01-19", "Europe/Lisbon"), period("2026-02-02", "")}, "Europe/Lisbon"},
		{[]posapi.PayrollPeriod{later, period("2026-02-02", "Europe/Oslo")}, "Asia/Tokyo"},
		{[]posapi.PayrollPeriod{period("2026-02-02", "Europe/Oslo"), later}, "Asia/Tokyo"},
	} {
		if got := newestZone(c.periods); got != c.want {
			t.Errorf("%v: %q", c.periods, got)
		}
	}
}

func TestZoneStaysUntilThereIsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newService(t), newStore(t)
		zones := []posapi.PayrollPeriod{period("2026-01-05", "Europe/Lisbon")}
		dir := open(t, s, store, harbour)
		for _, c := range []struct {
			periods []posapi.PayrollPeriod
			err     error
			want    string
			bad     bool
		}{
			{nil, nil, "", true},
			{zones, nil, "Europe/Lisbon", false},
			{nil, nil, "Europe/Lisbon", true},
			{nil, errors.New("not available"), "Europe/Lisbon", true},
			{[]posapi.PayrollPeriod{period("2026-02-02", "America/New_York")}, &posapi.CountError{Want: 9},
				"America/New_York", true},
			{[]posapi.PayrollPeriod{period("2026-02-02", "America/New_York")}, nil, "America/New_York", false},
		} {
			s.do(func() { s.periods[harbour], s.payroll = c.periods, c.err })
			after(7 * time.Hour)
			zone, ok := dir.Zone(harbour)
			err := dir.state(harbour).ZoneErr
			if zone != c.want || ok != (c.want != "") || (err != nil) != c.bad {
				t.Errorf("%.40v, %v: zone %q %v, %v", c.periods, c.err, zone, ok, err)
			}
		}
		dir.end()
		dir = open(t, nil, store, harbour)
		if zone, _ := dir.Zone(harbour); zone != "America/New_York" {
			t.Errorf("after a restart: %q", zone)
		}
	})
}

func TestNoPayrollRequestsForAVenueWithAConfiguredZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(jon, "Jon")
		dir := open(t, s, nil)
		dir.Set([]Venue{{ID: harbour, Zoned: true}})
		after(24 * time.Hour)
		dir.wantNames("Jon", jon)
		if n := len(s.times("payrollperiods", harbour)); n != 0 {
			t.Errorf("asked %d times", n)
		}
		dir.Set([]Venue{{ID: harbour}})
		after(firstWithin)
		if n, m := len(s.times("payrollperiods", harbour)), len(s.times("employees", harbour)); n != 1 || m > 5 {
			t.Errorf("asked %d times for the zone, %d times for names", n, m)
		}
	})
}

func TestSetAddsAndRemovesVenues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newService(t), newStore(t)
		s.people[harbour], s.people[station] = people(jon, "Jon"), people(jon, "Jonny")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "UTC")}
		dir := open(t, s, store, harbour)
		after(time.Hour)
		dir.Set(asVenues(harbour, station))
		after(firstWithin)
		if got := dir.namesOf(harbour, jon) + dir.namesOf(station, jon); got != "JonJonny" {
			t.Errorf("names are %s", got)
		}
		if n := len(s.times("employees", harbour)); n != 1 {
			t.Errorf("the one that stays was asked about %d times", n)
		}
		s.do(func() { s.hangs[harbour] = true })
		after(6 * time.Hour)
		dir.Set(asVenues(station)) // while the other is asked about
		after(firstWithin)
		if got := dir.namesOf(harbour, jon) + dir.namesOf(station, jon); got != "-Jonny" {
			t.Errorf("names are %s", got)
		}
		if got := strings.Join(store.Keys(), " "); got != station {
			t.Errorf("stored: %s", got)
		}
		if n, _ := testutil.GatherAndCount(dir.reg, "ticketrail_directory_refreshes_total",
			"ticketrail_directory_employees", "ticketrail_directory_age_seconds"); n != 3*len(
			problems,
		)+2 {
			t.Errorf("%d series for one venue", n)
		}
		asked := len(s.times("employees", harbour))
		after(48 * time.Hour)
		if n := len(s.times("employees", harbour)); n != asked {
			t.Error("the one that is gone is still asked about")
		}
	})
}

func TestNamesAndZoneAreBothStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newService(t), newStore(t)
		s.people[harbour] = people(jon, "Jonathan A.")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Europe/Oslo")}
		sh := &slow{deadlineStore: store, goOn: make(chan struct{})}
		dir := open(t, s, sh, harbour)
		after(firstWithin)
		close(sh.goOn) // whichever was first is put now
		after(time.Second)
		dir.end()
		dir = open(t, nil, store, harbour)
		dir.wantNames("Jonathan A.", jon)
		if zone, _ := dir.Zone(harbour); zone != "Europe/Oslo" {
			t.Errorf("zone %q", zone)
		}
	})
}

func TestAnswerOfTheOldSourceDoesNotReplaceOneOfTheNew(t *testing.T) {
	for name, change := range map[string]func(dir *testDirectory, right *service){
		"another source": func(dir *testDirectory, right *service) { dir.SetSource(right) },
		"gone and back": func(dir *testDirectory, right *service) {
			dir.Set(nil)
			synctest.Wait()
			dir.SetSource(right)
			dir.Set(asVenues(harbour))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrong, right, store := newService(t), newService(t), newStore(t)
				wrong.people[harbour] = people(jon, "Who")
				right.people[harbour] = people(jon, "Jonathan A.")
				sh := &slow{deadlineStore: store, goOn: make(chan struct{})}
				dir := open(t, wrong, sh, harbour)
				after(firstWithin)
				change(dir, right)
				after(time.Minute)
				close(sh.goOn)
				after(time.Minute)
				dir.wantNames("Jonathan A.", jon)
				dir.end()
				dir = open(t, nil, store, harbour)
				dir.wantNames("Jonathan A.", jon)
			})
		})
	}
}

func TestNewSourceIsAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong, right := newService(t), newService(t)
		wrong.people[harbour], wrong.hangs[harbour] = people(jon, "Jon"), true
		right.people[harbour] = people(jon, "Jonathan A.")
		dir := open(t, nil, nil, harbour)
		after(time.Hour)
		dir.SetSource(wrong)
		after(time.Minute)
		if n := len(wrong.times("employees", harbour)); n != 1 {
			t.Fatalf("asked %d times", n)
		}
		dir.SetSource(right)
		after(firstWithin)
		dir.wantNames("Jonathan A.", jon)
		third := newService(t)
		third.people[harbour] = people(jon, "Jon B.")
		dir.SetSource(third)
		after(firstWithin)
		dir.wantNames("Jon B.", jon)
		dir.SetSource(nil)
		after(24 * time.Hour)
		if n, m := len(wrong.times("employees", harbour)), len(third.times("employees", harbour)); n != 1 || m != 1 {
			t.Errorf("asked %d and %d times", n, m)
		}
		dir.wantNames("Jon B.", jon)
	})
}

// slow is a store whose first Put takes its time, also when its caller has given up.
type slow struct {
	*deadlineStore
	puts atomic.Int32
	goOn chan struct{}
}

func (s *slow) Put(ctx context.Context, key string, value []byte) error {
	if s.puts.Add(1) == 1 {
		<-s.goOn
	}
	return s.deadlineStore.Put(ctx, key, value)
}
