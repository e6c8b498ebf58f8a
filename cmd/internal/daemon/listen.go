package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen returns given, or else opens a listener at address. key is the configuration key of the
// address, for the error. The operator who starts the daemon reads this error once, so it names the
// usual cause and the command that finds it.
func Listen(given net.Listener, key, address string) (net.Listener, error) {
	if given != nil {
		return given, nil
	}
	listener, err := net.Listen("tcp", address)
	if err == nil {
		return listener, nil
	}

	_, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is already used by another program, perhaps another ticketrail: "+
			"find it with ss -ltnp 'sport = :%s' and stop it, or set another address (%w)", key, address, port, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s: this box has no address %s: ip address shows those it has (%w)", key, address, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: this user may not open a port below 1024: set %s to a higher port, or allow it: "+
			"copy low-port.conf from the examples of the package to /etc/systemd/system/ticketrail.service.d (%w)",
			address, key, err)
	}

	return nil, fmt.Errorf("%s: listen on %s: %w", key, address, err)
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
