package receiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// A Hindrance is why a refused request cannot be printed yet, with advice for a person.
type Hindrance struct{ Message string }

func (h *Hindrance) Error() string { return h.Message }

func hindrance(format string, args ...any) error { return &Hindrance{fmt.Sprintf(format, args...)} }

// PrintLate prints a request that was refused, as if it came now, headed LATE. It goes the way of every other:
// by its id, a printed order does not print again, neither now nor when the service sends it. The cause must
// be mended, unless lenient: then it prints by the lenient rules, or as text, whatever was wrong with it. Only
// its venue must be configured, because that says where it prints.
//
// The error is a [*Hindrance], or one of Intake.
func (r *Receiver) PrintLate(ctx context.Context, one StoredReject, lenient bool) (ticket.Receipt, error) {
	policy := r.policy.Load()
	late := &exchange{policy: policy, mode: policy.Mode, venue: policy.named(one.Venue), start: one.Time,
		device: one.Device, body: one.Body}
	late.refusedFor, _, _ = strings.Cut(cmp.Or(one.Message, one.Code), ";")
	if err := late.stillWrong(one, lenient); err != nil {
		return ticket.Receipt{}, err
	}

	if lenient {
		late.mode = contract.Lenient
	}

	receipt, err := r.take(ctx, late)
	switch _, isRefusal := errors.AsType[*refusal](err); {
	case isRefusal && lenient:
		late.mode = contract.Text
		return r.take(ctx, late)
	case isRefusal:
		return receipt, hindrance("it still cannot be read: %s; printed leniently, it prints as text", err)
	}
	return receipt, err
}

// named is the venue of an id, or of a name, which a person writes; nil: there is none.
func (p *compiledPolicy) named(idOrName string) *Venue {
	if id, ok := contract.CanonicalID(idOrName); ok {
		return p.venues[id]
	}

	for _, v := range p.venues {
		if v.Name == idOrName {
			return v
		}
	}
	return nil
}

// stillWrong returns the part of the cause that has not been mended.
func (x *exchange) stillWrong(one StoredReject, lenient bool) error {
	switch {
	case one.turnedAway():
		return hindrance("it is a caller that was turned away before its request was read: there is no body")
	case one.Venue == "":
		return hindrance("it names no venue: say which one it is for with --venue")
	case x.venue == nil:
		return hindrance("venue %q is not listed under venues: add it and run systemctl reload ticketrail", one.Venue)
	case len(one.Body) == 0:
		return hindrance("its body is empty")
	case lenient:
	case one.Truncated:
		return hindrance("only the beginning of its body was kept (%d bytes); printed leniently, that prints as text",
			one.Size)
	case one.Device == "":
		return hindrance("it names no device; it can be printed leniently")
	case !x.venue.allows(one.Device):
		return hindrance("%q is still not one of the venue's devices: add it and run systemctl reload ticketrail, "+
			"or print it leniently", one.Device)
	case int64(len(one.Body)) > x.policy.MaxBody:
		return hindrance("its body has %d bytes, and receiver.max_body is %d: raise it, or print it leniently",
			len(one.Body), x.policy.MaxBody)
	}
	return nil
}

// ErrNoReject says that there is no entry of that number.
var ErrNoReject = errors.New("not found")

func (r *Rejects) index(id uint64) int {
	return slices.IndexFunc(r.kept, func(one StoredReject) bool { return one.ID == id })
}

// Get reads an entry with its body. The error wraps ErrNoReject, or is one of the store; a body that cannot
// be read is an error.
func (r *Rejects) Get(id uint64) (one StoredReject, err error) {
	r.mu.Lock()
	i := r.index(id)
	if i >= 0 {
		one = r.kept[i]
	}
	r.mu.Unlock()
	if i < 0 {
		return one, fmt.Errorf("refused request %d: %w: the last %d are kept", id, ErrNoReject, MaxRejects)
	}

	for at := 0; at < one.Size; at += rejectPiece {
		piece, ok, err := r.bodies.Get(pieceKey(id, at))
		if err != nil {
			return StoredReject{}, err
		}
		if !ok {
			return StoredReject{}, fmt.Errorf("refused request %d: its body is missing", id)
		}
		one.Body = append(one.Body, piece...)
	}
	return one, nil
}

// MarkPrinted stores that an entry was printed.
func (r *Rejects) MarkPrinted(ctx context.Context, id uint64, at time.Time) error {
	r.mu.Lock()
	i := r.index(id)
	if i < 0 {
		r.mu.Unlock()
		return fmt.Errorf("refused request %d: %w", id, ErrNoReject)
	}

	r.kept[i].Printed = at
	one := r.kept[i]
	r.mu.Unlock()
	return r.putEntry(ctx, one)
}

// A Relayed is a print request that a relay has stored and answered 200, for a box that fetches it.
type Relayed struct {
	Venue    string        // of the policy, in canonical form
	Device   string        // as the relay was told
	Received time.Time     // by the relay, by its clock
	Age      time.Duration // see [ticket.Request.Age]
	Body     []byte
}

// A Refused is a relayed request that cannot be printed as it is, now or later. It is kept, so that a person sees it
// and prints it.
type Refused struct{ Reject }

func (e *Refused) Error() string { return e.Message }

// Relay takes a request that a relay has stored, as if it had been posted here. It goes the way of every other: by its
// id, a printed order does not print again, whichever way it came first. When Relay returns nil, all of the request
// would survive a power cut.
//
// The service was answered 200 by the relay, so the request is not sent again and no person was told that it is wrong.
// It is therefore read leniently whatever receiver.schema says, from whichever device, and has no limit but the
// relay's. The error is a [*Refused] if no retry can help; after any other the outcome is unknown and a retry is safe.
// Relay waits for the disk no longer than receiver.respond_within, also after ctx has ended: a request
// that was begun is finished.
func (r *Receiver) Relay(ctx context.Context, one Relayed) (receipt ticket.Receipt, err error) {
	policy := r.policy.Load()

	// The time that planning takes does not count: an order that is much work for this box would never be taken.
	relayed := &exchange{policy: policy, mode: contract.Lenient, start: one.Received, venue: policy.venues[one.Venue],
		device: truncateDevice(one.Device), body: one.Body, age: one.Age, storeWithin: policy.RespondWithin,
		venueID: one.Venue, hasSecret: true}
	if relayed.venue == nil {
		return receipt, fmt.Errorf("venue %s is not listed under venues", one.Venue)
	}

	r.lastRequests.Store(relayed.venue.ID, time.Now())
	receipt, err = r.take(context.WithoutCancel(ctx), relayed)
	if why, isRefusal := errors.AsType[*refusal](err); isRefusal {
		return receipt, r.refuseRelayed(relayed, why)
	}
	if err != nil {
		return receipt, err
	}

	r.countStored(receipt)
	r.noteStored(relayed, receipt)
	return receipt, nil
}

// refuseRelayed counts and logs a refusal, and returns it with the body.
func (r *Receiver) refuseRelayed(x *exchange, why *refusal) error {
	r.metrics.requests[why.code].Inc()
	one := x.entry(why.code, why.message)
	r.logRefusal(one, true)
	one.Fetched = time.Now().UTC()
	return &Refused{one}
}
