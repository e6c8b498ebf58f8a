package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ticketrail/printer/transport"
)

// Dial makes a Printer a [transport.Dialer]. It connects in memory, without a buffer in between:
// when a Write has returned, the printer has read the bytes. It works inside a testing/synctest
// bubble. The context of the dial does not end the connection, as with any dialer.
func (p *Printer) Dial(ctx context.Context) (transport.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("connect %s: %w", p.o.Name, err)
	}

	// Two pipes, because a net.Pipe cannot be closed in one direction only.
	to, from := net.Pipe()
	fromBack, toBack := net.Pipe()

	shared := &pipeState{left: make(chan struct{})}
	served, err := p.admitted(ctx, &pipeLink{pipeState: shared, r: from, w: toBack})
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", p.o.Name, err)
	}

	go p.serve(context.WithoutCancel(ctx), served)
	return &pipeConn{name: p.o.Name, wire: shared, w: to, r: fromBack}, nil
}

// admitted waits until the printer accepts or refuses a client. While the power is off or the cable
// is unplugged nothing answers, not even with a refusal.
func (p *Printer) admitted(ctx context.Context, l link) (*client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.await(ctx, nil, func() bool { return !p.off && !p.unplugged })

	switch {
	case err != nil:
		return nil, err
	case p.faults.refuse, p.full():
		return nil, syscall.ECONNREFUSED
	}
	return p.addClient(l), nil
}

// A pipeState is shared by the two ends of an in-memory connection.
type pipeState struct {
	wasReset atomic.Bool
	finished atomic.Bool // the client has called Finish
	leave    sync.Once
	left     chan struct{} // closed when the client has closed
}

// pipeLink is the printer's end.
type pipeLink struct {
	*pipeState
	r, w net.Conn
}

func (l *pipeLink) gone() <-chan struct{} { return l.left }
func (l *pipeLink) Close() error          { return errors.Join(l.r.Close(), l.w.Close()) }

func (l *pipeLink) Write(b []byte) (int, error)       { return l.w.Write(b) }
func (l *pipeLink) SetReadDeadline(t time.Time) error { return l.r.SetReadDeadline(t) }

func (l *pipeLink) Read(b []byte) (int, error) {
	read, err := l.r.Read(b)
	if err == io.EOF && !l.finished.Load() {
		err = syscall.ECONNRESET // the client closed without finishing
	}
	return read, err
}

func (l *pipeLink) reset() {
	l.wasReset.Store(true)
	_ = l.Close()
}

// pipeConn is the client's end.
type pipeConn struct {
	name string
	wire *pipeState
	w, r net.Conn
}

func (c *pipeConn) Write(b []byte) (int, error) {
	written, err := c.w.Write(b)
	return written, c.failed("write", err)
}

func (c *pipeConn) Read(b []byte) (int, error) {
	read, err := c.r.Read(b)
	if err == io.EOF && !c.wire.wasReset.Load() {
		return read, err
	}
	return read, c.failed("read", err)
}

// failed is the error of doing something, and says that the printer has reset the connection if it has.
func (c *pipeConn) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	if c.wire.wasReset.Load() {
		err = syscall.ECONNRESET
	}
	return fmt.Errorf("%s %s: %w", doing, c.name, err)
}

// The error of a pipe that the other end has closed comes with the next Read or Write, as on TCP.

func (c *pipeConn) SetReadDeadline(t time.Time) error  { _ = c.r.SetReadDeadline(t); return nil }
func (c *pipeConn) SetWriteDeadline(t time.Time) error { _ = c.w.SetWriteDeadline(t); return nil }

// finishGrace is how long Finish waits for a printer that does not close, as over TCP.
const finishGrace = 500 * time.Millisecond

// Finish works as over TCP. There is no buffer in between, so everything written has been read already. It
// waits only to see whether the printer resets the connection.
func (c *pipeConn) Finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return c.failed("finish", err)
	}

	c.wire.finished.Store(true)
	if err := c.w.Close(); err != nil {
		return c.failed("finish", err)
	}

	_ = c.r.SetReadDeadline(time.Now().Add(finishGrace)) // fails if the printer has closed
	stop := context.AfterFunc(ctx, func() { _ = c.r.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	_, err := io.Copy(io.Discard, c.r) // ends at the printer's close or at the deadline
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case c.wire.wasReset.Load():
		err = syscall.ECONNRESET
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = nil
	}
	return c.failed("finish", err)
}

func (c *pipeConn) Close() error {
	c.wire.leave.Do(func() { close(c.wire.left) })
	return errors.Join(c.w.Close(), c.r.Close())
}
