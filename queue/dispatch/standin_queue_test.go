package dispatch

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// A rollCall is what came out of all printers of a kitchen, for each line in the order of
// time. It polices what must never happen, whatever fails.
type rollCall struct {
	t    *testing.T
	most int // begun attempts without a person

	mu     sync.Mutex
	begun  map[uint64]int      // by job: attempts after which something may have come out
	first  map[string][]string // by line: the first copies
	asides int                 // tickets that came out of a backup
	busy   map[string]bool     // lines that are printing
}

// A moody printer does what it is told to fail at. Several lines may use it: they take turns.
type moody struct {
	*rollCall
	name string
	turn chan struct{} // not a mutex: a bubble's clock would stand still

	fault fault // guarded by rollCall.mu
}

func (m *moody) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	m.enter(d, true)
	defer m.enter(d, false)
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	time.Sleep(20 * time.Millisecond)
	m.mu.Lock()
	f := m.fault
	m.mu.Unlock()
	switch f {
	case off:
		time.Sleep(2 * time.Second) // a time-out
		return "", errOff
	case noPaper:
		return "", ticket.NotReady(errors.New("no paper"))
	case panics:
		panic("nil kitchen")
	}
	if err := begin(ctx); err != nil {
		return "", err
	}
	if f == dropped {
		return "", ticket.Untouched(errOff)
	}
	m.out(d)
	time.Sleep(100 * time.Millisecond)
	if f == cut {
		return "", errors.New("write: connection reset")
	}
	return ticket.Sent, nil
}

func (r *rollCall) enter(d ticket.Delivery, in bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in && r.busy[d.Station] {
		r.t.Errorf("two stations print for %s at once", d.Station)
	}
	r.busy[d.Station] = in
}

func (m *moody) out(d ticket.Delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := d.Ticket.Request
	if own := d.Station == m.name; own != (d.For == "") || !own && (d.For != d.Station || d.Down != "printer") {
		m.t.Errorf("%s came out of %s for %q (%q)", name, m.name, d.For, d.Down)
	}
	if d.For != "" {
		m.asides++
	}
	if came := m.begun[d.Job] > 0; came != d.Doubt {
		m.t.Errorf("%s: marked %t although %d copies may be out", name, d.Doubt, m.begun[d.Job])
	}
	if m.begun[d.Job]++; m.begun[d.Job] > m.most {
		m.t.Errorf("%s: %d begun attempts, and nobody asked", name, m.begun[d.Job])
	}
	if !d.Doubt {
		m.first[d.Station] = append(m.first[d.Station], name)
	}
}

func (m *moody) now(f fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

func TestWhateverFailsOrderIsKeptAndNothingPrintsTwiceUnmarked(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			moodyKitchen(t, rand.New(rand.NewPCG(seed, 3)), seed%4 == 0)
		})
	}
}

// moodyKitchen has three lines that stand in for one another, in a circle too: a backup is
// chosen for an attempt, so nothing goes round. In between the program restarts.
func moodyKitchen(t *testing.T, r *rand.Rand, holdDoubt bool) {
	q := openQueue(t)
	calls := &rollCall{t: t, most: 2, begun: map[uint64]int{}, first: map[string][]string{}, busy: map[string]bool{}}
	if holdDoubt {
		calls.most = 1
	}
	printers := map[string]*moody{}
	for _, n := range []string{"grill", "bar", "pass"} {
		printers[n] = &moody{rollCall: calls, name: n, turn: make(chan struct{}, 1)}
	}
	line := func(name string, after time.Duration, backups ...string) Line {
		l := Line{Name: name, Station: printers[name], HoldDoubt: holdDoubt}
		for i, b := range backups {
			l.Backups = append(l.Backups, Backup{Name: b, Station: printers[b], After: time.Duration(i+1) * after})
		}
		return l
	}
	lines := func() []Line {
		after := time.Duration(r.IntN(4)) * 5 * time.Second
		return []Line{line("grill", after, "bar", "pass"), line("bar", after, "pass"), line("pass", after, "grill")}
	}
	stations := slices.Sorted(maps.Keys(printers))
	faults := []fault{fine, fine, off, off, noPaper, cut, panics, dropped}
	want := map[string][]string{}
	for range 4 {
		d := New(Options{Queue: From(q.Queue)})
		d.Set(lines())
		for range 60 {
			n := stations[r.IntN(3)]
			if r.IntN(3) > 0 {
				want[n] = append(want[n], q.order(n))
			}
			printers[stations[r.IntN(3)]].now(faults[r.IntN(len(faults))])
			switch r.IntN(20) {
			case 0:
				d.Set(lines())
			case 1:
				d.Kick(n)
			}
			time.Sleep(time.Duration(r.IntN(6000)) * time.Millisecond)
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		q.close()
		q.open()
	}
	for _, p := range printers {
		p.now(fine)
	}
	d := New(Options{Queue: From(q.Queue)})
	d.Set(lines())
	time.Sleep(time.Hour)
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if calls.asides == 0 {
		t.Error("no backup ever printed: the test tests nothing")
	}
	states := q.states()
	for _, n := range stations {
		if !slices.Equal(calls.first[n], want[n]) {
			t.Errorf("%s: first copies came out as %q\nwant %q", n, calls.first[n], want[n])
		}
		for _, name := range want[n] {
			if s := states[name]; s != ticket.Sent && s != ticket.Held {
				t.Errorf("%s is %s", name, s)
			}
		}
	}
}

func TestTheRealQueueSaysWhereATicketCameOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := openQueue(t)
		grill, bar := &fakePrinter{t: t, always: off}, &fakePrinter{t: t}
		d := New(Options{Queue: From(q.Queue)})
		d.Set([]Line{backed(grill, bar)})
		q.order("grill")
		time.Sleep(holdFor + time.Second)
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		jobs, err := q.Jobs(t.Context(), queue.Filter{})
		if err != nil || len(jobs) != 1 || jobs[0].Station != "grill" || jobs[0].State != ticket.Sent || jobs[0].Reason != "came out of bar" {
			t.Errorf("jobs %+v, %v", jobs, err)
		}
	})
}

func TestTheRealQueuesHoldStartsNoBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := openQueue(t)
		grill, bar := &fakePrinter{t: t, always: off}, &fakePrinter{t: t}
		d := New(Options{Queue: From(q.Queue)})
		d.Set([]Line{backed(grill, bar)})
		q.order("grill")
		time.Sleep(5 * time.Second)
		if err := q.HoldStation(t.Context(), "grill", "new roll"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := q.ResumeStation(t.Context(), "grill"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(holdFor - 10*time.Second)
		if got := bar.printed(); len(got) > 0 {
			t.Errorf("the hold counted: %q", got)
		}
		time.Sleep(time.Minute)
		if got := bar.printed(); len(got) != 1 {
			t.Errorf("after the hold came out of the bar: %q", got)
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
