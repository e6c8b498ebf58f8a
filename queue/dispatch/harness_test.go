package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"ticketrail/deploy/assert"
	"ticketrail/queue"
	"ticketrail/queue/queuetest"
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

// inBubble runs f in a synctest bubble. Goroutines that f leaves are stopped at its end; one that
// does not end fails the test.
func inBubble(t *testing.T, f func(t *testing.T, h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{t: t, q: &testQueue{t: t, path: filepath.Join(t.TempDir(), "queue.db")}, logs: &jsonLog{}}
		h.q.open()
		t.Cleanup(h.q.close)
		h.start()
		t.Cleanup(func() {
			assert.NoError(t, h.stopAtOnce())
		})
		f(t, h)
	})
}

// each runs f with each of the cases, in a bubble of its own.
func each[C any](t *testing.T, cases map[string]C, f func(t *testing.T, h *harness, c C)) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *harness) { f(t, h, c) })
		})
	}
}

// start makes a dispatcher.
func (h *harness) start() {
	h.reg = prometheus.NewPedanticRegistry()
	h.Dispatcher = New(Options{Queue: h.q, Logger: slog.New(slog.NewJSONHandler(h.logs, nil)), Registerer: h.reg})
}

// printer makes a printer whose first attempts have these faults. It prints only after Set.
func (h *harness) printer(faults ...fault) *fakePrinter { return &fakePrinter{t: h.t, faults: faults} }

// failing makes a printer all of whose attempts have a fault.
func (h *harness) failing(f fault) *fakePrinter { return &fakePrinter{t: h.t, always: f} }

// serveGrill serves a lane called grill with such a printer and no backup.
func (h *harness) serveGrill(faults ...fault) *fakePrinter {
	p := h.printer(faults...)
	h.Set([]Lane{{Name: "grill", Station: p}})
	return p
}

// backupAfter is when the first backup of grillLane is tried, and half of when the second is.
const backupAfter = 2 * time.Minute

// grillLane is a lane called grill with the backups bar and pass.
func grillLane(own *fakePrinter, backups ...*fakePrinter) Lane {
	l := Lane{Name: "grill", Station: own}
	for i, p := range backups {
		l.Backups = append(l.Backups, Backup{Name: []string{"bar", "pass"}[i], Station: p,
			After: time.Duration(i+1) * backupAfter})
	}
	return l
}

// forGrill are the words on a ticket of the grill that comes out of a backup.
const forGrill = " FOR grill (printer down)"

// serveWithBackup serves the lane grill with a printer that has fault f and the backup bar.
func (h *harness) serveWithBackup(f fault, after time.Duration, change ...func(*Lane)) (grill, bar *fakePrinter) {
	grill, bar = h.failing(f), h.printer()
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
	wantSame(h.t, p.printed(), append([]string{}, want...), "what came out")
}

func (h *harness) wantEnds(want ...string) {
	h.t.Helper()
	h.q.mu.Lock()
	defer h.q.mu.Unlock()
	assert.True(h.t, slices.Equal(h.q.ends, want), h.q.ends, want)
}

// wantEndsAtGrill compares the ends of leases, such as "a retry, a ack".
func (h *harness) wantEndsAtGrill(want string) {
	h.t.Helper()
	var ends []string
	for _, end := range list(want) {
		ends = append(ends, "grill "+end)
	}
	h.wantEnds(ends...)
}

// restart ends the program and starts it again over the same queue.
func (h *harness) restart() {
	h.t.Helper()
	assert.NoError(h.t, h.stopAtOnce())
	h.q.close()
	h.q.open()
	h.start()
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
	beginErr  func() error                    // not nil: Begin returns its error
	settling  func(ctx context.Context) error // called by every end before it takes effect
	expireErr error
	takeErr   error
}

func (q *testQueue) open() {
	q.t.Helper()
	var err error
	q.Queue, err = queue.Open(queue.Options{Path: q.path, Reserve: -1, NoSync: true})
	assert.NoError(q.t, err)
	q.SetStations([]string{"grill", "bar", "pass"})
}

func (q *testQueue) close() {
	q.t.Helper()
	for _, s := range q.Stations() {
		assert.Equal(q.t, s.Printing, 0, "a lease was never ended", s.Name)
	}
	assert.Equal(q.t, q.Unaccounted(), 0, "unaccounted jobs")
	assert.NoError(q.t, q.Close())
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
		assert.NoError(q.t, err)
	}
}

func (q *testQueue) hold(station string, on bool) {
	q.t.Helper()
	err := q.ResumeStation(context.Background(), station)
	if on {
		err = q.HoldStation(context.Background(), station, "a person")
	}
	assert.NoError(q.t, err)
}

// jobs returns the jobs by the name of their order.
func (q *testQueue) jobs() map[string]queue.Job {
	q.t.Helper()
	jobs, err := q.Jobs(context.Background(), queue.Filter{})
	assert.NoError(q.t, err)
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
	assert.True(q.t, ok, "there is no job", name)
	return j
}

// leaveInDoubt begins the head of a queue and returns it, as a crash would.
func (q *testQueue) leaveInDoubt(station string) {
	q.t.Helper()
	l, err := q.Queue.Take(q.t.Context(), station)
	ctx := q.t.Context()
	assert.NoError(q.t, errors.Join(err, l.Begin(ctx, false), l.Settle(ctx, queue.Settlement{End: queue.Return})))
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

func (l *testLease) Begin(ctx context.Context, idempotent bool) error {
	assert.True(l.q.t, !l.asked && !l.ended, l.asked, l.ended)
	l.asked = true
	if l.q.beginErr != nil {
		if err := l.q.beginErr(); err != nil {
			return err
		}
	}
	return l.Lease.Begin(ctx, idempotent)
}

func (l *testLease) Settle(ctx context.Context, how queue.Settlement) error {
	assert.True(l.q.t, !l.ended, how.End)
	l.ended = true
	assert.True(l.q.t, l.q.settling != nil || ctx.Err() == nil, how.End)
	if l.q.settling != nil {
		if err := l.q.settling(ctx); err != nil { // as if it had never been taken
			_ = l.Lease.Settle(context.Background(), queue.Settlement{End: queue.Return, Untouched: true})
			return err
		}
	}
	end := string(how.End)
	if how.To != "" {
		end += " to " + how.To
	}
	l.q.mu.Lock()
	l.q.ends = append(l.q.ends, fmt.Sprintf("%s %s %s", l.Delivery().Station, l.Delivery().Ticket.Request, end))
	l.q.mu.Unlock()
	return l.Lease.Settle(ctx, how)
}

// shown enqueues a ticket that the screen of a station then shows.
func (h *harness) shown(station string) ticket.Delivery {
	h.t.Helper()
	h.q.enqueue(station, "shown")
	lease, err := h.q.Queue.Take(h.t.Context(), station)
	if err == nil {
		err = lease.Settle(h.t.Context(), queue.Settlement{End: queue.Ack, Proof: ticket.Shown})
	}
	assert.NoError(h.t, err)
	return lease.Delivery()
}

// A jsonLog is a log of JSON lines.
type jsonLog struct{ queuetest.Log }

// entries returns "LEVEL message" of each line, and the last line's attributes.
func (l *jsonLog) entries(t *testing.T) (short []string, last map[string]any) {
	t.Helper()
	for s := range strings.Lines(l.String()) {
		last = map[string]any{}
		assert.NoError(t, json.Unmarshal([]byte(s), &last))
		short = append(short, last["level"].(string)+" "+last["msg"].(string))
	}
	return short, last
}

// A fault is the trouble with one attempt.
type fault string

const (
	fine              fault = "fine"
	off               fault = "off"                // refuses the connection
	noPaper           fault = "no paper"           // says so before the ticket
	cut               fault = "cut"                // breaks off after the first byte
	noPaperMidway     fault = "no paper midway"    // runs out in the ticket
	unprintable       fault = "unprintable"        // cannot be printed, seen before the first byte
	unprintableMidway fault = "unprintable midway" // cannot be printed, seen after it
	panics            fault = "panics"
	panicsMidway      fault = "panics midway"
	noProof           fault = "no proof"
	unknownProof      fault = "unknown proof" // a mistake in the station
	dropped           fault = "dropped"       // accepted and hung up on after begin, before the first byte
	refuses           fault = "refuses"       // answers that it will never take this ticket
	refusesAll        fault = "refuses all"   // answers that it takes nothing until a person has repaired it
	beginsTwice       fault = "begins twice"  // a mistake in the station
	neverBegins       fault = "never begins"  // the same: prints without asking
	beginsLate        fault = "begins late"   // the same: fails, then begins in another goroutine
	showsLate         fault = "shows late"    // when it is interrupted, without begin: it has the ticket already
)

// The errors of Print: before begin, after begin and before the first ticket byte, and after all of them.
var (
	beforeBegin = map[fault]error{
		off: errors.New("dial: connection refused"), noPaper: ticket.NotReady(errors.New("status: no paper")),
		unprintable: ticket.Permanent(errors.New("no such thing")), beginsLate: errors.New("not ready"),
	}
	afterBegin = map[fault]error{
		dropped:    ticket.Untouched(errors.New("write: connection reset")),
		refuses:    ticket.Untouched(ticket.Permanent(errors.New("422 no table"))),
		refusesAll: ticket.Untouched(ticket.NotReady(errors.New("401 bad token"))),
	}
	afterOutput = map[fault]error{
		cut: errors.New("write: connection reset"), noPaperMidway: ticket.NotReady(errors.New("no paper")),
		unprintableMidway: ticket.Permanent(errors.New("no such thing")),
	}
	oddProofs = map[fault]ticket.Proof{noProof: "", unknownProof: "delivered"}
)

// A fakePrinter is a station that fails the test if two prints run at once.
type fakePrinter struct {
	t              *testing.T
	dial           time.Duration // before begin
	takes          time.Duration // after begin
	ignoresContext bool          // does not look at its context
	idempotent     bool          // says that it never prints a ticket twice

	lock    chan struct{}         // not nil: several lanes use it, one after the other
	onPrint func(ticket.Delivery) // sees each ticket that comes out

	mu     sync.Mutex
	faults []fault // of the next attempts
	always fault   // of those after; empty is fine
	busy   bool
	tries  []time.Time // when Print was called
	output []string    // the tickets that came out, also of broken attempts: "7", "7 DUPLICATE", "slip 7 8"
}

func (p *fakePrinter) Idempotent() bool { return p.idempotent }

func (p *fakePrinter) Print(
	ctx context.Context, d ticket.Delivery, begin func(context.Context) error,
) (ticket.Proof, error) {
	if p.lock != nil { // not a mutex: a bubble's clock would stand still
		p.lock <- struct{}{}
		defer func() { <-p.lock }()
	}
	f := p.startAttempt()
	defer p.endAttempt()

	if err := p.wait(ctx, p.dial); err != nil {
		return "", fmt.Errorf("dial: %w", err)
	}
	switch f {
	case panics:
		panic("nil pointer")
	case neverBegins:
		p.out(d)
		return ticket.Sent, nil
	case showsLate:
		<-ctx.Done()
		return ticket.Shown, nil
	case beginsLate:
		time.AfterFunc(time.Second, func() {
			assert.True(p.t, begin(context.Background()) != nil, "a begin after the attempt was let through")
		})
	}
	if err := beforeBegin[f]; err != nil {
		return "", err
	}

	if err := begin(ctx); err != nil {
		return "", err
	}
	if err := afterBegin[f]; err != nil {
		return "", err
	}
	assert.True(p.t, f != beginsTwice || begin(ctx) != nil, "a second begin was let through")
	p.out(d)
	if err := p.wait(ctx, p.takes); err != nil {
		return "", fmt.Errorf("write: %w", err)
	}
	if f == panicsMidway {
		panic("nil pointer")
	}
	if err := afterOutput[f]; err != nil {
		return "", err
	}
	if proof, odd := oddProofs[f]; odd {
		return proof, nil
	}
	return ticket.Sent, nil
}

// startAttempt notes an attempt and returns its fault.
func (p *fakePrinter) startAttempt() fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.True(p.t, !p.busy, "two prints at once")
	p.busy = true
	p.tries = append(p.tries, time.Now())
	f := p.always
	if len(p.faults) > 0 {
		f, p.faults = p.faults[0], p.faults[1:]
	}
	return f
}

func (p *fakePrinter) endAttempt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
}

func (p *fakePrinter) wait(ctx context.Context, d time.Duration) error {
	if p.ignoresContext || d == 0 {
		time.Sleep(d)
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *fakePrinter) out(d ticket.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := d.Ticket.Request
	if d.Ticket.Kind == ticket.ExpiredList {
		s = "slip"
		for _, l := range d.Ticket.Lines {
			s += " " + l.Name
		}
	}
	if d.For != "" && d.Down != "" {
		s += " FOR " + d.For + " (" + d.Down + " down)"
	}
	if len(d.RefusedBy) > 0 {
		s += " REFUSED BY " + strings.Join(d.RefusedBy, "+")
	}
	if d.Doubt {
		s += " DUPLICATE"
	}
	p.output = append(p.output, s)
	if p.onPrint != nil {
		p.onPrint(d)
	}
}

// setFault sets the fault of all attempts from now on.
func (p *fakePrinter) setFault(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.always, p.faults = f, nil
}

// printed returns the tickets that came out so far.
func (p *fakePrinter) printed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.output...)
}

func (p *fakePrinter) attempts() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.tries)
}

// wantSame compares in depth.
func wantSame(t testing.TB, got, want any, of ...any) {
	t.Helper()
	diff := cmp.Diff(want, got)
	assert.True(t, diff == "", of, "(-want +got)\n"+diff)
}
