package dispatch

import (
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
	"ticketrail/queue/logtest"
	"ticketrail/queue/ticket"
)

// A harness is a dispatcher over a real queue in a real file, in a synctest bubble.
type harness struct {
	*Dispatcher
	t    *testing.T
	q    *testQueue
	logs *jsonLog
	reg  *prometheus.Registry
}

// inBubble runs f in a synctest bubble. What f leaves running is stopped at its end; a goroutine that
// does not end fails the test.
func inBubble(t *testing.T, f func(t *testing.T, h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{t: t, q: &testQueue{t: t, path: filepath.Join(t.TempDir(), "queue.db")}, logs: &jsonLog{}}
		h.q.open()
		t.Cleanup(h.q.close)
		h.start()
		t.Cleanup(func() {
			if err := h.stopAtOnce(); err != nil {
				t.Error(err)
			}
		})
		f(t, h)
	})
}

// start makes a dispatcher, for the first time or after a simulated restart.
func (h *harness) start() {
	h.reg = prometheus.NewPedanticRegistry()
	h.Dispatcher = New(Options{Queue: h.q, Logger: slog.New(slog.NewJSONHandler(h.logs, nil)), Registerer: h.reg})
}

// printer makes a printer whose first attempts have these faults. It prints only after Set.
func (h *harness) printer(faults ...fault) *fakePrinter { return &fakePrinter{t: h.t, faults: faults} }

// serveGrill serves a lane called grill with such a printer and no backup.
func (h *harness) serveGrill(faults ...fault) *fakePrinter {
	p := h.printer(faults...)
	h.Set([]Lane{{Name: "grill", Station: p}})
	return p
}

const backupAfter = 2 * time.Minute

// grillLane is a lane called grill whose backups are bar, after backupAfter, and pass, after twice that.
func grillLane(own *fakePrinter, backups ...*fakePrinter) Lane {
	l := Lane{Name: "grill", Station: own}
	for i, p := range backups {
		l.Backups = append(l.Backups, Backup{Name: []string{"bar", "pass"}[i], Station: p,
			After: time.Duration(i+1) * backupAfter})
	}
	return l
}

const forGrill = " FOR grill (printer down)"

// serveWithBackup serves the lane grill with a printer that has fault f and the backup bar.
func (h *harness) serveWithBackup(f fault, after time.Duration, change ...func(*Lane)) (grill, bar *fakePrinter) {
	grill, bar = h.printer(), h.printer()
	grill.setFault(f)
	l := grillLane(grill, bar)
	l.Backups[0].After = after
	for _, f := range change {
		f(&l)
	}
	h.Set([]Lane{l})
	return grill, bar
}

// advance lets d pass on the bubble's clock and waits until nothing runs.
func (h *harness) advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (h *harness) status(name string) Status {
	h.t.Helper()
	for _, s := range h.Status() {
		if s.Name == name {
			return s
		}
	}
	h.t.Fatalf("no status of %q", name)
	return Status{}
}

func (h *harness) wantPrinted(p *fakePrinter, want ...string) {
	h.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), p.printed()); diff != "" {
		h.t.Errorf("what came out (-want +got):\n%s", diff)
	}
}

func (h *harness) wantEnds(want ...string) {
	h.t.Helper()
	h.q.mu.Lock()
	defer h.q.mu.Unlock()
	if diff := cmp.Diff(want, h.q.ends); diff != "" {
		h.t.Errorf("how leases ended (-want +got):\n%s", diff)
	}
}

// stopAtOnce is a Stop that interrupts prints at once.
func (h *harness) stopAtOnce() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return h.Stop(ctx)
}

// A testQueue is the real queue over a real file. It returns the errors that a test sets, and checks the
// contract of a lease: Begin at most once, exactly one end.
type testQueue struct {
	*queue.Queue
	t    *testing.T
	path string
	seq  int           // requests so far
	age  time.Duration // of orders that come now: they waited at a relay

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

// enqueue adds orders with these names to the end of a queue.
func (q *testQueue) enqueue(station string, names ...string) {
	q.t.Helper()
	for _, n := range names {
		q.seq++
		_, err := q.Accept(context.Background(), ticket.Request{
			Venue: "v", ID: fmt.Sprint(n, " ", q.seq), Device: "d", Received: time.Now().UTC(), Body: []byte("{}"),
			Age: q.age,
			Drafts: []ticket.Draft{{Station: station, Ticket: ticket.Ticket{
				Venue: "v", Request: n, Type: n, Received: time.Now().UTC(),
				Lines: []ticket.Line{{Quantity: "1", Name: "soup"}},
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

// setErrors sets the errors of Take and Expire.
func (q *testQueue) setErrors(take, expire error) {
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

func (l *testLease) Fail(ctx context.Context, why string) error {
	return l.end(ctx, "bury", l.Lease.Fail, why)
}

func (l *testLease) Move(ctx context.Context, to, by, why string) error {
	move := func(ctx context.Context, why string) error { return l.Lease.Move(ctx, to, by, why) }
	return l.end(ctx, "move to "+to, move, why)
}

// shown enqueues a ticket that the screen of a station then shows.
func (h *harness) shown(station string) ticket.Delivery {
	h.t.Helper()
	h.q.enqueue(station, "shown")
	lease, err := h.q.Queue.Take(h.t.Context(), station)
	if err == nil {
		err = lease.Ack(h.t.Context(), ticket.Shown, "")
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return lease.Delivery()
}

// A jsonLog is a log of JSON lines.
type jsonLog struct{ logtest.Log }

// entries returns "LEVEL message" of each line, and the last line's attributes.
func (l *jsonLog) entries(t *testing.T) (short []string, last map[string]any) {
	t.Helper()
	for s := range strings.Lines(l.String()) {
		last = map[string]any{}
		if err := json.Unmarshal([]byte(s), &last); err != nil {
			t.Fatal(err)
		}
		short = append(short, last["level"].(string)+" "+last["msg"].(string))
	}
	return short, last
}
