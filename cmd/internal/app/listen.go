package app

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listenOn opens the address of a key of the configuration.
func listenOn(key, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	_, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is taken by another program, perhaps another ticketrail: find it with ss -ltnp 'sport = :%s' and stop it, or set another address (%w)", key, address, port, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s: this box has no address %s: ip address shows those it has (%w)", key, address, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: %s is only for root: set a port above 1023, or have systemd open it (ticketrail.socket) (%w)", key, address, err)
	}
	return nil, fmt.Errorf("%s: listen on %s: %w", key, address, err)
}
