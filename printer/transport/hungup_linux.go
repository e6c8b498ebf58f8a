package transport

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// HungUp looks, without waiting, whether the printer has closed or reset the connection. Nil
// proves nothing; an error means that whatever is written from here on is written to nobody.
func (c *tcpConn) HungUp() error {
	raw, err := c.c.SyscallConn()
	if err != nil {
		return err
	}
	var n int
	var peek error
	if err := raw.Control(func(fd uintptr) {
		n, _, peek = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	}); err != nil {
		return err
	}
	switch {
	case errors.Is(peek, unix.EAGAIN), errors.Is(peek, unix.EINTR), peek == nil && n > 0:
		return nil
	case peek != nil:
		return peek
	}
	return fmt.Errorf("the printer hung up at once (is another till using it?): %w", io.EOF)
}
