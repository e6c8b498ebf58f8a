package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// undelivered returns how much of what was written the device has not taken, or 1 where
// the kernel only says that it is busy. A device that went away is an error.
func pendingBytes(f *os.File, pipe bool) (int, error) {
	left := 0
	var failed error
	err := withFD(f, func(fd int) error {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		if _, err := unix.Poll(p, 0); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if p[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
			failed = unix.ENODEV
			return nil
		}
		ask := uint(unix.TIOCOUTQ)
		if pipe {
			ask = unix.TIOCINQ // of a pipe: what its reader has not read
		}
		n, err := unix.IoctlGetInt(fd, ask)
		switch {
		case err == nil && n > 0:
			left = n
		case p[0].Revents&unix.POLLOUT == 0:
			left = 1 // a USB printer cannot count, but it is not writable while a transfer runs
		default:
			// A USB printer that was unplugged is writable too: its last transfer is over. Writing
			// nothing tells the difference (linux: drivers/usb/class/usblp.c, usblp_wtest).
			if _, err := unix.Write(fd, nil); err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
				failed = err
			}
		}
		return nil
	})
	return left, errors.Join(err, failed)
}

// rawLine has a terminal line pass bytes as they are: no echo of what the printer says back
// to it, no line feed made two. It says whether f is a terminal line at all.
func setRaw(f *os.File) (bool, error) {
	line := false
	err := withFD(f, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return nil // no terminal line
		}
		line = true
		t.Iflag &^= unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL
		ignoreLineErrors(t)
		t.Oflag &^= unix.OPOST
		t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
		t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
		return unix.IoctlSetTermios(fd, unix.TCSETS, t)
	})
	return line, err
}

// leaveNoiseOut has the line leave out what was no byte. A printer that is switched off, or
// whose cable is pulled, breaks the line, which is read as NUL otherwise: just what a printer
// with paper says when it has printed everything.
//
// It is said in this way, and not with IGNBRK, because drivers of USB adapters then hand every
// byte on without looking what is wrong with it (linux: n_tty_set_termios, real_raw). BRKINT
// interrupts nobody: the line is nobody's terminal. Without NOFLSH it would empty the buffers.
func ignoreLineErrors(t *unix.Termios) {
	t.Iflag &^= unix.IGNBRK | unix.PARMRK
	t.Iflag |= unix.BRKINT | unix.INPCK | unix.IGNPAR
	t.Lflag |= unix.NOFLSH
}

// drained waits until a terminal line has sent what it was given, or discard is called.
func waitSent(f *os.File) error {
	return withFD(f, func(fd int) error {
		for {
			if err := unix.IoctlSetInt(fd, unix.TCSBRK, 1); !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	})
}

// mute says that a device refuses to be read, as a USB printer does that only listens. Reading
// nothing takes nothing away (linux: drivers/usb/class/usblp.c, usblp_read).
func writeOnly(f *os.File) bool {
	var err error
	_ = withFD(f, func(fd int) error {
		_, err = unix.Read(fd, nil)
		return nil
	})
	return errors.Is(err, unix.EINVAL)
}

// discard throws away what a terminal line has not sent.
func discardUnsent(f *os.File) {
	_ = withFD(f, func(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCOFLUSH) })
}

// release lets others open a terminal line again.
func releaseExclusive(f *os.File) {
	_ = withFD(f, func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCNXCL, 0) })
}

// control calls do with c's descriptor, which stays open meanwhile.
func withFD(c syscall.Conn, do func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// setLine sets what the serial library does not: flow control, and that nobody else may
// open the line while we have it.
func setFlow(f *os.File, how flow) error {
	return withFD(f, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}
		t.Cflag &^= unix.CRTSCTS
		t.Cflag &^= unix.HUPCL // some printers take a drop of DTR for a reset: none between tickets
		t.Iflag &^= unix.IXON | unix.IXOFF | unix.IXANY
		ignoreLineErrors(t)
		switch how {
		case rtsCTS:
			t.Cflag |= unix.CRTSCTS
		case xonXOFF:
			// Only what the printer says counts. We never send XOFF ourselves (it would stand in the
			// middle of a raster), and nothing but XON ends a wait: a status is no XON. No status
			// byte looks like one either.
			t.Iflag |= unix.IXON
			t.Cc[unix.VSTART], t.Cc[unix.VSTOP] = 0x11, 0x13
		}
		if err := unix.IoctlSetTermios(fd, unix.TCSETS, t); err != nil {
			return err
		}
		return unix.IoctlSetInt(fd, unix.TIOCEXCL, 0)
	})
}

// under is how much may be on its way to a printer that paces us by DSR. When it says "wait"
// it still takes 100 bytes or more.
const maxInFlight = 64

// dsrRoom says how many bytes may be handed over: none while the printer says "wait".
func dsrWritable(f *os.File) (int, error) {
	room := 0
	err := withFD(f, func(fd int) error {
		wires, err := unix.IoctlGetInt(fd, unix.TIOCMGET)
		if err != nil {
			return err
		}
		if wires&unix.TIOCM_DSR == 0 {
			return nil
		}
		queued, err := unix.IoctlGetInt(fd, unix.TIOCOUTQ)
		room = maxInFlight - queued
		return err
	})
	return room, err
}

// HungUp looks, without waiting, whether the printer has closed or reset the connection. Nil
// proves nothing; an error means that whatever is written from here on is written to nobody.
func (c *tcpConn) PeerClosed() error {
	return withFD(c.c, func(fd int) error {
		n, _, err := unix.Recvfrom(fd, make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR), err == nil && n > 0:
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("the printer hung up at once (is another till using it?): %w", io.EOF)
	})
}

// unsent returns how many bytes, the end mark included, the other side has not yet
// acknowledged. The error is the connection's own if it was reset: a read does not show
// that once it has shown the end.
func unacknowledged(c *net.TCPConn) (left int, err error) {
	err = withFD(c, func(fd int) (err error) {
		// The queue first: a reset empties it, and must not be taken for success.
		left, err = unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		broken, berr := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
		switch {
		case berr != nil:
			return berr
		case broken != 0:
			return unix.Errno(broken)
		}
		return err
	})
	return left, err
}
