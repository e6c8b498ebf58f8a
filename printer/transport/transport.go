// Package transport is the cable between the daemon and a kitchen printer: it opens
// the network port or the device file a printer listens on, and takes bytes there.
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
	"strconv"
	"strings"
	"time"
)

// A Dialer knows where one printer is. It is safe for concurrent use, but a printer
// serves one client: callers open one Conn at a time.
type Dialer interface {
	// Dial opens the printer. An error means that not one byte has gone out. It gives
	// up when ctx ends, and then the error wraps ctx's.
	Dial(ctx context.Context) (Conn, error)
}

// A Conn is an open printer. One goroutine writes, one may read; Close and the
// deadlines may come from any goroutine and interrupt both.
type Conn interface {
	// Read returns what the printer says. A transport without a way back returns io.EOF.
	// Write returns how many bytes left for the printer; they may be in a buffer on the
	// way. Past a deadline both return an error that is [os.ErrDeadlineExceeded].
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

// DefaultPort is where network printers listen ("raw", "JetDirect", "AppSocket").
const DefaultPort = "9100"

// Open returns the Dialer for an address, without opening anything yet:
//
//	tcp://192.168.1.50         network printer, port 9100
//	tcp://kitchen.local:9101
//	file:///dev/usb/lp0        character device
//	file:///tmp/grill.bin      regular file, created and appended to
//
// Its errors say what is wrong with the address and how a right one looks.
func Open(address string) (Dialer, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return nil, missingScheme(address)
	}
	switch strings.ToLower(scheme) {
	case "tcp":
		hostport, err := parseHost(rest)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", address, err)
		}
		return tcpDialer{hostport}, nil
	case "file":
		path, err := parsePath(rest)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", address, err)
		}
		return fileDialer{path}, nil
	case "serial":
		return nil, fmt.Errorf("%q: serial printers come with a later version; use tcp://host:9100 or file:///dev/usb/lp0", address)
	default:
		return nil, fmt.Errorf("%q: %q is no way to reach a printer; use tcp://host:9100 or file:///dev/usb/lp0", address, scheme)
	}
}

func missingScheme(address string) error {
	switch {
	case strings.TrimSpace(address) == "":
		return errors.New("is empty; use tcp://host:9100 or file:///dev/usb/lp0")
	case strings.HasPrefix(address, "/"):
		return fmt.Errorf("%q does not say how to reach the printer; did you mean file://%s?", address, address)
	default:
		return fmt.Errorf("%q does not say how to reach the printer; did you mean tcp://%s?", address, address)
	}
}

func parseHost(rest string) (hostport string, err error) {
	u, err := url.Parse("tcp://" + rest)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return "", fmt.Errorf("%w; use tcp://host:9100", err)
	}
	switch {
	case u.User != nil:
		return "", errors.New("a printer takes no user name; use tcp://host:9100")
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "":
		return "", errors.New("there is something after the host; use tcp://host:9100")
	case u.Hostname() == "":
		return "", errors.New("the host is missing; use tcp://host:9100")
	}
	port := u.Port()
	if port == "" {
		port = DefaultPort
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("port %s is not between 1 and 65535; printers use 9100", port)
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

func parsePath(rest string) (string, error) {
	if !strings.HasPrefix(rest, "/") {
		return "", errors.New("the path must begin with a slash; use file:///dev/usb/lp0, with three")
	}
	if strings.ContainsRune(rest, 0) {
		return "", errors.New("the path has a NUL in it")
	}
	if rest == "/" || strings.HasSuffix(rest, "/") {
		return "", errors.New("the path names a folder; use file:///dev/usb/lp0")
	}
	return filepath.Clean(rest), nil
}
