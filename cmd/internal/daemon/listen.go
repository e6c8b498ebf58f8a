package daemon

import (
	"context"
	"errors"
	"net"

	"ticketrail/cmd/internal/finding"
)

// Listen returns given, or else opens a listener at address. key is the configuration key of the
// address, for the error, which is a [finding.Error].
func Listen(given net.Listener, key, address string) (net.Listener, error) {
	if given != nil {
		return given, nil
	}
	listener, err := net.Listen("tcp", address)
	if err == nil {
		return listener, nil
	}

	return nil, &finding.Error{Finding: finding.Port(key, address, "", err), Err: err}
}

// CloseListener closes a listener; it is no error if its server has closed it already. Both orders
// happen: after Run the server has closed it, after an error in New it has not.
func CloseListener(l net.Listener) func(context.Context) error {
	return func(context.Context) error {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}
