package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

const (
	// closeGrace is how long Finish waits, once every byte is acknowledged, for a printer that neither
	// closes nor resets. Most printers close at once; some never do.
	closeGrace = 500 * time.Millisecond
	// pollInterval is how often a send queue is read: the kernel does not signal when it becomes empty.
	pollInterval = 10 * time.Millisecond
)

type tcpDialer struct{ address string }

func (d tcpDialer) Dial(ctx context.Context) (Conn, error) {
	// Go sets TCP_NODELAY on every connection. Keep-alive detects in about half a minute (10 s + 4·5 s)
	// that a printer was unplugged while its answer is waited for.
	nd := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4,
	}}

	start := time.Now()
	conn, err := nd.DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, connectError(d.address, time.Since(start), err)
	}
	return &tcpConn{c: conn.(*net.TCPConn), name: "tcp " + d.address}, nil
}

// A tcpConn is a Conn over TCP. It cannot know whether the printer prints the bytes that its network board
// has acknowledged: after a power cut they are lost.
type tcpConn struct {
	c        *net.TCPConn
	name     string
	wrote    atomic.Bool // at least one byte was handed to the kernel
	finished atomic.Bool // Finish returned nil
}

func (c *tcpConn) SetReadDeadline(t time.Time) error  { return c.c.SetReadDeadline(t) }
func (c *tcpConn) SetWriteDeadline(t time.Time) error { return c.c.SetWriteDeadline(t) }

// CloseWrite ends our side. The other side can still answer; a server that waits for the rest of a request
// does so only then.
func (c *tcpConn) CloseWrite() error { return c.c.CloseWrite() }

func (c *tcpConn) Write(b []byte) (int, error) {
	written, err := c.c.Write(b)

	if written > 0 {
		c.wrote.Store(true)
	}

	if err != nil {
		err = ioError("write", c.name, err)
	}
	return written, err
}

// Read keeps io.EOF as it is: callers compare with it.
func (c *tcpConn) Read(b []byte) (int, error) {
	read, err := c.c.Read(b)
	if err != nil && err != io.EOF {
		err = ioError("read", c.name, err)
	}
	return read, err
}

// Close resets the connection if its ticket was not finished. Otherwise the kernel would continue for
// minutes to deliver the abandoned ticket, and the printer, which serves one client at a time, would let
// the next attempt wait behind it.
func (c *tcpConn) Close() error {
	if c.wrote.Load() && !c.finished.Load() {
		_ = c.c.SetLinger(0) // if this fails, Close is an ordinary one
	}
	return c.c.Close()
}

// Finish ends as print spoolers do: it closes our side and waits for the printer to close its own. The
// ticket counts as taken if the printer's TCP has acknowledged everything, FIN included, without a reset.
func (c *tcpConn) Finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return ioError("finish", c.name, err)
	}

	if err := c.c.CloseWrite(); err != nil {
		if _, cause := unacknowledged(c.c); cause != nil {
			err = cause // the reset; CloseWrite only reports that there is no connection
		}
		return ioError("finish", c.name, err)
	}

	if err := c.drain(ctx); err != nil {
		return ioError("finish", c.name, err)
	}

	c.finished.Store(true)
	return nil
}

// drain returns nil when the send queue is empty and the printer has closed, or closeGrace has
// passed. The answers that still come are read and dropped: unread data would turn the close into a
// reset, which can destroy the tail of the ticket in the printer's buffer.
func (c *tcpConn) drain(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = c.c.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	buf := make([]byte, 512)
	closed := false
	var empty time.Time // since when the send queue has been empty

	for {
		if !closed {
			if err := c.c.SetReadDeadline(time.Now().Add(pollInterval)); err != nil {
				return err
			}
		}

		if err := ctx.Err(); err != nil { // checked after SetReadDeadline, which may have undone AfterFunc's
			return err
		}

		if closed {
			time.Sleep(pollInterval)
		} else if _, err := c.c.Read(buf); err == io.EOF {
			closed = true
		} else if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}

		left, err := unacknowledged(c.c)
		if err != nil {
			return err
		}

		if left > 0 {
			continue
		}
		if closed {
			return nil
		}

		if empty.IsZero() {
			empty = time.Now()
		}

		if time.Since(empty) >= closeGrace {
			return nil
		}
	}
}
