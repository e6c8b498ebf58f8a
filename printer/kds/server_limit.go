package kds

import (
	"net"
	"sync"
)

const (
	// maxConnsPerAddress is how many connections one address on the network may have. All screens
	// of a kitchen may come through one proxy, so it is not small; but one broken or hostile
	// machine must not use up what all the others need.
	maxConnsPerAddress = 128
	// maxStreamsPerPairing is how many streams one paired browser may have. It has one for each
	// page; streams that a wireless network lost count until they are noticed, which takes
	// maxSilence.
	maxStreamsPerPairing = 32
	// maxStreams is how many streams there may be in all. Each costs a goroutine and, while the
	// network stalls, a socket buffer.
	maxStreams = 200
)

// A limitListener closes connections of an address that has too many. Connections from this
// computer are not counted: a local proxy or kiosk must never be locked out.
type limitListener struct {
	net.Listener

	mu   sync.Mutex     // guards open
	open map[string]int // open connections of each address group
}

// LimitListener returns l with at most maxConnsPerAddress connections from each address on the
// network. Further ones are accepted and closed at once.
func LimitListener(l net.Listener) net.Listener {
	return &limitListener{Listener: l, open: map[string]int{}}
}

// Accept closes connections over the limit itself and returns the next one that is not. An error
// here would stop the server.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(c.RemoteAddr().String())
		if err != nil || isLoopback(host) {
			return c, nil
		}
		address := addressGroup(host)
		if l.acquire(address) {
			return &countedConn{Conn: c, release: sync.OnceFunc(func() { l.release(address) })}, nil
		}
		_ = c.Close()
	}
}

// acquire counts a connection; false if the address group has too many.
func (l *limitListener) acquire(address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[address] >= maxConnsPerAddress {
		return false
	}
	l.open[address]++
	return true
}

// release uncounts a connection. An address without any is forgotten, so the map stays as small as
// the kitchen.
func (l *limitListener) release(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[address]--; l.open[address] <= 0 {
		delete(l.open, address)
	}
}

// A countedConn gives its place back when it is closed.
type countedConn struct {
	net.Conn
	release func()
}

func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
