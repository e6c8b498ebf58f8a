package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"ticketrail/printer/kds"
	"ticketrail/queue"
	"ticketrail/receiver"
)

// A Code is the kind of an [Error]. Codes cross the socket, where client and server may be of
// different builds, so codes are added but never renamed.
type Code string

const (
	BadRequest  Code = "bad_request"  // the request itself is wrong; the command line exits with 2
	Mismatch    Code = "api_mismatch" // client and daemon have different API versions
	NotFound    Code = "not_found"
	Conflict    Code = "conflict" // the state of the job does not allow it
	Storage     Code = "storage"  // the database cannot commit now
	Busy        Code = "busy"
	Stopping    Code = "stopping"    // the daemon is shutting down
	Timeout     Code = "timeout"     // it is unknown whether the change was made
	Unsupported Code = "unsupported" // this daemon has no such route
	Internal    Code = "internal"
)

// An Error is a refusal as it crosses the socket. Message is for the operator. The client returns
// the same value that the daemon refused with, so a caller can test its Code on either side.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// Refuse makes an [Error].
func Refuse(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}

// refusal gives an error of the queue or of the screens its code and, where the error does not say
// it, the advice. Sentinels are tested in this order, and the first that matches decides. Any other
// error is a bug or a broken disk; its text goes to the operator as it is, because only the
// operator's own machine asks.
func refusal(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	for _, c := range []struct {
		err  error
		code Code
		fix  string // where err does not say it
	}{
		{queue.ErrNotFound, NotFound, ": ticketrail jobs list shows the jobs that are kept; " +
			"the job of an order: ticketrail jobs --order NUMBER"},
		{queue.ErrConflict, Conflict, ""},
		{queue.ErrStorageFull, Storage, ": ticketrail printers list shows where and what to do"},
		{queue.ErrStorageFailed, Storage,
			": see ticketrail printers list and the log; ticketrail jobs list shows whether the change was made"},
		{queue.ErrBacklogFull, Busy, ""},
		{queue.ErrBusy, Busy, ": try again in a moment"},
		{queue.ErrClosed, Stopping, ": the daemon is stopping; try again when it runs"},
		{receiver.ErrNoReject, NotFound, ""},
		{kds.ErrUnknownCode, NotFound, ""},
		{kds.ErrNoPairing, NotFound, ""},
		{kds.ErrNoScreen, NotFound, ""},
		{kds.ErrTooManyCodes, Busy, ""},
		{context.DeadlineExceeded, Timeout,
			": the disk is slow; ticketrail jobs list shows whether the change was made"},
	} {
		if errors.Is(err, c.err) {
			e := &Error{Code: c.code, Message: err.Error()}
			if strings.HasSuffix(e.Message, c.err.Error()) { // err adds nothing after the sentinel's text
				e.Message += c.fix
			}
			return e
		}
	}

	return &Error{Code: Internal, Message: err.Error()}
}

// statuses are for tools that look at nothing else, such as curl. The client decides by the code.
var statuses = map[Code]int{
	BadRequest: http.StatusBadRequest, Mismatch: http.StatusBadRequest,
	NotFound: http.StatusNotFound, Unsupported: http.StatusNotFound, Conflict: http.StatusConflict,
	Storage: http.StatusServiceUnavailable, Busy: http.StatusServiceUnavailable,
	Stopping: http.StatusServiceUnavailable, Timeout: http.StatusGatewayTimeout,
}
