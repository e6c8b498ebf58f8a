package dispatch

import (
	"context"
	"errors"
	"slices"
	"time"

	"ticketrail/queue/ticket"
)

// conclude settles the ticket after its last attempt, which was on t, and returns how long to pause.
func (w *worker) conclude(t *target, lease Lease, a attempt, v verdict) time.Duration {
	if v.end == endAck && !slices.Contains(ticket.Proofs(), a.proof) {
		// A bug in the station. It reports success, so store the weakest claim.
		w.log.Warn("station gave no proof, counted as sent", "proof", string(a.proof))
		a.proof = ticket.Sent
	}
	var settled bool
	switch v.end {
	case endAck:
		settled = w.ack(t, lease, a, v)
	case endHold, endFail:
		settled = w.holdOrFail(lease, v)
	case endMove:
		settled = w.move(lease, v)
	default:
		settled = w.settle(lease, v, "")
	}
	// No pause after resultPermanent, which says nothing bad about the station, nor after
	// resultInterrupted by a shutdown. If it was the queue that failed, it gets the queue's pause.
	var pause time.Duration
	switch {
	case v.result == resultCleanFailure, v.result == resultNotReady, v.result == resultDoubt:
		pause = w.untilNextTry()
	case a.queueFailed():
		pause = w.queuePause()
	}
	if !settled {
		// The queue may lend the same ticket again. Without a pause it would be printed in a loop.
		return max(pause, w.queuePause())
	}
	return pause
}

// ack settles a ticket that t has printed.
func (w *worker) ack(t *target, lease Lease, a attempt, v verdict) bool {
	waited := lease.Waited()
	if !w.settle(lease, v, a.proof) {
		return false
	}
	w.queueFailures = 0
	w.d.metrics.countOutcome(w.name, a.proof, 1)
	w.d.metrics.wait.WithLabelValues(w.name).Observe(waited.Seconds())
	attrs := append(ticketAttrs(lease), "outcome", string(a.proof), "wait", waited)
	if !t.own {
		attrs = append(attrs, "backup", t.Name)
	}
	w.log.Info("ticket delivered", attrs...)
	return true
}

// holdOrFail settles a ticket for which a person must act, and says whether that was stored.
func (w *worker) holdOrFail(lease Lease, v verdict) bool {
	if !w.settle(lease, v, "") {
		return false
	}
	w.update(func(s *Status) { s.Attempt = 0 })
	state, msg, outcome := ticket.Held, "ticket held; reprint or cancel it", "held"
	if v.end == endFail {
		state, msg, outcome = ticket.Failed, "ticket failed; it is not tried again", "failed"
	}
	w.d.metrics.countOutcome(w.name, state, 1)
	w.log.Error(msg, append(ticketAttrs(lease), "outcome", outcome, "reason", v.reason)...)
	return true
}

// move sends a ticket that was refused to another station's queue, and says whether that was stored.
func (w *worker) move(lease Lease, v verdict) bool {
	if !w.settle(lease, v, "") {
		return false
	}
	w.update(func(s *Status) { s.Attempt = 0 })
	w.log.Warn("ticket refused, another station gets it",
		append(ticketAttrs(lease), "refused_by", v.refusedBy, "to", v.to, "reason", v.reason)...)
	return true
}

// returnUntried returns a ticket that no station was given.
func (w *worker) returnUntried(ctx context.Context, lease Lease, why string) {
	if !w.settle(lease, verdict{end: endReturn, result: resultInterrupted, reason: why}, "") {
		w.sleep(ctx, w.queuePause())
	}
}

var errSettleTimeout = errors.New("shutdown: the storage did not accept it in time")

// settle stores the outcome of a ticket, and says whether that worked. A shutdown does not cancel it,
// only limits it to settleWithin after prints were interrupted. Without a shutdown it waits for the
// storage without limit: no ticket could be begun meanwhile anyway.
//
// After a crash before the write, a ticket that was begun is in doubt at the next start, even if it
// was printed; one that was not begun is as if it had never been taken. After a crash later, it is
// settled.
func (w *worker) settle(lease Lease, v verdict, proof ticket.Proof) bool {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(w.d.printCtx))
	defer cancel(nil)
	defer context.AfterFunc(w.d.printCtx, func() {
		t := time.NewTimer(settleWithin)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(errSettleTimeout)
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
	// Error, not Warn: the kitchen may get this ticket twice, and only a person can notice.
	w.log.Error("outcome of the ticket could not be stored, it may print again",
		append(ticketAttrs(lease), "err", err)...)
	return false
}

// apply ends the lease as the verdict says.
func (v verdict) apply(ctx context.Context, lease Lease, proof ticket.Proof) error {
	switch v.end {
	case endAck:
		return lease.Ack(ctx, proof, v.backup)
	case endRetry:
		return lease.Retry(ctx, v.reason)
	case endReturn:
		return lease.Return(ctx, v.reason)
	case endHold:
		return lease.Hold(ctx, v.reason)
	case endMove:
		return lease.Move(ctx, v.to, v.refusedBy, v.reason)
	default:
		return lease.Fail(ctx, v.reason)
	}
}

// ticketAttrs identify a ticket in the log.
func ticketAttrs(lease Lease) []any {
	d := lease.Delivery()
	return []any{"request", d.Ticket.Request, "job", d.Job, "venue", d.Ticket.Venue, "attempt", d.Attempt}
}
