package virtual

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// A link is the printer's end of a connection.
type link interface {
	io.ReadWriter
	SetReadDeadline(time.Time) error
	Close() error          // in order
	reset()                // so that the client notices
	gone() <-chan struct{} // closed once the client is known to have left; nil if that cannot be known
}

// netLink is a connection from a listener. A client that has left is noticed by
// reading only, as in life.
type netLink struct{ net.Conn }

func (l netLink) gone() <-chan struct{} { return nil }

func (l netLink) reset() {
	if c, ok := l.Conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = l.Conn.Close()
}

// sendBuffer is how many bytes of answers a printer keeps for a client that does not
// read; what comes later is lost. An Epson's network board has 512.
const sendBuffer = 512

// A client is one connection.
type client struct {
	link
	p          *Printer
	last       [11]byte // received last, for what is carried out at reception
	unbuffered []byte   // read, and not yet in the receive buffer; the reader's own

	// Guarded by the printer's mu.
	asb        byte // what GS a asked for
	stale      bool // the printer has been switched off since: the client does not know yet
	resetAsked bool // to be reset

	mu     sync.Mutex // guards what follows; taken after the printer's, never before
	out    []byte
	busy   bool // a goroutine is writing out
	closed bool
	mute   bool // what is said now is lost on the way
}

// send brings b to the client without waiting for it.
func (c *client) send(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mute || c.closed || len(c.out)+len(b) > sendBuffer {
		return
	}
	c.out = append(c.out, b...)
	if !c.busy {
		c.busy = true
		go c.flush()
	}
}

func (c *client) setMute(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mute = on
}

// listens says that a byte more may be read though the receive buffer is full: questions
// that are answered at once get through on a network, and what is held may begin one.
func (c *client) mayReadMore(p *Printer) bool {
	if p.o.Can&RealTime == 0 || p.attached() && p.busy() {
		return false
	}
	switch h := c.unbuffered; len(h) {
	case 0:
		return true
	case 1:
		return h[0] == dle
	case 2:
		return h[0] == dle && h[1] == 0x04
	}
	return false
}

// flush writes until there is nothing left; it ends when the link is closed.
func (c *client) flush() {
	for {
		c.mu.Lock()
		b := c.out
		c.out = nil
		if len(b) == 0 {
			c.busy = false
			c.mu.Unlock()
			c.p.mu.Lock()
			c.p.notify()
			c.p.mu.Unlock()
			return
		}
		c.mu.Unlock()
		if _, err := c.link.Write(b); err != nil {
			c.mu.Lock()
			c.closed, c.out = true, nil
			c.mu.Unlock()
		}
	}
}

// flushed waits until the client has been told everything, or will never be.
func (c *client) flushed(ctx context.Context) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	_ = c.p.await(ctx, c.gone(), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.busy
	})
}

// interrupt makes a Read that is under way look at what has changed.
func (c *client) interrupt() { _ = c.link.SetReadDeadline(time.Unix(1, 0)) }
