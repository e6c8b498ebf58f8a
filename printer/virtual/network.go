package virtual

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// A Network is one host in memory: a listener and the connections to it. Its blocking calls are
// durably blocking in the sense of testing/synctest, so a server and its clients work inside a
// bubble. The tests of everything that speaks HTTP use it in place of TCP.
type Network struct {
	conns chan net.Conn
	gone  chan struct{}
	close sync.Once
}

// NewNetwork returns a Network. Clients wait until Accept is called.
func NewNetwork() *Network {
	return &Network{conns: make(chan net.Conn), gone: make(chan struct{})}
}

// Accept waits for the next connection. After Close it returns [net.ErrClosed].
func (n *Network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.conns:
		return conn, nil
	case <-n.gone:
		return nil, net.ErrClosed
	}
}

// Close refuses further connections; open ones stay open.
func (n *Network) Close() error { n.close.Do(func() { close(n.gone) }); return nil }

// Addr is an address on the local machine.
func (n *Network) Addr() net.Addr { return address("127.0.0.1:80") }

// Dial connects from the local machine; the address is ignored.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return n.DialFrom(ctx, "127.0.0.1")
}

// DialFrom connects from the machine with this IP address, which may have a zone.
func (n *Network) DialFrom(ctx context.Context, from string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case n.conns <- remoteConn{far, address(net.JoinHostPort(from, "40000"))}:
		return near, nil
	case <-n.gone:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// remoteConn gives a connection in memory the address that the receiver's allow-list looks at.
type remoteConn struct {
	net.Conn
	from net.Addr
}

func (d remoteConn) RemoteAddr() net.Addr { return d.from }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
