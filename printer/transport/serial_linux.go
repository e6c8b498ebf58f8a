package transport

import (
	"os"

	"golang.org/x/sys/unix"
)

// setLine sets what the serial library does not: flow control, and that nobody else may
// open the line while we have it.
func setLine(f *os.File, how flow) error {
	return control(f, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}
		t.Cflag &^= unix.CRTSCTS
		t.Cflag &^= unix.HUPCL // some printers take a drop of DTR for a reset: none between tickets
		t.Iflag &^= unix.IXON | unix.IXOFF | unix.IXANY
		leaveNoiseOut(t)
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
const under = 64

// dsrRoom says how many bytes may be handed over: none while the printer says "wait".
func dsrRoom(f *os.File) (int, error) {
	room := 0
	err := control(f, func(fd int) error {
		wires, err := unix.IoctlGetInt(fd, unix.TIOCMGET)
		if err != nil {
			return err
		}
		if wires&unix.TIOCM_DSR == 0 {
			return nil
		}
		queued, err := unix.IoctlGetInt(fd, unix.TIOCOUTQ)
		room = under - queued
		return err
	})
	return room, err
}
