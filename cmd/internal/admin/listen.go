package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Listen opens the socket at path, mode 0660. If somebody answers there, another daemon
// runs and Listen refuses; a socket that nobody answers at is left over from a crash and
// is replaced; anything that is not a socket is refused and left alone. Closing the
// listener removes the socket, unless it has become somebody else's meanwhile.
//
// Two daemons that start at the same moment are not told apart here: the lock on the
// database decides between them, so the database is opened first.
func Listen(path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("look at admin socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("open admin socket: %s is there and is not a socket: move it away or set admin.socket to another path", path)
	default:
		if err := abandoned(path); err != nil {
			return nil, err
		}
	}
	l, err := bind(path)
	dir := filepath.Dir(path)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("admin.socket: there is no folder %s for %s: make it, or set another path (%w)", dir, filepath.Base(path), err)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("admin.socket: this user may not make a socket in %s: use a folder of its own, or set another path (%w)", dir, err)
	}
	return nil, fmt.Errorf("open admin socket %s: %w", path, err)
}

// abandoned returns nil if nobody answers at the socket.
func abandoned(path string) error {
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return fmt.Errorf("another ticketrail is running (socket %s): stop it first", path)
	}
	if refused(err) {
		return nil
	}
	return fmt.Errorf("ask who is at admin socket %s: %w", path, err)
}

// bind makes the socket in a folder that only we may enter, gives it its mode there and
// then moves it to its place: nobody meets it with another mode, and the process's umask,
// which every goroutine shares, stays as it is. A crash in between leaves an empty-handed
// folder ".admin*" beside the socket and the place itself as it was.
func bind(path string) (net.Listener, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".admin")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	hidden := filepath.Join(dir, "s")
	u, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, err
	}
	u.SetUnlinkOnClose(false) // it would unlink the hidden name
	l := &listener{UnixListener: u, path: path}
	if err := l.settle(hidden); err != nil {
		u.Close()
		return nil, err
	}
	return l, nil
}

type listener struct {
	*net.UnixListener
	path string
	own  fs.FileInfo
}

func (l *listener) settle(hidden string) error {
	if err := os.Chmod(hidden, 0o660); err != nil {
		return err
	}
	own, err := os.Lstat(hidden)
	if err != nil {
		return err
	}
	l.own = own
	return os.Rename(hidden, l.path)
}

func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close stops listening and removes the socket if it is still this one.
func (l *listener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.own) {
		os.Remove(l.path)
	}
	return l.UnixListener.Close()
}

// refused says that a dial found nobody at home.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}
