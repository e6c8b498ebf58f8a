package transport

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// undelivered returns how much of what was written the device has not taken, or 1 where
// the kernel only says that it is busy. A device that went away is an error.
func undelivered(f *os.File, pipe bool) (int, error) {
	left := 0
	var failed error
	err := control(f, func(fd int) error {
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
func rawLine(f *os.File) (bool, error) {
	line := false
	err := control(f, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return nil // no terminal line
		}
		line = true
		t.Iflag &^= unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL
		leaveNoiseOut(t)
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
func leaveNoiseOut(t *unix.Termios) {
	t.Iflag &^= unix.IGNBRK | unix.PARMRK
	t.Iflag |= unix.BRKINT | unix.INPCK | unix.IGNPAR
	t.Lflag |= unix.NOFLSH
}

// drained waits until a terminal line has sent what it was given, or discard is called.
func drained(f *os.File) error {
	return control(f, func(fd int) error {
		for {
			if err := unix.IoctlSetInt(fd, unix.TCSBRK, 1); !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	})
}

// mute says that a device refuses to be read, as a USB printer does that only listens. Reading
// nothing takes nothing away (linux: drivers/usb/class/usblp.c, usblp_read).
func mute(f *os.File) bool {
	var err error
	_ = control(f, func(fd int) error {
		_, err = unix.Read(fd, nil)
		return nil
	})
	return errors.Is(err, unix.EINVAL)
}

// discard throws away what a terminal line has not sent.
func discard(f *os.File) {
	_ = control(f, func(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCOFLUSH) })
}

// release lets others open a terminal line again.
func release(f *os.File) {
	_ = control(f, func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCNXCL, 0) })
}

// control calls do with f's descriptor, which stays open meanwhile.
func control(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil {
		return err
	}
	return failed
}
