package dispatch

import (
	"context"
	"errors"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// conclude settles an attempt that o ended, and returns how long to pause.
func (l *line) conclude(o *outlet, lease Lease, a attempt, v verdict) time.Duration {
	if v.end == ack && !slices.Contains(ticket.Proofs(), a.proof) {
		// A mistake in the station. It says that the ticket is out, so claim the least.
		l.log.Warn("station gave no proof, counted as sent", "proof", string(a.proof))
		a.proof = ticket.Sent
	}
	var settled bool
	switch v.end {
	case ack:
		settled = l.out(o, lease, a, v)
	case hold, bury:
		settled = l.setAside(lease, v)
	default:
		settled = l.settle(lease, v, "")
	}
	var pause time.Duration // permanent: says nothing about the station; interrupted: nobody waits
	switch {
	case v.result == refused, v.result == notReady, v.result == doubt:
		pause = l.pause()
	case a.notBegun():
		pause = l.afterStore()
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
	l.d.metrics.wait.WithLabelValues(l.name).Observe(waited.Seconds())
	attrs := append(about(lease), "outcome", string(a.proof), "wait", waited)
	if !o.own {
		l.d.metrics.standIns.WithLabelValues(l.name, o.Name).Inc()
		attrs = append(attrs, "backup", o.Name)
	}
	l.log.Info("ticket out", attrs...)
	return true
}

// setAside holds or buries a ticket, and says whether that worked. A person must act.
func (l *line) setAside(lease Lease, v verdict) bool {
	if !l.settle(lease, v, "") {
		return false
	}
	l.update(func(s *Status) { s.Attempt = 0 })
	as, msg := ticket.Held, "ticket held for a person"
	if v.end == bury {
		as, msg = ticket.Buried, "ticket buried"
	}
	l.d.metrics.left(l.name, as, 1)
	l.log.Error(msg, append(about(lease), "outcome", string(as), "reason", v.reason)...)
	return true
}

// giveBack returns a ticket that was not tried.
func (l *line) giveBack(ctx context.Context, lease Lease, why string) {
	if !l.settle(lease, verdict{giveBack, interrupted, why}, "") {
		l.sleep(ctx, l.afterStore())
	}
}

var errUnsettled = errors.New("gave up: the shutdown cannot wait for the storage any longer")

// settle writes down what became of a ticket, and says whether that worked. A shutdown does
// not cancel it, only bounds it: settleWithin after prints were interrupted. Until then it
// waits for the storage as long as that takes; nothing could be begun meanwhile anyway.
//
// A crash before the write: a ticket that was begun is in doubt at the next start, also if it
// is out; one that was not is as if never taken. A crash after it: it is settled.
func (l *line) settle(lease Lease, v verdict, proof ticket.Proof) bool {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(l.d.hard))
	defer cancel(nil)
	defer context.AfterFunc(l.d.hard, func() {
		t := time.NewTimer(settleWithin)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(errUnsettled)
		case <-ctx.Done():
		}
	})()
	err := v.apply(ctx, lease, proof)
	if err == nil {
		return true
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	// Error: the kitchen may see this ticket twice, and only a person can tell.
	l.log.Error("what became of the ticket could not be stored, it may print again", append(about(lease), "err", err)...)
	return false
}

// apply ends the lease as the verdict says.
func (v verdict) apply(ctx context.Context, lease Lease, proof ticket.Proof) error {
	switch v.end {
	case ack:
		return lease.Ack(ctx, proof, v.reason)
	case retry:
		return lease.Retry(ctx, v.reason)
	case giveBack:
		return lease.Return(ctx, v.reason)
	case hold:
		return lease.Hold(ctx, v.reason)
	default:
		return lease.Bury(ctx, v.reason)
	}
}

// about names a ticket in the log.
func about(lease Lease) []any {
	d := lease.Delivery()
	return []any{"request", d.Ticket.Request, "job", d.Job, "venue", d.Ticket.Venue, "attempt", d.Attempt}
}
