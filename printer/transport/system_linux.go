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

// System calls whose meaning depends on the driver. Where the manual pages say less than the kernel
// does, the source file is named.

// pendingBytes returns how many written bytes the device has not taken, or 1 if the kernel only reports
// that it is busy. A device that was removed is an error.
func pendingBytes(f *os.File, pipe bool) (int, error) {
	left := 0
	err := withFD(f, func(fd int) error {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		if _, err := unix.Poll(polled, 0); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}

		if polled[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
			return unix.ENODEV
		}

		ask := uint(unix.TIOCOUTQ)
		if pipe {
			ask = unix.TIOCINQ // for a pipe: the bytes that its reader has not read yet
		}

		count, err := unix.IoctlGetInt(fd, ask)
		switch {
		// Bytes are counted first: a serial line is writable although its buffer is not empty.
		case err == nil && count > 0:
			left = count
		case polled[0].Revents&unix.POLLOUT == 0:
			left = 1 // a USB printer has no count, but is not writable during a transfer
		default:
			// An unplugged USB printer is writable too, because its last transfer has ended. A write of zero
			// bytes shows the difference (linux: drivers/usb/class/usblp.c, usblp_wtest).
			_, err := unix.Write(fd, nil)
			if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
				return err
			}
		}
		return nil
	})
	return left, err
}

// setRaw makes a terminal device pass bytes unchanged: without echo, which would send the printer's answers
// back to it, and without translation of line feeds. It reports whether f is a terminal device.
func setRaw(f *os.File) (bool, error) {
	line := false
	err := withFD(f, func(fd int) error {
		modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return nil // not a terminal device
		}

		line = true
		modes.Iflag &^= unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL
		ignoreLineErrors(modes)
		modes.Oflag &^= unix.OPOST
		modes.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
		modes.Cc[unix.VMIN], modes.Cc[unix.VTIME] = 1, 0

		return unix.IoctlSetTermios(fd, unix.TCSETS, modes)
	})
	return line, err
}

// ignoreLineErrors makes the line drop bytes with errors. When a printer is switched off or its cable is
// pulled, the line goes to the break state, which is otherwise read as a NUL: the same byte as "printed, and
// paper present" in the answer to GS r.
//
// IGNBRK would not do: with it, drivers of USB adapters pass every byte on without checking for errors
// (linux: n_tty_set_termios, real_raw). BRKINT signals no process here, because the line is no controlling
// terminal. Without NOFLSH a break would empty the buffers.
func ignoreLineErrors(t *unix.Termios) {
	t.Iflag &^= unix.IGNBRK | unix.PARMRK
	t.Iflag |= unix.BRKINT | unix.INPCK | unix.IGNPAR
	t.Lflag |= unix.NOFLSH
}

// waitSent waits until a terminal device has sent its output, or discardUnsent is called. TCSBRK
// with 1 is tcdrain: it does not send a break.
func waitSent(f *os.File) error {
	return withFD(f, func(fd int) error {
		for {
			if err := unix.IoctlSetInt(fd, unix.TCSBRK, 1); !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	})
}

// writeOnly reports whether a device refuses reads, as a USB printer with a unidirectional interface does. A
// read of zero bytes consumes nothing (linux: drivers/usb/class/usblp.c, usblp_read).
func writeOnly(f *os.File) bool {
	err := withFD(f, func(fd int) error {
		_, err := unix.Read(fd, nil)
		return err
	})
	return errors.Is(err, unix.EINVAL)
}

// discardUnsent discards the output that a terminal device has not sent.
func discardUnsent(f *os.File) {
	_ = withFD(f, func(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCOFLUSH) })
}

// releaseExclusive lets other programs open the terminal device again; see TIOCEXCL in setFlow.
func releaseExclusive(f *os.File) {
	_ = withFD(f, func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCNXCL, 0) })
}

// withFD calls do with c's file descriptor, which stays open during the call.
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

// setFlow sets the modes that the serial library does not: the flow control, and exclusive use of the line.
func setFlow(f *os.File, how flow) error {
	return withFD(f, func(fd int) error {
		modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}

		modes.Cflag &^= unix.CRTSCTS
		modes.Cflag &^= unix.HUPCL // keep DTR between tickets: some printers reset when it drops
		modes.Iflag &^= unix.IXON | unix.IXOFF | unix.IXANY
		ignoreLineErrors(modes)

		switch how {
		case rtsCTS:
			modes.Cflag |= unix.CRTSCTS
		case xonXOFF:
			// Only the printer's XOFF counts. We send none ourselves, because it would end up inside an image.
			// IXANY stays off, so that only XON continues: a status byte must not. No status byte equals XON
			// or XOFF.
			modes.Iflag |= unix.IXON
			modes.Cc[unix.VSTART], modes.Cc[unix.VSTOP] = 0x11, 0x13
		}

		if err := unix.IoctlSetTermios(fd, unix.TCSETS, modes); err != nil {
			return err
		}
		return unix.IoctlSetInt(fd, unix.TIOCEXCL, 0)
	})
}

// maxInFlight is how many bytes may be in the output buffer of a printer with DTR/DSR flow control.
// When it signals "busy" it still takes at least 100 bytes. So bytes that were written before DSR
// goes off still fit.
const maxInFlight = 64

// dsrWritable returns how many bytes may be written: none while DSR is off.
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

// PeerClosed checks, without waiting, whether the printer has closed or reset the connection. nil
// proves nothing; after an error nothing that is written can arrive. MSG_PEEK leaves an answer in
// place for Read.
func (c *tcpConn) PeerClosed() error {
	return withFD(c.c, func(fd int) error {
		read, _, err := unix.Recvfrom(fd, make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR), err == nil && read > 0:
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("the printer closed the connection at once (is another till using it?): %w", io.EOF)
	})
}

// unacknowledged returns how many bytes, FIN included, the other side has not acknowledged. If the
// connection was reset, that is the error: a read does not report a reset after it has returned io.EOF.
func unacknowledged(c *net.TCPConn) (left int, err error) {
	err = withFD(c, func(fd int) (err error) {
		// The queue is read first: a reset empties it, and SO_ERROR then tells that it was one.
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
