package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

type fileDialer struct{ path string }

// Dial opens a device without waiting for it, or a regular file at its end. A regular
// file that is not there is created, but never where devices live: a file written to
// /dev/usb/lp0 while the printer is unplugged would swallow every ticket from then on.
func (d fileDialer) Dial(ctx context.Context) (Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, openError(d.path, err)
	}
	const flags = os.O_WRONLY | os.O_APPEND | syscall.O_NONBLOCK | syscall.O_NOCTTY
	f, err := os.OpenFile(d.path, flags, 0)
	created := false
	if errors.Is(err, fs.ErrNotExist) && mayCreate(d.path) {
		f, err = os.OpenFile(d.path, flags|os.O_CREATE|os.O_EXCL, 0o640)
		created = err == nil
	}
	if err != nil {
		return nil, openError(d.path, err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, openError(d.path, err)
	}
	switch mode := info.Mode(); {
	case mode.IsRegular() && underDev(d.path):
		_ = f.Close()
		return nil, fmt.Errorf("open %s: is a regular file, not a device: something wrote there while the printer was unplugged; remove it", d.path)
	case mode.IsRegular():
		return &fileConn{f: f, path: d.path, regular: true, created: created}, nil
	case mode&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0:
		return &fileConn{f: f, path: d.path, pipe: mode&fs.ModeNamedPipe != 0}, nil
	default:
		_ = f.Close()
		return nil, fmt.Errorf("open %s: is %s, neither a device nor a file", d.path, mode.Type())
	}
}

// mayCreate says whether a missing path may become a regular file. Links are looked
// through, so that none leads into /dev; a link to nothing is left alone.
func mayCreate(path string) bool {
	if _, err := os.Lstat(path); err == nil {
		return false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && !underDev(filepath.Join(dir, filepath.Base(path)))
}

func underDev(path string) bool {
	if strings.HasPrefix(path, "/dev/") {
		return true
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && (dir == "/dev" || strings.HasPrefix(dir, "/dev/"))
}

type fileConn struct {
	f       *os.File
	path    string
	regular bool
	pipe    bool
	created bool

	mu       sync.Mutex // guards what follows
	deadline time.Time  // of writing; for files that have none of their own
	finished bool
}

// retryAfter is how long a device that says "not now" is left alone, where the kernel
// offers nothing to wait for.
const retryAfter = 20 * time.Millisecond

// Write waits, until the deadline, for a device that is busy.
func (c *fileConn) Write(b []byte) (int, error) {
	total := 0
	for {
		c.mu.Lock()
		deadline, finished := c.deadline, c.finished
		c.mu.Unlock()
		if finished {
			return total, wireError("write", c.path, os.ErrClosed)
		}
		if !deadline.IsZero() && !time.Now().Before(deadline) {
			return total, wireError("write", c.path, os.ErrDeadlineExceeded)
		}
		n, err := c.f.Write(b[total:])
		total += max(n, 0)
		switch {
		case err == nil:
			return total, nil
		case errors.Is(err, syscall.EAGAIN):
			time.Sleep(retryAfter)
		default:
			return total, wireError("write", c.path, err)
		}
	}
}

// Read has nothing to read: what a device says back is heard once printers are asked
// for their status.
func (c *fileConn) Read([]byte) (int, error) { return 0, io.EOF }

func (c *fileConn) SetReadDeadline(time.Time) error { return nil }

func (c *fileConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	if err := c.f.SetWriteDeadline(t); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return wireError("write", c.path, err)
	}
	return nil
}

func (c *fileConn) Close() error { return c.f.Close() }

// Finish puts a regular file on the disk, its name too if it is new; of a device it
// waits until the kernel has handed over the last byte. (Closing a USB printer earlier
// would cancel what is still in flight.)
func (c *fileConn) Finish(ctx context.Context) error {
	c.mu.Lock()
	c.finished = true
	c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return wireError("finish", c.path, err)
	}
	var err error
	if c.regular {
		err = c.sync()
	} else {
		err = c.drain(ctx)
	}
	if err != nil {
		return wireError("finish", c.path, err)
	}
	return nil
}

func (c *fileConn) sync() error {
	if err := c.f.Sync(); err != nil {
		return err
	}
	if !c.created {
		return nil
	}
	dir, err := os.Open(filepath.Dir(c.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func (c *fileConn) drain(ctx context.Context) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		left, err := undelivered(c.f, c.pipe)
		if err != nil || left == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
