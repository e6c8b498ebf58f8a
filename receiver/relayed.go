package receiver

import (
	"context"
	"errors"
	"fmt"
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
	policy := r.policy.Load()
	// The time that planning takes does not count: an order that is much work for this box would never be taken.
	x := &exchange{policy: policy, mode: contract.Lenient, start: one.Received, venue: policy.venues[one.Venue],
		device: truncateDevice(one.Device), body: one.Body, age: one.Age, storeWithin: policy.RespondWithin,
		secret: true}
	if x.venue == nil {
		return receipt, fmt.Errorf("venue %s is not listed under venues", one.Venue)
	}
	if r.arrived != nil {
		r.arrived(x.venue.ID)
	}

	receipt, err = r.take(context.WithoutCancel(ctx), x)
	if why, isRefusal := errors.AsType[*refusal](err); isRefusal {
		return receipt, r.refuseRelayed(x, why)
	}
	if err != nil {
		return receipt, err
	}
	r.countStored(receipt)
	r.record(x, receipt)
	return receipt, nil
}

// refuseRelayed counts and logs a refusal, and returns it with the body.
func (r *Receiver) refuseRelayed(x *exchange, why *refusal) error {
	r.metrics.requests[why.code].Inc()
	r.logRefusal(why.code, why.message, sender{venue: x.venue.ID, device: x.device, known: true})
	one := x.rejected(why.code)
	one.Message, one.Fetched = why.message+answerings[why.code].advice, time.Now().UTC()
	return &Refused{one}
}
