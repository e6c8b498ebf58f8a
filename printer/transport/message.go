package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// The errors of this package are read by restaurant staff in the middle of a service. Each has the attempt
// and its result, and the advice as its [Hint]. The cause stays wrapped, so that callers can test for
// it.

// connectError is the error of a TCP dial that took after. The time is shown because it separates a
// printer that is off (a timeout) from one that refuses.
func connectError(address string, after time.Duration, err error) error {
	_, port, _ := net.SplitHostPort(address)
	cause, hint := stripWrappers(err), ""
	_, unknownName := errors.AsType[*net.DNSError](err)

	switch {
	case errors.Is(err, context.DeadlineExceeded):
		cause = fmt.Errorf("no answer in %s (%w)", after.Round(100*time.Millisecond), context.DeadlineExceeded)
		hint = "is the printer on, the address correct, or a till connected to it?"
	case unknownName:
		hint = "is the name correct? an IP address needs no name server"
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = fmt.Sprintf("is the printer on and is %s its port? "+
			"a printer that serves one client refuses others while a till prints", port)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTDOWN):
		hint = "is the printer on, its cable plugged in, and the address correct?"
	case errors.Is(err, syscall.ETIMEDOUT):
		hint = "is the printer on and the address correct?"
	}
	return withHint("connect tcp "+address, cause, hint)
}

// openError is the error of a device or file that could not be opened.
func openError(path string, err error) error {
	cause, hint := stripWrappers(err), ""
	switch {
	case errors.Is(err, syscall.ENOENT) && underDev(path):
		hint = "is the printer plugged in and on? its number may have changed"
	case errors.Is(err, syscall.ENOENT):
		hint = "does the directory exist?"
	case errors.Is(err, syscall.EACCES):
		hint = "may the daemon's user write there? printers belong to the group lp"
	case errors.Is(err, syscall.EBUSY):
		hint = "another program has the printer open; is CUPS using it?"
	case errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		hint = "no device is behind it; is the printer plugged in and on?"
	}
	return withHint("open "+path, cause, hint)
}

// ioError is the error of an open connection; doing is "write", "read" or "finish".
func ioError(doing, what string, err error) error {
	cause, hint := stripWrappers(err), ""
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		hint = "the printer takes no more data; is it out of paper, open, or switched off?"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ENOTCONN):
		hint = "the printer closed the connection; was it switched off?"
	case errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		hint = "the printer stopped responding; was it switched off, or its cable pulled?"
	case errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EIO):
		hint = "the printer is gone; was it unplugged or switched off?"
	case errors.Is(err, syscall.ENOSPC):
		hint = "is the disk full, or the printer out of paper?"
	case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrClosed):
		hint = "it was closed while in use"
	}
	return withHint(doing+" "+what, cause, hint)
}

// A hinted error says the cause; the advice is beside it, for whoever can show it in a place of its own.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// Hint is the advice for a person about an error of this package; empty if none is known.
func Hint(err error) string {
	if found, ok := errors.AsType[*hinted](err); ok {
		return found.hint
	}
	return ""
}

// withHint puts the attempt and the cause into one line.
func withHint(what string, cause error, hint string) error {
	err := fmt.Errorf("%s: %w", what, cause)
	if hint == "" {
		return err
	}
	return &hinted{err, hint}
}

// stripWrappers removes the wrappers that repeat the operation and the name, which the message has already.
func stripWrappers(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if inPath, ok := errors.AsType[*os.PathError](err); ok {
		err = inPath.Err
	}
	if inCall, ok := errors.AsType[*os.SyscallError](err); ok {
		err = inCall.Err
	}
	return err
}
