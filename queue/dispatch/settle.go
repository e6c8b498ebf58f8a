package dispatch

import (
	"context"
	"errors"
	"time"

	"ticketrail/queue/ticket"
)

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

// trouble logs what keeps a ticket from going out, when it changes. A ticket in doubt is
// a change of its own: somebody may ask for it by its number.
func (l *line) trouble(o *outlet, msg string, lease Lease, a attempt) {
	key := msg + ": " + a.err.Error()
	if o.said == key && !a.begun {
		return
	}
	o.said = key
	attrs := append(about(lease), "err", a.err)
	if !o.own {
		attrs = append(attrs, "backup", o.Name)
	}
	if a.stack != nil {
		// Error: a panic is a mistake in the program, and somebody must report it.
		l.log.Error("station panicked: "+msg, append(attrs, "stack", string(a.stack))...)
		return
	}
	l.log.Warn(msg, attrs...)
}

// queueTrouble logs what the queue would not do, when it changes.
func (l *line) queueTrouble(msg string, err error) {
	if key := msg + ": " + err.Error(); l.saidQ != key {
		l.saidQ = key
		l.log.Warn(msg, "err", err)
	}
}

// about names a ticket in the log.
func about(lease Lease) []any {
	d := lease.Delivery()
	return []any{"request", d.Ticket.Request, "job", d.Job, "venue", d.Ticket.Venue, "attempt", d.Attempt}
}
