package pos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/kv"
	"ticketrail/queue/queuetest"
	"ticketrail/receiver/plan"
)

var _ plan.Names = (*Names)(nil)

const (
	jon = "0b9d3f6a-8c1e-4e53-a3c1-5d7e9f10aaaa"
	ann = "0b9d3f6a-8c1e-4e53-a3c1-5d7e9f10bbbb"
	kim = "0b9d3f6a-8c1e-4e53-a3c1-5d7e9f10cccc"
)

func TestNamesAndTheZoneAreKnownSecondsAfterTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestaurants()
		r.employ(harbour, strings.ToUpper(jon), "Jonathan A.", "E-17", "Ann")
		n := open(t, r, nil, harbour, station)
		n.wantNames("-", jon)
		after(firstWithin)
		n.wantNames("Jonathan A., Jonathan A., Ann, -, -", jon, strings.ToUpper(jon), "E-17", "e-17", kim)
		for _, v := range []string{station, "", "x"} {
			name, ok := n.Name(v, jon)
			assert.True(t, !ok, v, name)
		}
		zone, known := n.Zone(harbour)
		_, ok := n.Zone("x")
		assert.True(t, zone == "Australia/Melbourne" && known && !ok && n.Count(harbour) == 2, zone, ok,
			n.Count(harbour))
	})
}

func TestNamesAreRefreshedEverySixHoursAndAfterAFailureInTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestaurants()
		r.employ(harbour, jon, "Jon")
		n := open(t, r, nil, harbour)
		after(time.Minute)
		r.employ(harbour, jon, "Jonathan A.", ann, "Ann")
		n.wantNames("Jon, -", jon, ann)
		after(7 * time.Hour)
		n.wantNames("Jonathan A., Ann", jon, ann)

		after(93 * time.Hour)
		for _, what := range []string{"v1/labor/employees", "v1/labor/payrollperiods"} {
			r.wantGaps(t, what, 5*time.Hour+24*time.Minute, 6*time.Hour+36*time.Minute, 15)
		}

		r.do(func() { r.Employees, r.at = status(http.StatusForbidden), map[string][]time.Duration{} })
		after(31 * time.Hour)
		r.wantGaps(t, "v1/labor/employees", 10*time.Minute, 11*time.Minute, 24*5)
		n.wantNames("Jonathan A., Ann", jon, ann)
		r.do(func() { r.Employees = nil })
		after(11 * time.Minute)
		assert.True(t, n.logged("INFO", "venue refreshed", "employees=2", "Australia/Melbourne") != 0,
			"the good news is not logged")
	})
}

func TestAServiceThatGivesNoAnswerOnceIsNoProblemAndOneThatRefusesIs(t *testing.T) {
	for _, c := range []struct {
		service     http.RoundTripper
		first, then int // problems after the first time, and after the second
	}{
		{inMemory{status(http.StatusForbidden)}, 1, 1},
		{deaf{}, 0, 1},
		{inMemory{newRestaurants()}, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := open(t, nil, nil)
			n.Use(client(nil, Options{Transport: c.service}), map[string]bool{harbour: true})
			after(time.Minute)
			first := n.Problems(harbour)
			after(11 * time.Minute)
			then := n.Problems(harbour)
			assert.True(t, len(first) == c.first && len(then) == c.then && n.Problems(station) == nil, c.service, first,
				then)
		})
	}
}

// deaf is a service without an answer.
type deaf struct{}

func (deaf) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("cable") }

func TestUseChangesTheVenuesAndRefreshesAllOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store := newRestaurants(), queuetest.NewStore()
		r.employ(harbour, jon, "Jon")
		r.employ(station, jon, "Jonny")
		n := open(t, r, store)
		c := client(r, Options{})
		n.Use(c, map[string]bool{harbour: true})
		after(firstWithin)
		if n.wantNames("Jon", jon); r.times("v1/labor/payroll") != nil {
			t.Error("payroll periods were requested for a venue whose zone is configured")
		}

		r.employ(harbour, jon, "Jonathan A.")
		n.Use(c, map[string]bool{harbour: false, station: false})
		after(firstWithin)
		n.wantNames("Jonathan A.", jon)
		name, _ := n.Name(station, jon)
		zone, _ := n.Zone(harbour)
		assert.True(t, name == "Jonny" && zone != "", "the other one's name is", name, zone)

		r.do(func() { r.hangs = harbour })
		r.employ(station, jon, "Joe")
		n.Use(c, map[string]bool{harbour: false, station: false})
		after(firstWithin)
		name, _ = n.Name(station, jon)
		assert.Equal(t, name, "Joe", "beside one that hangs the name is")
		n.Use(c, map[string]bool{station: false}) // while the other is asked about
		after(firstWithin)
		if n.wantNames("-", jon); strings.Join(store.Keys(), " ") != station {
			t.Errorf("stored: %s", store.Keys())
		}

		n.Use(nil, nil)
		before := len(r.times(""))
		after(24 * time.Hour)
		name, _ = n.Name(station, jon)
		assert.True(t, name == "" && len(r.times("")) == before && len(store.Keys()) == 0,
			"without a service the name is", name)
	})
}

func TestAnIncompleteListIsUsedAndOneThatBreaksOffChangesNothing(t *testing.T) {
	r := &record{People: map[string]string{jon: "Jon", ann: "Ann"}}
	ending := func(err error) iter.Seq2[Employee, error] {
		return func(yield func(Employee, error) bool) {
			_ = yield(Employee{ID: jon, Name: "Jonathan A."}, nil) && yield(Employee{ID: kim, Name: "Kim"}, nil) &&
				err != nil && yield(Employee{}, err)
		}
	}
	brokeOff, before := &Error{}, fmt.Sprint(r.People)
	err := r.readPeople(ending(brokeOff))
	assert.True(t, err == brokeOff && fmt.Sprint(r.People) == before, err, r.People)
	err = r.readPeople(ending(&Error{Incomplete: true}))
	assert.True(t, Incomplete(err) && r.People[jon] == "Jonathan A." && r.People[ann] == "Ann" &&
		r.People[kim] == "Kim", err, r.People)
	if err := r.readPeople(ending(nil)); err != nil || len(r.People) != 2 { // who has left is gone
		t.Errorf("%v, %v", err, r.People)
	}
}

func TestAPanicIsAFailedRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestaurants()
		r.employ(harbour, jon, "Jon")
		n := open(t, nil, nil, harbour)
		n.Use(client(nil, Options{Transport: panicking}), map[string]bool{harbour: false})
		after(time.Hour)
		assert.True(t, n.logged("ERROR", "an answer like no other") != 0 &&
			n.Problems(harbour)[0].Advice == "see the log", "not reported")
		n.Use(client(r, Options{}), map[string]bool{harbour: false})
		after(time.Minute)
		n.wantNames("Jon", jon)
	})
}

var panicking roundTrip = func(*http.Request) (*http.Response, error) { panic("an answer like no other") }

func TestTheZoneIsThatOfTheNewestPeriod(t *testing.T) {
	period := func(start, zone string) string {
		return fmt.Sprintf(`{"payrollPeriodStartDateTime":%q,"meta":{"timezone":%q}}`, start, zone)
	}
	const none = "no payroll period has a time zone"
	for _, c := range []struct {
		count     int
		periods   []string
		want, bad string
	}{
		{0, nil, "", none},
		{3, []string{period("2026-01-19", "Europe/Lisbon"), period("2026-02-02", "Europe/Oslo"),
			period("2025-12-29", "UTC")}, "Europe/Oslo", ""},
		{2, []string{period("2026-01-19", "Europe/Lisbon"), period("2026-02-02", "")}, "Europe/Lisbon", ""},
		{1, []string{period("2026-02-02", "")}, "", none},
		{2, []string{period("2026-02-02", "America/New_York")}, "America/New_York", "the service counts 2"},
		{1, []string{`"Europe/Oslo"`}, "", "want an object"},
	} {
		v := venue(t, &service{Payroll: say(envelope(c.count, c.periods...))}, Options{})
		zone, err := v.Zone(t.Context())
		assert.True(t, zone == c.want && (err != nil) == (c.bad != ""), c.periods, zone, err)
		if err != nil {
			wantError(t, err, CallPayrollPeriods, c.bad)
		}
	}
}

func TestAZoneStaysUntilThereIsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestaurants()
		n := open(t, r, nil, harbour)
		after(firstWithin)
		for _, list := range []string{`[]`, `["x"]`} {
			r.do(func() { r.Payroll = say(`{"records":` + list + `}`) })
			after(7 * time.Hour)
			zone, _ := n.Zone(harbour)
			assert.True(t, zone == "Australia/Melbourne" && len(n.Problems(harbour)) == 1, list, zone,
				n.Problems(harbour))
		}

		r.do(func() { r.Payroll = say(`{"records":[{"meta":{"timezone":"Europe/Oslo"}}]}`) })
		after(7 * time.Hour)
		zone, _ := n.Zone(harbour)
		assert.True(t, zone == "Europe/Oslo" && n.Problems(harbour) == nil, zone, n.Problems(harbour))
	})
}

func TestAnAnswerToTheOldClientDoesNotReplaceOneToTheNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong, right := newRestaurants(), newRestaurants()
		wrong.employ(harbour, jon, "Who")
		right.employ(harbour, jon, "Jonathan A.")
		store := &slowStore{Store: queuetest.NewStore(), goOn: make(chan struct{})}
		n := open(t, wrong, store, harbour)
		after(firstWithin)
		n.Use(client(right, Options{}), map[string]bool{harbour: false})
		after(time.Minute)
		close(store.goOn)
		after(time.Minute)
		n.wantNames("Jonathan A.", jon)
		n.end()
		open(t, nil, store, harbour).wantNames("Jonathan A.", jon)
	})
}

// A slowStore takes its time for the first Put, also when its caller has given up.
type slowStore struct {
	*queuetest.Store
	puts atomic.Int32
	goOn chan struct{}
}

func (s *slowStore) Put(ctx context.Context, key string, value []byte) error {
	if s.puts.Add(1) == 1 {
		<-s.goOn
	}
	return s.Store.Put(context.WithoutCancel(ctx), key, value)
}

func TestNamesAreInUseAlsoWhenNotStored(t *testing.T) {
	// Whether the Put failed, succeeded or has an unknown outcome: the new names are in use, the next start has the old
	// or the new ones, and the start after that has the new ones.
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
				r, store := newRestaurants(), queuetest.NewStore()
				r.employ(harbour, jon, "old")
				n := open(t, r, store, harbour)
				after(firstWithin)
				r.employ(harbour, jon, "new")
				store.Inject(c.fault)
				after(7 * time.Hour)
				n.wantNames("new", jon)
				n.Use(client(r, Options{}), map[string]bool{harbour: false})
				n.wantNames("new", jon)
				warned := n.logged("WARN", "not stored")
				assert.Equal(t, (warned == 0), (c.name == "works"), warned)
				n.end()
				store.Inject(queuetest.None)
				n = open(t, r, store, harbour)
				n.wantNames(c.found, jon)
				after(firstWithin)
				n.end()
				open(t, nil, store, harbour).wantNames("new", jon)
			})
		})
	}
}

func TestAStoredValueThatCannotBeReadIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store := newRestaurants(), queuetest.NewStore()
		r.employ(harbour, jon, "Jon")
		for _, bad := range []string{"", "{", `{"people":7}`, "not readable"} {
			store.Set(harbour, bad)
			store.InjectRead(bad == "not readable")
			n := open(t, r, store, harbour)
			n.wantNames("-", jon)
			after(firstWithin)
			if n.wantNames("Jon", jon); n.logged("WARN", "cannot be read") != 1 {
				t.Errorf("%q: no warning", bad)
			}
			n.end()
			store.InjectRead(false)
			open(t, nil, store, harbour).wantNames("Jon", jon)
		}
	})
}

func TestANameIsOneShortVisibleLine(t *testing.T) {
	for _, c := range []struct {
		e    Employee
		want string
	}{
		{Employee{Name: " Jonathan\n A. ", FirstName: "Jon"}, "Jonathan A."},
		{Employee{Name: strings.Repeat("x", maxName+1)}, strings.Repeat("x", maxName)},
		{Employee{Name: " \x00\u200d", FirstName: "Jonathan", LastName: "Álvarez"}, "Jonathan Álvarez"},
		{Employee{LastName: "Álvarez"}, "Álvarez"},
		{Employee{}, ""},
	} {
		assert.Equal(t, displayName(c.e), c.want, c.e.Name)
	}
	r := &record{}
	_ = r.readPeople(func(yield func(Employee, error) bool) { // ids that no order has
		for _, id := range []string{"", " ", "a\tb", "\x00", "\xff", "\u202e", strings.Repeat("1", maxID+1), " E-1 "} {
			yield(Employee{ID: id, Name: "X"}, nil)
		}
	})
	assert.True(t, len(r.People) == 1 && r.People["E-1"] == "X", r.People)
}

// restaurants are a service whose employees change, and which notes when it was asked.
type restaurants struct {
	service
	people map[string]string // lists by venue; guarded by mu, as the fields below
	hangs  string            // this venue's list of employees does not come
	at     map[string][]time.Duration
	start  time.Time
}

func newRestaurants() *restaurants {
	return &restaurants{people: map[string]string{}, at: map[string][]time.Duration{}, start: time.Now()}
}

func (r *restaurants) do(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// employ sets the employees of a venue: ids and names.
func (r *restaurants) employ(venue string, pairs ...string) {
	var all []string
	for p := range slices.Chunk(pairs, 2) {
		all = append(all, fmt.Sprintf(`{"id":%q,"name":%q}`, p[0], p[1]))
	}
	r.do(func() { r.people[venue] = envelope(len(all), all...) })
}

// times are when requests for a path came.
func (r *restaurants) times(path string) (all []time.Duration) {
	r.do(func() {
		for p, at := range r.at {
			if strings.HasPrefix(p, path) {
				all = append(all, at...)
			}
		}
	})
	slices.Sort(all)
	return all
}

// wantGaps checks the pauses between the requests for a path.
func (r *restaurants) wantGaps(t *testing.T, path string, least, most time.Duration, times int) {
	t.Helper()
	at := r.times(path)
	for i := range at[1:] {
		gap := at[i+1] - at[i]
		assert.True(t, gap >= least && gap <= most, path, gap)
	}
	assert.True(t, len(at) >= times, path, len(at))
}

func (r *restaurants) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := strings.TrimPrefix(req.URL.Path, "/api/")
	hangs := false
	r.do(func() {
		r.at[path] = append(r.at[path], time.Since(r.start))
		hangs = r.hangs != "" && r.hangs == r.issued[tokenOf(req)] && strings.HasSuffix(path, "employees")
	})
	if hangs {
		<-req.Context().Done()
		return
	}
	r.do(func() {
		list := cmp.Or(r.people[r.issued[tokenOf(req)]], envelope(0))
		s := service{Me: r.Me, Employees: or(r.Employees, say(list)), Payroll: or(r.Payroll, say(envelope(1, period))),
			issued: r.issued}
		s.ServeHTTP(w, req)
		r.issued = s.issued
	})
}

// A testNames runs in a bubble.
type testNames struct {
	*Names
	t   *testing.T
	log *queuetest.Log
	end func() // as the daemon ends; called at the end of the test if not before
}

// open runs names that ask h, or a service without an answer.
func open(t *testing.T, h http.Handler, store kv.Store, venues ...string) *testNames {
	t.Helper()
	if store == nil {
		store = queuetest.NewStore()
	}
	n := &testNames{t: t, log: new(queuetest.Log)}
	n.Names = NewNames(store, 6*time.Hour, slog.New(slog.NewTextHandler(n.log, nil)))
	c := client(nil, Options{Transport: deaf{}})
	if h != nil {
		c = client(h, Options{})
	}
	zoned := map[string]bool{}
	for _, v := range venues {
		zoned[v] = false
	}
	n.Use(c, zoned)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Run(ctx)
	}()
	n.end = func() { stop(); <-ended }
	t.Cleanup(func() { n.end() })
	return n
}

// after lets time pass, and then waits until all that is due is done.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wantNames checks the names of employees of harbour: "Jonathan A., Ann, -".
func (n *testNames) wantNames(want string, ids ...string) {
	n.t.Helper()
	var got []string
	for _, id := range ids {
		name, ok := n.Name(harbour, id)
		if !ok {
			name = "-"
		}
		got = append(got, name)
	}
	assert.Equal(n.t, strings.Join(got, ", "), want, "names are")
}

// logged counts the lines with these words.
func (n *testNames) logged(words ...string) (count int) {
	for line := range strings.Lines(n.log.String()) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			count++
		}
	}
	return count
}
