package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// An attempt is what came of one call of Print.
type attempt struct {
	proof ticket.Proof
	err   error
	// asked says that the station called begin, whatever came of it.
	asked bool
	// begun says that Begin succeeded and the station does not know better: ticket bytes may have gone out.
	begun bool
	// beginErr is why Begin failed, if it did: then nothing was printed and it was not the station's fault.
	beginErr error
	// known says that the station is [Idempotent].
	known bool
	// interrupted says that err came after the shutdown had cut the attempt short.
	interrupted bool
	// stack is where the station panicked, if it did.
	stack []byte
}

// notBegun says that it was the queue that failed, not the station.
func (a attempt) notBegun() bool { return a.beginErr != nil && !a.interrupted && !a.takenBack() }

// takenBack says that the ticket had ended in the queue when the station asked to begin: see queue.Rescue.
func (a attempt) takenBack() bool { return errors.Is(a.beginErr, queue.ErrConflict) }

// attempt has the first station print that can: the own one, unless it has only just failed,
// else the backups whose time has come. It returns how long to pause.
func (l *line) attempt(ctx context.Context, w Lane, lease Lease) time.Duration {
	var o *outlet
	var a attempt
	var v verdict
	var clean []verdict // of the stations tried before o
	for _, next := range l.outlets {
		if !l.ready(next) {
			continue
		}
		if o != nil {
			clean = append(clean, v)
		}
		o = next
		if a, v = l.try(o, w, lease); !v.clean(a) || ctx.Err() != nil { // the line was changed or stopped: begin nothing more
			break
		}
	}
	if o == nil { // nobody's pause is over, but a ticket is in hand: the line paused for something else
		o = l.outlets[0]
		a, v = l.try(o, w, lease)
	}
	return l.conclude(o, lease, a, v.after(clean))
}

// try has one station print the ticket, and learns from it.
func (l *line) try(o *outlet, w Lane, lease Lease) (attempt, verdict) {
	a := l.print(o, lease)
	l.tried = time.Now()
	v := judge(a, lease.Delivery().Doubt, w.HoldDoubt)
	l.d.metrics.attempts.WithLabelValues(l.name, string(v.result)).Inc()
	l.learn(o, lease, a, v)
	if !o.own {
		v = v.on(o.Name)
	}
	return a, v
}

// print has a station print the ticket. A panic becomes an error, in doubt or not like
// any other: what a station was doing when it broke is for begin to say.
func (l *line) print(o *outlet, lease Lease) (a attempt) {
	d := lease.Delivery()
	if !o.own && d.For == "" { // what was on a dark screen is for that
		d.For, d.Down = l.name, "printer"
	}
	ctx, cancel := context.WithCancelCause(l.d.hard)
	defer cancel(nil)
	g := gate{lease: lease}
	known := idempotent(o.Station)
	lease.SetIdempotent(known)
	if len(l.outlets) > 1 {
		defer time.AfterFunc(readyWithin, func() { g.expire(cancel) }).Stop()
	}
	defer func() {
		if p := recover(); p != nil {
			a = attempt{err: fmt.Errorf("panic: %v", p), stack: debug.Stack()}
		}
		a.known = known
		a.asked, a.beginErr = g.close()
		if a.begun = a.asked && a.beginErr == nil; a.begun && ticket.IsUntouched(a.err) {
			lease.Untouched()
			a.begun = false
		}
		a.interrupted = a.err != nil && l.d.hard.Err() != nil
	}()
	a.proof, a.err = o.Station.Print(ctx, d, g.begin)
	if a.err != nil && errors.Is(context.Cause(ctx), errSlow) {
		a.err = fmt.Errorf("%w: %w", errSlow, a.err)
	}
	return a
}

// A gate is the begin that a station gets: it lets one Begin through, while Print runs.
type gate struct {
	lease Lease

	mu    sync.Mutex // guards what follows, and makes close wait for a Begin under way
	asked bool
	over  bool
	err   error // of Begin
}

var (
	errTwice = errors.New("begin: called twice in one attempt")
	errOver  = errors.New("begin: called after the attempt was over")
	errSlow  = fmt.Errorf("not ready within %v", readyWithin)
)

// readyWithin is how long a station may take until it begins, where another could print: one
// that is busy with the ticket of another line, which waits for paper, must not keep this
// line's tickets from coming out elsewhere. It is more than a connect time-out.
const readyWithin = 30 * time.Second

func (g *gate) begin(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.over:
		return errOver
	case g.asked:
		return errTwice
	}
	g.asked = true
	// When Begin has returned nil the doubt is durable. A crash before it and the ticket prints as if
	// never taken; a crash after it and the next copy carries the banner, whether or not a byte went out.
	g.err = g.lease.Begin(ctx)
	return g.err
}

// expire interrupts a print that has not asked to begin, for good: it may not any more. One that
// has asked takes as long as it takes.
func (g *gate) expire(interrupt context.CancelCauseFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.asked {
		g.over = true
		interrupt(errSlow)
	}
}

// close lets nothing through any more. err is why Begin failed.
func (g *gate) close() (asked bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	return g.asked, g.err
}

// An ending is one of the five ends of a lease.
type ending int

const (
	ack ending = iota
	retry
	giveBack
	hold
	bury
)

// A verdict is what is to be done about an attempt.
type verdict struct {
	end    ending
	result result
	reason string // for people; of ack only what is out of the ordinary
}

// judge decides what an attempt means. doubted says that an earlier attempt may have come
// out already (so this was the marked reprint), holdDoubt that the line wants no reprint.
func judge(a attempt, doubted, holdDoubt bool) verdict {
	if a.err == nil {
		return verdict{ack, ok, ""}
	}
	why := a.err.Error()
	last := a.begun && !a.known && (doubted || holdDoubt) // of the attempts nobody asked for
	switch {
	case a.interrupted && last:
		return verdict{hold, interrupted, holdReason(doubted, why)}
	case a.interrupted:
		return verdict{giveBack, interrupted, "interrupted by shutdown: " + why}
	case a.beginErr != nil:
		return verdict{giveBack, interrupted, "could not begin: " + a.beginErr.Error()}
	case ticket.IsPermanent(a.err) && (a.begun && !a.known || doubted):
		return verdict{bury, permanent, "cannot be printed, but a part or a copy may have come out: " + why}
	case ticket.IsPermanent(a.err):
		return verdict{bury, permanent, "cannot be printed: " + why}
	case last:
		return verdict{hold, doubt, holdReason(doubted, why)}
	case a.begun: // also when it is the paper that ended: bytes went out, so it was an attempt
		return verdict{retry, doubt, "broke off after the first byte: " + why}
	case ticket.IsNotReady(a.err):
		return verdict{giveBack, notReady, why}
	default:
		return verdict{retry, refused, why}
	}
}

// holdReason tells the person who must decide what to look for.
func holdReason(doubted bool, why string) string {
	if doubted {
		return "the first copy and the marked reprint both broke off; see what came out, then reprint or cancel: " + why
	}
	return "broke off after the first byte; see whether it came out, then reprint or cancel: " + why
}

// clean says that the attempt failed without a trace: another station may try the very same
// ticket at once. One that has asked to begin is past that, even if it knows that nothing
// went out, for a lease begins once.
func (v verdict) clean(a attempt) bool {
	return !a.asked && (v.result == refused || v.result == notReady)
}

// after is v as the last of several stations that were tried for one ticket, of which the
// earlier ones failed clean.
func (v verdict) after(earlier []verdict) verdict {
	var why []string
	for _, e := range earlier {
		why = append(why, e.reason)
		if e.end == retry && v.result == notReady {
			v.end = retry // one of them was an attempt
		}
	}
	if v.end != ack {
		v.reason = strings.Join(append(why, v.reason), "; ")
	}
	return v
}

// on is v as reached by a backup.
func (v verdict) on(backup string) verdict {
	if v.end == ack {
		v.reason = "came out of " + backup
	} else {
		v.reason = "on " + backup + ": " + v.reason
	}
	return v
}
