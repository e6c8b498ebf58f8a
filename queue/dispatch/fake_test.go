package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

// fakeQueue is a queue in memory that polices the contract of a lease: at most one a
// station, Begin at most once, exactly one end, nothing after it.
type fakeQueue struct {
	t *testing.T

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a line changes
	nextID  uint64
	lines   map[string]*fakeLine
	log     []string // "station job end" for every lease that ended

	beginErr  func() error                    // not nil: what Begin returns
	settling  func(ctx context.Context) error // called by every end before it takes effect
	expireErr error
	takeErr   error
}

type fakeLine struct {
	jobs   []*fakeJob
	lent   *fakeLease
	onHold bool
	most   int // leases at a time, ever
}

type fakeJob struct {
	id       uint64
	name     string
	kind     ticket.Kind
	put      time.Time
	state    ticket.State
	attempts int
	doubts   int
	reason   string
	lists    []string // of a slip
}

func newFakeQueue(t *testing.T) *fakeQueue {
	q := &fakeQueue{t: t, changed: make(chan struct{}), lines: map[string]*fakeLine{}}
	t.Cleanup(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		for name, l := range q.lines {
			if l.lent != nil {
				t.Errorf("station %s: the lease of job %d was never ended", name, l.lent.job.id)
			}
		}
	})
	return q
}

func (q *fakeQueue) line(station string) *fakeLine {
	l, ok := q.lines[station]
	if !ok {
		l = &fakeLine{}
		q.lines[station] = l
	}
	return l
}

func (q *fakeQueue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// put adds orders to the end of a line, named by what is on them.
func (q *fakeQueue) put(station string, names ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.line(station)
	for _, n := range names {
		q.nextID++
		l.jobs = append(l.jobs, &fakeJob{id: q.nextID, name: n, put: time.Now(), state: ticket.Pending})
	}
	q.wake()
}

func (q *fakeQueue) hold(station string, on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.line(station).onHold = on
	q.wake()
}

// job returns a copy of the job with that name.
func (q *fakeQueue) job(name string) fakeJob {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lines {
		for _, j := range l.jobs {
			if j.name == name {
				return *j
			}
		}
	}
	q.t.Errorf("there is no job %q", name)
	return fakeJob{}
}

// set changes the job with that name.
func (q *fakeQueue) set(name string, f func(*fakeJob)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lines {
		for _, j := range l.jobs {
			if j.name == name {
				f(j)
			}
		}
	}
	q.wake()
}

func (l *fakeLine) head() *fakeJob {
	if l.onHold {
		return nil
	}
	for _, j := range l.jobs {
		if j.state == ticket.Pending {
			return j
		}
	}
	return nil
}

func (q *fakeQueue) Take(ctx context.Context, station string) (*fakeLease, error) {
	for {
		q.mu.Lock()
		l := q.line(station)
		if l.lent != nil {
			q.t.Errorf("station %s: Take while job %d is lent", station, l.lent.job.id)
		}
		err := q.takeErr
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			q.mu.Unlock()
			return nil, err
		}
		if j := l.head(); j != nil {
			j.state = ticket.Printing
			l.lent = &fakeLease{q: q, station: station, job: j, was: j.doubts, d: ticket.Delivery{
				Job: j.id, Station: station, Attempt: j.attempts + 1, Doubt: j.doubts > 0,
				Ticket: ticket.Ticket{Kind: j.kind, Request: j.name, Venue: "v"},
			}}
			for _, n := range j.lists {
				l.lent.d.Ticket.Lines = append(l.lent.d.Ticket.Lines, ticket.Line{Quantity: "1", Name: n})
			}
			q.mu.Unlock()
			return l.lent, nil
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (q *fakeQueue) Expire(ctx context.Context, station string, olderThan time.Duration) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if q.expireErr != nil {
		return 0, q.expireErr
	}
	l := q.line(station)
	if l.lent != nil {
		q.t.Errorf("station %s: Expire while job %d is lent", station, l.lent.job.id)
	}
	var names []string
	var slip *fakeJob
	for _, j := range l.jobs {
		switch {
		case j.state != ticket.Pending:
		case j.kind == ticket.Slip:
			slip = j
		case time.Since(j.put) > olderThan:
			j.state = ticket.Expired
			names = append(names, j.name)
		}
	}
	if len(names) == 0 {
		return 0, nil
	}
	if slip == nil {
		q.nextID++
		slip = &fakeJob{id: q.nextID, kind: ticket.Slip, name: "slip", put: time.Now(), state: ticket.Pending}
		l.jobs = append([]*fakeJob{slip}, l.jobs...)
	}
	slip.lists = append(slip.lists, names...)
	return len(names), nil
}

type fakeLease struct {
	q       *fakeQueue
	station string
	job     *fakeJob
	was     int // doubts before this attempt
	d       ticket.Delivery
	asked   bool
	begun   bool
	ended   bool
}

func (l *fakeLease) Delivery() ticket.Delivery { return l.d }
func (l *fakeLease) Waited() time.Duration     { return time.Since(l.job.put) }

func (l *fakeLease) Begin(ctx context.Context) error {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	if l.asked || l.ended {
		l.q.t.Errorf("job %d: Begin although asked=%t ended=%t", l.job.id, l.asked, l.ended)
	}
	l.asked = true
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.q.beginErr != nil {
		if err := l.q.beginErr(); err != nil {
			return err
		}
	}
	l.begun = true
	l.job.doubts++
	return nil
}

func (l *fakeLease) end(ctx context.Context, how string, f func(j *fakeJob)) error {
	l.q.mu.Lock()
	settling := l.q.settling
	if l.ended {
		l.q.t.Errorf("job %d: %s after its end", l.job.id, how)
	}
	l.ended = true
	l.q.mu.Unlock()
	var err error
	if settling != nil {
		err = settling(ctx)
	} else if ctx.Err() != nil {
		l.q.t.Errorf("job %d: %s with a context that has ended", l.job.id, how)
	}
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	l.q.line(l.station).lent = nil
	if err != nil {
		l.job.state = ticket.Pending
		return err
	}
	f(l.job)
	l.q.log = append(l.q.log, fmt.Sprintf("%s %s %s", l.station, l.job.name, how))
	l.q.wake()
	return nil
}

func (l *fakeLease) Ack(ctx context.Context, proof ticket.Proof, _ string) error {
	return l.end(ctx, "ack", func(j *fakeJob) { j.state = proof })
}

func (l *fakeLease) Retry(ctx context.Context, reason string) error {
	return l.end(ctx, "retry", func(j *fakeJob) {
		j.state, j.reason = ticket.Pending, reason
		j.attempts++
	})
}

func (l *fakeLease) Return(ctx context.Context, reason string) error {
	return l.end(ctx, "return", func(j *fakeJob) {
		j.state, j.reason = ticket.Pending, reason
		if !l.begun {
			j.doubts = l.was
		}
	})
}

func (l *fakeLease) Hold(ctx context.Context, reason string) error {
	return l.end(ctx, "hold", func(j *fakeJob) { j.state, j.reason = ticket.Held, reason })
}

func (l *fakeLease) Bury(ctx context.Context, reason string) error {
	return l.end(ctx, "bury", func(j *fakeJob) { j.state, j.reason = ticket.Buried, reason })
}

// A fault is what goes wrong with one attempt.
type fault string

const (
	fine          fault = "fine"
	off           fault = "off"             // refuses the connection
	noPaper       fault = "no paper"        // says so before the ticket
	cut           fault = "cut"             // breaks off after the first byte
	noPaperMidway fault = "no paper midway" // runs out in the ticket
	never         fault = "never"           // cannot be printed, seen before the first byte
	neverMidway   fault = "never midway"    // cannot be printed, seen after it
	panics        fault = "panics"
	panicsMidway  fault = "panics midway"
	noProof       fault = "no proof"
)

var errOff = errors.New("connection refused")

// fakePrinter is a station that polices its caller: one Print at a time.
type fakePrinter struct {
	t     *testing.T
	dial  time.Duration // before begin
	takes time.Duration // after begin
	deaf  bool          // does not look at its context

	mu     sync.Mutex
	faults []fault // of the next attempts
	always fault   // of those after; empty is fine
	busy   bool
	tries  []time.Time // when Print was called
	paper  []string    // what came out, also of broken attempts: "7 soup", "7 soup DUPLICATE"
}

func (p *fakePrinter) Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error) {
	p.mu.Lock()
	if p.busy {
		p.t.Errorf("two prints at once")
	}
	p.busy = true
	p.tries = append(p.tries, time.Now())
	f := p.always
	if len(p.faults) > 0 {
		f, p.faults = p.faults[0], p.faults[1:]
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.busy = false
		p.mu.Unlock()
	}()
	if err := p.wait(ctx, p.dial); err != nil {
		return "", fmt.Errorf("dial: %w", err)
	}
	switch f {
	case off:
		return "", fmt.Errorf("dial: %w", errOff)
	case noPaper:
		return "", fmt.Errorf("status: %w", ticket.NotReady(errors.New("no paper")))
	case never:
		return "", ticket.Permanent(errors.New("no such thing"))
	case panics:
		panic("nil kitchen")
	}
	if err := begin(ctx); err != nil {
		return "", err
	}
	p.out(d)
	if err := p.wait(ctx, p.takes); err != nil {
		return "", fmt.Errorf("write: %w", err)
	}
	switch f {
	case cut:
		return "", errors.New("write: connection reset")
	case noPaperMidway:
		return "", ticket.NotReady(errors.New("no paper"))
	case neverMidway:
		return "", ticket.Permanent(errors.New("no such thing"))
	case panicsMidway:
		panic("nil kitchen")
	case noProof:
		return "", nil
	}
	return ticket.Sent, nil
}

func (p *fakePrinter) wait(ctx context.Context, d time.Duration) error {
	if p.deaf {
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
	for _, l := range d.Ticket.Lines {
		s += " " + l.Name
	}
	if d.Doubt {
		s += " DUPLICATE"
	}
	p.paper = append(p.paper, s)
}

// now sets what is wrong with all attempts from now on.
func (p *fakePrinter) now(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.always, p.faults = f, nil
}

// printed returns what came out so far.
func (p *fakePrinter) printed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.paper...)
}

func (p *fakePrinter) attempts() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time{}, p.tries...)
}
