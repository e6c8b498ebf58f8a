package transport

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// undelivered returns how much of what was written the device has not taken, or 1 where
// the kernel only says that it is busy. A device that went away is an error.
func undelivered(f *os.File, pipe bool) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	left := 0
	var failed error
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		if _, err := unix.Poll(p, 0); err != nil && !errors.Is(err, unix.EINTR) {
			failed = err
			return
		}
		if p[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
			failed = unix.ENODEV
			return
		}
		ask := uint(unix.TIOCOUTQ)
		if pipe {
			ask = unix.TIOCINQ // of a pipe: what its reader has not read
		}
		n, err := unix.IoctlGetInt(int(fd), ask)
		switch {
		case err == nil && n > 0:
			left = n
		case p[0].Revents&unix.POLLOUT == 0:
			left = 1 // a USB printer cannot count, but it is not writable while a transfer runs
		}
	})
	return left, errors.Join(err, failed)
}
