package transport_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer/transport"
)

func TestSerialMeetsTheSuite(t *testing.T) {
	slow.Test(t, "/dev/ptmx")
	for _, flow := range []string{"none", "rtscts", "xonxoff"} {
		t.Run(flow, func(t *testing.T) {
			lineSuite(t, func(path string) string { return "serial://" + path + "?baud=19200&flow=" + flow })
		})
	}
}

func TestTTYOpenedAsAFileMeetsTheSuite(t *testing.T) {
	slow.Test(t, "/dev/ptmx")
	lineSuite(t, func(path string) string { return "file://" + path })
}

func TestSerialSettingsFollowTheAddress(t *testing.T) {
	slow.Test(t, "/dev/ptmx")
	const bits = unix.CSIZE | unix.CSTOPB | unix.PARENB | unix.PARODD | unix.CRTSCTS | unix.CBAUD
	for query, want := range map[string]struct{ cflag, iflag uint32 }{
		"baud=9600":                {unix.B9600 | unix.CS8, 0},
		"baud=38400&flow=rtscts":   {unix.B38400 | unix.CS8 | unix.CRTSCTS, 0},
		"baud=115200&flow=xonxoff": {unix.B115200 | unix.CS8, unix.IXON},
		"baud=4800&bits=8&parity=odd&stop=2&flow=none": {
			unix.B4800 | unix.CS8 | unix.PARENB | unix.PARODD | unix.CSTOPB, 0,
		},
		"baud=19200&bits=8&parity=even&stop=1&flow=rtscts": {unix.B19200 | unix.CS8 | unix.PARENB | unix.CRTSCTS, 0},
	} {
		t.Run(query, func(t *testing.T) {
			p := newPty(t)
			for _, flow := range []string{"xonxoff", "rtscts"} { // of which nothing may remain
				_ = dialed(t, open(t, "serial://"+p.path+"?baud=9600&flow="+flow)).Close()
			}
			dialed(t, open(t, "serial://"+p.path+"?"+query))
			// A pty always has eight bits, and no parity on some kernels. It never has a break, so only the settings
			// that drop it can be checked: a break would be read as a reply.
			const flows = unix.IXON | unix.IXOFF | unix.IXANY
			const noise = unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.INPCK | unix.IGNPAR
			s, mask := p.termios(t), uint32(bits|unix.HUPCL)&^(unix.PARENB|unix.CSIZE)
			got := [...]uint32{s.Cflag & mask, s.Iflag & (flows | noise), s.Oflag & unix.OPOST,
				s.Lflag & (unix.ECHO | unix.ICANON | unix.NOFLSH)}
			want := [...]uint32{want.cflag & mask, want.iflag | unix.BRKINT | unix.INPCK | unix.IGNPAR, 0, unix.NOFLSH}
			assert.True(t, got == want, got, want)
		})
	}
}

func TestXOFFStopsWritingAndIsNotRead(t *testing.T) {
	slow.Test(t, "/dev/ptmx")
	p := newPty(t)
	c := dialed(t, open(t, "serial://"+p.path+"?baud=9600&flow=xonxoff"))
	say := p.say(t)
	say([]byte{0x13, 0x12}) // XOFF, which the kernel removes, and a status byte, which is no XON
	transport.Got(t, c, "\x12")
	assert.NoError(t, c.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
	n, err := io.WriteString(c, "ticket")
	assert.True(t, n == 0 && errors.Is(err, os.ErrDeadlineExceeded), n, err)
	say([]byte{0x11, 0x16})
	transport.Got(t, c, "\x16")
	assert.NoError(t, c.SetWriteDeadline(time.Time{}))
	write(t, c, "ticket")
	transport.Got(t, p.printer, "ticket")
}

func TestTheErrorOfAMissingDSRNamesTheOtherSettings(t *testing.T) {
	slow.Test(t, "/dev/ptmx")
	p := newPty(t)
	_, err := open(t, "serial://"+p.path+"?baud=9600&flow=dtrdsr").Dial(t.Context())
	assert.True(t, err != nil && strings.Contains(err.Error(), "use flow=rtscts, xonxoff or none"), err)
}

func TestTheErrorOfAnUnpluggedTTYSaysSo(t *testing.T) {
	slow.Test(t, "/dev/ptmx")
	for _, scheme := range []string{"file://%s", "serial://%s?baud=9600"} {
		p := newPty(t)
		c := dialed(t, open(t, strings.Replace(scheme, "%s", p.path, 1)))
		_ = p.printer.Close()
		n, werr := io.WriteString(c, "ticket")
		assert.True(t, n == 0, n)
		_, rerr := c.Read(make([]byte, 1))
		for _, err := range []error{werr, rerr, c.Finish(t.Context())} {
			assert.Equal(t, transport.Hint(err), "the printer is gone; was it unplugged or switched off?", err)
		}
	}
}

func TestASymbolicLinkIsResolvedAtEachDial(t *testing.T) {
	// udev maintains such a link; it leads to another device after the printer is plugged in again.
	slow.Test(t, "/dev/ptmx")
	for _, address := range []string{"file://%s", "serial://%s?baud=9600"} {
		link := filepath.Join(t.TempDir(), "printer")
		d := open(t, strings.Replace(address, "%s", link, 1))
		assert.NoError(t, os.Symlink("/dev/ticketrail-test-lp9", link))
		_, err := d.Dial(t.Context())
		assert.True(t, errors.Is(err, os.ErrNotExist), err)
		for range 2 {
			p := newPty(t)
			assert.NoError(t, os.Remove(link))
			assert.NoError(t, os.Symlink(p.path, link))
			c := dialed(t, d)
			write(t, c, "ticket")
			transport.Got(t, p.printer, "ticket")
			assert.NoError(t, c.Close())
		}
	}
}

// A pty is a pseudo-terminal whose other end is the printer. It is the closest that a test without hardware
// gets to a USB or serial printer.
type pty struct {
	path    string
	printer *os.File
	host    *os.File // keeps the terminal alive between two clients, as a plugged-in cable does
}

// newPty opens one.
func newPty(t *testing.T) pty {
	t.Helper()
	p, path := transport.OpenPTY(t)
	host, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOCTTY, 0)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = host.Close() })
	return pty{path, p, host}
}

// termios returns the current settings.
func (p pty) termios(t *testing.T) *unix.Termios {
	t.Helper()
	raw, err := p.host.SyscallConn()
	assert.NoError(t, err)
	var s *unix.Termios
	cerr := raw.Control(func(fd uintptr) { s, err = unix.IoctlGetTermios(int(fd), unix.TCGETS) })
	assert.NoError(t, errors.Join(cerr, err))
	return s
}

// say sends from the printer.
func (p pty) say(t *testing.T) func(b []byte) {
	return func(b []byte) {
		_, err := p.printer.Write(b)
		assert.Equal(t, err, nil)
	}
}

// lineSuite runs the suite on terminals, at the address that is made of their path.
func lineSuite(t *testing.T, address func(path string) string) {
	suite{
		Answers: true,
		Working: func(t *testing.T) farEnd {
			line := newPty(t)
			p := newPaper()
			go func() { _, _ = io.Copy(p, line.printer) }() // until the test closes it
			return farEnd{Dialer: open(t, address(line.path)), Received: p.atLeast, Answer: line.say(t)}
		},
		Stuck: func(t *testing.T) transport.Dialer { return open(t, address(newPty(t).path)) },
		Breaking: func(t *testing.T) transport.Dialer {
			line := newPty(t)
			go func() {
				_, _ = io.ReadFull(line.printer, make([]byte, 1000))
				_ = line.printer.Close()
			}()
			return open(t, address(line.path))
		},
		Absent: func(t *testing.T) transport.Dialer {
			line := newPty(t)
			_, _ = line.host.Close(), line.printer.Close()
			return open(t, address(line.path))
		},
	}.run(t)
}
