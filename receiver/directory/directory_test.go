package directory

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/receiver/plan"
	"ticketrail/receiver/posapi"
)

var (
	_ plan.Names = (*Directory)(nil)
	_ plan.Zones = (*Directory)(nil)
	_ Source     = (*posapi.Client)(nil)
)

func TestNamesAndTheZoneAreThereMomentsAfterTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(strings.ToUpper(jon), "Jonathan A.", "E-17", "Ann")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Australia/Melbourne")}
		k := open(t, s, nil, strings.ToUpper(harbour), harbour, station)
		k.want("-", jon)
		after(firstWithin)
		k.want("Jonathan A., Jonathan A., Ann, -, -", jon, strings.ToUpper(jon), "E-17", "e-17", kim)
		if got := k.are(strings.ToUpper(harbour), jon); got != "Jonathan A." {
			t.Errorf("asked with the venue in capitals: %s", got)
		}
		if got := k.are(station, jon) + k.are("", jon) + k.are("x", ""); got != "---" {
			t.Errorf("at other venues: %s", got)
		}
		if zone, ok := k.Zone(strings.ToUpper(harbour)); zone != "Australia/Melbourne" || !ok {
			t.Errorf("zone %q %v", zone, ok)
		}
		for _, v := range []string{station, "x"} {
			if zone, ok := k.Zone(v); zone != "" || ok {
				t.Errorf("zone of %s: %q %v", v, zone, ok)
			}
		}
		if n := len(k.Status()); n != 2 {
			t.Errorf("%d venues, want 2", n)
		}
	})
}

func TestNamesAreAskedForAgainEverySixHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(jon, "Jon")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "UTC")}
		k := open(t, s, nil, harbour)
		after(time.Minute)
		s.do(func() { s.people[harbour] = people(jon, "Jonathan A.", ann, "Ann") })
		k.want("Jon, -", jon, ann)
		after(7 * time.Hour)
		k.want("Jonathan A., Ann", jon, ann)
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

func TestOneVenuesHangNeverDelaysAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour], s.people[station] = people(jon, "Jon"), people(jon, "Jonny")
		s.hangs[harbour] = true
		k := open(t, s, newStore(t), harbour, station)
		after(firstWithin)
		if got := k.are(harbour, jon) + k.are(station, jon); got != "-Jonny" {
			t.Errorf("names are %s", got)
		}
		s.do(func() { s.hangs[harbour] = false })
		after(askPatience + 2*shortestPause)
		k.want("Jon", jon)
		if n := k.logs.count("WARN", harbour, "not done after 15m0s"); n != 2 {
			t.Errorf("%d warnings, want one of each kind", n)
		}
	})
}

func TestAListThatBreaksOffLeavesTheOldNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newService(t), newStore(t)
		s.people[harbour] = people(jon, "Jon", ann, "Ann")
		k := open(t, s, b, harbour)
		after(firstWithin)
		before := b.Value(harbour)
		s.do(func() {
			s.people[harbour] = people(jon, "Other", kim, "Kim", ann, "Other")
			s.broken[harbour] = errors.New("unexpected end")
		})
		after(7 * time.Hour)
		k.want("Jon, Ann, -", jon, ann, kim)
		if b.Value(harbour) != before {
			t.Error("what is stored has changed")
		}
		st := k.status(harbour)
		if st.EmployeesErr == nil || st.Employees != 2 || st.Left != 0 || !st.Whole || st.Age < 7*time.Hour {
			t.Errorf("status %+v", st)
		}
		s.do(func() { s.broken[harbour] = nil })
		after(longestPause)
		k.want("Other, Other, Kim", jon, ann, kim)
	})
}

func TestAFailureIsTriedAgainSoonThenSlowlyAndToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour], s.broken[harbour] = people(jon, "Jon"), errors.New("not available")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "UTC")}
		k := open(t, s, nil, harbour)
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
		if n := k.logs.count("WARN"); n != 1 {
			t.Errorf("%d warnings about one thing", n)
		}
		s.do(func() { s.broken[harbour] = errors.New("forbidden") })
		after(2 * time.Hour)
		s.do(func() { s.broken[harbour] = nil })
		after(2 * time.Hour)
		if n, m := k.logs.count("WARN"), k.logs.count("INFO", "employees are known"); n != 2 || m != 1 {
			t.Errorf("%d warnings, %d times good news", n, m)
		}
		if st := k.status(harbour); st.EmployeesErr != nil {
			t.Errorf("status %+v", st)
		}
	})
}

func TestWhatTheServiceAsksForIsWaitedWithinReason(t *testing.T) {
	for _, c := range []struct{ asks, least, most time.Duration }{
		{0, 30 * time.Second, time.Minute},
		{20 * time.Minute, 20 * time.Minute, 20 * time.Minute},
		{1000 * time.Hour, 6 * time.Hour, 6 * time.Hour},
	} {
		if got := new(task).pause(6*time.Hour, failed, fmt.Errorf("x: %w", &posapi.Error{RetryAfter: c.asks})); got < c.least || got > c.most {
			t.Errorf("asked for %v, waits %v", c.asks, got)
		}
	}
}

func TestAListOfAnotherLengthThanTheServiceCountsMakesNobodyLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(jon, "Jon", ann, "Ann")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "UTC")}
		k := open(t, s, nil, harbour)
		after(firstWithin)
		s.do(func() {
			s.people[harbour] = people(jon, "Jonathan A.", kim, "Kim")
			s.broken[harbour] = &posapi.CountError{Call: posapi.CallEmployees, Venue: harbour, Got: 2, Want: []int{3}}
		})
		after(6*time.Hour + 36*time.Minute)
		k.want("Jonathan A., Ann, Kim", jon, ann, kim)
		if st := k.status(harbour); st.Left != 0 || st.Employees != 3 || st.Age < 6*time.Hour || st.EmployeesErr == nil {
			t.Errorf("status %+v", st)
		}
		after(4 * time.Hour)
		if n := len(s.times("employees", harbour)); n != 3 {
			t.Errorf("asked %d times, want a second look and no third", n)
		}
		s.do(func() { s.broken[harbour] = nil })
		after(4 * time.Hour)
		k.want("Jonathan A., Ann, Kim", jon, ann, kim)
		if st := k.status(harbour); st.Left != 1 || st.EmployeesErr != nil || st.Age > 4*time.Hour {
			t.Errorf("status %+v", st)
		}
		if n, m := k.refreshed(incomplete), k.refreshed(ok); n != 2 || m != 2 {
			t.Errorf("counted %v incomplete and %v whole lists", n, m)
		}
	})
}

func TestWhoLeftKeepsHisNameForAMonthOfRunningTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newService(t), newStore(t)
		s.people[harbour] = people(jon, "Jon", ann, "Ann", kim, "Kim")
		k := open(t, s, b, harbour)
		after(time.Hour)
		s.do(func() { s.people[harbour] = people(ann, "Ann", kim, "Kim") })
		after(7 * time.Hour)
		s.do(func() { s.people[harbour] = people(ann, "Ann") })
		after(14 * 24 * time.Hour)
		k.end()
		after(365 * 24 * time.Hour) // switched off, or a clock that jumped
		k = open(t, s, b, harbour)
		k.want("Jon, Ann, Kim", jon, ann, kim)
		if st := k.status(harbour); st.Left != 2 || st.Age < 365*24*time.Hour {
			t.Errorf("status %+v", st)
		}
		s.do(func() { s.people[harbour] = people(ann, "Ann", kim, "Kim B.") }) // who is back is back
		after(15 * 24 * time.Hour)
		k.want("Jon, Ann, Kim B.", jon, ann, kim)
		after(3 * 24 * time.Hour)
		k.want("-, Ann, Kim B.", jon, ann, kim)
	})
}

func TestAPanicOverAnAnswerIsAFailureAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour], s.panics = people(jon, "Jon"), true
		k := open(t, s, nil, harbour)
		after(firstWithin)
		if k.logs.count("ERROR", "a list like no other") != 1 || k.status(harbour).EmployeesErr == nil {
			t.Error("nobody is told")
		}
		s.do(func() { s.panics = false })
		after(time.Minute)
		k.want("Jon", jon)
	})
}

func TestMetricsAreThereFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(jon, "Jon", ann, "Ann")
		k := open(t, s, newStore(t), harbour)
		text := func() string {
			return fmt.Sprintf(`# HELP ticketrail_directory_employees Employees of a venue whose names are known, those who left lately included.
# TYPE ticketrail_directory_employees gauge
ticketrail_directory_employees{venue=%q} %d
# HELP ticketrail_directory_age_seconds Time since the list of a venue's employees last came whole; since the start if it never did.
# TYPE ticketrail_directory_age_seconds gauge
ticketrail_directory_age_seconds{venue=%q} %v
`, harbour, k.status(harbour).Employees, harbour, k.status(harbour).Age.Seconds())
		}
		if n, err := testutil.GatherAndCount(k.reg, "ticketrail_directory_refreshes_total"); n != len(outcomes) || err != nil {
			t.Errorf("%d series, %v", n, err)
		}
		if p, err := testutil.GatherAndLint(k.reg); len(p) > 0 || err != nil {
			t.Errorf("%v %v", p, err)
		}
		for _, wait := range []time.Duration{0, time.Hour} {
			after(wait)
			if err := testutil.GatherAndCompare(k.reg, strings.NewReader(text()), "ticketrail_directory_employees", "ticketrail_directory_age_seconds"); err != nil {
				t.Error(err)
			}
		}
		if d := cmp.Diff(VenueStatus{Venue: harbour, Employees: 2, Whole: true, Age: k.status(harbour).Age}, k.status(harbour),
			cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ZoneErr" }, cmp.Ignore())); d != "" {
			t.Error(d)
		}
	})
}
func TestMoreEmployeesThanAreKeptAreNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		for i := range maxPeople + 5 {
			s.people[harbour] = append(s.people[harbour], posapi.Employee{ID: fmt.Sprint(i), Name: "X"})
		}
		k := open(t, s, newStore(t), harbour)
		after(firstWithin)
		st := k.status(harbour)
		if st.Employees != maxPeople || st.EmployeesErr == nil || st.StoreErr != nil {
			t.Errorf("status %+v", st)
		}
		after(24 * time.Hour)
		if n := len(s.times("employees", harbour)); n > 7 {
			t.Errorf("asked %d times in a day", n)
		}
	})
}
