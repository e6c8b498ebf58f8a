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

// Dial opens a device without waiting for it, or a regular file at its end. Links are
// followed at each dial: one that a udev rule keeps leads to the printer whatever its
// number is now. A regular file that is not there is created, but never where devices
// live: a file written to /dev/usb/lp0 while the printer is unplugged would swallow every
// ticket from then on.
func (d fileDialer) Dial(ctx context.Context) (Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, openError(d.path, err)
	}
	if info, err := os.Stat(d.path); err == nil && info.Mode()&fs.ModeCharDevice != 0 {
		return openDevice(d.path)
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
		return &fileConn{f: f, path: d.path, created: created}, nil
	case mode&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0:
		return &deviceConn{f: f, path: d.path, pipe: mode&fs.ModeNamedPipe != 0}, nil
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

// A fileConn is a regular file: for trying things out, and for tickets to be picked up by
// another program. It has no way back.
type fileConn struct {
	f       *os.File
	path    string
	created bool

	mu       sync.Mutex // guards what follows
	deadline time.Time  // of writing; files have none of their own
	finished bool
	broken   error // of the first write that failed
}

func (c *fileConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return 0, wireError("write", c.path, os.ErrClosed)
	}
	if !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
		return 0, wireError("write", c.path, os.ErrDeadlineExceeded)
	}
	n, err := c.f.Write(b)
	if err != nil {
		c.broken = wireError("write", c.path, err)
	}
	return n, c.broken
}

// OneWay is true of every file.
func (c *fileConn) OneWay() bool { return true }

func (c *fileConn) Read([]byte) (int, error)        { return 0, io.EOF }
func (c *fileConn) SetReadDeadline(time.Time) error { return nil }

func (c *fileConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

func (c *fileConn) Close() error { return c.f.Close() }

// Finish puts the file on the disk, its name too if it is new.
func (c *fileConn) Finish(ctx context.Context) error {
	c.mu.Lock()
	c.finished = true
	err := c.broken
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err = ctx.Err(); err == nil {
		err = c.sync()
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
