package dispatch

import (
	"context"
	"log/slog"
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
	want   *Lane              // what to serve it with; nil: end
	wake   context.CancelFunc // ends the present turn's waiting, in Take or in a pause
	status Status

	// The goroutine's own.
	outlets []*outlet // the own station first, then the backups
	down    time.Time // when the own station first failed since it last printed; zero: it has not
	rested  time.Time // when the own station may be tried again although another stands in for it
	tried   time.Time // when the last attempt was over
	store   int       // how often the queue failed in a row
	saidQ   string    // the trouble of the queue that was logged last; empty when there is none
	overdue uint64    // job that was given back once for being too old
}

// serve drains the line until it is removed or the dispatcher stops.
func (l *line) serve() {
	for {
		ctx, w, ok := l.open()
		if !ok {
			return
		}
		l.equip(w)
		l.turn(ctx, w)
		if ctx.Err() != nil {
			l.afresh()
		}
	}
}

// open starts a turn: its context ends when anything happens that is worth starting over
// for (Set changed the line, Kick, Stop). It is not the context of a print. false says that
// the line is over; it is then no longer in d.lines.
func (l *line) open() (context.Context, Lane, bool) {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	l.wake()
	stopping := l.d.soft.Err() != nil
	if l.want == nil || stopping {
		delete(l.d.lines, l.name)
		if !stopping {
			l.d.metrics.vanish(l.name)
		}
		return nil, Lane{}, false
	}
	ctx, cancel := context.WithCancel(l.d.soft)
	l.wake = cancel
	return ctx, *l.want, true
}

// turn is one ticket: expire, take, print, settle, pause.
func (l *line) turn(ctx context.Context, w Lane) {
	l.expire(ctx, w.ExpireAfter)
	start := time.Now()
	lease, err := l.d.queue.Take(ctx, l.name)
	l.idled(start)
	if err != nil {
		if ctx.Err() == nil {
			l.queueTrouble("cannot take a ticket from the queue, trying again", err)
			l.sleep(ctx, l.afterStore())
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
	case w.HoldDoubt && d.Doubt && !idempotent(w.Station):
		// Doubt that no attempt of this run settled: a crash, or it came from another line.
		if !l.setAside(lease, verdict{hold, doubt, holdReason(false, "an earlier attempt did not end")}) {
			l.sleep(ctx, l.afterStore())
		}
		return
	}
	l.update(func(s *Status) { s.Attempt, s.NextTry = d.Attempt, time.Time{} })
	l.sleep(ctx, l.attempt(ctx, w, lease))
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

// sleep pauses until the turn is woken.
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
	}
	l.update(func(s *Status) { s.NextTry = time.Time{} })
}

// afterStore is the pause after the queue has failed; the stations are not to blame.
func (l *line) afterStore() time.Duration {
	l.store++
	return backoff(l.store)
}

// queueTrouble logs what the queue would not do, when it changes.
func (l *line) queueTrouble(msg string, err error) {
	if key := msg + ": " + err.Error(); l.saidQ != key {
		l.saidQ = key
		l.log.Warn(msg, "err", err)
	}
}
