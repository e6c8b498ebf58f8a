package posapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ticketrail/receiver/contract"
)

// judge says what an answer that is not 2xx means, and what a person can do about it.
func (v *Venue) judge(call Call, a answer) *Error {
	if a.good() {
		return nil
	}
	e := v.fault(call, ErrRefused, "%s", strings.TrimSpace(fmt.Sprintf("the service answers %d %s", a.status, http.StatusText(a.status))))
	e.Status, e.Says = a.status, v.says(call, a)
	switch s := a.status; {
	case s == http.StatusUnauthorized:
		e.kind = ErrUnauthorized
		e.Advice = "a new token did not help; the service may know another venue by this id"
	case s == http.StatusForbidden:
		e.kind = ErrForbidden
	case s == http.StatusNotFound:
		e.kind = ErrNotFound
		e.Advice = fmt.Sprintf("check whether /api belongs to service.base_url, which is %s", v.c.o.BaseURL)
	case s == http.StatusTooManyRequests:
		e.kind, e.passing = ErrRateLimited, true
		e.RetryAfter = retryAfter(a.header, a.came)
	case s == http.StatusRequestTimeout, s >= 500:
		e.kind = ErrUnavailable
		e.passing = s != http.StatusNotImplemented && s != http.StatusHTTPVersionNotSupported
		e.RetryAfter = retryAfter(a.header, a.came)
	case s >= 300 && s < 400:
		e.kind, e.Says = ErrRedirected, ""
		e.Problem += v.whereTo(a)
		e.Advice = "redirects are not followed with a token; put the address that answers into service.base_url"
	}
	if e.RetryAfter > 0 {
		e.Problem += fmt.Sprintf(", and to ask again in %v", e.RetryAfter)
	}
	return e
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
		has := "no scopes"
		if len(*known) > 0 {
			has = "the scopes " + printable(strings.Join(*known, ", "))
		}
		e.Advice = "the token has " + has + ", which is not enough for this call; ask the service to grant the one that it needs"
	}
}

// whereTo is the address that a redirect points to, without the path.
func (v *Venue) whereTo(a answer) string {
	u, err := url.Parse(a.header.Get("Location"))
	if err != nil || u.Host == "" {
		return ""
	}
	return " to " + printable(string(v.secrets.hide([]byte(u.Scheme+"://"+u.Host))))
}

// says is what the service tells people in an error, whose format is not shown; failing all else
// it is the body. Of the token endpoint's answers nothing is repeated but an error code of
// OAuth 2.0 (RFC 6749, section 5.2).
func (v *Venue) says(call Call, a answer) string {
	obj := jsonObject(a.body)
	if call == CallToken {
		code := jsonText(obj[contract.FieldError])
		if slices.Contains(oauthErrors, code) {
			return code
		}
		return ""
	}
	for _, at := range []string{
		"error.message", contract.FieldErrorDescription, contract.FieldErrorMessage, "errorMessage", "detail",
		"error.code", contract.FieldError, contract.FieldErrorCode, "title",
	} {
		if s := jsonText(jsonAt(obj, at)); s != "" {
			return v.secrets.plain([]byte(s))
		}
	}
	return v.secrets.plain(a.body)
}

var oauthErrors = []string{
	contract.ErrorInvalidClient, contract.ErrorInvalidRequest, contract.ErrorInvalidScope, contract.ErrorUnsupportedGrant,
	contract.ErrorAccessDenied, "invalid_grant", "unauthorized_client", "server_error", "temporarily_unavailable",
}

// unreadable is the error of a body that is not one JSON object.
func (v *Venue) unreadable(call Call, a answer) *Error {
	e := v.fault(call, ErrMalformed, "the answer is JSON, but no object")
	e.Status = a.status
	body := bytes.TrimSpace(a.body)
	err := json.Unmarshal(body, new(any))
	switch {
	case len(body) == 0:
		e.Problem = "the answer is empty"
	case err != nil && body[0] == '{' && strings.HasPrefix(err.Error(), "unexpected end"):
		e.Problem = fmt.Sprintf("the answer's JSON breaks off after %d bytes", len(a.body))
	case err != nil:
		e.Problem = "the answer is no JSON"
		kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
		if slices.Contains([]string{"text/html", "text/plain", "text/xml", "application/xml", contract.ContentType}, kind) {
			e.Problem += " but calls itself " + kind
		}
		e.Says = v.says(call, a)
		e.Advice = fmt.Sprintf("check whether service.base_url, %s, is the service's API", v.c.o.BaseURL)
	}
	return e
}
