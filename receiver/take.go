package receiver

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// take reads a print request, has it planned and hands it over. The answer 200 is written only
// after the intake has returned nil; nothing that could fail, or that somebody waits for, is
// done after it.
func (r *Receiver) take(c echo.Context) error {
	x := exchangeOf(c)
	receipt, id, err := r.accept(c, x)
	if err != nil {
		return err
	}
	r.count(x, receipt)
	x.answer(c, contract.StatusStored, stored{contract.StatusSuccess, receipt.Duplicate, receipt.Jobs})
	r.accepted(x, id, receipt)
	return nil
}

func (r *Receiver) accept(c echo.Context, x *exchange) (receipt ticket.Receipt, id string, err error) {
	defer func() { r.large.Add(-x.held) }() // after a panic too
	// The server's own time-outs are longer and the same for all; this is the promise to answer.
	_ = http.NewResponseController(c.Response()).SetReadDeadline(x.deadline)
	if err := r.readBody(c, x); err != nil {
		return ticket.Receipt{}, "", err
	}
	// A caller that hangs up now does not undo its order.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(c.Request().Context()), x.deadline)
	defer cancel()
	// Parsed, planned and on its way into the queue a request needs much memory for a moment,
	// so only so much is worked on at a time.
	weight := x.weight()
	if r.parsing.Acquire(ctx, weight) != nil {
		return ticket.Receipt{}, "", refused(TooSlow)
	}
	defer r.parsing.Release(weight)
	planned, err := r.plan(x)
	if err != nil {
		return ticket.Receipt{}, "", err
	}
	// The intake returns when ctx ends. A commit that comes later is harmless: the retry finds it
	// and is a duplicate.
	if receipt, err = r.intake.Accept(ctx, planned); err != nil {
		return ticket.Receipt{}, "", refused(r.why(ctx, err))
	}
	return receipt, planned.ID, nil
}

// plan parses the body and makes tickets of it.
func (r *Receiver) plan(x *exchange) (ticket.Request, error) {
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
		r.anomaly(a, x.venue.ID, opened.ID)
	}
	result := x.policy.plan.Split(opened, x.venue.Venue, x.device, x.start.UTC(), x.policy.names)
	if len(result.Failures) > 0 {
		r.rulesFailed(result, x.venue.ID)
	}
	return result.Request, nil
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
