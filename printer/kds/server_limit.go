package kds

import (
	"net"
	"sync"
)

const (
	// mostOneGuest is how many connections one address on the network may have. All screens may
	// come through one proxy, so it is not a few; yet one stranger must not have them all.
	mostOneGuest = 128
	// mostOnePairing is how many streams one paired browser may have. It has one a page; those
	// that the radio lost are counted until they are noticed, which takes silentFor.
	mostOnePairing = 32
	mostStreams    = 200
)

// A fairListener turns away whoever has enough connections. Those from this machine are not
// counted.
type fairListener struct {
	net.Listener

	mu   sync.Mutex // guards from
	from map[string]int
}

// FairListener is l that turns away whoever on the network has enough connections.
func FairListener(l net.Listener) net.Listener { return fair(l) }

func fair(l net.Listener) *fairListener { return &fairListener{Listener: l, from: map[string]int{}} }

func (l *fairListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(c.RemoteAddr().String())
		if err != nil || loopback(host) {
			return c, nil
		}
		who := neighbourhood(host)
		if l.enter(who) {
			return &countedConn{Conn: c, leave: sync.OnceFunc(func() { l.left(who) })}, nil
		}
		_ = c.Close()
	}
}

func (l *fairListener) enter(who string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from[who] >= mostOneGuest {
		return false
	}
	l.from[who]++
	return true
}

func (l *fairListener) left(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from[who]--; l.from[who] <= 0 {
		delete(l.from, who)
	}
}

type countedConn struct {
	net.Conn
	leave func()
}

func (c *countedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
