package posapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// A kind of [Error], as the label value in the metrics.
type kind string

func (k kind) Error() string { return string(k) }

// What an [Error] is, for [errors.Is].
const (
	ErrUnauthorized kind = "unauthorized" // 401: the client's id or secret, or a token, is not accepted
	ErrForbidden    kind = "forbidden"    // 403: the token lacks a scope
	ErrNotFound     kind = "not_found"    // 404: mostly /api is missing in the base address, or too many
	ErrRateLimited  kind = "rate_limited" // 429: see [Error.RetryAfter]
	ErrUnavailable  kind = "server_error" // 5xx, no connection, no answer in time: try again later
	ErrMalformed    kind = "malformed"    // not JSON, half of it, or not what the contract says
	ErrRefused      kind = "refused"      // another 4xx, or an envelope whose status is not SUCCESS
	ErrRedirected   kind = "redirected"   // 3xx: never followed
	ErrSecret       kind = "no_secret"    // it could not be read: no request was sent, and none is counted
)

// Call is one of the service's endpoints.
type Call string

// The calls, as metrics name them.
const (
	CallToken          Call = "token"
	CallMe             Call = "me"
	CallEmployees      Call = "employees"
	CallPayrollPeriods Call = "payrollperiods"
)

// An Error says which call failed, why, and what the operator can do. Nothing in it contains the
// client secret, a token, or a control character.
//
// Operators read it on the terminal (venues check, labor) and in the log of the directory, so it
// says what to do.
type Error struct {
	Call       Call
	Venue      string
	Status     int           // of the answer; 0: there was none
	Problem    string        // what is wrong, in one clause, and the error text of the service
	Advice     string        // what to do; may be empty
	RetryAfter time.Duration // how long the service asks to wait; 0: it did not say

	kind      error // one of the Err… above, or that of the caller's ctx: never one with the service's text
	late      bool  // there was no answer in time
	retryable bool  // another try within seconds may succeed
}

// fault is an error of a kind. The problem is one clause: Error puts the call in front and the
// advice after it.
func (v *Venue) fault(call Call, kind error, format string, args ...any) *Error {
	return &Error{Call: call, Venue: v.id, Problem: fmt.Sprintf(format, args...), kind: kind}
}

// Error is a line such as: employees of venue 6f1c…: the service answers 403 Forbidden; …
func (e *Error) Error() string {
	text := fmt.Sprintf("%s of venue %s: %s", e.Call, e.Venue, e.Problem)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

// Unwrap is one of the Err… of this package, or the error of the caller's ctx when that ended.
func (e *Error) Unwrap() error { return e.kind }

// judge says what an answer that is not 2xx means, and what to do about it. It decides too whether
// another try may help.
func (v *Venue) judge(call Call, a *answer) *Error {
	if a.good() {
		return nil
	}
	status := strings.TrimSpace(fmt.Sprintf("%d %s", a.StatusCode, http.StatusText(a.StatusCode)))
	e := v.fault(call, ErrRefused, "the service answers %s", status)
	switch s := a.StatusCode; {
	case s == http.StatusUnauthorized: // the caller of get sees only the second one in a row
		e.kind = ErrUnauthorized
		e.Advice = "a new token did not help; the service may know another venue by this id"
	case s == http.StatusForbidden:
		e.kind = ErrForbidden
	case s == http.StatusNotFound:
		e.kind = ErrNotFound
		e.Advice = "check whether /api belongs to service.base_url, which is " + v.c.o.BaseURL
	case s == http.StatusTooManyRequests:
		e.kind, e.retryable = ErrRateLimited, true
		e.RetryAfter = retryAfter(a.Header)
	case s == http.StatusRequestTimeout, s >= 500:
		e.kind = ErrUnavailable
		e.RetryAfter = retryAfter(a.Header)
		// 501 and 505 say that the server cannot do this at all; a retry would get the same answer.
		e.retryable = s != http.StatusNotImplemented && s != http.StatusHTTPVersionNotSupported
	case s >= 300 && s < 400:
		e.kind = ErrRedirected
		if u, err := url.Parse(a.Header.Get("Location")); err == nil && u.Host != "" {
			e.Problem += " to " + printable(u.Scheme+"://"+u.Host) // the path may hold anything
		}
		e.Advice = "redirects are not followed with a token; put the address that answers into service.base_url"
	}
	if e.RetryAfter > 0 {
		e.Problem += fmt.Sprintf(", and to ask again in %v", e.RetryAfter)
	}
	return v.quote(e, a)
}

// retryAfter is the pause that an answer asks for, in whole seconds. A date is not obeyed: the clock
// of this box may be wrong by decades after a start, so our own backoff applies then. A number that
// is too large counts as 68 years, not as none: such a service does not want another try now.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.ParseUint(h.Get("Retry-After"), 10, 31)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range, n is the largest number
		return 0
	}
	return time.Duration(n) * time.Second
}

// quote adds the error text of an answer, and what the errors of a token request mean.
func (v *Venue) quote(e *Error, a *answer) *Error {
	text := errorText(e.Call, a)
	if text != "" && e.kind != ErrRedirected {
		e.Problem += fmt.Sprintf(": it says %q", text)
	}
	if e.Call != CallToken {
		return e
	}
	// RFC 6749 allows 400 for a wrong client; it means what 401 means.
	if e.kind == ErrRefused && text == contract.ErrorInvalidClient {
		e.kind = ErrUnauthorized
	}
	switch e.kind {
	case ErrUnauthorized:
		e.Advice = "check service.client_id, the client secret, and whether the service wants them as " +
			v.c.o.AuthStyle
	case ErrForbidden:
		e.Advice = "check the venue's id, and that the service has approved the integration for it"
	case ErrRefused:
		e.Advice = "check the venue's id, and whether the service calls it " + v.c.o.TokenVenueParam +
			" in token requests"
	}
	return e
}

// explain adds to a 403 which scopes the token has, as /me says: the operator must ask the service
// provider for the missing one, and the contract does not state which one a call needs.
func (v *Venue) explain(ctx context.Context, e *Error) {
	e.Advice = "which scopes the token has is not known; ask the service to grant the one that this call needs"
	if e.Call == CallMe {
		return
	}
	// One exchange at most: the operator waits for the error, not for its explanation.
	ctx, cancel := context.WithTimeout(ctx, v.c.o.Timeout)
	defer cancel()
	if me, err := v.Me(ctx); err == nil && me.Scopes != nil {
		has := "no scopes"
		if len(me.Scopes) > 0 {
			has = "the scopes " + printable(strings.Join(me.Scopes, ", "))
		}
		e.Advice = "the token has " + has +
			", which is not enough for this call; ask the service to grant the one that it needs"
	}
}

// findElsewhere adds to a 404 whether the same call is answered with /api in its path, or without:
// services differ in which of their calls have it.
func (v *Venue) findElsewhere(ctx context.Context, e *Error, req *http.Request, secrets []string) {
	const api = "/api"
	base := strings.TrimSuffix(v.c.base.Path, "/")
	below := strings.TrimPrefix(req.URL.Path, base)
	other := *req.URL
	without, had := strings.CutSuffix(base, api)
	if deeper, ok := strings.CutPrefix(below, api+"/"); ok {
		other.Path, had = base+"/"+deeper, true
	} else if other.Path = base + api + below; had {
		other.Path = without + below
	}
	// One exchange at most: the operator waits for the error, not for its explanation.
	x := exchange{v: v, call: e.Call, secrets: secrets}
	again := req.Clone(ctx)
	again.URL = &other
	if a, err := x.send(again); err != nil || !a.good() || jsonObject(a.body) == nil {
		return
	}
	key := "service.labor.prefix"
	if e.Call == CallMe {
		key = "service.me.path"
	}
	e.Advice = fmt.Sprintf("it answers at %s: put %s before the path with %s", other.Path, api, key)
	if had {
		e.Advice = fmt.Sprintf("it answers at %s: this call has no %s; take it out of service.base_url or %s, and put "+
			"it before the paths of the other calls", other.Path, api, key)
	}
}

// oauthErrors are the error codes of RFC 6749, section 5.2, and some of section 4.1.2.1
// that token endpoints send as well.
var oauthErrors = []string{
	contract.ErrorInvalidClient, contract.ErrorInvalidRequest, contract.ErrorInvalidScope,
	contract.ErrorUnsupportedGrant, contract.ErrorAccessDenied,
	"invalid_grant", "unauthorized_client", "server_error", "temporarily_unavailable",
}

// errorText is the text of an error answer, whose format the contract does not state. Of the token
// endpoint's answers only known error codes are repeated: they may echo the client secret in any
// encoding.
func errorText(call Call, a *answer) string {
	obj := jsonObject(a.body)
	if call == CallToken {
		code := jsonText(obj[contract.FieldError])
		if !slices.Contains(oauthErrors, code) {
			return ""
		}
		return code
	}
	for _, at := range []string{
		"error.message", contract.FieldErrorDescription, contract.FieldErrorMessage, "errorMessage", "detail",
		"error.code", contract.FieldError, contract.FieldErrorCode, "title",
	} {
		if s := jsonText(jsonAt(obj, at)); s != "" {
			return plainText(s)
		}
	}
	return ""
}

// unreadable is the error of a body that is not one JSON object. A web page is mostly the service's
// website or the login page of a network.
func (v *Venue) unreadable(call Call, a *answer) *Error {
	e := v.fault(call, ErrMalformed, "the answer of %d bytes is not a JSON object", len(a.body))
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
		e.Problem = "the answer is a web page, not JSON"
		e.Advice = fmt.Sprintf("check whether service.base_url, %s, is the service's API", v.c.o.BaseURL)
	}
	return e
}

// lost is the error of an exchange without a whole answer. caller is the context of the call,
// timed that of the exchange. What took the whole time-out is not retried: the caller has waited
// long enough, and more requests do not help a service that is overloaded. Neither is what only
// the operator can change.
func (v *Venue) lost(caller, timed context.Context, call Call, err error) *Error {
	if caller.Err() != nil {
		return v.canceled(caller, call)
	}
	e := v.fault(call, ErrUnavailable, "no answer within %v", v.c.o.Timeout)
	if e.late = timed.Err() != nil; e.late {
		return e
	}
	e.retryable = true
	certificate, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	record, noTLS := errors.AsType[tls.RecordHeaderError](err)
	network, isNetwork := errors.AsType[net.Error](err)
	_, local := errors.AsType[*net.OpError](err) // its text is this machine's, not the service's
	switch {
	// A wrong certificate, https spoken to an http port: they stay wrong, so a retry only delays
	// the message.
	case untrusted:
		e.retryable, err = false, certificate
		e.Advice = "check the name in service.base_url, this machine's clock and its ca-certificates"
	case noTLS && string(record.RecordHeader[:]) == "HTTP/":
		e.retryable, err = false, http.ErrSchemeMismatch
		e.Advice = "service.base_url says https and the service speaks http there"
	case isNetwork && network.Timeout():
		e.retryable, e.late = false, true
	case !local: // the text may quote what the service sent
		err = errors.New("the connection broke off, or what came is not HTTP")
	}
	e.Problem = "no answer: " + printable(err.Error())
	return e
}

// asError is the [*Error] in an error of the HTTP client or of the oauth2 library. One without
// has ended with ctx, or its text may hold all of an answer and is not shown.
func (v *Venue) asError(ctx context.Context, call Call, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return v.canceled(ctx, call)
	}
	return v.fault(call, ErrMalformed, "the answer is not understood")
}

// canceled is the error of a call whose ctx is over.
func (v *Venue) canceled(ctx context.Context, call Call) *Error {
	e := v.fault(call, ctx.Err(), "canceled before an answer came")
	if e.late = errors.Is(e.kind, context.DeadlineExceeded); e.late {
		e.Problem = "no good answer within the time of the call, retries included"
	}
	return e
}

// A CountError ends a list that was read to its end and has another number of records than a
// page named: the list changed meanwhile, or a page was lost. The records that were read are good.
type CountError struct {
	Call  Call
	Venue string
	Got   int // records received, each id once
	Want  int // the first count that differs
}

func (e *CountError) Error() string {
	return fmt.Sprintf("%s of venue %s: received %d, but the service counts %d; the list changed while it was read: "+
		"try again, and if it persists check service.employees.cursor", e.Call, e.Venue, e.Got, e.Want)
}
