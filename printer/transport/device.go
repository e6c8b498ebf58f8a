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

// Linux offers different means for each kind of device, and none offers all that a Conn promises.
// Deadlines: the runtime's poller where the driver supports poll, else the loop in Write. Unsent
// bytes: TIOCOUTQ for serial lines, poll for USB, TIOCINQ for a pipe. Cancelling: TCFLSH for serial
// lines, the close itself for USB.

// A deviceConn is an open character device (a USB printer, a serial line), a named pipe or a regular file.
// Regular files are for trying things out, and for another program that reads the tickets there.
type deviceConn struct {
	f        *os.File
	path     string
	pipe     bool
	regular  bool
	created  bool // the file was created by this Dial; its directory entry must be synced too
	readable bool // answers can be read
	tty      bool // a terminal device: the kernel has an output buffer, which must be sent or discarded
	// writable returns how many bytes may be written now. It implements a flow control that the kernel
	// does not have; nil: the kernel does it.
	writable func(*os.File) (int, error)

	writing sync.Mutex // held during a write, so that Close discards all that was written

	mu       sync.Mutex // guards the fields below
	deadline time.Time  // for writing; kept here because some devices do not support one
	finished bool       // Finish or Close was called
	flushed  bool       // Finish returned nil
	writeErr error      // of the first write that failed after some bytes
}

// openFile opens a device or a file. O_NONBLOCK, because it may otherwise wait at a serial line for a carrier signal,
// and at a pipe for its reader; O_NOCTTY, so that a line never becomes the daemon's terminal.
func openFile(ctx context.Context, path string, flags int) (file *os.File, err error) {
	if err = ctx.Err(); err == nil {
		file, err = os.OpenFile(path, flags|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o640)
	}
	if err != nil {
		return nil, openError(path, err)
	}
	return file, nil
}

// openDevice opens a character device for writing and, if possible, for reading. A terminal device
// is set to raw mode; its speed is kept, because only serial:// sets that.
func openDevice(ctx context.Context, path string) (Conn, error) {
	file, err := openFile(ctx, path, os.O_RDWR)
	back := err == nil
	switch {
	// A device that may not be read, or a driver that has no read, still prints.
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EINVAL):
		file, err = openFile(ctx, path, os.O_WRONLY)
	}

	if err != nil {
		return nil, err
	}

	line, err := setRaw(file)
	if err != nil {
		_ = file.Close()
		return nil, openError(path, err)
	}

	// A device without poll support in the kernel (/dev/null, a parallel port) is not read, because
	// nothing could interrupt the read.
	back = back && !errors.Is(file.SetReadDeadline(time.Time{}), os.ErrNoDeadline)
	back = back && !writeOnly(file)
	return &deviceConn{f: file, path: path, readable: back, tty: line}, nil
}

// OneWay is true for files, named pipes, devices that can only be written, and USB printers with a
// unidirectional interface.
func (c *deviceConn) OneWay() bool { return !c.readable }

const (
	// retryAfter is the pause before a device that returned EAGAIN is tried again, where the kernel has
	// nothing to wait for.
	retryAfter = 20 * time.Millisecond
	// maxReadErrors is how many transfers in a row may fail while the USB printer is still present.
	// A loose plug fails for a moment; a broken printer fails always.
	maxReadErrors = 5
)

// Write waits, until the deadline, for a device that is busy, and continues after a short write.
// After an error the part that was taken is remembered, so that Finish cannot claim the ticket is
// complete.
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

	err = ioError("write", c.path, err)
	c.mu.Lock()
	if c.writeErr == nil && total > 0 {
		c.writeErr = err
	}
	c.mu.Unlock()
	return total, err
}

// writeSome writes as much as the device takes now, or waits for a moment.
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
		room, err := c.writable(c.f)
		if err != nil {
			return 0, err
		}
		if room <= 0 {
			time.Sleep(pollInterval)
			return 0, nil
		}
		b = b[:min(room, len(b))]
	}

	// So that Close, which waits for a write that is in the kernel, can discard all that was written.
	c.writing.Lock()
	written, err := c.f.Write(b)
	c.writing.Unlock()

	if errors.Is(err, syscall.EAGAIN) {
		time.Sleep(retryAfter)
		err = nil
	}
	return max(written, 0), err
}

// Read waits for an answer until the deadline. A USB printer answers late, and empty packets and failed
// transfers may come first: Read waits through them for as long as the device is present.
func (c *deviceConn) Read(b []byte) (int, error) {
	if !c.readable {
		return 0, io.EOF
	}
	for failed := 0; ; {
		read, err := c.f.Read(b)
		switch {
		case read > 0 || err == nil:
			return read, nil
		case errors.Is(err, syscall.EINVAL): // a unidirectional USB interface
			return 0, io.EOF
		case !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EIO):
			return 0, ioError("read", c.path, err)
		}

		// io.EOF and EIO come from a present printer too, so the device itself is asked.
		if _, gone := pendingBytes(c.f, c.pipe); gone != nil {
			return 0, ioError("read", c.path, gone)
		}

		if errors.Is(err, syscall.EIO) {
			if failed++; failed >= maxReadErrors {
				return 0, ioError("read", c.path, err)
			}
		}

		time.Sleep(retryAfter)
	}
}

// SetReadDeadline does nothing on a one-way connection, whose Read never waits.
func (c *deviceConn) SetReadDeadline(t time.Time) error {
	if !c.readable {
		return nil
	}
	return c.ignoreNoDeadline("read", c.f.SetReadDeadline(t))
}

// SetWriteDeadline sets both deadlines: the runtime's, which interrupts a write, and ours, for
// devices without it.
func (c *deviceConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	return c.ignoreNoDeadline("write", c.f.SetWriteDeadline(t))
}

// ignoreNoDeadline drops the error of a device without deadlines: c.deadline is checked instead.
func (c *deviceConn) ignoreNoDeadline(doing string, err error) error {
	if err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return ioError(doing, c.path, err)
	}
	return nil
}

// Close discards the bytes that a terminal device has not sent yet, unless Finish succeeded. Otherwise the kernel
// would block the close for up to half a minute for a printer that takes nothing, and the printer would
// later print the rest of an abandoned ticket. For a USB printer, closing cancels the running transfer.
func (c *deviceConn) Close() error {
	c.mu.Lock()
	abandoned := c.tty && !c.flushed
	c.finished = true
	c.mu.Unlock()

	if abandoned {
		_ = c.f.SetWriteDeadline(time.Unix(1, 0)) // interrupts a write in progress
		c.writing.Lock()
		discardUnsent(c.f)
		c.writing.Unlock()
	}

	if c.tty {
		releaseExclusive(c.f)
	}
	return c.f.Close()
}

// Finish waits until the kernel has sent the last byte to the printer, or has written the file to
// disk. It must not return nil too early: without a confirmation, this is when the ticket counts as
// sent.
func (c *deviceConn) Finish(ctx context.Context) error {
	c.mu.Lock()
	c.finished = true
	err := c.writeErr
	c.mu.Unlock()
	if err != nil {
		return err // bytes are missing and will not be sent any more
	}

	if err = ctx.Err(); err == nil {
		err = c.drain(ctx)
	}
	if err != nil {
		return ioError("finish", c.path, err)
	}

	c.mu.Lock()
	c.flushed = true
	c.mu.Unlock()
	return nil
}

// Serial reports whether it is a serial line.
func (c *deviceConn) Serial() bool { return c.tty }

// drain waits until the kernel has sent everything. A regular file is synced, with its directory if it is
// new: without that, a power failure can lose the name of a file whose content was synced.
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

	// Only the UART's own buffer is left: a few bytes, unless flow control stops it.
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

// sync makes the tickets in a file survive a power failure.
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
