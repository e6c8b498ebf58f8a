package receiver

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// handle reads a print request, plans it and passes it to the intake. The 200 is written only after
// Intake.Accept has returned nil. A crash before that means no answer: the service sends the request
// again. A crash after it loses nothing, because the order is on stable storage. Nothing that can fail
// is done between the two, and nothing that the caller would wait for after the 200.
func (r *Receiver) handle(c echo.Context) error {
	x := exchangeOf(c)
	receipt, id, err := r.accept(c, x)
	if err != nil {
		return err
	}
	r.countAccepted(x, receipt)
	x.answer(c, contract.HTTPStored, successBody{contract.ValueSuccess, receipt.Duplicate, receipt.Jobs})
	r.logAccepted(x, id, receipt)
	return nil
}

// accept reads, plans and stores a request. It returns the receipt and the request's id.
func (r *Receiver) accept(c echo.Context, x *exchange) (receipt ticket.Receipt, id string, err error) {
	defer func() { r.largeReserved.Add(-x.reserved) }() // after a panic too
	// A sender that trickles its body must get its 503 before it gives up.
	// The server's own time-out is the same for all policies; this one keeps respond_within.
	_ = http.NewResponseController(c.Response()).SetReadDeadline(x.deadline)
	if err := r.readBody(c, x); err != nil {
		return ticket.Receipt{}, "", err
	}
	// WithoutCancel: a caller that hangs up now does not cancel its order.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(c.Request().Context()), x.deadline)
	defer cancel()
	// Until it is stored a request needs many times the memory of its body, so all that are worked
	// on at a time share maxParseMemory. One hostile body that needs all of it makes others
	// wait, but no longer than until their own deadline: they are answered 503 and sent again.
	need := x.memoryEstimate()
	if r.parsing.Acquire(ctx, need) != nil {
		return ticket.Receipt{}, "", refused(TooSlow)
	}
	defer r.parsing.Release(need)
	planned, err := r.plan(x)
	if err != nil {
		return ticket.Receipt{}, "", err
	}
	// Accept returns when ctx ends. If the commit succeeds later, the retry is a duplicate and prints
	// nothing.
	if receipt, err = r.intake.Accept(ctx, planned); err != nil {
		return ticket.Receipt{}, "", refused(r.codeOf(ctx, err))
	}
	return receipt, planned.ID, nil
}

// plan parses the body and plans its tickets. The error is one of the parser: planning cannot fail,
// so a mistake in the routes never refuses an order.
func (r *Receiver) plan(x *exchange) (ticket.Request, error) {
	request, err := contract.Open(x.body, x.policy.mode)
	if err != nil {
		code := SchemaMismatch
		if _, ok := errors.AsType[*contract.InvalidJSON](err); ok {
			code = InvalidJSON
		}
		return ticket.Request{}, &refusal{code, err.Error()}
	}
	// The header decides, because it was checked against the allow-list. The order is printed
	// anyway: refusing it would lose a dinner over a field that no ticket needs.
	if contract.VenueDiffers(request, x.venue.ID) {
		request.Anomalies = append(request.Anomalies, contract.VenueOther)
	}
	for _, a := range request.Anomalies {
		r.noteAnomaly(a, x.venue.ID, request.ID)
	}
	result := x.policy.plan.Split(request, x.venue.Venue, x.device, x.start.UTC(), x.policy.names)
	if len(result.Failures) > 0 {
		r.noteExpressionFailures(result, x.venue.ID)
	}
	return result.Request, nil
}

// codeOf returns the code for an error of Intake. Its status is always 503: after a 4xx the service
// would not retry.
func (r *Receiver) codeOf(ctx context.Context, err error) Code {
	switch {
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return TooSlow
	case r.classify == nil:
		return StorageFailed
	}
	// A Code of another status would be a mistake in the caller's function; it must not cost an
	// order.
	if c := r.classify(err); c.Status() == contract.HTTPUnavailable {
		return c
	}
	return StorageFailed
}
