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

// mode lets the owner and the group connect.
const mode = 0o660

// Listen opens the socket at path with mode 0660. It returns an error if another daemon answers
// there, or if path is not a socket; such a file is not touched. A socket at which no process
// answers was left by a crash and is replaced. Closing the listener removes the socket.
//
// Two daemons that start at the same moment could both pass this check. The lock on the database
// decides between them, so the caller must open the database first, and close it last. The mode gives access to the
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
		_ = os.Remove(path) // an error comes from binding
	}

	socket, err := net.Listen("unix", path)
	dir := filepath.Dir(path)
	switch {
	case err == nil:
		if err := os.Chmod(path, mode); err != nil {
			return nil, errors.Join(fmt.Errorf("open admin socket: %w", err), socket.Close())
		}
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

// refused reports whether a dial failed because no process listens there. A socket file that a
// crash left behind refuses; without a file there is nothing to dial. Both mean: not running.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}
