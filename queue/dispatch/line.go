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

// attempt has the first station print that can: the own one, unless it has only just failed,
// else the backups whose time has come. It returns how long to pause.
func (l *line) attempt(ctx context.Context, w Line, lease Lease) time.Duration {
	var clean []verdict
	var last attempt
	for _, o := range l.outlets {
		if !l.ready(o) {
			continue
		}
		a, v := l.try(o, w, lease)
		if last = a; !v.clean(a) || ctx.Err() != nil { // the line was changed or stopped: begin nothing more
			return l.conclude(o, lease, a, v.after(clean))
		}
		clean = append(clean, v)
	}
	if len(clean) > 0 {
		end := len(clean) - 1
		return l.conclude(nil, lease, last, clean[end].after(clean[:end]))
	}
	// Nobody's pause is over, but a ticket is in hand: the line paused for something else.
	o := l.outlets[0]
	a, v := l.try(o, w, lease)
	return l.conclude(o, lease, a, v)
}

// try has one station print the ticket, and learns from it.
func (l *line) try(o *outlet, w Line, lease Lease) (attempt, verdict) {
	a := l.print(o, lease)
	l.tried = time.Now()
	v := judge(a, lease.Delivery().Doubt, w.HoldDoubt)
	l.d.metrics.attempt(l.name, v.result)
	l.learn(o, lease, a, v)
	if !o.own {
		v = v.on(o.Name)
	}
	return a, v
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

// conclude settles an attempt that o ended, and returns how long to pause.
func (l *line) conclude(o *outlet, lease Lease, a attempt, v verdict) time.Duration {
	if v.end == ack && !slices.Contains(ticket.Proofs(), a.proof) {
		// A mistake in the station. It says that the ticket is out, so claim the least.
		l.log.Warn("station gave no proof, counted as sent", "proof", string(a.proof))
		a.proof = ticket.Sent
	}
	var settled bool
	pause := time.Duration(0) // permanent: says nothing about the station; interrupted: nobody waits
	switch {
	case v.end == ack:
		settled = l.out(o, lease, a, v)
	case v.end == hold, v.end == bury:
		settled = l.setAside(lease, v)
	default:
		settled = l.settle(lease, v, "")
	}
	switch v.result {
	case refused, notReady, doubt:
		pause = l.pause()
	case interrupted:
		if a.beginErr != nil && !a.interrupted {
			pause = l.afterStore()
		}
	}
	if !settled {
		// Whatever the queue lends next may be the same ticket: never at full speed.
		return max(pause, l.afterStore())
	}
	return pause
}

// out settles a ticket that went out of o.
func (l *line) out(o *outlet, lease Lease, a attempt, v verdict) bool {
	waited := lease.Waited()
	if !l.settle(lease, v, a.proof) {
		return false
	}
	l.store = 0
	l.d.metrics.left(l.name, a.proof, 1)
	l.d.metrics.out(l.name, waited)
	attrs := append(about(lease), "outcome", string(a.proof), "wait", waited)
	if !o.own {
		l.d.metrics.stoodIn(l.name, o.Name)
		attrs = append(attrs, "backup", o.Name)
	}
	l.log.Info("ticket out", attrs...)
	return true
}

// giveBack returns a ticket that was not tried.
func (l *line) giveBack(ctx context.Context, lease Lease, why string) {
	if !l.settle(lease, verdict{giveBack, interrupted, why}, "") {
		l.sleep(ctx, l.afterStore())
	}
}

// learn takes from an attempt what it says about the station. Of the own one everybody is
// told; a backup has a line of its own that speaks for it.
func (l *line) learn(o *outlet, lease Lease, a attempt, v verdict) {
	var pause time.Duration
	switch v.result {
	case ok:
		l.works(o, lease)
		return
	case refused:
		l.failed(o, a.err, "")
		l.trouble(o, "ticket did not go out, trying again", lease, a)
		pause = o.fails.afterRefusal()
	case notReady:
		l.failed(o, a.err, a.err.Error())
		l.trouble(o, "printer waits for a person", lease, a)
		o.fails.refused = 0
		pause = poll()
	case doubt:
		if ticket.IsNotReady(a.err) {
			l.failed(o, a.err, a.err.Error())
			l.trouble(o, "printer waits for a person, ticket in doubt", lease, a)
			pause = poll()
			break
		}
		l.failed(o, a.err, "")
		l.trouble(o, "ticket in doubt", lease, a)
		pause = o.fails.afterDoubt()
	case interrupted:
		if a.beginErr != nil && !a.interrupted {
			l.queueTrouble("cannot begin a ticket, trying again", a.beginErr)
			return
		}
		l.log.Info("ticket interrupted by shutdown", append(about(lease), "begun", a.begun, "err", a.err)...)
		return
	default: // permanent: says nothing about the station
		return
	}
	o.next = time.Now().Add(pause)
}

// works takes note of a ticket that went out.
func (l *line) works(o *outlet, lease Lease) {
	o.fails, o.next = failures{}, time.Time{}
	again := o.said != ""
	o.said, l.saidQ = "", ""
	switch {
	case !o.own:
		if l.stoodIn(o.Name) {
			l.log.Warn("another printer stands in", append(about(lease), "backup", o.Name, "down_since", l.down)...)
		}
	case again:
		l.log.Info("printer works again", about(lease)...)
		fallthrough
	default:
		l.recovered()
		l.worked()
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
