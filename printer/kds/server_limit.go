package kds

import (
	"net"
	"sync"
)

const (
	// mostOneGuest is how many connections one address on the network may have. All screens may
	// come through one proxy, so it is not a few; yet one stranger must not have them all.
	maxConnsPerAddress = 128
	// mostOnePairing is how many streams one paired browser may have. It has one a page; those
	// that the radio lost are counted until they are noticed, which takes silentFor.
	maxStreamsPerPairing = 32
	maxStreams           = 200
)

// A fairListener turns away whoever has enough connections. Those from this machine are not
// counted.
type limitListener struct {
	net.Listener

	mu   sync.Mutex // guards from
	open map[string]int
}

// FairListener is l that turns away whoever on the network has enough connections.
func LimitListener(l net.Listener) net.Listener { return newLimitListener(l) }

func newLimitListener(l net.Listener) *limitListener {
	return &limitListener{Listener: l, open: map[string]int{}}
}

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

func (l *limitListener) acquire(address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[address] >= maxConnsPerAddress {
		return false
	}
	l.open[address]++
	return true
}

func (l *limitListener) release(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[address]--; l.open[address] <= 0 {
		delete(l.open, address)
	}
}

type countedConn struct {
	net.Conn
	release func()
}

func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
