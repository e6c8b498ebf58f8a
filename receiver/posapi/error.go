package posapi

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// What an [Error] is, for [errors.Is].
var (
	ErrUnauthorized = errors.New("not authorized")           // 401: the client's id or secret, or a token, is not accepted
	ErrForbidden    = errors.New("forbidden")                // 403: the token's scopes do not reach that far
	ErrNotFound     = errors.New("not found")                // 404: most often a base address with or without /api too many
	ErrRateLimited  = errors.New("too many requests")        // 429: see [Error.RetryAfter]
	ErrUnavailable  = errors.New("not available")            // 5xx, no connection, no answer in time: worth another try later
	ErrMalformed    = errors.New("unreadable answer")        // no JSON, half of it, or not what the contract says
	ErrRefused      = errors.New("refused")                  // another 4xx, or an envelope whose status is not SUCCESS
	ErrRedirected   = errors.New("redirected")               // 3xx: never followed
	ErrSecret       = errors.New("client secret not usable") // it could not be read; nobody was asked
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

// Calls lists them, for metrics.
func Calls() []Call { return []Call{CallToken, CallMe, CallEmployees, CallPayrollPeriods} }

// An Error says what was asked for, what came, and what a person can do. Nothing in it holds
// the client secret, a token, or a control character.
type Error struct {
	Call       Call
	Venue      string
	Status     int           // of the answer; 0: there was none
	Problem    string        // what is wrong, in one clause
	Says       string        // what the service said itself, in plain words; mostly empty
	Advice     string        // what to do; may be empty
	RetryAfter time.Duration // how long the service wants to be left alone; 0: it did not say

	kind    error // one of the Err… above; nil: the caller gave up
	cause   error // context.Canceled, context.DeadlineExceeded or nil: never an error with foreign text
	late    bool  // of ErrUnavailable: there was no answer in time
	passing bool  // another try soon may do
}

// fault is an error of a kind.
func (v *Venue) fault(call Call, kind error, format string, args ...any) *Error {
	return &Error{Call: call, Venue: v.id, Problem: fmt.Sprintf(format, args...), kind: kind}
}

// Error is a line such as: employees of venue 6f1c…: the service answers 403 Forbidden; …
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of venue %s: %s", e.Call, e.Venue, e.Problem)
	if e.Says != "" {
		fmt.Fprintf(&b, ": it says %q", e.Says)
	}
	if e.Advice != "" {
		b.WriteString("; " + e.Advice)
	}
	return b.String()
}

// Is says whether the error is of the kind target, one of the Err… of this package.
func (e *Error) Is(target error) bool { return e.kind != nil && target == e.kind }

// Unwrap is context.Canceled or context.DeadlineExceeded when the caller gave up.
func (e *Error) Unwrap() error { return e.cause }

// A CountError ends a list that was read to its end and has another number of records than
// the service said: it changed meanwhile, or a page was lost. What was read is good.
type CountError struct {
	Call  Call
	Venue string
	Got   int   // records that came, each id once
	Want  []int // what the pages said, in the order of the pages, each change once; at least one
}

func (e *CountError) Error() string {
	if len(e.Want) > 1 {
		counts := strings.Trim(strings.ReplaceAll(fmt.Sprint(e.Want), " ", ", then "), "[]")
		return fmt.Sprintf("%s of venue %s: %d came, but while they did the service counted %s; ask again when nobody changes them",
			e.Call, e.Venue, e.Got, counts)
	}
	return fmt.Sprintf("%s of venue %s: %d came, but the service counts %d; ask again, and check where it names the next page if it stays so",
		e.Call, e.Venue, e.Got, e.Want[0])
}
