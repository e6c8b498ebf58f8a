package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// A worker is the goroutine that serves one lane, and its state. There is at most one of a name, and
// it keeps running when its station changes: that is why two goroutines never serve one queue.
type worker struct {
	d    *Dispatcher
	name string
	log  *slog.Logger

	// Guarded by d.mu.
	lane   *Lane              // the lane to serve; nil: end
	wake   context.CancelFunc // ends the wait of the current cycle, in Take or in a pause
	status Status

	// Used by the worker's goroutine alone.
	targets        []*target // the own station first, then the backups
	downSince      time.Time // when the own station first failed since it last printed; zero: it works
	ownRetryAt     time.Time // when the own station may be tried although a backup prints for it
	lastAttempt    time.Time // when the last attempt ended
	queueFailures  int       // of the queue, in a row
	lastQueueError string    // the queue's error that was logged last; empty when it works
	tooOldJob      uint64    // job that was returned once because it was too old
}

// serve runs cycles until the lane is removed or the dispatcher stops.
func (w *worker) serve() {
	for {
		ctx, lane, ok := w.startCycle()
		if !ok {
			return
		}
		w.buildTargets(lane)

		w.cycle(ctx, lane)
		if ctx.Err() != nil {
			w.resetBackoff()
		}
	}
}

// startCycle returns the lane to serve and a context that ends when a new cycle must start early:
// Set changed the lane, or Kick or Stop was called. Prints do not use this context: they are not
// interrupted by a reload. false means that the worker must end; it is then no longer in d.workers.
func (w *worker) startCycle() (context.Context, Lane, bool) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()

	w.wake() // releases the context of the previous cycle
	stopping := w.d.takeCtx.Err() != nil
	if w.lane == nil || stopping {
		delete(w.d.workers, w.name)
		if !stopping { // the last scrape before the program ends should still find the series
			w.d.metrics.deleteSeries(w.name)
		}
		return nil, Lane{}, false
	}

	ctx, cancel := context.WithCancel(w.d.takeCtx)
	w.wake = cancel
	return ctx, *w.lane, true
}

// cycle serves one ticket: expire, take, print, settle, pause.
func (w *worker) cycle(ctx context.Context, lane Lane) {
	w.expire(ctx, lane.ExpireAfter)
	start := time.Now()
	lease, err := w.d.queue.Take(ctx, w.name)
	w.excludeIdleTime(start)

	if err != nil {
		if ctx.Err() == nil {
			w.logQueueError("cannot take a ticket from the queue, trying again", err)
			w.sleep(ctx, w.queuePause())
		}
		return
	}

	delivery := lease.Delivery()
	switch {
	case ctx.Err() != nil:
		// The lane was changed, removed or stopped while Take returned this ticket.
		w.returnUntried(ctx, lease, "not begun")
		return
	case lane.ExpireAfter > 0 && lease.Waited() > lane.ExpireAfter && delivery.Ticket.Kind != ticket.ExpiredList &&
		w.tooOldJob != delivery.Job:
		// It got too old while Take was blocked by a held station. The next cycle expires it. This is
		// done once for each ticket: if the queue cannot expire it, printing late is better than never.
		w.tooOldJob = delivery.Job
		w.returnUntried(ctx, lease, "too old")
		return
	case lane.HoldDoubt && delivery.Doubt && !isIdempotent(lane.Station):
		// In doubt although no attempt of this worker left it so: after a crash, or it was moved here.
		// No marked copy was begun.
		why := holdReason(false, "an earlier attempt did not end")
		if !w.settle(lease, decide(queue.Hold, resultDoubt, why)) {
			w.sleep(ctx, w.queuePause())
		}
		return
	}

	w.update(func(s *Status) { s.Attempt, s.NextTry = delivery.Attempt, time.Time{} })
	w.sleep(ctx, w.deliver(ctx, lane, lease))
}

// expire runs before each Take, so that a station that works again prints the slip first. An error
// does not stop the worker: a full disk must not keep tickets from printing.
func (w *worker) expire(ctx context.Context, after time.Duration) {
	if after <= 0 {
		return
	}

	w.d.queue.AwaitOld(ctx, w.name, after)
	if ctx.Err() != nil { // a stop: these tickets would be on one slip, and the rest, after the start, on another
		return
	}

	expired, err := w.d.queue.Expire(ctx, w.name, after)
	if err != nil && ctx.Err() == nil {
		w.logQueueError("cannot expire old tickets, they are printed late", err)
	}

	if expired > 0 {
		w.d.metrics.tickets.WithLabelValues(w.name, string(ticket.Expired)).Add(float64(expired))
		w.log.Warn("tickets expired", "tickets", expired, "older_than", after)
	}
}

// sleep pauses until the time is over or the cycle's context ends.
func (w *worker) sleep(ctx context.Context, pause time.Duration) {
	if pause <= 0 {
		return
	}

	w.update(func(s *Status) { s.NextTry = time.Now().Add(pause) })
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}

	w.update(func(s *Status) { s.NextTry = time.Time{} })
}

// queuePause is the pause after the queue has failed. It has a backoff of its own, because the
// stations are not to blame and must be tried at once when the storage works again.
func (w *worker) queuePause() time.Duration {
	w.queueFailures++
	return backoff(w.queueFailures)
}

// logQueueError logs an error of the queue when it is another one than before: a full disk is one
// line, not one every 30 s.
func (w *worker) logQueueError(msg string, err error) {
	if key := msg + ": " + err.Error(); w.lastQueueError != key {
		w.lastQueueError = key
		w.log.Warn(msg, "err", err)
	}
}

// conclude settles the lease after the attempts of this cycle, and returns how long to pause.
func (w *worker) conclude(lease Lease, a tryResult, v verdict) time.Duration {
	if v.End == queue.Ack && !slices.Contains(ticket.Proofs(), v.Proof) {
		// A bug in the station. It reports success, so store the weakest claim.
		w.log.Warn("station gave no proof, counted as sent", "proof", string(v.Proof))
		v.Proof = ticket.Sent
	}

	settled := w.settle(lease, v)
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

// returnUntried returns a ticket that no station was given.
func (w *worker) returnUntried(ctx context.Context, lease Lease, why string) {
	if !w.settle(lease, decide(queue.Return, resultInterrupted, why)) {
		w.sleep(ctx, w.queuePause())
	}
}

var errSettleTimeout = errors.New("shutdown: the storage did not accept it in time")

// settle stores the outcome of a ticket, and says whether that worked. A shutdown does not cancel it,
// only limits it to settleWithin after prints were interrupted. Without a shutdown it waits for the
// storage without limit: no ticket could be begun anyway.
//
// After a crash before the write, a ticket that was begun is in doubt at the next start, even if it
// was printed; one that was not begun is as if it had never been taken. After a crash later, it is
// settled.
func (w *worker) settle(lease Lease, v verdict) bool {
	waited := lease.Waited()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(w.d.printCtx))
	defer cancel(nil)
	defer context.AfterFunc(w.d.printCtx, func() {
		select {
		case <-time.After(settleWithin):
			cancel(errSettleTimeout)
		case <-ctx.Done():
		}
	})()

	err := lease.Settle(ctx, v.Settlement)
	if err == nil {
		w.noteEnd(lease, v, waited)
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

// noteEnd counts and logs how a ticket has ended at this station.
func (w *worker) noteEnd(lease Lease, v verdict, waited time.Duration) {
	attrs := ticketAttrs(lease)
	count := func(as ticket.State) { w.d.metrics.tickets.WithLabelValues(w.name, string(as)).Inc() }

	switch v.End {
	case queue.Ack:
		w.queueFailures = 0
		count(v.Proof)
		w.d.metrics.wait.WithLabelValues(w.name).Observe(waited.Seconds())
		attrs = append(attrs, "outcome", string(v.Proof), "wait", waited)
		if v.Backup != "" {
			attrs = append(attrs, "backup", v.Backup)
		}
		w.log.Info("ticket delivered", attrs...)
		return
	case queue.Hold:
		count(ticket.Held)
		w.log.Error("ticket held; reprint or cancel it", append(attrs, "outcome", "held", "reason", v.Reason)...)
	case queue.Fail:
		count(ticket.Failed)
		w.log.Error("ticket failed; it is not tried again", append(attrs, "outcome", "failed", "reason", v.Reason)...)
	case queue.Move:
		w.log.Warn("ticket refused, another station gets it",
			append(attrs, "refused_by", v.RefusedBy, "to", v.To, "reason", v.Reason)...)
	default:
		return
	}

	w.update(func(s *Status) { s.Attempt = 0 })
}

// ticketAttrs identify a ticket in the log.
func ticketAttrs(lease Lease) []any {
	delivery := lease.Delivery()
	return []any{"request", delivery.Ticket.Request, "job", delivery.Job, "venue", delivery.Ticket.Venue,
		"attempt", delivery.Attempt}
}
