package receiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// A Hindrance is why a refused request cannot be printed yet, and what a person can do.
type Hindrance struct{ Message string }

func (h *Hindrance) Error() string { return h.Message }

func hindrance(format string, args ...any) error { return &Hindrance{fmt.Sprintf(format, args...)} }

// PrintLate prints a request that was refused, as if it came now, headed LATE. It goes the way of every other:
// by its id, what has printed does not print again, neither now nor when the service sends it. The cause must
// be mended, unless lenient: then it prints by the lenient rules, or as text, whatever was wrong with it. Only
// its venue must be configured, because that says where it prints.
//
// The error is a [*Hindrance], or one of Intake.
func (r *Receiver) PrintLate(ctx context.Context, one StoredReject, lenient bool) (ticket.Receipt, error) {
	policy := r.policy.Load()
	x := &exchange{policy: policy, mode: policy.Mode, venue: policy.venues[one.Venue], start: one.Time,
		device: one.Device, body: one.Body}
	x.refusedFor, _, _ = strings.Cut(cmp.Or(one.Message, one.Code), ";")
	if err := x.mended(one, lenient); err != nil {
		return ticket.Receipt{}, err
	}

	if lenient {
		x.mode = contract.Lenient
	}
	receipt, err := r.take(ctx, x)
	switch _, isRefusal := errors.AsType[*refusal](err); {
	case isRefusal && lenient:
		x.mode = contract.Text
		return r.take(ctx, x)
	case isRefusal:
		return receipt, hindrance("it still cannot be read: %s; printed leniently, it prints as text", err)
	}
	return receipt, err
}

// mended says what of the cause is still there.
func (x *exchange) mended(one StoredReject, lenient bool) error {
	switch {
	case one.turnedAway():
		return hindrance("it is a caller that was turned away before its request was read: there is no body")
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
	case x.venue.devices != nil && !x.venue.devices[one.Device]:
		return hindrance("%q is still not one of the venue's devices: add it and run systemctl reload ticketrail, "+
			"or print it leniently", one.Device)
	case int64(len(one.Body)) > x.policy.MaxBody:
		return hindrance("its body has %d bytes, and receiver.max_body is %d: raise it, or print it leniently",
			len(one.Body), x.policy.MaxBody)
	}
	return nil
}
