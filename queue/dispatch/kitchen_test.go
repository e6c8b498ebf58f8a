package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// A kitchen is a dispatcher over a real queue in a real file, in a bubble.
type kitchen struct {
	*Dispatcher
	t    *testing.T
	q    *testQueue
	logs *logBook
	reg  *prometheus.Registry
}

// inKitchen runs f in a bubble. Whatever f leaves running is stopped at its end and must be
// gone then: the bubble fails otherwise.
func inKitchen(t *testing.T, f func(t *testing.T, k *kitchen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &kitchen{t: t, q: &testQueue{t: t, path: filepath.Join(t.TempDir(), "queue.db")}, logs: &logBook{}}
		k.q.open()
		t.Cleanup(k.q.close)
		k.start()
		t.Cleanup(func() {
			if err := k.stopNow(); err != nil {
				t.Error(err)
			}
		})
		f(t, k)
	})
}

// start makes the dispatcher, or a new one after the end of the one before.
func (k *kitchen) start() {
	k.reg = prometheus.NewPedanticRegistry()
	k.Dispatcher = New(Options{Queue: k.q, Logger: slog.New(slog.NewJSONHandler(k.logs, nil)), Registerer: k.reg})
}

// printer makes a printer that fails so at first and then works. It has to be Set.
func (k *kitchen) printer(faults ...fault) *fakePrinter { return &fakePrinter{t: k.t, faults: faults} }

// grill serves a line of that name with such a printer alone.
func (k *kitchen) grill(faults ...fault) *fakePrinter {
	p := k.printer(faults...)
	k.Set([]Lane{{Name: "grill", Station: p}})
	return p
}

const holdFor = 2 * time.Minute

// backed is a line called grill whose backups are bar, after holdFor, and pass, after twice that.
func backed(own *fakePrinter, backups ...*fakePrinter) Lane {
	l := Lane{Name: "grill", Station: own}
	for i, p := range backups {
		l.Backups = append(l.Backups, Backup{Name: []string{"bar", "pass"}[i], Station: p, After: time.Duration(i+1) * holdFor})
	}
	return l
}

const instead = " FOR grill (printer down)"

// backed serves the grill with a printer of which this is wrong, for which the bar stands in.
func (k *kitchen) backed(f fault, after time.Duration, change ...func(*Lane)) (grill, bar *fakePrinter) {
	grill, bar = k.printer(), k.printer()
	grill.now(f)
	l := backed(grill, bar)
	l.Backups[0].After = after
	for _, f := range change {
		f(&l)
	}
	k.Set([]Lane{l})
	return grill, bar
}

// pass lets the time go by and everything settle.
func (k *kitchen) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (k *kitchen) status(name string) Status {
	k.t.Helper()
	for _, s := range k.Status() {
		if s.Name == name {
			return s
		}
	}
	k.t.Fatalf("no status of %q", name)
	return Status{}
}

func (k *kitchen) wantPaper(p *fakePrinter, want ...string) {
	k.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), p.printed()); diff != "" {
		k.t.Errorf("what came out (-want +got):\n%s", diff)
	}
}

func (k *kitchen) wantEnds(want ...string) {
	k.t.Helper()
	k.q.mu.Lock()
	defer k.q.mu.Unlock()
	if diff := cmp.Diff(want, k.q.ends); diff != "" {
		k.t.Errorf("how leases ended (-want +got):\n%s", diff)
	}
}

// stopNow is a Stop whose patience is at its end.
func (k *kitchen) stopNow() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return k.Stop(ctx)
}

// A testQueue is the real queue over a real file. It fails when it is told to, and polices the
// contract of a lease: Begin at most once, exactly one end.
type testQueue struct {
	*queue.Queue
	t    *testing.T
	path string
	seq  int // requests so far

	mu        sync.Mutex
	ends      []string                        // "station order end" for every lease that ended
	beginErr  func() error                    // not nil: what Begin returns
	settling  func(ctx context.Context) error // called by every end before it takes effect
	expireErr error
	takeErr   error
}

func (q *testQueue) open() {
	q.t.Helper()
	var err error
	if q.Queue, err = queue.Open(queue.Options{Path: q.path, Reserve: -1, NoSync: true}); err != nil {
		q.t.Fatal(err)
	}
	q.SetStations([]string{"grill", "bar", "pass"})
}

func (q *testQueue) close() {
	q.t.Helper()
	for _, s := range q.Stations() {
		if s.Printing > 0 {
			q.t.Errorf("a lease of %s was never ended", s.Name)
		}
	}
	if n := q.Unaccounted(); n != 0 {
		q.t.Errorf("%d jobs are unaccounted for", n)
	}
	if err := q.Close(); err != nil {
		q.t.Error(err)
	}
}

// put adds orders to the end of a line, named by what is on them.
func (q *testQueue) put(station string, names ...string) {
	q.t.Helper()
	for _, n := range names {
		q.seq++
		_, err := q.Accept(context.Background(), ticket.Request{
			Venue: "v", ID: fmt.Sprint(n, " ", q.seq), Device: "d", Received: time.Now().UTC(), Body: []byte("{}"),
			Drafts: []ticket.Draft{{Station: station, Ticket: ticket.Ticket{
				Venue: "v", Request: n, Type: n, Received: time.Now().UTC(), Lines: []ticket.Line{{Quantity: "1", Name: "soup"}},
			}}},
		})
		if err != nil {
			q.t.Fatal(err)
		}
	}
}

func (q *testQueue) hold(station string, on bool) {
	q.t.Helper()
	err := q.ResumeStation(context.Background(), station)
	if on {
		err = q.HoldStation(context.Background(), station, "a person")
	}
	if err != nil {
		q.t.Error(err)
	}
}

// jobs returns the jobs by the name of their order.
func (q *testQueue) jobs() map[string]queue.Job {
	q.t.Helper()
	jobs, err := q.Jobs(context.Background(), queue.Filter{})
	if err != nil {
		q.t.Error(err)
	}
	out := map[string]queue.Job{}
	for _, j := range jobs {
		name, _, _ := strings.Cut(j.Request, " ")
		out[name] = j
	}
	return out
}

func (q *testQueue) job(name string) queue.Job {
	q.t.Helper()
	j, ok := q.jobs()[name]
	if !ok {
		q.t.Errorf("there is no job %q", name)
	}
	return j
}

// fails sets the errors of Take and Expire.
func (q *testQueue) fails(take, expire error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.takeErr, q.expireErr = take, expire
}

func (q *testQueue) Take(ctx context.Context, station string) (Lease, error) {
	q.mu.Lock()
	err := q.takeErr
	q.mu.Unlock()
	if err != nil {
		return nil, err
	}
	l, err := From(q.Queue).Take(ctx, station)
	return &testLease{Lease: l, q: q}, err
}

func (q *testQueue) Expire(ctx context.Context, station string, olderThan time.Duration) (int, error) {
	q.mu.Lock()
	err := q.expireErr
	q.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return q.Queue.Expire(ctx, station, olderThan)
}

type testLease struct {
	Lease
	q            *testQueue
	asked, ended bool
}

func (l *testLease) Begin(ctx context.Context) error {
	if l.asked || l.ended {
		l.q.t.Errorf("Begin although asked=%t ended=%t", l.asked, l.ended)
	}
	l.asked = true
	if l.q.beginErr != nil {
		if err := l.q.beginErr(); err != nil {
			return err
		}
	}
	return l.Lease.Begin(ctx)
}

func (l *testLease) end(ctx context.Context, how string, f func(context.Context, string) error, reason string) error {
	if l.ended {
		l.q.t.Errorf("%s after its end", how)
	}
	l.ended = true
	if l.q.settling == nil && ctx.Err() != nil {
		l.q.t.Errorf("%s with a context that has ended", how)
	}
	if l.q.settling != nil {
		if err := l.q.settling(ctx); err != nil { // as if it had never been taken
			l.Untouched()
			_ = l.Lease.Return(context.Background(), "")
			return err
		}
	}
	l.q.mu.Lock()
	l.q.ends = append(l.q.ends, fmt.Sprintf("%s %s %s", l.Delivery().Station, l.Delivery().Ticket.Request, how))
	l.q.mu.Unlock()
	return f(ctx, reason)
}

func (l *testLease) Ack(ctx context.Context, proof ticket.Proof, detail string) error {
	ack := func(ctx context.Context, detail string) error { return l.Lease.Ack(ctx, proof, detail) }
	return l.end(ctx, "ack", ack, detail)
}

func (l *testLease) Retry(ctx context.Context, why string) error {
	return l.end(ctx, "retry", l.Lease.Retry, why)
}

func (l *testLease) Return(ctx context.Context, why string) error {
	return l.end(ctx, "return", l.Lease.Return, why)
}

func (l *testLease) Hold(ctx context.Context, why string) error {
	return l.end(ctx, "hold", l.Lease.Hold, why)
}

func (l *testLease) Bury(ctx context.Context, why string) error {
	return l.end(ctx, "bury", l.Lease.Bury, why)
}

// A logBook collects JSON log lines.
type logBook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// lines returns "LEVEL message" of each line, and the last line's attributes.
func (b *logBook) lines(t *testing.T) (short []string, last map[string]any) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range strings.Lines(b.buf.String()) {
		last = map[string]any{}
		if err := json.Unmarshal([]byte(s), &last); err != nil {
			t.Fatal(err)
		}
		short = append(short, last["level"].(string)+" "+last["msg"].(string))
	}
	return short, last
}
