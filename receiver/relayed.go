package receiver

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// A Relayed is a print request that a relay has stored and answered 200, for a box that fetches it.
type Relayed struct {
	Venue    string        // of the policy, in canonical form
	Device   string        // as the relay was told
	Received time.Time     // by the relay, by its clock
	Age      time.Duration // see [ticket.Request.Age]
	Body     []byte
}

// A Refused is a relayed request that cannot be printed as it is, now or later: what is to be kept of it, so that a
// person sees it and prints it.
type Refused struct{ Reject }

func (e *Refused) Error() string { return e.Message }

// Relay takes a request that a relay has stored, as if it had been posted here. It goes the way of every other: by its
// id, what has printed does not print again, whichever way it came first. When Relay returns nil, all of the request
// would survive a power cut.
//
// The service was answered 200 by the relay, so nobody sends the request again and nobody was told that it is wrong.
// It is therefore read leniently whatever receiver.schema says, from whichever device, and has no limit but the
// relay's. The error is a [*Refused] if no retry can help; after any other the outcome is unknown and a retry is safe.
// Relay waits for the disk no longer than receiver.respond_within, also after ctx has ended: what was begun is
// finished.
func (r *Receiver) Relay(ctx context.Context, one Relayed) (receipt ticket.Receipt, err error) {
	policy := *r.policy.Load()
	policy.mode = contract.Lenient
	x := &exchange{policy: &policy, start: one.Received, venue: policy.venues[one.Venue],
		device: truncateDevice(one.Device), body: one.Body}
	if x.venue == nil {
		return receipt, fmt.Errorf("venue %s is not listed under venues", one.Venue)
	}
	defer func() { // a body that causes a panic must not stop the daemon, again and again
		if p := recover(); p != nil {
			r.log.Error("a relayed request panicked; report this with the stack",
				"err", p, "stack", string(debug.Stack()))
			err = r.refuseRelayed(x, refused(Internal))
		}
	}()
	if r.arrived != nil {
		r.arrived(x.venue.ID)
	}
	ctx = context.WithoutCancel(ctx)
	waiting, cancel := context.WithTimeout(ctx, policy.respondWithin)
	defer cancel()
	release, err := r.parsing.acquire(waiting, x.body)
	if err != nil {
		return receipt, refused(TooSlow)
	}
	defer release()
	planned, refusal := r.plan(x)
	if refusal != nil {
		return receipt, r.refuseRelayed(x, refusalOf(refusal))
	}
	planned.Age = one.Age
	// The time that planning took does not count: an order that is much work for this box would never be taken.
	storing, cancel := context.WithTimeout(ctx, policy.respondWithin)
	defer cancel()
	if receipt, err = r.intake.Accept(storing, planned); err != nil {
		return receipt, err
	}
	r.countStored(receipt)
	r.logAccepted(x, planned.ID, receipt)
	r.keepAccepted(x, "", receipt)
	r.noteShape(x, receipt)
	return receipt, nil
}

// refuseRelayed counts and logs a refusal, and returns it with the body.
func (r *Receiver) refuseRelayed(x *exchange, why *refusal) error {
	r.metrics.requests[why.code].Inc()
	from := sender{venue: x.venue.ID, device: x.device, known: true}
	r.logRefusal(why.code, why.message, from)
	return &Refused{Reject{Time: x.start.UTC(), Fetched: time.Now().UTC(), Venue: from.venue, Device: from.device,
		Code: string(why.code), Message: why.message + why.code.advice(), Body: x.body}}
}
