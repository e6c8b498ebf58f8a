package receiver

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"ticketrail/receiver/contract"
)

// The contract defines only the statuses. The bodies are ours: they are for the people who read the
// service's log, and for possim check, which reads "duplicate".

// successBody is the answer 200: the promise that the order is on stable storage.
type successBody struct {
	Status    string `json:"status"`
	Duplicate bool   `json:"duplicate"`
	Jobs      int    `json:"jobs"`
}

// failureBody is every other answer.
type failureBody struct {
	Status string    `json:"status"`
	Error  errorBody `json:"error"`
}

type errorBody struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// A refusal is the error that becomes an answer other than 200; a [Reject] is the stored body of one.
// Its message is the error.message of the answer.
type refusal struct {
	code    Code
	message string // for the service's log and ours; quotes nothing of the body, which names guests
}

func (r *refusal) Error() string { return r.message }

// refused is a refusal with the default message of its code.
func refused(c Code) *refusal { return &refusal{c, answerings[c].message} }

// refusalOf finds the answer to an error of a middleware, of the handler or of the router.
func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	switch {
	// Of Echo's router: errors that passed no check of ours.
	case errors.Is(err, echo.ErrNotFound):
		return refused(NotFound)
	case errors.Is(err, echo.ErrMethodNotAllowed):
		return refused(MethodNotAllowed)
	}
	// A panic, or an error that no case above expects: 500, because the cause may be gone at the next
	// attempt.
	return refused(Internal)
}

// After a refusal that was decided before a body was read that is kept, readRefused reads the rest of it for at most
// linger and lingerBytes; other refusals leave it to net/http. TCP resets a connection that is closed
// with unread data, and a caller that sends its whole body before it reads would get that reset instead
// of the answer.
const (
	linger      = time.Second
	lingerBytes = 16 << 20
)

// refuse is Echo's HTTPErrorHandler: it answers every error, counts and logs it, and passes to
// Options.Reject a body that was refused for its content, and a caller that was turned away.
//
// The steps have an order: first the answer, because the caller waits for it; then the log line;
// then the rest of the body, which may take up to linger; Options.Reject last, because it needs the
// body.
func (r *Receiver) refuse(err error, c echo.Context) {
	x := exchangeOf(c)
	defer r.free(x)
	// After it, a second answer would only garble the connection; the panic is in the log.
	if x.answered {
		return // it panicked after the 200, which must not be taken back
	}
	refusal, from := refusalOf(err), x.sender(c)
	if refusal.code != NotFound && refusal.code != MethodNotAllowed { // scanners would distort the histogram
		r.metrics.seconds.Observe(time.Since(x.start).Seconds())
	}
	reason := refusal.code
	if reason == NotFound && from.venue != "" && c.Request().Method == http.MethodPost {
		reason = WrongPath // for us: the caller is told no more than any other
	}
	r.metrics.requests[reason].Inc()
	h := c.Response().Header()
	closing := !x.bodyRead
	if closing {
		// Without this, net/http reads the rest of the body, at the caller's speed, before it sends the answer.
		h.Set(echo.HeaderConnection, "close")
	}
	switch refusal.code.Status() {
	case contract.HTTPUnavailable:
		h.Set(echo.HeaderRetryAfter, answerings[refusal.code].retryAfter)
	case http.StatusMethodNotAllowed:
		h.Set(echo.HeaderAllow, http.MethodPost)
	}
	x.answer(c, refusal.code.Status(), failureBody{contract.ValueError, errorBody{refusal.code, refusal.message}})
	repeated, noted := r.logRefusal(reason, refusal.message, from)
	if closing { // counted from now: writing the log line may have taken long
		_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(linger))
	}
	one := x.rejected(reason)
	one.Venue, one.Device, one.Body = from.venue, from.device, nil
	one.Message = refusal.message + answerings[reason].advice
	switch {
	case x.keepsBody(refusal.code):
		if closing {
			r.readRefused(x, c.Request())
		}
		one.Body, one.Truncated = x.body, x.truncated
	case reason.turnedAway() && noted:
		one.Count = 1 + repeated
	default:
		return
	}
	if r.reject != nil {
		r.reject(one)
	}
}

// rejected is the request as Options.Reject gets it.
func (x *exchange) rejected(code Code) Reject {
	one := Reject{Time: x.start.UTC(), Device: x.device, Address: x.address, Code: string(code), Secret: x.secret,
		Body: x.body}
	if x.venue != nil {
		one.Venue = x.venue.ID
	}
	return one
}

// keepsBody says whether Options.Reject gets the body of a refused request. After a 400 it does: the
// order is lost. So is that of an allowed venue whose device is not allowed or not named. After a 500 the
// service tries again, but if this body is the cause, all its attempts fail and the order is lost too. A 500
// before the body was read has no body to keep.
func (x *exchange) keepsBody(code Code) bool {
	switch code {
	case DeviceMissing, DeviceNotAllowed:
		return x.venue != nil
	case Internal:
		return x.bodyRead
	}
	return code.Status() == contract.HTTPBadRequest
}

// answer sends the answer at once and not when the handler returns, so that the log line written after
// it delays no caller. It ignores write errors: the caller is gone, and sends the request again.
func (x *exchange) answer(c echo.Context, status int, v any) {
	x.answered = true
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: strings, a bool, an int
	}
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	_ = c.JSONBlob(status, body)
	_ = http.NewResponseController(c.Response()).Flush()
}
