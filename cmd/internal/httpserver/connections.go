package httpserver

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// A limiter is a listener whose connections are limited in number: all together, and those of a group. When
// there are too many, the one that matters least is closed for the new one, see importance: a caller that
// holds connections without using them must not keep out others. If all of them are being used, the new one
// waits, or is closed if only its group is full.
type limiter struct {
	net.Listener
	most  int
	group func(netip.Addr) (name string, most int) // see [Options.Group]

	mu     sync.Mutex // guards the fields below, and those of each conn
	less   *sync.Cond // a connection was closed, or matters less now
	open   map[*conn]bool
	groups map[string]int // open connections of each group
	clock  uint64         // counts uses of connections
	closed bool
}

func limit(l net.Listener, o Options) *limiter {
	out := &limiter{Listener: l, most: o.MaxConnections, group: o.Group, open: map[*conn]bool{},
		groups: map[string]int{}}
	out.less = sync.NewCond(&out.mu)
	return out
}

// A conn is an open connection. Its state follows from what the handler of its requests does.
type conn struct {
	net.Conn
	limiter *limiter
	group   string // "": none
	used    uint64 // limiter.clock when it was accepted, or when its last request ended

	answering int  // requests that were read completely and whose handler runs
	trusted   bool // a request of it was answered with 200
}

// importance says which of two connections is closed first, the one with the lower number; inUse is never
// closed. Anybody can get an answer that is not 200, or begin a body and never end it, so these count for
// nothing.
func (c *conn) importance() int {
	switch {
	case c.answering > 0:
		return inUse
	case c.trusted:
		return 1
	}
	return 0
}

const inUse = 2

// Accept returns the next connection for which there is room. It closes those for which there is none itself:
// an error here would stop the server.
func (l *limiter) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(nc); c != nil {
			return c, nil
		}
		_ = nc.Close()
	}
}

// Close also ends an Accept that waits for room.
func (l *limiter) Close() error {
	l.mu.Lock()
	l.closed = true
	l.less.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// admit makes room for a connection; nil if there is none.
func (l *limiter) admit(nc net.Conn) *conn {
	c := &conn{Conn: nc, limiter: l}
	most := 0
	if a, err := netip.ParseAddrPort(nc.RemoteAddr().String()); err == nil && l.group != nil {
		// On a dual-stack socket an IPv4 caller is ::ffff:192.0.2.1.
		c.group, most = l.group(a.Addr().Unmap().WithZone(""))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if most > 0 && l.groups[c.group] >= most && !l.closeOne(func(o *conn) bool { return o.group == c.group }) {
		return nil
	}
	for len(l.open) >= l.most && !l.closeOne(func(*conn) bool { return true }) {
		if l.closed {
			return nil
		}
		l.less.Wait()
	}
	l.clock++
	c.used = l.clock
	l.open[c] = true
	if c.group != "" {
		l.groups[c.group]++
	}
	return c
}

// closeOne closes the least important of some connections: among equals one of the largest group, and of that
// the one that was not used for the longest time. It returns false if all are in use. l.mu is held.
func (l *limiter) closeOne(of func(*conn) bool) bool {
	var first *conn
	for c := range l.open {
		if of(c) && c.importance() < inUse && (first == nil || cmp.Or(cmp.Compare(c.importance(), first.importance()),
			cmp.Compare(l.groups[first.group], l.groups[c.group]), cmp.Compare(c.used, first.used)) < 0) {
			first = c
		}
	}
	if first == nil {
		return false
	}
	l.forget(first)
	_ = first.Conn.Close() // of a socket, whose Close does not wait
	return true
}

// forget uncounts a connection. A group without any is removed, so that the map stays small. l.mu is held.
func (l *limiter) forget(c *conn) {
	if !l.open[c] {
		return
	}
	delete(l.open, c)
	if c.group != "" {
		if l.groups[c.group]--; l.groups[c.group] == 0 {
			delete(l.groups, c.group)
		}
	}
	l.less.Broadcast()
}

func (c *conn) Close() error {
	c.limiter.mu.Lock()
	c.limiter.forget(c)
	c.limiter.mu.Unlock()
	return c.Conn.Close()
}

// NetConn is the connection of the system, as with [crypto/tls.Conn].
func (c *conn) NetConn() net.Conn { return c.Conn }

// change changes the counters of a connection.
func (c *conn) change(f func()) {
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	f()
	c.limiter.less.Broadcast()
}

type connKey struct{}

// watch lets the limiter know what the requests of srv's connections do.
func (l *limiter) watch(srv *http.Server) {
	before, next := srv.ConnContext, srv.Handler
	srv.ConnContext = func(ctx context.Context, nc net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, nc)
		}
		c, ok := nc.(*conn)
		for !ok { // below TLS
			nc = nc.(interface{ NetConn() net.Conn }).NetConn()
			c, ok = nc.(*conn)
		}
		return context.WithValue(ctx, connKey{}, c)
	}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(connKey{}).(*conn)
		body := &watchedBody{ReadCloser: r.Body, conn: c}
		if r.Body == http.NoBody {
			body.complete()
		} else {
			r.Body = body
		}
		out := &watchedWriter{ResponseWriter: w}
		defer func() {
			body.complete()
			c.change(func() {
				c.answering--
				c.trusted = c.trusted || out.status == http.StatusOK
				c.limiter.clock++
				c.used = c.limiter.clock
			})
		}()
		next.ServeHTTP(out, r)
	})
}

// A watchedBody notices its end.
type watchedBody struct {
	io.ReadCloser
	conn *conn
	once sync.Once
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.complete()
	}
	return n, err
}

func (b *watchedBody) complete() {
	b.once.Do(func() { b.conn.change(func() { b.conn.answering++ }) })
}

// A watchedWriter notices the status of an answer. What else the server's writer can do is found by
// [http.ResponseController].
type watchedWriter struct {
	http.ResponseWriter
	status int
}

func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *watchedWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(p)
}
