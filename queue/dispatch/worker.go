package dispatch

import (
	"context"
	"log/slog"
	"time"

	"ticketrail/queue/ticket"
)

// A worker is the goroutine that serves one lane, and its state. There is at most one of a name, and
// it keeps running when its station changes: that is why two goroutines never serve one queue.
type worker struct {
	d    *Dispatcher
	name string
	log  *slog.Logger

	// Guarded by d.mu.
	lane   *Lane              // what to serve; nil: end
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
	w.excludeIdle(start)
	if err != nil {
		if ctx.Err() == nil {
			w.logQueueError("cannot take a ticket from the queue, trying again", err)
			w.sleep(ctx, w.queuePause())
		}
		return
	}
	d := lease.Delivery()
	switch {
	case ctx.Err() != nil:
		// The lane was changed, removed or stopped while Take returned this ticket.
		w.returnUntried(ctx, lease, "not begun")
		return
	case lane.ExpireAfter > 0 && lease.Waited() > lane.ExpireAfter && d.Ticket.Kind != ticket.Slip &&
		w.tooOldJob != d.Job:
		// It got too old while Take was blocked by a held station. The next cycle expires it. This is
		// done once for each ticket: if the queue cannot expire it, printing late is better than never.
		w.tooOldJob = d.Job
		w.returnUntried(ctx, lease, "too old")
		return
	case lane.HoldDoubt && d.Doubt && !isIdempotent(lane.Station):
		// In doubt although no attempt of this worker left it so: after a crash, or it was moved here.
		why := holdReason(false, "an earlier attempt did not end")
		if !w.holdOrFail(lease, verdict{end: endHold, result: resultDoubt, reason: why}) {
			w.sleep(ctx, w.queuePause())
		}
		return
	}
	w.update(func(s *Status) { s.Attempt, s.NextTry = d.Attempt, time.Time{} })
	w.sleep(ctx, w.deliver(ctx, lane, lease))
}

// expire runs before each Take, so that a station that works again prints the slip first. An error
// does not stop the worker: a full disk must not keep tickets from printing.
func (w *worker) expire(ctx context.Context, after time.Duration) {
	if after <= 0 {
		return
	}
	w.d.queue.GatherOld(ctx, w.name, after)
	if ctx.Err() != nil { // what came so far would print after the start, and the rest on another slip
		return
	}
	n, err := w.d.queue.Expire(ctx, w.name, after)
	if err != nil && ctx.Err() == nil {
		w.logQueueError("cannot expire old tickets, they are printed late", err)
	}
	if n > 0 {
		w.d.metrics.countOutcome(w.name, ticket.Expired, n)
		w.log.Warn("tickets expired", "tickets", n, "older_than", after)
	}
}

// sleep pauses until the time is over or the cycle's context ends.
func (w *worker) sleep(ctx context.Context, pause time.Duration) {
	if pause <= 0 {
		return
	}
	w.update(func(s *Status) { s.NextTry = time.Now().Add(pause) })
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
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
