package virtual

import (
	"bytes"
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
	Close() error          // in an orderly way
	reset()                // so that the client gets an error
	gone() <-chan struct{} // closed when the client has left; nil if only a read can tell
}

// netLink is a connection from a listener. As on a real network, only a read tells that the client has left.
type netLink struct{ net.Conn }

func (l netLink) gone() <-chan struct{} { return nil }

// reset makes the close a RST: with a linger of zero the kernel discards bytes that are not sent.
func (l netLink) reset() {
	if tcp, ok := l.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = l.Conn.Close()
}

// sendBuffer is how many bytes of answers wait for a client that does not read; later ones are lost. An Epson
// network board has 512 (UB-E02 Technical Reference Guide).
const sendBuffer = 512

// A client is one connection.
type client struct {
	link
	p          *Printer
	last       [11]byte // the last bytes received, for atReceipt
	unbuffered []byte   // read, and not in the receive buffer yet; used by the reader only

	// Guarded by the printer's mu.
	asb        byte // the n of GS a
	stale      bool // the printer was switched off since; the client does not know yet
	resetAsked bool // the reader is to reset the connection
	idle       bool // the reader is to close the connection

	mu     sync.Mutex // guards the fields below; taken after the printer's, never before
	out    []byte
	held   []byte // answers that leave with the next bytes
	busy   bool   // flush is running
	closed bool
	mute   bool // answers are lost on the way
	holds  bool // see Printer.AnswerWithNextBytes
}

// send sends b to the client without waiting. A printer never waits for its client: one that does
// not read its answers would stop the kitchen's printing.
func (c *client) send(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mute || c.closed || len(c.out)+len(b) > sendBuffer {
		return
	}

	if c.holds {
		c.held = append(c.held, b...)
		return
	}

	c.out = append(c.out, b...)
	if !c.busy {
		c.busy = true
		go c.flush()
	}
}

// release sends the answers that waited for bytes, and lets the next ones wait if hold.
func (c *client) release(hold bool) {
	c.mu.Lock()
	held := c.held
	c.held, c.holds = nil, false
	c.mu.Unlock()

	c.send(held)
	c.mu.Lock()
	c.holds = hold
	c.mu.Unlock()
}

// setMute is for a printer that is switched off or unplugged: the client gets no answer and no
// error.
func (c *client) setMute(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mute = on
}

// mayReadMore reports whether one more byte may be read though the receive buffer is full: it may belong to a
// DLE EOT, which a printer on a network still answers then.
func (c *client) mayReadMore(p *Printer) bool {
	if p.o.Can&RealTime == 0 || p.attached() && locked(p, p.working) {
		return false
	}

	return bytes.HasPrefix([]byte{dle, 0x04}, c.unbuffered)
}

// flush writes the waiting answers; it ends when none is left or the link is closed. It runs in its
// own goroutine, because a write to a client in memory blocks until that one reads.
func (c *client) flush() {
	for {
		c.mu.Lock()
		out := c.out
		c.out = nil
		if len(out) == 0 {
			c.busy = false
			c.mu.Unlock()
			c.p.mu.Lock()
			c.p.notify()
			c.p.mu.Unlock()
			return
		}

		c.mu.Unlock()
		if _, err := c.link.Write(out); err != nil {
			c.mu.Lock()
			c.closed, c.out = true, nil
			c.mu.Unlock()
		}
	}
}

// flushed waits until every answer was written, or the client has left.
func (c *client) flushed(ctx context.Context) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	_ = c.p.await(ctx, c.gone(), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.busy
	})
}

// interrupt ends a Read that is in progress, so that its caller checks the state again. The state
// (power, cable, reset) can change while a read is blocked; only the deadline ends it without
// closing.
func (c *client) interrupt() { _ = c.link.SetReadDeadline(time.Unix(1, 0)) }
