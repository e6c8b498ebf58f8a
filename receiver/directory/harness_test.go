package directory

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/queue/kv"
	"ticketrail/queue/queuetest"
	"ticketrail/receiver/posapi"
)

const (
	harbour = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	station = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a22"
	jon     = "0b9d3f6a-8c1e-4e53-a3c1-5d7e9f10aaaa"
	ann     = "0b9d3f6a-8c1e-4e53-a3c1-5d7e9f10bbbb"
	kim     = "0b9d3f6a-8c1e-4e53-a3c1-5d7e9f10cccc"
)

// A service is a Source that does as its test says.
type service struct {
	t  *testing.T
	mu sync.Mutex
	// What follows is guarded by mu.
	people  map[string][]posapi.Employee // by venue
	periods map[string][]posapi.PayrollPeriod
	broken  map[string]error // ends the list after its first half; a CountError comes behind it
	payroll error            // of every venue
	me      posapi.Me        // of every venue
	meErr   error
	hangs   map[string]bool // until the caller gives up
	panics  bool            // in the middle of a list
	asked   map[string][]time.Duration
	start   time.Time
}

func newService(t *testing.T) *service {
	return &service{
		t: t, people: map[string][]posapi.Employee{}, periods: map[string][]posapi.PayrollPeriod{},
		broken: map[string]error{}, hangs: map[string]bool{}, asked: map[string][]time.Duration{}, start: time.Now(),
	}
}

func (s *service) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// ask notes a call and checks that it has a deadline.
func (s *service) ask(ctx context.Context, what, venue string) (hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := ctx.Deadline(); !ok {
		s.t.Errorf("%s of %s are asked for without a time-out", what, venue)
	}
	s.asked[what+" "+venue] = append(s.asked[what+" "+venue], time.Since(s.start))
	return s.hangs[venue]
}

func (s *service) times(what, venue string) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked[what+" "+venue])
}

func (s *service) Me(ctx context.Context, venue string) (posapi.Me, error) {
	s.ask(ctx, "me", venue)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.me, s.meErr
}

func (s *service) Employees(ctx context.Context, venue string) iter.Seq2[posapi.Employee, error] {
	return func(yield func(posapi.Employee, error) bool) {
		if s.ask(ctx, "employees", venue) {
			<-ctx.Done()
			yield(posapi.Employee{}, ctx.Err())
			return
		}
		s.mu.Lock()
		people, broken, panics := slices.Clone(s.people[venue]), s.broken[venue], s.panics
		s.mu.Unlock()
		if _, odd := errors.AsType[*posapi.CountError](broken); broken != nil && !odd {
			people = people[:len(people)/2]
		}
		for _, p := range people {
			if panics {
				panic("a list like no other")
			}
			if !yield(p, nil) {
				return
			}
		}
		if broken != nil {
			yield(posapi.Employee{}, broken)
		}
	}
}

func (s *service) PayrollPeriods(ctx context.Context, venue string) ([]posapi.PayrollPeriod, error) {
	if s.ask(ctx, "payrollperiods", venue) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.periods[venue]), s.payroll
}

func period(start, zone string) posapi.PayrollPeriod {
	return posapi.PayrollPeriod{Start: start, End: start, Meta: posapi.PayrollMeta{Timezone: zone}}
}

func people(pairs ...string) (all []posapi.Employee) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, posapi.Employee{ID: pairs[i], Name: pairs[i+1]})
	}
	return all
}

// A deadlineStore fails the test on a Put without a deadline: while it waits, the names of all
// other venues wait as well.
type deadlineStore struct {
	*queuetest.Store
	t *testing.T
}

func newStore(t *testing.T) *deadlineStore { return &deadlineStore{queuetest.NewStore(), t} }

func (s *deadlineStore) Put(ctx context.Context, key string, value []byte) error {
	if _, ok := ctx.Deadline(); !ok {
		s.t.Errorf("%s is put without a time-out", key)
	}
	return s.Store.Put(ctx, key, value)
}

// A testDirectory is a directory that runs in a bubble.
type testDirectory struct {
	*Directory
	t    *testing.T
	reg  *prometheus.Registry
	logs *testLog
	end  func() // as the daemon ends; called at the end of the test if not before
}

// open runs a directory.
func open(t *testing.T, s Source, store kv.Store, venues ...string) *testDirectory {
	t.Helper()
	dir := &testDirectory{t: t, reg: prometheus.NewPedanticRegistry(), logs: new(testLog)}
	dir.Directory = New(Options{
		KV: cmp.Or(store, kv.Store(newStore(t))), Every: 6 * time.Hour, Registerer: dir.reg,
		Logger: slog.New(
			slog.NewTextHandler(io.MultiWriter(dir.logs, t.Output()), &slog.HandlerOptions{Level: slog.LevelDebug}),
		),
	})
	dir.SetSource(s)
	dir.Set(asVenues(venues...))
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { dir.Run(ctx) })
	dir.end = func() { stop(); running.Wait() }
	t.Cleanup(func() { dir.end() })
	return dir
}

func asVenues(ids ...string) (out []Venue) {
	for _, v := range ids {
		out = append(out, Venue{ID: v})
	}
	return out
}

// after lets time pass, and then waits until all that is due is done.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// namesOf is the names of employees: "Jonathan A., Ann, -".
func (dir *testDirectory) namesOf(venue string, ids ...string) string {
	var out []string
	for _, e := range ids {
		name, ok := dir.Name(venue, e)
		if ok != (name != "") {
			dir.t.Errorf("the name of %s is %q, %v", e, name, ok)
		}
		if !ok {
			name = "-"
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

func (dir *testDirectory) wantNames(want string, ids ...string) {
	dir.t.Helper()
	if got := dir.namesOf(harbour, ids...); got != want {
		dir.t.Errorf("names are %s, want %s", got, want)
	}
}

// A state is what a directory knows of a venue, and the errors of the last time that each step
// was done.
type state struct {
	VenueStatus
	Left                            int  // employees who have
	Complete                        bool // a list has come
	EmployeesErr, ZoneErr, StoreErr error
}

// state is to be called after synctest.Wait.
func (dir *testDirectory) state(venue string) state {
	dir.t.Helper()
	v := (*dir.venues.Load())[venue]
	r := v.known.Load()
	last := func(s step) error {
		err, _ := v.errs.Load(s)
		e, _ := err.(error)
		return e
	}
	s := state{
		Complete:     !r.AsOf.IsZero(),
		EmployeesErr: last(employees), ZoneErr: last(payroll), StoreErr: last(storing),
	}
	for _, p := range r.People {
		if p.Left > 0 {
			s.Left++
		}
	}
	for _, st := range dir.Status() {
		if st.Venue == venue {
			s.VenueStatus = st
		}
	}
	return s
}

// gauge is the only value of a metric.
func (dir *testDirectory) gauge(name string) float64 {
	families, err := dir.reg.Gather()
	if err != nil {
		dir.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name && len(f.Metric) == 1 {
			return f.Metric[0].Gauge.GetValue()
		}
	}
	dir.t.Fatalf("no value of %s", name)
	return 0
}

// refreshed counts the refreshes of the employees of harbour that ended so.
func (dir *testDirectory) refreshed(r result) float64 {
	return testutil.ToFloat64(dir.metrics.WithLabelValues(harbour, string(employees), string(r)))
}

// A testLog counts its lines.
type testLog struct{ queuetest.Log }

func (l *testLog) count(words ...string) (n int) {
	for line := range strings.Lines(l.String()) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			n++
		}
	}
	return n
}
