package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// A tryResult is the result of one call of Print. A lease may have several, of its own station and of backups; the
// queue counts them as one attempt.
type tryResult struct {
	proof ticket.Proof
	err   error
	// beginCalled says that the station called begin, whatever begin returned.
	beginCalled bool
	// begun says that ticket bytes may have been sent: Begin succeeded and the error is not
	// [ticket.Untouched].
	begun bool
	// beginErr is why Begin failed. Nothing was printed then, and the station is not to blame.
	beginErr error
	// idempotent says that the station is [Idempotent].
	idempotent bool
	// interrupted says that err was returned after the shutdown had interrupted the print.
	interrupted bool
	// stack is where the station panicked, if it did.
	stack []byte
}

// queueFailed says that the queue could not store its begin.
func (a tryResult) queueFailed() bool { return a.beginErr != nil && !a.interrupted }

// deliver tries the targets in order, the own station first. It skips those that are in a pause, and
// backups whose After has not passed, and stops at the first that prints, calls begin or refuses the ticket for good.
// It returns how long to pause.
func (w *worker) deliver(ctx context.Context, lane Lane, lease Lease) time.Duration {
	var used *target
	var a tryResult
	var v verdict
	var earlier []verdict // of the stations tried before used

	for _, t := range w.targets {
		if !w.ready(t) {
			continue
		}
		if used != nil {
			earlier = append(earlier, v)
		}
		used = t
		// If the lane was changed or stopped during the attempt, no further station may begin.
		if a, v = w.try(used, lane, lease); !v.failedClean(a) || ctx.Err() != nil {
			break
		}
	}

	if used == nil {
		// The worker was woken early, or paused for the queue: every target is still in its pause. Try
		// the own station.
		used = w.targets[0]
		a, v = w.try(used, lane, lease)
	}

	return w.conclude(lease, a, v.withEarlier(earlier))
}

// try has one station print the ticket and notes the station's state.
func (w *worker) try(t *target, lane Lane, lease Lease) (tryResult, verdict) {
	done := w.print(t, lane, lease)
	w.lastAttempt = time.Now()

	decided := judge(done, lease.Delivery().Doubt, lane.HoldDoubt)
	decided.Untouched = ticket.IsUntouched(done.err)
	if decided.End == queue.Move {
		decided = decided.onRefusal(lane, lease.Delivery(), cmp.Or(t.Name, w.name))
	}
	w.d.metrics.attempts.WithLabelValues(w.name, string(decided.result)).Inc()
	w.noteResult(t, lease, done, decided)

	if !t.own {
		decided = decided.onBackup(t.Name)
	}

	return done, decided
}

// print has a station print the ticket. A panic becomes an error; whether the ticket is in doubt
// depends, as for any error, on whether begin was called.
func (w *worker) print(t *target, lane Lane, lease Lease) (a tryResult) {
	delivery := lease.Delivery()
	if !t.own && delivery.For == "" { // it is set if the ticket lists a dark screen's tickets, or was refused
		delivery.For, delivery.Down = w.name, cmp.Or(lane.Down, "printer")
	}

	ctx, cancel := context.WithCancelCause(w.d.printCtx)
	defer cancel(nil)
	gate := beginGate{lease: lease, idempotent: isIdempotent(t.Station)}

	if len(w.targets) > 1 {
		defer time.AfterFunc(readyWithin, func() { gate.timeOut(cancel) }).Stop()
	}

	defer func() {
		if panicked := recover(); panicked != nil {
			a = tryResult{err: fmt.Errorf("panic: %v", panicked), stack: debug.Stack()}
		}
		a.idempotent = gate.idempotent
		a.beginCalled, a.beginErr = gate.close()
		a.begun = a.beginCalled && a.beginErr == nil && !ticket.IsUntouched(a.err)
		a.interrupted = a.err != nil && w.d.printCtx.Err() != nil
	}()

	a.proof, a.err = t.Station.Print(ctx, delivery, gate.begin)
	if a.err != nil && errors.Is(context.Cause(ctx), errNotReadyInTime) {
		a.err = fmt.Errorf("%w: %w", errNotReadyInTime, a.err)
	}

	return a
}

// A beginGate is the begin function given to a station. It passes one call on to the lease, and only
// while Print runs: a late call must not mark a ticket that another station prints.
type beginGate struct {
	lease      Lease
	idempotent bool

	mu     sync.Mutex // guards the fields below; close waits on it for a Begin that is running
	called bool
	closed bool
	err    error // of Begin
}

var (
	errBegunTwice     = errors.New("begin: called twice in one attempt")
	errAttemptOver    = errors.New("begin: called after the attempt was over")
	errNotReadyInTime = fmt.Errorf("not ready within %v", readyWithin)
)

// readyWithin is how long a station may take until it calls begin when another one could print. A
// printer that is busy with another lane's ticket, which waits for paper, must not keep this lane's
// tickets from the backup. It is longer than the connect time-out, or no connect would ever finish.
const readyWithin = 30 * time.Second

func (g *beginGate) begin(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return errAttemptOver
	case g.called:
		return errBegunTwice
	}

	g.called = true
	// When Begin has returned nil, the doubt is on the disk. After a crash before that, the ticket
	// prints as if it had never been taken. After a crash later, the next copy carries the banner,
	// whether or not a byte was sent.
	g.err = g.lease.Begin(ctx, g.idempotent)
	return g.err
}

// timeOut interrupts a print that has not called begin, and refuses begin from then on. A print that
// has called it is not interrupted: bytes may be on their way.
func (g *beginGate) timeOut(interrupt context.CancelCauseFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.called {
		g.closed = true
		interrupt(errNotReadyInTime)
	}
}

// close refuses begin from now on. err is why Begin failed, if it was called.
func (g *beginGate) close() (called bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	return g.called, g.err
}

// A verdict is the decision after an attempt: how the lease is settled, which gives the job its state, and the label of
// a metric (ok, doubt, …).
type verdict struct {
	queue.Settlement
	result result
}

func decide(end queue.End, r result, reason string) verdict {
	return verdict{queue.Settlement{End: end, Reason: reason}, r}
}

// judge decides how an attempt ends. doubted says that an earlier attempt may have printed the
// ticket, so this copy was marked POSSIBLE DUPLICATE. holdDoubt is the [Lane]'s. A Move has no To yet:
// onRefusal decides that.
func judge(a tryResult, doubted, holdDoubt bool) verdict {
	if a.err == nil {
		return verdict{queue.Settlement{End: queue.Ack, Proof: a.proof}, resultOK}
	}
	why := a.err.Error()
	lastAllowed := a.begun && !a.idempotent && (doubted || holdDoubt) // one more could cook the order twice

	switch {
	case a.interrupted && lastAllowed:
		return decide(queue.Hold, resultInterrupted, holdReason(doubted, why))
	case a.interrupted:
		return decide(queue.Return, resultInterrupted, "interrupted by shutdown: "+why)
	case a.beginErr != nil:
		return decide(queue.Return, resultInterrupted, "could not begin: "+a.beginErr.Error())
	case ticket.IsPermanent(a.err) && a.begun && !a.idempotent:
		return decide(queue.Hold, resultPermanent, "cannot be printed, but a part may have come "+
			"out; check, then reprint or cancel: "+why)
	case ticket.IsPermanent(a.err):
		return decide(queue.Move, resultPermanent, why)
	case lastAllowed:
		return decide(queue.Hold, resultDoubt, holdReason(doubted, why))
	case a.begun: // checked before NotReady: if paper runs out after the first byte, it was an attempt
		return decide(queue.Retry, resultDoubt, "failed after the first byte: "+why)
	case ticket.IsNotReady(a.err):
		return decide(queue.Return, resultNotReady, why)
	default:
		return decide(queue.Retry, resultCleanFailure, why)
	}
}

// onRefusal decides where a ticket goes that the station refuser has refused for good: it goes to the first station of
// the lane's list that has not refused it, so it is at each one once. A test ticket stays: the person who sent
// it waits for the answer, and no cook needs it.
func (v verdict) onRefusal(lane Lane, d ticket.Delivery, refuser string) verdict {
	v.Reason = "refused by " + refuser + ": " + v.Reason
	if d.Ticket.Kind == ticket.Test {
		v.End = queue.Fail
		return v
	}

	v.RefusedBy = refuser
	for _, name := range lane.OnRefusal {
		if name != refuser && !slices.Contains(d.RefusedBy, name) {
			v.To = name
			return v
		}
	}

	v.End, v.Reason = queue.Hold, "no other station takes it; reprint it at another one, or cancel it: "+v.Reason
	return v
}

// holdReason tells the person who must decide where to look. begunTwice: the copy under the banner was begun too.
func holdReason(begunTwice bool, why string) string {
	if begunTwice {
		return "the first copy and the copy marked POSSIBLE DUPLICATE both failed midway; check what came " +
			"out, then reprint or cancel: " + why
	}
	return "failed after the first byte; check whether it came out, then reprint or cancel: " + why
}

// failedClean says that the attempt failed before begin, so another station may try the same ticket
// at once. After begin it may not, even if no byte was sent: a lease begins once.
func (v verdict) failedClean(a tryResult) bool {
	return !a.beginCalled && (v.result == resultCleanFailure || v.result == resultNotReady)
}

// withEarlier adds to v the verdicts of the stations that were tried for the ticket before, all of
// which failed before begin.
func (v verdict) withEarlier(earlier []verdict) verdict {
	var why []string
	for _, e := range earlier {
		why = append(why, e.Reason)
		if e.End == queue.Retry && v.result == resultNotReady {
			v.End = queue.Retry // not ready alone is no attempt; that failure makes it one
		}
	}

	if v.End != queue.Ack {
		v.Reason = strings.Join(append(why, v.Reason), "; ")
	}
	return v
}

// onBackup adds the name of the backup.
func (v verdict) onBackup(backup string) verdict {
	if v.End == queue.Ack {
		v.Backup = backup
	} else {
		v.Reason = "on " + backup + ": " + v.Reason
	}
	return v
}

// An Idempotent station recognizes a ticket by its job and never prints or shows it twice. After an
// attempt that broke off it is therefore given the ticket again as often as needed, and no person
// has to look. For every other station that ticket is in doubt.
type Idempotent interface{ Idempotent() bool }

func isIdempotent(s Station) bool {
	station, ok := s.(Idempotent)
	return ok && station.Idempotent()
}
