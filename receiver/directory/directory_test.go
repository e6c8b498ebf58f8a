package directory

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/receiver/plan"
	"ticketrail/receiver/posapi"
)

var (
	_ plan.Names = (*Directory)(nil)
	_ plan.Zones = (*Directory)(nil)
	_ Source     = (*posapi.Client)(nil)
)

func TestNamesAndZoneAreKnownSecondsAfterTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(strings.ToUpper(jon), "Jonathan A.", "E-17", "Ann")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Australia/Melbourne")}
		dir := open(t, s, nil, strings.ToUpper(harbour), harbour, station)
		dir.wantNames("-", jon)
		after(firstWithin)
		dir.wantNames("Jonathan A., Jonathan A., Ann, -, -", jon, strings.ToUpper(jon), "E-17", "e-17", kim)
		if got := dir.namesOf(strings.ToUpper(harbour), jon); got != "Jonathan A." {
			t.Errorf("asked with the venue in capitals: %s", got)
		}
		if got := dir.namesOf(station, jon) + dir.namesOf("", jon) + dir.namesOf("x", ""); got != "---" {
			t.Errorf("at other venues: %s", got)
		}
		if zone, ok := dir.Zone(strings.ToUpper(harbour)); zone != "Australia/Melbourne" || !ok {
			t.Errorf("zone %q %v", zone, ok)
		}
		for _, v := range []string{station, "x"} {
			if zone, ok := dir.Zone(v); zone != "" || ok {
				t.Errorf("zone of %s: %q %v", v, zone, ok)
			}
		}
		if n := len(dir.Status()); n != 2 {
			t.Errorf("%d venues, want 2", n)
		}
	})
}

func TestATokenForAnotherVenueGivesNoNamesAndNoZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(jon, "Jon")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "UTC")}
		s.me.Venue = station
		dir := open(t, s, nil, harbour)
		after(time.Hour)
		dir.wantNames("-", jon)
		if zone, ok := dir.Zone(harbour); ok || len(s.times("employees", harbour)) > 0 {
			t.Errorf("zone %q, asked at %v", zone, s.times("employees", harbour))
		}
		err := dir.state(harbour).EmployeesErr
		if err == nil || !strings.Contains(err.Error(), "is for venue "+station) {
			t.Errorf("the error is %v", err)
		}
		s.do(func() { s.me.Venue, s.meErr = harbour, errors.New("no answer") })
		after(time.Hour)
		dir.wantNames("-", jon)
		s.do(func() { s.meErr = nil })
		after(2 * time.Hour)
		dir.wantNames("Jon", jon)
		// What was known stays: a wrong answer later is no reason to forget names.
		s.do(func() { s.me.Venue, s.people[harbour] = station, people(jon, "Jim") })
		after(24 * time.Hour)
		dir.wantNames("Jon", jon)
	})
}

func TestRefreshEverySixHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(jon, "Jon")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "UTC")}
		dir := open(t, s, nil, harbour)
		after(time.Minute)
		s.do(func() { s.people[harbour] = people(jon, "Jonathan A.", ann, "Ann") })
		dir.wantNames("Jon, -", jon, ann)
		after(7 * time.Hour)
		dir.wantNames("Jonathan A., Ann", jon, ann)
		after(93 * time.Hour)
		for _, what := range []string{"employees", "payrollperiods"} {
			times := s.times(what, harbour)
			for i := range times[1:] {
				if gap := times[i+1] - times[i]; gap < 5*time.Hour+24*time.Minute || gap > 6*time.Hour+36*time.Minute {
					t.Errorf("%s: %v between two", what, gap)
				}
			}
			if len(times) < 15 || len(times) > 19 {
				t.Errorf("%s: asked %d times in 100 h", what, len(times))
			}
		}
	})
}

func TestVenueThatHangsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour], s.people[station] = people(jon, "Jon"), people(jon, "Jonny")
		s.hangs[harbour] = true
		dir := open(t, s, newStore(t), harbour, station)
		after(firstWithin)
		if got := dir.namesOf(harbour, jon) + dir.namesOf(station, jon); got != "-Jonny" {
			t.Errorf("names are %s", got)
		}
		s.do(func() { s.hangs[harbour] = false })
		after(askTimeout + 2*shortestPause)
		dir.wantNames("Jon", jon)
		if n := dir.logs.count("WARN", harbour, "no complete answer within 15m0s"); n != 1 {
			t.Errorf("%d warnings", n)
		}
	})
}

func TestListThatBreaksOffChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newService(t), newStore(t)
		s.people[harbour] = people(jon, "Jon", ann, "Ann")
		dir := open(t, s, store, harbour)
		after(firstWithin)
		before := store.Value(harbour)
		s.do(func() {
			s.people[harbour] = people(jon, "Other", kim, "Kim", ann, "Other")
			s.broken[harbour] = errors.New("unexpected end")
		})
		after(7 * time.Hour)
		dir.wantNames("Jon, Ann, -", jon, ann, kim)
		if store.Value(harbour) != before {
			t.Error("what is stored has changed")
		}
		st := dir.state(harbour)
		if st.EmployeesErr == nil || st.Employees != 2 || st.Left != 0 || !st.Complete || st.Age < 7*time.Hour {
			t.Errorf("status %+v", st)
		}
		s.do(func() { s.broken[harbour] = nil })
		after(longestPause)
		dir.wantNames("Other, Other, Kim", jon, ann, kim)
	})
}

func TestFailureIsRetriedWithBackoffAndLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour], s.broken[harbour] = people(jon, "Jon"), errors.New("not available")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "UTC")}
		dir := open(t, s, nil, harbour)
		after(24 * time.Hour)
		times := s.times("employees", harbour)
		for i := range times[1:] {
			whole := min(time.Hour, time.Minute<<min(i, 10))
			if gap := times[i+1] - times[i]; gap < whole/2 || gap > whole {
				t.Errorf("pause %d is %v, want %v to %v", i, gap, whole/2, whole)
			}
		}
		if n := len(times); n < 25 || n > 60 {
			t.Errorf("asked %d times in a day", n)
		}
		if n := len(s.times("payrollperiods", harbour)); n > 6 {
			t.Errorf("what works was asked for %d times", n)
		}
		if n := dir.logs.count("WARN"); n != 1 {
			t.Errorf("%d warnings about one thing", n)
		}
		s.do(func() { s.broken[harbour] = errors.New("forbidden") })
		after(2 * time.Hour)
		s.do(func() { s.broken[harbour] = nil })
		after(2 * time.Hour)
		if n, m := dir.logs.count("WARN"), dir.logs.count("INFO", "venue refreshed", "step=employees"); n != 2 ||
			m != 1 {
			t.Errorf("%d warnings, %d times good news", n, m)
		}
		if st := dir.state(harbour); st.EmployeesErr != nil {
			t.Errorf("status %+v", st)
		}
	})
}

func TestRetryAfterIsObeyedUpToTheRefreshInterval(t *testing.T) {
	for _, c := range []struct{ asks, least, most time.Duration }{
		{0, 30 * time.Second, time.Minute},
		{20 * time.Minute, 20 * time.Minute, 20 * time.Minute},
		{1000 * time.Hour, 6 * time.Hour, 6 * time.Hour},
	} {
		if got := new(task).pause(6*time.Hour, failed, fmt.Errorf("x: %w",
			&posapi.Error{RetryAfter: c.asks})); got < c.least ||
			got > c.most {
			t.Errorf("asked for %v, waits %v", c.asks, got)
		}
	}
}

func TestCountErrorKeepsMissingEmployees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(jon, "Jon", ann, "Ann")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "UTC")}
		dir := open(t, s, nil, harbour)
		after(firstWithin)
		s.do(func() {
			s.people[harbour] = people(jon, "Jonathan A.", kim, "Kim")
			s.broken[harbour] = &posapi.CountError{Call: posapi.CallEmployees, Venue: harbour, Got: 2, Want: 3}
		})
		after(6*time.Hour + 36*time.Minute)
		dir.wantNames("Jonathan A., Ann, Kim", jon, ann, kim)
		if st := dir.state(harbour); st.Left != 0 || st.Employees != 3 || st.Age < 6*time.Hour ||
			st.EmployeesErr == nil {
			t.Errorf("status %+v", st)
		}
		after(4 * time.Hour)
		if n := len(s.times("employees", harbour)); n != 3 {
			t.Errorf("asked %d times, want a second look and no third", n)
		}
		s.do(func() { s.broken[harbour] = nil })
		after(4 * time.Hour)
		dir.wantNames("Jonathan A., Ann, Kim", jon, ann, kim)
		if st := dir.state(harbour); st.Left != 1 || st.EmployeesErr != nil || st.Age > 4*time.Hour {
			t.Errorf("status %+v", st)
		}
		if n, m := dir.refreshed(incomplete), dir.refreshed(ok); n != 2 || m != 2 {
			t.Errorf("counted %v incomplete and %v whole lists", n, m)
		}
	})
}

func TestNameIsKeptForAMonthOfRunningTimeAfterAnEmployeeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newService(t), newStore(t)
		s.people[harbour] = people(jon, "Jon", ann, "Ann", kim, "Kim")
		dir := open(t, s, store, harbour)
		after(time.Hour)
		s.do(func() { s.people[harbour] = people(ann, "Ann", kim, "Kim") })
		after(7 * time.Hour)
		s.do(func() { s.people[harbour] = people(ann, "Ann") })
		after(14 * 24 * time.Hour)
		dir.end()
		after(365 * 24 * time.Hour) // switched off, or a clock that jumped
		dir = open(t, s, store, harbour)
		dir.wantNames("Jon, Ann, Kim", jon, ann, kim)
		if st := dir.state(harbour); st.Left != 2 || st.Age < 365*24*time.Hour {
			t.Errorf("status %+v", st)
		}
		s.do(func() { s.people[harbour] = people(ann, "Ann", kim, "Kim B.") }) // who is back is back
		after(15 * 24 * time.Hour)
		dir.wantNames("Jon, Ann, Kim B.", jon, ann, kim)
		after(3 * 24 * time.Hour)
		dir.wantNames("-, Ann, Kim B.", jon, ann, kim)
	})
}

func TestPanicIsAFailedRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour], s.panics = people(jon, "Jon"), true
		dir := open(t, s, nil, harbour)
		after(firstWithin)
		if dir.logs.count("ERROR", "a list like no other") != 1 || dir.state(harbour).EmployeesErr == nil {
			t.Error("not reported")
		}
		s.do(func() { s.panics = false })
		after(time.Minute)
		dir.wantNames("Jon", jon)
	})
}

func TestMetricsExistFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(jon, "Jon", ann, "Ann")
		dir := open(t, s, newStore(t), harbour)
		if n, err := testutil.GatherAndCount(dir.reg, "ticketrail_directory_refreshes_total"); n != 3*len(problems) ||
			err != nil {
			t.Errorf("%d series, %v", n, err)
		}
		if p, err := testutil.GatherAndLint(dir.reg); len(p) > 0 || err != nil {
			t.Errorf("%v %v", p, err)
		}
		for _, want := range []struct{ wait, employees int }{{0, 0}, {1, 2}} {
			after(time.Duration(want.wait) * time.Hour)
			st := dir.state(harbour)
			n := dir.gauge("ticketrail_directory_employees")
			if n != float64(want.employees) || st.Employees != want.employees {
				t.Errorf("%v employees, status %+v", n, st)
			}
			if age := dir.gauge("ticketrail_directory_age_seconds"); age != st.Age.Seconds() {
				t.Errorf("the age is %v, status %+v", age, st)
			}
		}
	})
}

func TestTooManyEmployeesAreAnIncompleteList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		for i := range maxPeople + 5 {
			s.people[harbour] = append(s.people[harbour], posapi.Employee{ID: fmt.Sprint(i), Name: "X"})
		}
		dir := open(t, s, newStore(t), harbour)
		after(firstWithin)
		st := dir.state(harbour)
		if st.Employees != maxPeople || st.EmployeesErr == nil || st.StoreErr != nil {
			t.Errorf("status %+v", st)
		}
		after(24 * time.Hour)
		if n := len(s.times("employees", harbour)); n > 7 {
			t.Errorf("asked %d times in a day", n)
		}
	})
}
