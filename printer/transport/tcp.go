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
	// grace is how long Finish waits, once every byte is acknowledged, for a printer that
	// neither closes nor resets. Most close at once; some never do.
	closeGrace = 500 * time.Millisecond
	// glance is how often Finish looks at the send queue.
	pollInterval = 10 * time.Millisecond
)

type tcpDialer struct{ address string }

func (d tcpDialer) Dial(ctx context.Context) (Conn, error) {
	// TCP_NODELAY is what Go sets on every connection. Keep-alive finds the printer that
	// was unplugged while we wait for it, in about half a minute.
	nd := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4,
	}}
	start := time.Now()
	c, err := nd.DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, connectError(d.address, time.Since(start), err)
	}
	return &tcpConn{c: c.(*net.TCPConn), name: "tcp " + d.address}, nil
}

type tcpConn struct {
	c        *net.TCPConn
	name     string
	wrote    atomic.Bool // something has been handed to the kernel
	finished atomic.Bool // Finish returned nil
}

func (c *tcpConn) SetReadDeadline(t time.Time) error  { return c.c.SetReadDeadline(t) }
func (c *tcpConn) SetWriteDeadline(t time.Time) error { return c.c.SetWriteDeadline(t) }

func (c *tcpConn) Write(b []byte) (int, error) {
	n, err := c.c.Write(b)
	if n > 0 {
		c.wrote.Store(true)
	}
	if err != nil {
		err = wireError("write", c.name, err)
	}
	return n, err
}

func (c *tcpConn) Read(b []byte) (int, error) {
	n, err := c.c.Read(b)
	if err != nil && err != io.EOF {
		err = wireError("read", c.name, err)
	}
	return n, err
}

// Close resets a connection whose ticket was not taken to the end: else the kernel would
// go on for minutes delivering a ticket that has been given up, and the printer, which
// serves one client at a time, would keep the next attempt waiting behind it.
func (c *tcpConn) Close() error {
	if c.wrote.Load() && !c.finished.Load() {
		_ = c.c.SetLinger(0) // the worst case is what a plain Close does
	}
	return c.c.Close()
}

// Finish says goodbye the way spoolers do: close our side, then wait for the printer's.
// What counts is that its TCP acknowledged everything, the end mark included, and that
// no reset followed.
func (c *tcpConn) Finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return wireError("finish", c.name, err)
	}
	if err := c.c.CloseWrite(); err != nil {
		if _, cause := unacknowledged(c.c); cause != nil {
			err = cause // a reset; closing says only that there is no connection
		}
		return wireError("finish", c.name, err)
	}
	if err := c.drain(ctx); err != nil {
		return wireError("finish", c.name, err)
	}
	c.finished.Store(true)
	return nil
}

// drain returns nil when the send queue is empty and the printer has closed, or has had
// the grace to.
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
		if err := ctx.Err(); err != nil { // after the deadline was set: see AfterFunc
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
