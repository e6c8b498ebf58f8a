package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

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
		do   string // where err does not say it
	}{
		{queue.ErrNotFound, NotFound, ": ticketrail jobs list has those that are kept"},
		{queue.ErrConflict, Conflict, ""},
		{queue.ErrStorageFull, Storage, ": ticketrail printers list says where and what to do"},
		{queue.ErrStorageFailed, Storage, ": ticketrail printers list and the log say more; nothing was changed, or it shows in ticketrail jobs list"},
		{queue.ErrBacklogFull, Busy, ""},
		{queue.ErrBusy, Busy, ": try again in a moment"},
		{queue.ErrClosed, Stopping, ": the daemon is stopping; try again when it runs"},
		{context.DeadlineExceeded, Timeout, ": the disk is slow; whether it was done shows in ticketrail jobs list"},
	} {
		if errors.Is(err, c.err) {
			e := &Error{Code: c.code, Message: err.Error()}
			if strings.HasSuffix(e.Message, c.err.Error()) { // nobody has said more
				e.Message += c.do
			}
			return e
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
