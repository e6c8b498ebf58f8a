// Package transport opens the connection to a kitchen printer: a TCP port, a USB device, a serial line
// or a file. It writes bytes there and reads the printer's answers.
//
// It is the only package that opens devices. It knows no tickets and no printer commands. Its job is to
// report failures exactly: an error has the attempt, its result and the advice, and bytes are
// never reported as taken when that is not known.
package transport

import (
	"cmp"
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

// Why a Conn is more than an io.ReadWriteCloser: a successful Write only means that the bytes are
// in some buffer. A printer that is not asked for a confirmation is believed as far as Finish is,
// so Finish must not return nil for bytes that may still be lost on this side, and Close must not
// let the bytes of a failed ticket print later, beside its copy.

// A Dialer holds the address of one printer. It is safe for concurrent use, but a printer serves one
// client: callers open one Conn at a time.
type Dialer interface {
	// Dial opens the printer. After an error no byte was sent. It returns when ctx ends, with an error
	// that wraps ctx's.
	//
	// While a till prints, a network printer that serves one client refuses others
	// (syscall.ECONNREFUSED) or lets them wait (context.DeadlineExceeded): neither means that it is off.
	// A device that another program has open is syscall.EBUSY; one that is not plugged in is
	// fs.ErrNotExist, syscall.ENODEV or syscall.ENXIO.
	Dial(ctx context.Context) (Conn, error)
}

// A Conn is an open connection to a printer. One goroutine may write while another reads. Close and the
// deadlines may be called from any goroutine and interrupt both.
type Conn interface {
	// Read returns the printer's answers as they arrive, in pieces of any size. After its deadline the
	// error is [os.ErrDeadlineExceeded]; after Close it is any error but io.EOF.
	//
	// On a one-way connection Read returns io.EOF at once, every time: regular files, named pipes and
	// devices that can only be written. tcp, serial and usb are two-way, as far as the connection is
	// concerned; that a printer never answers is found out only by waiting. On these, io.EOF means that
	// the printer has closed its side; it may still take written bytes, or not.
	//
	// Write returns how many bytes were handed over; they may still be in a buffer on the way. After its
	// deadline the error is [os.ErrDeadlineExceeded]. After an error the bytes that n does not count were
	// not sent.
	//
	// Close without a successful Finish discards the bytes that the printer has not taken yet, as far as possible:
	// an abandoned ticket must not print later, while its repetition prints too.
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error

	// Finish ends the writing and waits until the printer has taken everything. It returns nil only
	// then. After an error (a reset, a printer that takes no more, ctx ended) it is unknown how much was
	// printed. A printer that never closes its side does not block it: after a short grace period
	// everything acknowledged counts as taken. After Finish only Close may be called.
	Finish(ctx context.Context) error
}

// OneWay reports whether c is known to have no way back. A question written to it would end up in a file
// or on paper. It does not wait; false only means that it is not known.
func OneWay(c Conn) bool {
	oneWay, ok := c.(interface{ OneWay() bool })
	return ok && oneWay.OneWay()
}

// IsFile reports whether c writes to a regular file. Such a file keeps every byte, so padding for a
// printer that may wait for the end of a command does not belong there.
func IsFile(c Conn) bool {
	device, ok := c.(*deviceConn)
	return ok && device.regular
}

// IsSerial reports whether c is a serial line, on which a kilobyte takes about a second.
func IsSerial(c Conn) bool {
	line, ok := c.(interface{ Serial() bool })
	return ok && line.Serial()
}

// defaultPort is the port of network printers; its protocol is also called raw, JetDirect or AppSocket.
const defaultPort = "9100"

// Open returns the Dialer for an address. It opens nothing yet.
//
//	tcp://192.168.1.50                  network printer, port 9100
//	tcp://kitchen.local:9101
//	usb://04b8:0e28                     USB printer, by vendor and product id as lsusb shows them
//	usb://04b8:0e28?serial=X3BX012345   the one with this serial number, if there are several
//	usb://                              the only USB printer
//	file:///dev/usb/lp0                 character device, or a link to one
//	file:///tmp/grill.bin               regular file, created if missing, appended to
//	serial:///dev/ttyUSB0?baud=19200    serial line, see below
//
// A USB printer that is plugged in again gets the next free /dev/usb/lpN. So use usb://, or a link that a
// udev rule maintains, rather than that number.
//
// The settings of a serial line are on the printer's self-test page. baud is required; bits=8 (or 7),
// parity=none (even, odd), stop=1 (2) and flow=none (rtscts, dtrdsr, xonxoff) have these defaults. Without
// flow control a printer that prints more slowly than it receives loses text without an error. Use a name
// under /dev/serial/by-id rather than a number.
//
// The error says why the address is not valid and shows a valid one.
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
		err = fmt.Errorf("unknown scheme %q; use tcp://host:9100, usb://, file:///dev/usb/lp0 "+
			"or serial:///dev/ttyUSB0?baud=19200", scheme)
	}

	switch {
	case errors.Is(err, errUser):
		return nil, err // without the address: the part before the @ may be a password
	case err != nil:
		return nil, fmt.Errorf("%q: %w", address, err)
	}
	return d, nil
}

// CanonicalAddress returns the same text for every spelling of an address, so that stations at one
// printer can be recognized. Otherwise they would not share a lock, and each would find the printer
// busy with the other. An invalid address is returned unchanged.
func CanonicalAddress(address string) string {
	dialer, err := Open(address)
	if err != nil {
		return address
	}

	return fmt.Sprint(dialer)
}

// String is the same for every spelling of the address.
func (d tcpDialer) String() string { return "tcp://" + d.address }

func (d fileDialer) String() string { return "file://" + d.path }

// String is without the settings: the same device may also be opened as a file.
func (d serialDialer) String() string { return "file://" + d.path }

var errUser = errors.New("an address has no user name; use tcp://host:9100")

// missingScheme is the error for an address without "://". It proposes the address that was probably meant.
func missingScheme(address string) error {
	switch {
	case strings.TrimSpace(address) == "":
		return errors.New("is empty; use tcp://host:9100 or file:///dev/usb/lp0")
	case strings.HasPrefix(address, "/dev/tty"), strings.HasPrefix(address, "/dev/serial/"):
		return fmt.Errorf("%q has no scheme; did you mean serial://%s?baud=19200?", address, address)
	case strings.HasPrefix(address, "/"):
		return fmt.Errorf("%q has no scheme; did you mean file://%s?", address, address)
	default:
		return fmt.Errorf("%q has no scheme; did you mean tcp://%s?", address, address)
	}
}

// parseFile does not look at the file: the printer may be unplugged while the configuration is
// checked.
func parseFile(rest string) (Dialer, error) {
	path, err := parsePath(rest, "file:///dev/usb/lp0")
	return fileDialer{path}, err
}

// parseTCP resolves no name either: that happens at each dial, because the printer may get a new
// address.
func parseTCP(rest string) (Dialer, error) {
	parsed, err := url.Parse("tcp://" + rest)
	if err != nil && strings.Contains(rest, "@") {
		return nil, errUser
	}

	if err != nil {
		if inURL, ok := errors.AsType[*url.Error](err); ok {
			err = inURL.Err
		}
		return nil, fmt.Errorf("%w; use tcp://host:9100", err)
	}

	switch {
	case parsed.User != nil:
		return nil, errUser
	case parsed.Path != "" && parsed.Path != "/", parsed.RawQuery != "", parsed.Fragment != "":
		return nil, errors.New("unexpected text after the host; use tcp://host:9100")
	case parsed.Hostname() == "":
		return nil, errors.New("the host is missing; use tcp://host:9100")
	}

	port := cmp.Or(parsed.Port(), defaultPort)
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return nil, fmt.Errorf("port %s is not between 1 and 65535; printers use 9100", port)
	}

	return tcpDialer{net.JoinHostPort(strings.ToLower(parsed.Hostname()), port)}, nil
}

// parsePath returns the absolute, cleaned path of an address.
func parsePath(rest, example string) (string, error) {
	switch {
	case !strings.HasPrefix(rest, "/"):
		return "", fmt.Errorf("the path must begin with a slash; use %s, with three slashes", example)
	case strings.ContainsRune(rest, 0):
		return "", errors.New("the path contains a NUL")
	case strings.HasSuffix(rest, "/"):
		return "", fmt.Errorf("the path is a directory; use %s", example)
	}

	return filepath.Clean(rest), nil
}

// parseQuery reads the settings after the question mark of an address. known are their names; each
// may be set once. An unknown one is an error, because a misspelt flow= would lose text without any
// other sign.
func parseQuery(query string, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the part after the question mark is not name=value&name=value: %w", err)
	}

	for name, v := range values {
		switch {
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("unknown setting %q; use %s", name, strings.Join(known, ", "))
		case len(v) > 1:
			return nil, fmt.Errorf("%s is set twice", name)
		}
	}
	return values, nil
}
