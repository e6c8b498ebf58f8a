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

// stored is the answer 200: a promise.
type stored struct {
	Status    string `json:"status"`
	Duplicate bool   `json:"duplicate"`
	Jobs      int    `json:"jobs"`
}

// failed is every other answer.
type failed struct {
	Status string    `json:"status"`
	Error  errorBody `json:"error"`
}

type errorBody struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// A refusal is the error that becomes an answer other than 200.
type refusal struct {
	code    Code
	message string // for the service's log and ours; holds nothing of the body
}

func (n *refusal) Error() string { return n.message }

// refused is a refusal without details.
func refused(c Code) *refusal { return &refusal{c, c.plain()} }

// refusalOf finds the answer to an error of a middleware, of the handler or of the router.
func refusalOf(err error) *refusal {
	if n, ok := errors.AsType[*refusal](err); ok {
		return n
	}
	switch {
	case errors.Is(err, echo.ErrNotFound):
		return refused(NotFound)
	case errors.Is(err, echo.ErrMethodNotAllowed):
		return refused(MethodNotAllowed)
	}
	return refused(Internal)
}

// linger is how long, and lingerBytes how far, the server goes on reading a body that was
// refused. A caller that sends all before it listens would otherwise see a reset connection
// and not the answer.
const (
	linger      = time.Second
	lingerBytes = 16 << 20
)

// refuse is Echo's HTTPErrorHandler: it answers every error, counts and logs it, and shows the
// body of a lost ticket to whoever keeps them.
func (r *Receiver) refuse(err error, c echo.Context) {
	x := exchangeOf(c)
	if p, ok := errors.AsType[*panicked](err); ok {
		r.log.Error("print request panicked; report this with the stack", "err", p.err, "stack", string(p.stack))
	}
	if x.answered {
		return // it panicked after the promise, which stands
	}
	no := refusalOf(err)
	if no.code != NotFound && no.code != MethodNotAllowed {
		r.metrics.seconds.Observe(time.Since(x.start).Seconds())
	}
	r.metrics.requests[no.code].Inc()
	h := c.Response().Header()
	hangUp := !x.bodyRead
	if hangUp {
		// The server would read the rest of the body, at the caller's speed, before the answer goes out.
		h.Set(echo.HeaderConnection, "close")
	}
	switch no.code.Status() {
	case contract.StatusUnavailable:
		h.Set(echo.HeaderRetryAfter, no.code.retryAfter())
	case http.StatusMethodNotAllowed:
		h.Set(echo.HeaderAllow, http.MethodPost)
	}
	x.answer(c, no.code.Status(), failed{contract.StatusError, errorBody{no.code, no.message}})
	r.logRefusal(x, c.Request(), no)
	if hangUp { // counted from now: the journal may have taken its time
		_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(linger))
	}
	// After a 500 the service tries again, three times in vain if it is the body that we fail on.
	if no.code.Status() != contract.StatusMismatch && (no.code != Internal || !x.bodyRead) {
		return
	}
	if hangUp {
		x.readLate(c.Request())
	}
	if r.reject != nil {
		r.reject(Reject{
			Time: x.start.UTC(), Venue: x.venue.ID, Device: x.device, Code: string(no.code), Message: no.message,
			Body: x.body, Truncated: x.truncated,
		})
	}
}

// answer sends an answer now and not when the handler returns: a slow journal delays nobody.
// It ignores errors: there is nobody left to tell.
func (x *exchange) answer(c echo.Context, status int, v any) {
	x.answered = true
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, a bool, an int
	}
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	_ = c.JSONBlob(status, body)
	_ = http.NewResponseController(c.Response()).Flush()
}
