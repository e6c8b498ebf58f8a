package dispatch

import (
	"context"
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
	detail   string   // of its ack
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

func (l *fakeLease) Known(bool) {}

func (l *fakeLease) Untouched() {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	if !l.begun || l.ended {
		l.q.t.Errorf("job %d: Untouched although begun=%t ended=%t", l.job.id, l.begun, l.ended)
	}
	l.begun = false
	l.job.doubts--
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

func (l *fakeLease) Ack(ctx context.Context, proof ticket.Proof, detail string) error {
	return l.end(ctx, "ack", func(j *fakeJob) { j.state, j.detail = proof, detail })
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
