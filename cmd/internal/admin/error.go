package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"ticketrail/queue"
)

// Code says what kind of refusal an [Error] is. The set is closed and crosses the
// socket: codes are added, never renamed.
type Code string

const (
	BadRequest  Code = "bad_request"  // asked wrongly: what was typed must change
	Mismatch    Code = "api_mismatch" // the daemon is another version than the caller
	NotFound    Code = "not_found"
	Conflict    Code = "conflict" // its state does not allow it
	Storage     Code = "storage"  // the database cannot commit now
	Busy        Code = "busy"
	Stopping    Code = "stopping"    // the daemon is shutting down
	Timeout     Code = "timeout"     // whether it was done is unknown
	Unsupported Code = "unsupported" // this daemon has no such thing
	Internal    Code = "internal"
)

// An Error is a refusal as it crosses the socket. Message is for people.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

func refuse(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}

// refusal translates what the daemon's parts answer.
func refusal(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	for _, c := range []struct {
		err  error
		code Code
	}{
		{queue.ErrNotFound, NotFound},
		{queue.ErrConflict, Conflict},
		{queue.ErrStorageFull, Storage},
		{queue.ErrStorageFailed, Storage},
		{queue.ErrBacklogFull, Busy},
		{queue.ErrBusy, Busy},
		{queue.ErrClosed, Stopping},
		{context.DeadlineExceeded, Timeout},
	} {
		if errors.Is(err, c.err) {
			return &Error{Code: c.code, Message: err.Error()}
		}
	}
	return &Error{Code: Internal, Message: err.Error()}
}

func (c Code) status() int {
	switch c {
	case BadRequest, Mismatch:
		return http.StatusBadRequest
	case NotFound, Unsupported:
		return http.StatusNotFound
	case Conflict:
		return http.StatusConflict
	case Storage, Busy, Stopping:
		return http.StatusServiceUnavailable
	case Timeout:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}
