package directory

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/kv"
	"ticketrail/queue/queuetest"
	"ticketrail/receiver/posapi"
)

func TestNamesAndZoneSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "queue.db")
		start := func() *queue.Queue {
			q, err := queue.Open(queue.Options{Path: path, Reserve: -1, NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		q, s := start(), newService(t)
		s.people[harbour] = people(jon, "Jonathan A.", ann, "Ann Ōé 𝄞 \u200d")
		s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Australia/Melbourne")}
		dir := open(t, s, q.KV("directory"), harbour)
		after(firstWithin)
		dir.end()
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		s.do(func() { s.broken[harbour], s.payroll = errors.New("gone"), errors.New("gone") })
		q = start()
		dir = open(t, s, q.KV("directory"), strings.ToUpper(harbour))
		for range 2 { // before the first question and after it
			dir.wantNames("Jonathan A., Ann Ōé 𝄞 \u200d", jon, ann)
			if zone, ok := dir.Zone(harbour); zone != "Australia/Melbourne" || !ok {
				t.Errorf("zone %q %v", zone, ok)
			}
			if st := dir.state(harbour); !st.Complete || st.Age < time.Hour {
				t.Errorf("status %+v", st)
			}
			after(firstWithin)
		}
		dir.end()
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNamesAreInUseAlsoWhenNotStored(t *testing.T) {
	// Whether the Put failed, succeeded or has an unknown outcome: the new names are in use, the next
	// start has the old or the new ones, and the start after that has the new ones.
	for _, c := range []struct {
		name  string
		fault queuetest.Fault
		found string // at the next start
	}{
		{"works", queuetest.None, "new"},
		{"failed", queuetest.Failed, "old"},
		{"failed but persisted", queuetest.FailedPersisted, "new"},
		{"hangs", queuetest.Hangs, "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := newService(t), newStore(t)
				s.people[harbour] = people(jon, "old")
				s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Europe/Lisbon")}
				dir := open(t, s, store, harbour)
				after(firstWithin)
				dir.wantNames("old", jon)
				s.do(func() {
					s.people[harbour] = people(jon, "new")
					s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Europe/Oslo")}
				})
				store.Inject(c.fault)
				after(7 * time.Hour)
				dir.wantNames("new", jon)
				if zone, _ := dir.Zone(harbour); zone != "Europe/Oslo" {
					t.Errorf("zone %s", zone)
				}
				if st := dir.state(harbour); (st.StoreErr != nil) != (c.name != "works") {
					t.Errorf("status %+v", st)
				}
				dir.end()
				store.Inject(queuetest.None)
				dir = open(t, s, store, harbour)
				dir.wantNames(c.found, jon)
				after(firstWithin)
				dir.wantNames("new", jon)
				dir.end()
				dir = open(t, nil, store, harbour)
				dir.wantNames("new", jon)
				if zone, _ := dir.Zone(harbour); zone != "Europe/Oslo" {
					t.Errorf("zone %s", zone)
				}
			})
		})
	}
}

func TestUnreadableRecordIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, bad := range []map[string]string{
			{harbour: ""}, {harbour: "{"}, {harbour: `{"version":3}`}, {harbour: `{"version":2,"ran":-1}`},
			{harbour: `{"version":2,"ran":9223372036854775807}`},
		} {
			s, store := newService(t), newStore(t)
			s.people[harbour] = people(jon, "Jon")
			s.periods[harbour] = []posapi.PayrollPeriod{period("2026-01-05", "Europe/Lisbon")}
			for key, value := range bad {
				store.Set(key, value)
			}
			dir := open(t, s, store, harbour)
			if n := dir.logs.count("WARN", "cannot be read"); n != 1 {
				t.Errorf("%q: %d warnings", bad, n)
			}
			dir.wantNames("-", jon)
			after(firstWithin)
			dir.wantNames("Jon", jon)
			dir.end()
			if dir = open(t, nil, store, harbour); dir.state(harbour).Zone != "Europe/Lisbon" {
				t.Error("the zone is not kept")
			}
			dir.wantNames("Jon", jon)
			dir.end()
		}
	})
}

func TestNamesAreKnownWithAFailedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.people[harbour] = people(jon, "Jon")
		store := newStore(t)
		store.Inject(queuetest.Failed)
		store.InjectRead(true)
		dir := open(t, s, store, harbour)
		after(firstWithin)
		dir.wantNames("Jon", jon)
	})
}

func TestLargestRecordFitsIntoTheStore(t *testing.T) {
	for _, letter := range []string{`"`, "<", "é"} {
		l := list{people: map[string]person{}, complete: true}
		for i := range maxPeople + 10 {
			id := fmt.Sprintf("%s%d", strings.Repeat(`"`, maxID-6), 100_000+i)
			l.add(posapi.Employee{ID: id, Name: strings.Repeat(letter, maxName)})
		}
		b, err := new(record).with(l).encode()
		if err != nil || len(b) > kv.MaxValue || len(b) < 2<<20 {
			t.Errorf("%s: %d bytes, %v", letter, len(b), err)
		}
	}
}

func TestNameIsOneShortVisibleLine(t *testing.T) {
	for _, c := range []struct {
		e    posapi.Employee
		want string
	}{
		{posapi.Employee{Name: " Jonathan A. "}, "Jonathan A."},
		{posapi.Employee{Name: "Jon\x1b[31m\x00\n\r\tA\u0085."}, "Jon [31m A ."},
		{posapi.Employee{Name: "\u202eevil\u2066\ufeff \xff\xfeEve"}, "evil Eve"},
		{posapi.Employee{Name: "Zoë Ł. \u00a0 مریم\u200cها 李"}, "Zoë Ł. مریم\u200cها 李"},
		{posapi.Employee{Name: strings.Repeat("é", 80)}, strings.Repeat("é", 50)},
		{posapi.Employee{Name: strings.Repeat("x", 99) + " y"}, strings.Repeat("x", 99)},
		{posapi.Employee{Name: " \x00\u200d", FirstName: "Jonathan", LastName: "Álvarez"}, "Jonathan Á."},
		{posapi.Employee{FirstName: "Jonathan"}, "Jonathan"},
		{posapi.Employee{LastName: "Álvarez"}, "Álvarez"},
		{posapi.Employee{FirstName: strings.Repeat("x", 200), LastName: "A"}, strings.Repeat("x", 100)},
		{posapi.Employee{}, ""},
	} {
		if got := displayName(c.e); got != c.want {
			t.Errorf("%.60q: %q, want %q", c.e.Name, got, c.want)
		}
	}
}

func TestEmployeesWithoutAUsableIDAreIgnored(t *testing.T) {
	l := list{people: map[string]person{}}
	for _, s := range []string{"", " ", "a\tb", "a\nb", "\x00", "\xff", "\u202e", strings.Repeat("1", maxID+1)} {
		l.add(posapi.Employee{ID: s, Name: "X"})
	}
	if len(l.people) != 0 {
		t.Errorf("%+v", l)
	}
	if l.add(posapi.Employee{ID: " E-1 ", Name: "X"}); l.people["E-1"].Name != "X" {
		t.Errorf("%+v", l)
	}
}

func TestNumberOfNamesIsLimited(t *testing.T) {
	crowd := func(from int, whole bool) list {
		l := list{people: map[string]person{}, complete: whole}
		for i := range 4500 {
			l.add(posapi.Employee{ID: fmt.Sprint(from + i), Name: "X"})
		}
		return l
	}
	r := (&record{made: time.Now()}).with(crowd(0, true))
	r = r.with(crowd(4500, true)) // the first have left
	r.Ran += 10
	r = r.with(crowd(9000, true)) // the second as well, later
	has := func(from int) (n int) {
		for i := range 4500 {
			if _, ok := r.People[fmt.Sprint(from+i)]; ok {
				n++
			}
		}
		return n
	}
	if a, b, c := has(0), has(4500), has(9000); a != 1000 || b != 4500 || c != 4500 {
		t.Errorf("kept %d, %d and %d: those who left first should be forgotten first", a, b, c)
	}
	r = r.with(crowd(13500, false)) // nobody left
	if a, b := has(4500), has(9000); a != 1000 || b != 4500 {
		t.Errorf("kept %d, %d", a, b)
	}
}

func TestStoredTimeOfTheListSurvivesAStartWithAnUnsetClock(t *testing.T) {
	// The record was stored by a run whose clock was right, and loaded by one whose clock is not set yet.
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		store.Set(harbour, `{"version":2,"as_of":"2026-11-22T10:00:00Z","ran":1,"people":{"a":{"name":"Ann"}}}`)
		dir := New(Options{KV: store})
		dir.Set(asVenues(harbour))
		r := dir.known(harbour)
		time.Sleep(time.Hour)
		if got := r.age(); got != time.Hour { // better too short than negative
			t.Errorf("an hour after the start the age is %v", got)
		}
		value, err := r.later().encode() // as a new time zone does
		if err != nil || !strings.Contains(string(value), `"as_of":"2026-11-22T10:00:00Z"`) {
			t.Errorf("%s, %v", value, err)
		}
		// The clock is set meanwhile: to 2026-11-22T11:00:00Z.
		time.Sleep(time.Until(time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)))
		r.since = time.Now().Add(-time.Minute)
		if got := r.age(); got != time.Hour {
			t.Errorf("with the clock set the age is %v", got)
		}
	})
}

func TestAgeIsNeverNegative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for stored, want := range map[string]time.Duration{
			"":                     0,
			"1999-12-31T23:00:00Z": time.Hour,
			"2000-01-01T09:00:00Z": 0, // the clock was set back
			"1000-01-01T00:00:00Z": math.MaxInt64,
		} {
			store := newStore(t)
			if stored != "" {
				store.Set(harbour, `{"version":2,"as_of":"`+stored+`","ran":1}`)
			}
			dir := New(Options{KV: store})
			dir.Set(asVenues(harbour))
			if got := dir.known(harbour).age(); got != want {
				t.Errorf("%s: %v, want %v", stored, got, want)
			}
		}
	})
}
