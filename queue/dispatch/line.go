package dispatch

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// A line is one station's line and the goroutine that drains it. There is at most one of a
// name, and it lives on when its station changes: that is why no two goroutines can
// serve one station.
type line struct {
	d    *Dispatcher
	name string
	log  *slog.Logger

	// Guarded by d.mu.
	want   *Line              // what to serve it with; nil: end
	wake   context.CancelFunc // ends the present turn's waiting, in Take or in a pause
	status Status

	// The goroutine's own.
	fails   failures
	said    string // the trouble that was logged last; empty when there is none
	saidQ   string // the same for the queue's
	overdue uint64 // job that was given back once for being too old
}

// serve drains the line until it is removed or the dispatcher stops.
func (l *line) serve() {
	for {
		ctx, w, ok := l.open()
		if !ok {
			return
		}
		l.turn(ctx, w)
	}
}

// open starts a turn: its context ends when anything happens that is worth starting over
// for (Set changed the line, Kick, Stop). It is not the context of a print. false says that
// the line is over; it is then no longer in d.lines.
func (l *line) open() (context.Context, Line, bool) {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	l.wake()
	stopping := l.d.soft.Err() != nil
	if l.want == nil || stopping {
		delete(l.d.lines, l.name)
		if !stopping {
			l.d.metrics.vanish(l.name)
		}
		return nil, Line{}, false
	}
	ctx, cancel := context.WithCancel(l.d.soft)
	l.wake = cancel
	return ctx, *l.want, true
}

// turn is one ticket: expire, take, print, settle, pause.
func (l *line) turn(ctx context.Context, w Line) {
	l.expire(ctx, w.ExpireAfter)
	lease, err := l.d.queue.Take(ctx, l.name)
	if err != nil {
		if ctx.Err() == nil {
			l.queueTrouble("cannot take a ticket from the queue, trying again", err)
			l.sleep(ctx, l.fails.afterStore())
		}
		return
	}
	d := lease.Delivery()
	switch {
	case ctx.Err() != nil:
		// The line was changed, removed or stopped while Take was handing this over.
		l.giveBack(ctx, lease, "not begun")
		return
	case w.ExpireAfter > 0 && lease.Waited() > w.ExpireAfter && d.Ticket.Kind != ticket.Slip && l.overdue != d.Job:
		// It got too old while Take was blocked, on a station that a person held: the next turn
		// expires it. Once only: if the queue will not, late is better than never.
		l.overdue = d.Job
		l.giveBack(ctx, lease, "too old")
		return
	case w.HoldDoubt && d.Doubt:
		// Doubt that no attempt of this run settled: a crash, or it came from another line.
		if !l.setAside(lease, verdict{hold, doubt, holdReason(false, "an earlier attempt did not end")}) {
			l.sleep(ctx, l.fails.afterStore())
		}
		return
	}
	l.update(func(s *Status) { s.Attempt, s.NextTry = d.Attempt, time.Time{} })
	a := l.print(w.Station, lease)
	l.sleep(ctx, l.conclude(lease, a, judge(a, d.Doubt, w.HoldDoubt)))
}

// expire is called before each Take, so that a station that comes back prints the slip
// first. An error does not stop the line: a full disk must not keep tickets from printing.
func (l *line) expire(ctx context.Context, after time.Duration) {
	if after <= 0 {
		return
	}
	n, err := l.d.queue.Expire(ctx, l.name, after)
	if err != nil && ctx.Err() == nil {
		l.queueTrouble("cannot expire old tickets, they print late", err)
	}
	if n > 0 {
		l.d.metrics.left(l.name, ticket.Expired, n)
		l.log.Warn("tickets expired", "tickets", n, "older_than", after)
	}
}

// conclude settles an attempt, tells everybody, and returns how long to pause.
func (l *line) conclude(lease Lease, a attempt, v verdict) time.Duration {
	waited := lease.Waited()
	l.d.metrics.attempt(l.name, v.result)
	if v.end == ack && !slices.Contains(ticket.Proofs(), a.proof) {
		// A mistake in the station. It says that the ticket is out, so claim the least.
		l.log.Warn("station gave no proof, counted as sent", "proof", string(a.proof))
		a.proof = ticket.Sent
	}
	pause := l.learn(lease, a, v)
	var settled bool
	switch v.end {
	case hold, bury:
		settled = l.setAside(lease, v)
	case ack:
		if settled = l.settle(lease, v, a.proof); settled {
			l.fails.store = 0
			l.d.metrics.left(l.name, a.proof, 1)
			l.d.metrics.out(l.name, waited)
			l.log.Info("ticket out", append(about(lease), "outcome", string(a.proof), "wait", waited)...)
		}
	default:
		settled = l.settle(lease, v, "")
	}
	if !settled {
		// Whatever the queue lends next may be the same ticket: never at full speed.
		return max(pause, l.fails.afterStore())
	}
	return pause
}

// giveBack returns a ticket that was not tried.
func (l *line) giveBack(ctx context.Context, lease Lease, why string) {
	if !l.settle(lease, verdict{giveBack, interrupted, why}, "") {
		l.sleep(ctx, l.fails.afterStore())
	}
}

// learn takes from an attempt what it says about the station.
func (l *line) learn(lease Lease, a attempt, v verdict) time.Duration {
	switch v.result {
	case ok:
		if l.said != "" {
			l.log.Info("printer works again", about(lease)...)
		}
		l.fails, l.said, l.saidQ = failures{store: l.fails.store}, "", ""
		l.worked()
		return 0
	case refused:
		l.failed(a.err, "")
		l.trouble("ticket did not go out, trying again", lease, a)
		return l.fails.afterRefusal()
	case notReady:
		l.failed(a.err, a.err.Error())
		l.trouble("printer waits for a person", lease, a)
		l.fails.refused = 0
		return poll()
	case doubt:
		if ticket.IsNotReady(a.err) {
			l.failed(a.err, a.err.Error())
			l.trouble("printer waits for a person, ticket in doubt", lease, a)
			return poll()
		}
		l.failed(a.err, "")
		l.trouble("ticket in doubt", lease, a)
		return l.fails.afterDoubt()
	case interrupted:
		if a.beginErr != nil && !a.interrupted {
			l.queueTrouble("cannot begin a ticket, trying again", a.beginErr)
			return l.fails.afterStore()
		}
		l.log.Info("ticket interrupted by shutdown", append(about(lease), "begun", a.begun, "err", a.err)...)
	}
	return 0 // permanent: says nothing about the station
}

// sleep pauses until the turn is woken. Being woken means that somebody changed
// something, so the count of failures starts afresh.
func (l *line) sleep(ctx context.Context, pause time.Duration) {
	if pause <= 0 {
		return
	}
	l.update(func(s *Status) { s.NextTry = time.Now().Add(pause) })
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		l.fails = failures{}
	}
	l.update(func(s *Status) { s.NextTry = time.Time{} })
}
