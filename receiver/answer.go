package receiver

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"slices"
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

// A refusal is the error that becomes an answer other than 200; a [Reject] may store the body of
// the request. Its message is the error.message of the answer.
type refusal struct {
	code    Code
	message string // for the service's log and ours; quotes nothing of the body, which names guests
}

func (r *refusal) Error() string { return r.message }

// refused is a refusal with the default message of its code.
func refused(c Code) *refusal { return &refusal{c, answerings[c].message} }

// refusalOf finds the answer to an error of a middleware, of the handler or of the router.
func refusalOf(err error) *refusal {
	if already, ok := errors.AsType[*refusal](err); ok {
		return already
	}
	switch {
	// Of Echo's router, and of checks that answer like it.
	case errors.Is(err, echo.ErrNotFound):
		return refused(NotFound)
	case errors.Is(err, echo.ErrMethodNotAllowed):
		return refused(MethodNotAllowed)
	}

	// A panic, or an error that no case above expects: 500, because the cause may be gone at the next
	// attempt.
	return refused(Internal)
}

// If a request was refused before its body was read, and the body is kept, readRefused reads the rest of it for at most
// linger and lingerBytes; other refusals leave it to net/http. TCP resets a connection that is closed
// with unread data, and a caller that sends its whole body before it reads would get that reset instead
// of the answer.
const (
	linger      = time.Second
	lingerBytes = 16 << 20
)

// Linger is called after the answer to a request whose body was not read. net/http reads the rest of it: without a
// shorter time, callers that announce a body and do not send it keep all connections of their address for seconds.
func Linger(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger))
}

// refuse is Echo's HTTPErrorHandler: it answers every error, counts and logs it, passes to Options.Reject what the
// comment there lists, and frees the body.
//
// The steps have an order: first the answer, because the caller waits for it; then the log line;
// then the rest of the body, which may take up to linger; Options.Reject last, because it needs the
// body.
func (r *Receiver) refuse(err error, c echo.Context) {
	x := exchangeOf(c)
	defer r.free(x)
	if x.answered {
		return // it panicked after the 200, which must not be taken back; the panic is in the log
	}

	refusal := refusalOf(err)
	if refusal.code != NotFound && refusal.code != MethodNotAllowed { // scanners would distort the histogram
		r.metrics.seconds.Observe(time.Since(x.start).Seconds())
	}

	reason := refusal.code
	if reason == NotFound && x.venueID != "" && c.Request().Method == http.MethodPost {
		reason = WrongPath // for us: the caller is told no more than any other
	}
	r.metrics.requests[reason].Inc()

	headers := c.Response().Header()
	closing := !x.bodyRead
	if closing {
		// Without this, net/http reads the rest of the body, at the caller's speed, before it sends the answer.
		headers.Set(echo.HeaderConnection, "close")
	}
	switch refusal.code.Status() {
	case contract.HTTPUnavailable:
		headers.Set(echo.HeaderRetryAfter, answerings[refusal.code].retryAfter)
	case http.StatusMethodNotAllowed:
		headers.Set(echo.HeaderAllow, http.MethodPost)
	}

	x.answer(c, refusal.code.Status(), failureBody{contract.ValueError, errorBody{refusal.code, refusal.message}})
	one := x.entry(reason, refusal.message)
	one.Body = nil
	repeated, noted := r.logRefusal(one, x.policy.venues[x.venueID] != nil)
	if closing { // counted from now: writing the log line may have taken long
		Linger(c.Response())
	}

	switch {
	case x.keepsBody(refusal.code) || reason.turnedAway() && x.isProven():
		if closing {
			r.readRefused(x, c.Request())
		}
		one.Body, one.Truncated = x.body, x.truncated
	case reason.turnedAway() && noted:
		one.Count = 1 + repeated
	default:
		return
	}

	r.o.Reject(one)
}

// entry is the request as Options.Reject gets it.
func (x *exchange) entry(code Code, message string) Reject {
	return Reject{Time: x.start.UTC(), Venue: x.venueID, Device: x.device, Address: x.address, Code: string(code),
		Secret: x.hasSecret, Message: message + answerings[code].advice, Body: x.body}
}

// isProven says that a refused caller is the service, whatever else is wrong with its request: it has the secret, or
// where there is none, an address of allow_from. The secret of one venue proves nothing about another.
func (x *exchange) isProven() bool {
	if configured := x.policy.venues[x.venueID]; configured != nil && configured.wantsSecretOf != x.secretOwner {
		return false
	}
	address, err := netip.ParseAddr(x.address)
	return x.hasSecret || x.policy.openPath && err == nil && within(x.policy.AllowFrom, address)
}

// keepsBody says whether Options.Reject gets the body of a refused request, whoever sent it. After a 400 it does: the
// order is lost. So is the order of an allowed venue whose device is not allowed or not named. After a 500 the
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
	body, _ := json.Marshal(v) // strings, a bool and an int have no error

	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	_ = c.JSONBlob(status, body)
	_ = http.NewResponseController(c.Response()).Flush()
}

// Code is the error.code of an answer, or the reason by which a request is counted and listed. The codes are a closed
// set. Operators match them in alert rules, dashboards and kept bodies, so none may be renamed.
type Code string

const (
	NotFound         Code = "not_found"
	MethodNotAllowed Code = "method_not_allowed"
	// WrongPath is a NotFound of a caller that names a venue: the service, with an old address. The caller
	// is answered not_found all the same.
	WrongPath Code = "wrong_path"

	AddressNotAllowed Code = "address_not_allowed"
	VenueMissing      Code = "venue_missing"
	VenueNotAllowed   Code = "venue_not_allowed"
	DeviceMissing     Code = "device_missing"
	DeviceNotAllowed  Code = "device_not_allowed"

	ContentType    Code = "content_type"
	BodyTooLarge   Code = "body_too_large"
	InvalidJSON    Code = "invalid_json"
	SchemaMismatch Code = "schema_mismatch"

	// The order is good, but the box cannot take it now. A retry can succeed.
	BacklogFull    Code = "backlog_full"
	StorageFull    Code = "storage_full"
	StorageFailed  Code = "storage_failed"
	ShuttingDown   Code = "shutting_down"
	TooSlow        Code = "too_slow"
	BodyIncomplete Code = "body_incomplete" // the body broke off or its chunks were malformed

	Internal Code = "internal"
)

// An answering is how a Code is answered, with advice for a person.
type answering struct {
	status int
	// Retry-After of a 503, in seconds. It is short where it may, because the service retries only three times within
	// seconds. With 30 it would give the order up; but the contract does not say that it obeys the header. 30 is for
	// proxies and scripts that do: to retry into a full disk at once is useless.
	retryAfter string
	// message is the default one. Refusals of headers and bodies have messages of their own, which name the field.
	message string
	// advice is for a person who finds a caller turned away, in the log or in the list of rejects: the caller
	// was refused as such, before its body was read. It is not part of the answer: a stranger is told nothing about the
	// configuration.
	advice string
}

const noHeader = "; does a proxy remove this header? If the service uses another name, set receiver.headers"

// answerings has every Code of an answer. Only statuses that the contract lists are used for an order (section 6.3).
// 404 and 405 are for callers that are not the service, or whose path is wrong.
var answerings = map[Code]answering{
	NotFound:         {status: http.StatusNotFound, message: "not found"},
	MethodNotAllowed: {status: http.StatusMethodNotAllowed, message: "method not allowed; use POST"},
	WrongPath: {status: http.StatusNotFound, advice: "; correct the address that the service posts to: it ends with " +
		"receiver.path, by default /webhooks/print, then / and the secret of the venue's secret_file, else that of " +
		"receiver.secret_file"},

	AddressNotAllowed: {status: contract.HTTPNotAllowed,
		advice: "; if it is the service's, add it there; behind a proxy set receiver.trusted_proxies too"},
	VenueMissing: {status: contract.HTTPHeaderMissing, advice: noHeader},
	VenueNotAllowed: {status: contract.HTTPNotAllowed,
		advice: "; if it is yours, add its id there and run: systemctl reload ticketrail"},
	DeviceMissing: {status: contract.HTTPHeaderMissing, advice: noHeader},
	DeviceNotAllowed: {status: contract.HTTPNotAllowed,
		advice: "; if it is yours, add it to the devices of the venue and run: systemctl reload ticketrail"},

	ContentType:    {status: contract.HTTPBadRequest},
	BodyTooLarge:   {status: contract.HTTPBadRequest},
	InvalidJSON:    {status: contract.HTTPBadRequest},
	SchemaMismatch: {status: contract.HTTPBadRequest},

	BacklogFull: {status: contract.HTTPUnavailable, retryAfter: "30", message: "too many tickets wait to be printed"},
	StorageFull: {status: contract.HTTPUnavailable, retryAfter: "30", message: "the disk is full"},
	StorageFailed: {status: contract.HTTPUnavailable, retryAfter: "5",
		message: "the request could not be stored"},
	ShuttingDown:   {status: contract.HTTPUnavailable, retryAfter: "5", message: "the receiver is stopping"},
	TooSlow:        {status: contract.HTTPUnavailable, retryAfter: "1", message: "the request was not stored in time"},
	BodyIncomplete: {status: contract.HTTPUnavailable, retryAfter: "1"},

	Internal: {status: contract.HTTPInternal, message: "internal error"},
}

// Codes lists every Code of an answer, so that each has a metric series from the start.
func Codes() []Code { return slices.Sorted(maps.Keys(answerings)) }

// Status is the HTTP status of the answer.
func (c Code) Status() int { return answerings[c].status }

// turnedAway says whether a caller was refused as such, and a person can do something about it.
func (c Code) turnedAway() bool { return answerings[c].advice != "" }
