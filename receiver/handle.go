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
		return err // refuse frees the body
	}
	defer r.free(x)
	r.countAccepted(x, receipt)
	x.answer(c, contract.HTTPStored, successBody{contract.ValueSuccess, receipt.Duplicate, receipt.Jobs})
	r.logAccepted(x, id, receipt)
	r.keepAccepted(x, c.RealIP(), receipt)
	r.noteShape(x, receipt)
	return nil
}

// keepAccepted passes to Options.Reject a body that was answered 200 and of which something may not be on
// paper. address is the caller's.
func (r *Receiver) keepAccepted(x *exchange, address string, receipt ticket.Receipt) {
	one := Reject{Time: x.start.UTC(), Venue: x.venue.ID, Device: x.device, Address: address, Body: x.body}
	switch {
	case receipt.Conflict:
		one.Code = string(reasonConflict)
		one.Message = "the id was used before, with other content; " + x.policy.conflictText()
		if !x.policy.reportConflict {
			one.Printed = one.Time
		}
	case x.cut && !receipt.Duplicate:
		one.Code = string(contract.OverLimit)
		one.Message = "only its beginning is on paper, as text: it is more than a ticket can hold"
		one.Printed = one.Time
	default:
		return
	}
	if r.reject != nil {
		r.reject(one)
	}
}

// accept reads, plans and stores a request. It returns the receipt and the request's id.
func (r *Receiver) accept(c echo.Context, x *exchange) (receipt ticket.Receipt, id string, err error) {
	// A sender that trickles its body must get its 503 before it gives up.
	// The server's own time-out is the same for all policies; this one keeps respond_within.
	_ = http.NewResponseController(c.Response()).SetReadDeadline(x.deadline)
	if err := r.readBody(c, x); err != nil {
		return ticket.Receipt{}, "", err
	}
	// WithoutCancel: a caller that hangs up now does not cancel its order.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(c.Request().Context()), x.deadline)
	defer cancel()
	// One hostile body that needs much memory makes other large ones wait, but no longer than until their own
	// deadline: they are answered 503 and sent again.
	release, err := r.parsing.acquire(ctx, x.body)
	if err != nil {
		return ticket.Receipt{}, "", refused(TooSlow)
	}
	defer release()
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
	if m, ok := errors.AsType[*contract.Mismatch](err); ok && m.Limit {
		// The limit is ours, not the contract's: the order must not be lost for it.
		request, x.cut, err = contract.AsText(x.body, "TOO MUCH FOR A TICKET – "+m.Error())
		if err != nil {
			err = &contract.InvalidJSON{Reason: err.Error()}
		}
	}
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
	return r.split(x, request), nil
}

// split plans the tickets.
func (r *Receiver) split(x *exchange, request contract.PrintRequest) ticket.Request {
	x.request = request
	result := x.policy.plan.Split(request, x.venue.Venue, x.device, x.start.UTC(), x.policy.names)
	if len(result.Failures) > 0 {
		r.noteExpressionFailures(result, x.venue.ID)
	}
	result.Request.ReportConflict = x.policy.reportConflict && !x.late
	return result.Request
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
