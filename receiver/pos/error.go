package pos

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"

	"ticketrail/receiver/contract"
)

// The calls, as errors name them.
const (
	CallToken          = "token"
	CallMe             = "me"
	CallEmployees      = "employees"
	CallPayrollPeriods = "payrollperiods"
)

const (
	adviceTell = "try again later; if it continues, tell the service provider"
	maxQuote   = 200 // bytes of a text that is shown: two lines of a terminal
)

// An Error says which call failed, why, and how the operator can help.
type Error struct {
	Call, Venue string
	Problem     string // the cause, in one clause
	Advice      string // the remedy
	// Incomplete says that a list was read to its end and has another number of records than a page named. The records
	// that came are good.
	Incomplete bool
	NoAnswer   bool // the service was not reached, or broke off
}

// Error is a line such as: employees of venue 6f1c…: the service answers 403 Forbidden; ask the service provider …
func (e *Error) Error() string {
	return fmt.Sprintf("%s of venue %s: %s; %s", e.Call, e.Venue, e.Problem, e.Advice)
}

// Incomplete reports whether err is about a list that has another number of records than the service counts.
func Incomplete(err error) bool {
	failed, ok := errors.AsType[*Error](err)
	return ok && failed.Incomplete
}

func (v *Account) fault(call, problem, advice string) *Error {
	return &Error{Call: call, Venue: v.id, Problem: problem, Advice: advice}
}

// refused explains an answer that is not 2xx.
func (v *Account) refused(call, path string, status int, body []byte) *Error {
	failed := v.fault(call, fmt.Sprintf("the service answers %d %s", status, http.StatusText(status)), adviceTell)
	if code := oauthError.FindSubmatch(body); code != nil {
		failed.Problem += ": " + string(code[1])
	}

	switch {
	case call == CallToken && status >= http.StatusBadRequest && status <= http.StatusForbidden:
		failed.Advice = "check service.client_id, the client secret, the venue's id, that the service has approved " +
			"the integration for it, and in service.token the format, auth_style and names of the fields"
	case status == http.StatusUnauthorized:
		failed.Advice = "a new token did not help; the service may know another venue by this id"
	case status == http.StatusForbidden:
		failed.Advice = fmt.Sprintf("ask the service provider for the scope of this call; the token has %q", v.Scopes)
	case status == http.StatusNotFound:
		failed.Advice = "nothing is at " + path + ": check whether /api belongs to service.base_url, and " +
			"service.token.path, service.me.path and service.labor.prefix"
	case status == http.StatusBadRequest && call == CallPayrollPeriods:
		failed.Advice = "check service.payroll.venue_param: the venue's id is sent as " + v.c.o.Payroll.VenueParam
	case status < http.StatusBadRequest:
		failed.Advice = "redirects are not followed with a token; put the address that answers into service.base_url"
	}

	return failed
}

// oauthError is an error code of RFC 6749 in an answer. Anything else could be the secret.
var oauthError = regexp.MustCompile(`"error"\s*:\s*"(invalid_(?:client|grant|request|scope)|unauthorized_client|` +
	`unsupported_grant_type|access_denied)"`)

// lost is the error of a request without a whole answer. Only texts of this machine are repeated: others may quote the
// service's answer.
func (v *Account) lost(call string, err error) *Error {
	problem := "the connection broke off, or what came is not HTTP, or not HTTPS"
	timed, isTimed := errors.AsType[net.Error](err)
	local, isLocal := errors.AsType[*net.OpError](err)
	certificate, untrusted := errors.AsType[*tls.CertificateVerificationError](err)

	switch {
	case isTimed && timed.Timeout():
		problem = fmt.Sprintf("not in time; service.timeout is %v", v.c.o.Timeout)
	case isLocal:
		problem = contract.OneLine(local.Error(), maxQuote)
	case untrusted:
		problem = contract.OneLine(certificate.Error(), maxQuote)
	}

	failed := v.fault(call, "no answer: "+problem, "check service.base_url, and that this box reaches it: DNS, route, "+
		"firewall, proxy, and for https its clock and ca-certificates")
	failed.NoAnswer = true
	return failed
}

// text is a text or a number.
func text(v contract.Value) string {
	if v.Kind() != '"' && v.Kind() != '0' {
		return ""
	}
	return strings.TrimSpace(v.Text())
}

// keys names the paths beside the records of an answer: an operator looks for one of them.
func keys(answered contract.Value) string {
	return fmt.Sprintf("its keys are %q", contract.OneLine(strings.Join(paths("", answered), ", "), 2*maxQuote))
}

func paths(prefix string, v contract.Value) (all []string) {
	for member := range v.All() {
		switch path := prefix + member.Key(); {
		case member.Kind() == '{' && len(path) < maxQuote:
			all = append(all, paths(path+".", member)...)
		case path != contract.FieldRecords:
			all = append(all, path)
		}
	}
	return all
}
