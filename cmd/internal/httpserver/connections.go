package httpserver

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// A limiter is a listener whose connections are limited in number: all together, and for each group of callers,
// such as one network (see [Options.Group]). While all places are taken, further connections wait in the kernel and are
// not refused: the service's retry costs more than a moment's wait. A group that has its share is refused at once, so
// that its connections keep no other caller waiting.
//
// The last quarter of the places is for groups that are known or have no connection open yet, the last eighth for known
// ones alone. A group is known once a request of it was answered with 200, which a stranger cannot get from the
// webhook. So strangers never keep out a service that is known. Only a crowd with many addresses can keep out the
// service while its own address is new.
//
// It has its own count of places, because the listener of golang.org/x/net/netutil wraps each connection and hides it:
// package admin needs the [*net.UnixConn], to ask the kernel who is at its other end.
type limiter struct {
	net.Listener
	group  func(netip.Addr) (name string, most int) // see [Options.Group]
	places chan struct{}                            // one value for each open connection
	closed chan struct{}
	once   sync.Once // of closing closed

	mu    sync.Mutex      // guards the fields below
	open  map[string]int  // connections of each group
	known map[string]bool // groups
}

func limit(l net.Listener, o Options) *limiter {
	return &limiter{Listener: l, group: o.Group, places: make(chan struct{}, o.MaxConnections),
		closed: make(chan struct{}), open: map[string]int{}, known: map[string]bool{}}
}

// Accept returns the next connection that may stay. It closes the others itself: an error here would stop the server.
func (l *limiter) Accept() (net.Conn, error) {
	for {
		select {
		case l.places <- struct{}{}:
		case <-l.closed:
			return nil, net.ErrClosed
		}

		nc, err := l.Listener.Accept()
		if err != nil {
			<-l.places
			return nil, err
		}

		if name, ok := l.join(nc.RemoteAddr().String()); ok {
			return &conn{Conn: nc, leave: sync.OnceFunc(func() { l.leave(name) })}, nil
		}
		_ = nc.Close()
		<-l.places
	}
}

// Close also ends an Accept that waits for a place.
func (l *limiter) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// join counts a connection, which has its place already, in its group. It is false if the group has its share, or if
// places are scarce and the group is not known.
func (l *limiter) join(from string) (group string, ok bool) {
	group, most := l.groupOf(from)
	if group == "" {
		return "", true
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	open, all := l.open[group], cap(l.places)
	free := all - len(l.places)
	if open >= most || !l.known[group] && (free < all/8 || open > 0 && free < all/4) {
		return "", false
	}
	l.open[group]++
	return group, true
}

// groupOf is the group of an address with a port; none for a unix socket.
func (l *limiter) groupOf(addr string) (name string, most int) {
	address, err := netip.ParseAddrPort(addr)
	if err != nil || l.group == nil {
		return "", 0
	}
	// On a dual-stack socket an IPv4 caller is ::ffff:192.0.2.1.
	return l.group(address.Addr().Unmap().WithZone(""))
}

// leave uncounts a connection. A group without any is removed, so that the map stays small.
func (l *limiter) leave(group string) {
	if group != "" {
		l.mu.Lock()
		if l.open[group]--; l.open[group] == 0 {
			delete(l.open, group)
		}
		l.mu.Unlock()
	}
	<-l.places
}

// A conn gives its place back when it is closed.
type conn struct {
	net.Conn
	leave func()
}

func (c *conn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// NetConn is the connection of the system, as with [crypto/tls.Conn].
func (c *conn) NetConn() net.Conn { return c.Conn }

// learn makes the groups known whose requests next answers with 200.
func (l *limiter) learn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &answer{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(out, r)
		if group, _ := l.groupOf(r.RemoteAddr); group != "" && out.status == http.StatusOK {
			l.mu.Lock()
			l.known[group] = true
			l.mu.Unlock()
		}
	})
}

// An answer keeps the status that a handler sets. [http.ResponseController] finds the other abilities of the server's
// writer.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}
