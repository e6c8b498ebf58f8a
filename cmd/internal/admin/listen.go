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

// Listen opens the socket at path with mode 0660. It returns an error if another daemon answers
// there, or if path is not a socket; such a file is not touched. A socket at which no process
// answers was left by a crash and is replaced. Closing the listener removes the socket, unless
// another daemon has replaced it.
//
// Two daemons that start at the same moment could both pass this check. The lock on the database
// decides between them, so the caller must open the database first. The mode gives access to the
// socket's group, which is the group of the folder if the folder is setgid. On an installed box that is
// ticketrail-admin: an operator joins it instead of using sudo.
func Listen(path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("check admin socket: %w", err)
	// admin.socket may name the wrong file by mistake, such as the database.
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf(
			"open admin socket: %s exists and is not a socket: move it away or set admin.socket to another path", path)
	default:
		if err := checkUnused(path); err != nil {
			return nil, err
		}
	}

	socket, err := bind(path)
	dir := filepath.Dir(path)
	switch {
	case err == nil:
		return socket, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("admin.socket: the folder %s does not exist: create it, or set another path (%w)",
			dir, err)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("admin.socket: this user may not create a socket in %s: "+
			"use a folder that belongs to the daemon's user, or set another path (%w)", dir, err)
	}

	return nil, fmt.Errorf("open admin socket %s: %w", path, err)
}

// checkUnused returns nil if no process answers at the socket. An answer that is neither yes nor no
// (no permission, a time-out) is an error: replacing the socket of a running daemon would cut it
// off from every operator.
func checkUnused(path string) error {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
		return fmt.Errorf("another ticketrail is running (socket %s): stop it first", path)
	}
	if refused(err) {
		return nil
	}
	return fmt.Errorf("find out whether admin socket %s is in use: %w", path, err)
}

// bind creates the socket in a folder that only this user can enter, sets its mode there and renames
// it to path. So no process can connect before the mode is right, and the umask, which all
// goroutines share, is not changed. A crash before the rename leaves a folder ".admin*" beside path
// and path as it was; after it, the socket is replaced at the next start.
func bind(path string) (net.Listener, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".admin")
	if err != nil {
		return nil, err
	}

	defer os.RemoveAll(dir)
	hidden := filepath.Join(dir, "s")
	bound, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, err
	}

	bound.SetUnlinkOnClose(false) // net would unlink the name before the rename; Close removes path
	socket := &listener{UnixListener: bound, path: path}
	if err := socket.settle(hidden); err != nil {
		bound.Close()
		return nil, err
	}
	return socket, nil
}

// A listener is a socket that was renamed after it was opened, so net knows it by another name.
type listener struct {
	*net.UnixListener
	path string
	own  fs.FileInfo
}

// settle gives the socket its mode and its name, in this order. own identifies the file: after the
// rename another daemon may put its own socket at path.
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

// Addr is the address after the rename; net still has the hidden one.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close stops listening and removes the socket if it is still this one. It removes the name first,
// so that a client that comes now gets "not running" and no connection that is never answered.
func (l *listener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.own) {
		os.Remove(l.path)
	}
	return l.UnixListener.Close()
}

// refused reports whether a dial failed because no process listens there. A socket file that a
// crash left behind refuses; without a file there is nothing to dial. Both mean: not running.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}
