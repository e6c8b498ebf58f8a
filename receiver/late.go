package receiver

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

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
	x := &exchange{policy: r.policy.Load(), start: one.Time, device: one.Device, body: one.Body, late: true}
	if err := x.mended(one, lenient); err != nil {
		return ticket.Receipt{}, err
	}
	release, err := r.parsing.acquire(ctx, x.body)
	if err != nil {
		return ticket.Receipt{}, err
	}
	defer release()
	if lenient {
		p := *x.policy
		p.mode = contract.Lenient
		x.policy = &p
	}
	planned, err := r.planLate(x)
	if refused, ok := errors.AsType[*refusal](err); ok {
		if !lenient {
			return ticket.Receipt{}, hindrance(
				"it still cannot be read: %s; printed leniently, it prints as text", refused.message)
		}
		request, _, _ := contract.AsText(x.body, "")
		planned = r.split(x, request)
	}
	zone, err := time.LoadLocation(planned.Drafts[0].Ticket.Zone)
	if err != nil {
		zone = time.UTC
	}
	reason, _, _ := strings.Cut(one.Message, ";")
	head := fmt.Sprintf("LATE – refused at %s: %.120s", one.Time.In(zone).Format("15:04"), reason)
	planned.Late = true
	for i := range planned.Drafts {
		t := &planned.Drafts[i].Ticket
		t.Banners = append([]string{strings.ToValidUTF8(head, "")}, t.Banners...)
	}
	return r.intake.Accept(ctx, planned)
}

// planLate is plan for a body that may have caused a panic before.
func (r *Receiver) planLate(x *exchange) (planned ticket.Request, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("a refused request panicked; report this with the stack",
				"err", p, "stack", string(debug.Stack()))
			err = &refusal{Internal, "it causes an internal error"}
		}
	}()
	return r.plan(x)
}

// mended finds the venue, and what of the cause is still there.
func (x *exchange) mended(one StoredReject, lenient bool) error {
	x.venue = x.policy.venues[one.Venue]
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
	case int64(len(one.Body)) > x.policy.maxBody:
		return hindrance("its body has %d bytes, and receiver.max_body is %d: raise it, or print it leniently",
			len(one.Body), x.policy.maxBody)
	}
	return nil
}
