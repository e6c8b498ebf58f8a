// Package transport is the cable between the daemon and a kitchen printer: it opens the
// network port, the USB device or the serial line a printer listens on, takes bytes there
// and brings back what the printer says.
//
// It is the only package that opens a device. It knows nothing of tickets and nothing
// of printer commands; it knows how wires fail, says so in words a person can act on,
// and never says that bytes were taken when it cannot know.
package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Dialer knows where one printer is. It is safe for concurrent use, but a printer
// serves one client: callers open one Conn at a time.
type Dialer interface {
	// Dial opens the printer. An error means that not one byte has gone out. It gives
	// up when ctx ends, and then the error wraps ctx's.
	//
	// A network printer that serves one client refuses the others (syscall.ECONNREFUSED) or
	// lets them wait (context.DeadlineExceeded) while a till prints: neither says that it is
	// dead. A device that another program holds is syscall.EBUSY, one that is not plugged in
	// is fs.ErrNotExist, syscall.ENODEV or syscall.ENXIO.
	Dial(ctx context.Context) (Conn, error)
}

// A Conn is an open printer. One goroutine writes, one may read; Close and the
// deadlines may come from any goroutine and interrupt both.
type Conn interface {
	// Read waits for what the printer says and returns it as it comes: any piece of it.
	// Past a deadline it returns an error that is [os.ErrDeadlineExceeded], after Close one
	// that is not io.EOF.
	//
	// Without a way back it returns io.EOF at once, every time: regular files, named pipes,
	// devices that may only be written. tcp, serial and usb have one, as far as the wire is
	// concerned; a printer that never answers is only found out by waiting. There io.EOF
	// says that the printer has closed its side; it may still take what is written, or not.
	//
	// Write returns how many bytes left for the printer; they may be in a buffer on the
	// way. Past a deadline it returns an error that is [os.ErrDeadlineExceeded]. An error
	// with no byte written before it means that the printer got none of them.
	//
	// Close without a successful Finish abandons what the printer has not yet taken, as
	// far as that is possible: nothing of an abandoned ticket should trickle out later.
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error

	// Finish ends the writing and waits until everything written was taken. It returns
	// nil only then. After an error (a reset, a printer that takes no more, ctx over)
	// nobody knows how much came out. A printer that never closes its side does not hang
	// it: ctx and a short grace bound the wait. After Finish only Close may be called.
	Finish(ctx context.Context) error
}

// OneWay says whether c is known to have no way back: a question written to it would stand
// in a file, or on paper, and be answered by nobody. It does not wait. False proves nothing.
func OneWay(c Conn) bool {
	w, ok := c.(interface{ OneWay() bool })
	return ok && w.OneWay()
}

// Stored says whether what is written to c is kept as it is, in a regular file. What is meant for
// a machine that may still wait for the end of a command has no place there.
func IsFile(c Conn) bool {
	d, ok := c.(*deviceConn)
	return ok && d.regular
}

// defaultPort is where network printers listen ("raw", "JetDirect", "AppSocket").
const defaultPort = "9100"

// Open returns the Dialer for an address, without opening anything yet:
//
//	tcp://192.168.1.50                  network printer, port 9100
//	tcp://kitchen.local:9101
//	usb://04b8:0e28                     USB printer, by its ids as lsusb shows them
//	usb://04b8:0e28?serial=X3BX012345   the one of several that has that serial number
//	usb://                              the only USB printer there is
//	file:///dev/usb/lp0                 character device, or a link to one
//	file:///tmp/grill.bin               regular file, created and appended to
//	serial:///dev/ttyUSB0?baud=19200    serial line, see below
//
// A USB printer that is unplugged comes back as the next free /dev/usb/lpN. So prefer usb://,
// or a link that a udev rule keeps, to a number.
//
// Of a serial line, what the printer's self-test page says: baud must be there; bits=8 (or
// 7), parity=none (even, odd), stop=1 (2) and flow=none (rtscts, dtrdsr, xonxoff) need not.
// Without flow control a printer that cannot keep up loses text, and nobody notices. Prefer
// a name under /dev/serial/by-id to a number.
//
// Its errors say what is wrong with the address and how a right one looks.
func Open(address string) (Dialer, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return nil, missingScheme(address)
	}
	var d Dialer
	var err error
	switch strings.ToLower(scheme) {
	case "tcp":
		d, err = parseTCP(rest)
	case "file":
		d, err = parseFile(rest)
	case "usb":
		d, err = parseUSB(rest)
	case "serial":
		d, err = parseSerial(rest)
	default:
		err = fmt.Errorf("%q is no way to reach a printer; use tcp://host:9100, usb://, file:///dev/usb/lp0 or serial:///dev/ttyUSB0?baud=19200", scheme)
	}
	switch {
	case errors.Is(err, errUser):
		return nil, err // what is in front of the @ may be a password
	case err != nil:
		return nil, fmt.Errorf("%q: %w", address, err)
	}
	return d, nil
}

// Device says which printer an address leads to: the same for every way to write it. An address
// that leads nowhere is itself.
func CanonicalAddress(address string) string {
	d, err := Open(address)
	if err != nil {
		return address
	}
	switch d := d.(type) {
	case tcpDialer:
		return "tcp://" + d.address
	case serialDialer: // whatever its settings; and the same printer as the device's file
		return "file://" + d.path
	case fileDialer:
		return "file://" + d.path
	default:
		return fmt.Sprint(d)
	}
}

var errUser = errors.New("a printer takes no user name; use tcp://host:9100")

func missingScheme(address string) error {
	switch {
	case strings.TrimSpace(address) == "":
		return errors.New("is empty; use tcp://host:9100 or file:///dev/usb/lp0")
	case strings.HasPrefix(address, "/dev/tty"), strings.HasPrefix(address, "/dev/serial/"):
		return fmt.Errorf("%q does not say how to reach the printer; did you mean serial://%s?baud=19200?", address, address)
	case strings.HasPrefix(address, "/"):
		return fmt.Errorf("%q does not say how to reach the printer; did you mean file://%s?", address, address)
	default:
		return fmt.Errorf("%q does not say how to reach the printer; did you mean tcp://%s?", address, address)
	}
}

func parseFile(rest string) (Dialer, error) {
	path, err := parsePath(rest, "file:///dev/usb/lp0")
	return fileDialer{path}, err
}

func parseTCP(rest string) (Dialer, error) {
	u, err := url.Parse("tcp://" + rest)
	if err != nil && strings.Contains(rest, "@") {
		return nil, errUser
	}
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return nil, fmt.Errorf("%w; use tcp://host:9100", err)
	}
	switch {
	case u.User != nil:
		return nil, errUser
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("there is something after the host; use tcp://host:9100")
	case u.Hostname() == "":
		return nil, errors.New("the host is missing; use tcp://host:9100")
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return nil, fmt.Errorf("port %s is not between 1 and 65535; printers use 9100", port)
	}
	return tcpDialer{net.JoinHostPort(strings.ToLower(u.Hostname()), port)}, nil
}

func parsePath(rest, example string) (string, error) {
	switch {
	case !strings.HasPrefix(rest, "/"):
		return "", fmt.Errorf("the path must begin with a slash; use %s, with three", example)
	case strings.ContainsRune(rest, 0):
		return "", errors.New("the path has a NUL in it")
	case strings.HasSuffix(rest, "/"):
		return "", fmt.Errorf("the path names a folder; use %s", example)
	}
	return filepath.Clean(rest), nil
}

// parseQuery reads the settings after the question mark of an address. Each may be there
// once; known are their names.
func parseQuery(query string, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("what follows the question mark is not name=value&name=value: %w", err)
	}
	for name, v := range values {
		switch {
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("%q is no setting; there are %s", name, strings.Join(known, ", "))
		case len(v) > 1:
			return nil, fmt.Errorf("%s is there twice", name)
		}
	}
	return values, nil
}
