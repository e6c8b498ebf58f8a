package transport

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A deviceConn is an open character device (a USB printer, a serial line), a named pipe, or a
// regular file: for trying things out, and for tickets to be picked up by another program.
type deviceConn struct {
	f        *os.File
	path     string
	pipe     bool
	regular  bool
	created  bool // by us, just now
	readable bool // what the printer says can be read
	tty      bool // it is a terminal line: the kernel has a buffer that must be emptied or thrown away
	// room, if it is there, says how many bytes may be handed over now: flow control that the
	// kernel does not do.
	writable func(*os.File) (int, error)

	writing sync.Mutex // held while f is written to: what Close throws away must be all

	mu       sync.Mutex // guards what follows
	deadline time.Time  // of writing; for devices that have none of their own
	finished bool       // no more writing
	flushed  bool       // Finish returned nil
	closed   bool
	writeErr error // of the first write that failed
}

// openDevice opens a character device for writing and, if it lets us, for reading. A
// terminal line is made to pass bytes as they are, and keeps its speed; serial:// sets that.
func openDevice(path string) (Conn, error) {
	const flags = syscall.O_NONBLOCK | syscall.O_NOCTTY
	f, err := os.OpenFile(path, os.O_RDWR|flags, 0)
	back := err == nil
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EINVAL):
		f, err = os.OpenFile(path, os.O_WRONLY|flags, 0)
	}
	if err != nil {
		return nil, openError(path, err)
	}
	line, err := setRaw(f)
	if err != nil {
		_ = f.Close()
		return nil, openError(path, err)
	}
	// A device on which the kernel cannot wait (/dev/null, a parallel port) is not read: nothing
	// could interrupt that.
	back = back && !errors.Is(f.SetReadDeadline(time.Time{}), os.ErrNoDeadline)
	back = back && !writeOnly(f)
	return &deviceConn{f: f, path: path, readable: back, tty: line}, nil
}

// OneWay is true of files, of named pipes, of devices that may only be written, and of USB printers of
// the kind that only listens.
func (c *deviceConn) OneWay() bool { return !c.readable }

const (
	// retryAfter is how long a device that says "not now" is left alone, where the kernel
	// offers nothing to wait for.
	retryAfter = 20 * time.Millisecond
	// misreads is how many reads in a row may fail of a printer that is still there.
	maxReadErrors = 5
)

// Write waits, until the deadline, for a device that is busy. It goes on where a short write
// ended.
func (c *deviceConn) Write(b []byte) (int, error) {
	total, err := 0, error(nil)
	for err == nil {
		var n int
		n, err = c.writeSome(b[total:])
		total += n
		if err == nil && total == len(b) {
			return total, nil
		}
	}
	err = wireError("write", c.path, err)
	c.mu.Lock()
	if c.writeErr == nil && total > 0 {
		c.writeErr = err
	}
	c.mu.Unlock()
	return total, err
}

// push hands over what the device takes now, or waits for a moment.
func (c *deviceConn) writeSome(b []byte) (int, error) {
	c.mu.Lock()
	deadline, finished := c.deadline, c.finished
	c.mu.Unlock()
	if finished {
		return 0, os.ErrClosed
	}
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	if c.writable != nil {
		n, err := c.writable(c.f)
		if err != nil {
			return 0, err
		}
		if n <= 0 {
			time.Sleep(pollInterval)
			return 0, nil
		}
		b = b[:min(n, len(b))]
	}
	n, err := c.writeLocked(b)
	if errors.Is(err, syscall.EAGAIN) {
		time.Sleep(retryAfter)
		err = nil
	}
	return max(n, 0), err
}

func (c *deviceConn) writeLocked(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.f.Write(b)
}

// Read waits, until the deadline, for what the printer says. Answers of a USB printer come
// late, and empty packets and failed transfers may come before them: these are waited out
// as long as the printer is there.
func (c *deviceConn) Read(b []byte) (int, error) {
	if !c.readable {
		return 0, io.EOF
	}
	for failed := 0; ; {
		n, err := c.f.Read(b)
		switch {
		case n > 0 || err == nil:
			return n, nil
		case errors.Is(err, syscall.EINVAL): // a USB printer of the kind that only listens
			return 0, io.EOF
		case !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EIO):
			return 0, wireError("read", c.path, err)
		}
		if _, there := pendingBytes(c.f, c.pipe); there != nil {
			return 0, wireError("read", c.path, there)
		}
		if errors.Is(err, syscall.EIO) {
			if failed++; failed >= maxReadErrors {
				return 0, wireError("read", c.path, err)
			}
		}
		time.Sleep(retryAfter)
	}
}

func (c *deviceConn) SetReadDeadline(t time.Time) error {
	if !c.readable {
		return nil
	}
	return c.set("read", c.f.SetReadDeadline(t))
}

func (c *deviceConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	return c.set("write", c.f.SetWriteDeadline(t))
}

func (c *deviceConn) set(doing string, err error) error {
	if err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return wireError(doing, c.path, err)
	}
	return nil
}

// Close throws away what a terminal line has not sent yet, unless it has been finished
// with: else the kernel would hold on to the line, up to half a minute, for a printer that
// takes nothing. Of a USB printer it cancels what is in flight.
func (c *deviceConn) Close() error {
	c.mu.Lock()
	abandoned := c.tty && !c.flushed && !c.closed
	c.finished, c.closed = true, true
	c.mu.Unlock()
	if abandoned {
		_ = c.f.SetWriteDeadline(time.Unix(1, 0)) // ends a write that is under way
		c.writing.Lock()
		discardUnsent(c.f)
		c.writing.Unlock()
	}
	if c.tty {
		releaseExclusive(c.f)
	}
	return c.f.Close()
}

// Finish waits until the kernel has handed over the last byte, or has it on the disk.
func (c *deviceConn) Finish(ctx context.Context) error {
	c.mu.Lock()
	c.finished = true
	err := c.writeErr
	c.mu.Unlock()
	if err != nil {
		return err // not everything was taken, and never will be
	}
	if err = ctx.Err(); err == nil {
		err = c.drain(ctx)
	}
	if err != nil {
		return wireError("finish", c.path, err)
	}
	c.mu.Lock()
	c.flushed = true
	c.mu.Unlock()
	return nil
}

// drain waits for the kernel; a regular file it puts on the disk, its name too if it is new.
func (c *deviceConn) drain(ctx context.Context) error {
	if c.regular {
		return c.sync()
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		left, err := pendingBytes(c.f, c.pipe)
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	if !c.tty {
		return nil
	}
	// What is left is in the chip: a few bytes, unless the printer stops it.
	sent := make(chan error, 1)
	go func() { sent <- waitSent(c.f) }()
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		discardUnsent(c.f)
		return ctx.Err()
	}
}

func (c *deviceConn) sync() error {
	if err := c.f.Sync(); err != nil || !c.created {
		return err
	}
	dir, err := os.Open(filepath.Dir(c.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
