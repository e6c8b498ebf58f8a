package receiver

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// An exchange is one request on its way to its answer.
type exchange struct {
	r      *Receiver
	policy *snapshot // the one that serves all of it
	w      http.ResponseWriter
	req    *http.Request
	over   func() // it has been answered

	start    time.Time // about when the headers were read
	deadline time.Time // for the answer

	venue    *venue // nil until it is known to be allowed
	device   string
	id       string // the request's, once it is stored
	received bool   // the caller is one of ours: venue and device may post

	body      []byte
	bodyRead  bool  // to its end
	truncated bool  // body is not all of it
	held      int64 // what of Receiver.large is for body
}

// linger is how long, and lingerBytes how far, the server goes on reading a body that was
// refused. A caller that sends all before it listens would otherwise see a reset connection
// and not the answer.
const (
	linger      = time.Second
	lingerBytes = 16 << 20
)

// exchange answers a request. After the answer nothing is done that could fail, or that
// somebody waits for.
func (r *Receiver) exchange(w http.ResponseWriter, req *http.Request) {
	r.running.Add(1)
	over := sync.OnceFunc(func() { r.running.Add(-1) })
	defer over()
	start := time.Now()
	p := r.policy.Load()
	x := &exchange{r: r, policy: p, w: w, req: req, over: over, start: start, deadline: start.Add(p.respondWithin)}
	receipt, no := x.decide()
	r.large.Add(-x.held)
	if x.received {
		r.metrics.last.SetToCurrentTime()
	}
	if r.parting.Load() {
		w.Header().Set("Connection", "close") // HTTP/2 makes a GOAWAY of it
	}
	if no != nil {
		x.refuse(no)
		return
	}
	writeStored(w, receipt)
	x.sendOff()
	defer r.rescue()
	x.accepted(receipt)
}

// sendOff lets the answer go now and not when the handler returns: nobody waits for what
// follows. (HTTP/2 sends all of it, but ends the stream only then.)
func (x *exchange) sendOff() {
	_ = http.NewResponseController(x.w).Flush()
	x.over()
}

// rescue is deferred where the answer is out already: whatever goes wrong after it is reported.
func (r *Receiver) rescue() {
	if v := recover(); v != nil {
		r.panicked(v)
	}
}

// refuse answers anything but 200 and shows a lost ticket's body to whoever keeps them.
func (x *exchange) refuse(no *refusal) {
	hangUp := !x.bodyRead
	if no.code != NotFound && no.code != MethodNotAllowed {
		x.r.metrics.seconds.Observe(time.Since(x.start).Seconds())
	}
	x.r.metrics.requests[no.code].Inc()
	writeError(x.w, no, hangUp)
	x.sendOff()
	defer x.r.rescue()
	x.r.refused(x, no)
	if hangUp { // counted from now: the journal may have taken its time
		_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(linger))
	}
	// After a 500 the service tries again, three times in vain if it is the body that we fail on.
	if no.code.Status() != contract.StatusMismatch && (no.code != Internal || !x.bodyRead) {
		return
	}
	if hangUp {
		x.readLate()
	}
	if x.r.reject == nil {
		return
	}
	x.r.reject(Reject{
		Time: x.start.UTC(), Venue: x.venue.ID, Device: x.device, Code: string(no.code), Message: no.message,
		Body: x.body, Truncated: x.truncated,
	})
}

// decide finds the answer, whatever happens on the way.
func (x *exchange) decide() (receipt ticket.Receipt, no *refusal) {
	defer func() {
		if v := recover(); v != nil {
			x.r.panicked(v)
			no = &refusal{Internal, Internal.plain()}
		}
	}()
	if no := x.admit(); no != nil {
		return ticket.Receipt{}, no
	}
	// The server's own time-outs are longer and the same for all; this is the promise to answer.
	_ = http.NewResponseController(x.w).SetReadDeadline(x.deadline)
	if no := x.readBody(); no != nil {
		return ticket.Receipt{}, no
	}
	// A caller that hangs up now does not undo its order.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(x.req.Context()), x.deadline)
	defer cancel()
	// Parsed, planned and on its way into the queue a request needs much memory for a moment,
	// so only so much is worked on at a time.
	weight := x.weight()
	if x.r.parsing.Acquire(ctx, weight) != nil {
		return ticket.Receipt{}, &refusal{TooSlow, TooSlow.plain()}
	}
	defer x.r.parsing.Release(weight)
	planned, no := x.plan()
	if no != nil {
		return ticket.Receipt{}, no
	}
	if x.r.draining.Load() {
		return ticket.Receipt{}, &refusal{ShuttingDown, ShuttingDown.plain()}
	}
	return x.store(ctx, planned)
}

// plan reads the body and makes tickets of it.
func (x *exchange) plan() (ticket.Request, *refusal) {
	opened, err := contract.Open(x.body, x.policy.mode)
	if err != nil {
		code := SchemaMismatch
		if _, ok := errors.AsType[*contract.InvalidJSON](err); ok {
			code = InvalidJSON
		}
		return ticket.Request{}, &refusal{code, err.Error()}
	}
	if contract.VenueDiffers(opened, x.venue.ID) {
		opened.Anomalies = append(opened.Anomalies, contract.VenueOther)
	}
	for _, a := range opened.Anomalies {
		x.r.anomaly(a, x.venue.ID, opened.ID)
	}
	result := x.policy.plan.Split(opened, x.venue.Venue, x.device, x.start.UTC(), x.policy.names)
	if len(result.Failures) > 0 {
		x.r.rulesFailed(result, x.venue.ID)
	}
	return result.Request, nil
}

// store hands the request over and waits for the promise, but not longer than the service
// does: the intake returns when ctx ends. A commit that comes later is harmless: the retry finds
// it and is a duplicate.
func (x *exchange) store(ctx context.Context, planned ticket.Request) (ticket.Receipt, *refusal) {
	receipt, err := x.r.intake.Accept(ctx, planned)
	if err == nil {
		x.id = planned.ID
		x.count(receipt)
		return receipt, nil
	}
	code := x.r.why(ctx, err)
	return ticket.Receipt{}, &refusal{code, code.plain()}
}

// why names an error of the intake.
func (r *Receiver) why(ctx context.Context, err error) Code {
	switch {
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return TooSlow
	case r.classify == nil:
		return StorageFailed
	}
	if c := r.classify(err); c.Status() == contract.StatusUnavailable {
		return c
	}
	return StorageFailed
}
