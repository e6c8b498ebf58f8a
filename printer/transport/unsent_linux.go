package transport

import (
	"net"

	"golang.org/x/sys/unix"
)

// unsent returns how many bytes, the end mark included, the other side has not yet
// acknowledged. The error is the connection's own if it was reset: a read does not show
// that once it has shown the end.
func unsent(c *net.TCPConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var left, broken int
	var lerr, berr error
	err = raw.Control(func(fd uintptr) {
		// The queue first: a reset empties it, and must not be taken for success.
		left, lerr = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		broken, berr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
	})
	switch {
	case err != nil:
		return 0, err
	case berr != nil:
		return 0, berr
	case broken != 0:
		return 0, unix.Errno(broken)
	}
	return left, lerr
}
