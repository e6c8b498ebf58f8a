package posapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"ticketrail/receiver/contract"
)

// judge says what an answer that is not 2xx means, and what a person can do about it.
func (v *Venue) judge(call Call, a answer) *Error {
	if a.good() {
		return nil
	}
	e := v.fault(call, ErrRefused, resultRefused, strings.TrimSpace(fmt.Sprintf("the service answers %d %s", a.status, http.StatusText(a.status))))
	e.Status, e.Says = a.status, v.says(a)
	switch s := a.status; {
	case s == http.StatusUnauthorized:
		e.kind, e.result = ErrUnauthorized, resultUnauthorized
		e.Advice = "a new token did not help; the service may know another venue by this id"
	case s == http.StatusForbidden:
		e.kind, e.result = ErrForbidden, resultForbidden
	case s == http.StatusNotFound:
		e.kind, e.result = ErrNotFound, resultNotFound
		e.Advice = fmt.Sprintf("check whether /api belongs to service.base_url, which is %s", v.c.base)
	case s == http.StatusTooManyRequests:
		e.kind, e.result, e.passing = ErrRateLimited, resultRateLimited, true
		e.RetryAfter = retryAfter(a.header, a.came)
	case s == http.StatusRequestTimeout, s >= 500:
		e.kind, e.result = ErrUnavailable, resultServerError
		e.passing = s != http.StatusNotImplemented && s != http.StatusHTTPVersionNotSupported
		e.RetryAfter = retryAfter(a.header, a.came)
	case s >= 300 && s < 400:
		e.kind, e.result, e.Says = ErrRedirected, resultRedirected, ""
		e.Problem += v.whereTo(a)
		e.Advice = "redirects are not followed with a token; put the address that answers into service.base_url"
	}
	if e.RetryAfter > 0 {
		e.Problem += fmt.Sprintf(", and to ask again in %v", e.RetryAfter)
	}
	if call == CallToken {
		v.judgeToken(e, a)
	}
	return e
}

// judgeToken knows what the token request's errors mean in OAuth 2.0 (RFC 6749, section 5.2).
func (v *Venue) judgeToken(e *Error, a answer) {
	code := jsonText(jsonAt(jsonObject(a.body), contract.FieldError))
	if a.status == http.StatusBadRequest && code == contract.ErrorInvalidClient {
		e.kind, e.result = ErrUnauthorized, resultUnauthorized
	}
	switch e.kind {
	case ErrUnauthorized:
		e.Advice = fmt.Sprintf("check service.client_id, the client secret, and whether the service wants them as %s", v.c.o.Token.AuthStyle)
	case ErrForbidden:
		e.Advice = "check the venue's id, and that the service has approved the integration for it"
	case ErrRefused:
		e.Advice = fmt.Sprintf("check the venue's id, and whether the service calls it %s in token requests", printable(v.c.o.Token.VenueParam, maxQuote))
	}
}

// explain adds to a 403 which scopes the token has. If nobody has said yet, /me does.
func (v *Venue) explain(ctx context.Context, e *Error) {
	known := v.scopes.Load()
	if known == nil && e.Call != CallMe {
		ctx, cancel := context.WithTimeout(ctx, v.c.o.Timeout)
		defer cancel()
		_, _ = v.Me(ctx) // it is the first error that counts
		known = v.scopes.Load()
	}
	e.Advice = "which scopes the token has is not known; ask the service to grant the one that this call needs"
	if known != nil {
		e.Scopes = append([]string{}, *known...)
		has := "no scopes"
		if len(e.Scopes) > 0 {
			has = "the scopes " + printable(strings.Join(e.Scopes, ", "), maxQuote)
		}
		e.Advice = "the token has " + has + ", which is not enough for this call; ask the service to grant the one that it needs"
	}
}

// whereTo is where a redirect points, without what may be secret in it.
func (v *Venue) whereTo(a answer) string {
	u, err := url.Parse(a.header.Get("Location"))
	if err != nil || *u == (url.URL{}) {
		return ""
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	return " to " + v.hush.text([]byte(u.String()))
}

// says is what the service tells people in an error, whose format is not shown; failing all
// else it is the beginning of the body.
func (v *Venue) says(a answer) string {
	obj := jsonObject(a.body)
	for _, at := range []string{
		"error.message", contract.FieldErrorDescription, contract.FieldErrorMessage, "errorMessage", "detail",
		"error.code", contract.FieldError, contract.FieldErrorCode, "title",
	} {
		if s := jsonText(jsonAt(obj, at)); s != "" {
			return v.hush.text([]byte(s))
		}
	}
	return v.hush.text(a.body)
}

// unreadable is the error of a body that is not one JSON object.
func (v *Venue) unreadable(call Call, a answer) *Error {
	e := v.fault(call, ErrMalformed, resultMalformed, "")
	e.Status = a.status
	body := bytes.TrimSpace(a.body)
	if page := bytes.ToLower(body[:min(len(body), textWindow)]); call != CallToken || bytes.HasPrefix(page, []byte("<")) && bytes.Contains(page, []byte("html")) && !bytes.Contains(page, []byte("token")) {
		// But a token that came alone, or half of one, is a token, and is known to nobody yet.
		e.Says = v.hush.text(body)
	}
	err := json.Unmarshal(body, new(map[string]json.RawMessage))
	switch {
	case len(body) == 0:
		e.Problem, e.Says = "the answer is empty", ""
	case body[0] == '{' && err != nil && strings.HasPrefix(err.Error(), "unexpected end"):
		e.Problem = fmt.Sprintf("the answer's JSON breaks off after %d bytes", len(a.body))
	case json.Valid(body):
		e.Problem = "the answer is JSON, but no object"
	default:
		kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
		e.Problem = "the answer is no JSON"
		if kind = printable(kind, 40); kind != "" {
			e.Problem += " but calls itself " + v.hush.text([]byte(kind))
		}
		e.Advice = fmt.Sprintf("check whether service.base_url, %s, is the service's API", v.c.base)
	}
	return e
}
