package printer_test

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ticketrail/printer/transport"
)

// A tap makes connections on which a test acts between two writes, whatever the printer has read by then. It reports
// how the Device ends them, what the printer has acknowledged, and whether it has closed.
type tap struct {
	transport.Dialer
	before func(b []byte) error                   // its error is that of the write, of which nothing is taken then
	after  func(c transport.Conn, written string) // of one write

	missing int           // bytes that are not acknowledged; -1: that cannot be known
	ends    time.Duration // after which each connection ends by itself; 0: never

	finish, closed    errorSwitch  // the error of an orderly end, and that the printer closed, as far as TCP knows
	dialled, finished atomic.Int32 // connections, and those that were ended in an orderly way
}

// script is the scripted printer at its end.
func (w *tap) script() *scriptedPrinter { return w.Dialer.(*scriptedPrinter) }

func (w *tap) Dial(ctx context.Context) (transport.Conn, error) {
	w.dialled.Add(1)
	c, err := w.Dialer.Dial(ctx)
	if w.ends > 0 {
		later(w.ends, func() { _ = c.Close() })
	}
	return &tapConn{Conn: c, w: w}, err
}

type tapConn struct {
	transport.Conn
	w     *tap
	taken int
}

func (c *tapConn) Write(b []byte) (int, error) {
	if c.w.before != nil {
		if err := c.w.before(b); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Write(b)
	c.taken += n
	if err == nil && c.w.after != nil {
		c.w.after(c.Conn, string(b))
	}
	return n, err
}

func (c *tapConn) Acknowledged() (int, error) {
	if c.w.missing < 0 {
		return c.taken, os.ErrInvalid
	}
	return c.taken - c.w.missing, nil
}

func (c *tapConn) Finish(ctx context.Context) error {
	c.w.finished.Add(1)
	if err := c.w.finish.get(); err != nil {
		return err
	}
	return c.Conn.Finish(ctx)
}

func (c *tapConn) PeerClosed() error { return c.w.closed.get() }

// An errorSwitch is an error that a test sets while the printer runs.
type errorSwitch struct {
	mu  sync.Mutex
	err error
}

func (e *errorSwitch) set(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
}

func (e *errorSwitch) get() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// answersIDs answers each GS ( H.
func answersIDs(c net.Conn, all string) {
	if id := idReply(all); id != nil {
		_, _ = c.Write(id)
	}
}
