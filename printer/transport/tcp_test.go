package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer/transport"
)

func TestValidAddressesOpen(t *testing.T) {
	for _, address := range []string{
		"tcp://192.168.1.50", "tcp://192.168.1.50:9101", "tcp://kitchen.local", "TCP://[fe80::1]:9100", "tcp://[::1]",
		"tcp://10.0.0.1/", "file:///dev/usb/lp0", "file:///tmp/grill.bin",
		"usb://", "usb://04b8:0E28", "usb://04b8:0e28/?serial=X3BX012345", "USB://?serial=1",
		"serial:///dev/ttyUSB0?baud=19200",
		"serial:///dev/serial/by-id/usb-FTDI-if00?baud=38400&flow=dtrdsr&bits=8&parity=none&stop=1",
		"serial:///dev/ttyS0?baud=9600&flow=xonxoff&bits=7&parity=even&stop=2",
		"serial:///dev/ttyS0?baud=9600&flow=rtscts&parity=odd",
	} {
		d, err := transport.Open(address)
		assert.True(t, err == nil && d != nil, address, err)
	}
}

func TestTheErrorOfAnInvalidAddressShowsAValidOne(t *testing.T) {
	for address, want := range map[string]string{
		"":                                    "is empty; use tcp://host:9100",
		"192.168.1.50":                        "did you mean tcp://192.168.1.50?",
		"/dev/usb/lp0":                        "did you mean file:///dev/usb/lp0?",
		"/dev/ttyUSB0":                        "did you mean serial:///dev/ttyUSB0?baud=19200?",
		"serial:///dev/ttyUSB0":               "baud is missing",
		"serial://dev/ttyUSB0":                "with three",
		"serial:///dev/t?baud=fast":           "baud=fast is not a valid speed; printers use",
		"serial:///dev/t?baud=-1":             "baud=-1 is not a valid speed",
		"serial:///dev/t?speed=9600":          `unknown setting "speed"; use baud, flow, bits, parity, stop`,
		"serial:///dev/t?baud=9600&baud=9600": "baud is set twice",
		"serial:///dev/t?baud=9600&flow=on":   "flow=on is not valid; use none, rtscts, dtrdsr, xonxoff",
		"serial:///dev/t?baud=9600&bits=9":    "bits=9 is not valid; use 8, 7",
		"serial:///dev/t?baud=9600&parity=":   "parity= is not valid; use none, even, odd",
		"serial:///dev/t?baud=9600&stop=1.5":  "stop=1.5 is not valid; use 1, 2",
		"serial:///dev/t?baud=9600&%zz":       "not name=value",
		"usb://epson":                         "not vendor:product in hex, as lsusb shows it",
		"usb://04b8:0e28?serial=":             "the serial number is empty",
		"usb://04b8:0e28?port=1":              `unknown setting "port"; use serial`,
		"http://192.168.1.50":                 `unknown scheme "http"; use tcp://host:9100`,
		"tcp://":                              "the host is missing",
		"tcp://host:99999":                    "port 99999 is not between 1 and 65535",
		"tcp://host:0":                        "port 0 is not",
		"tcp://host:lpt1":                     "invalid port",
		"tcp://host/queue":                    "unexpected text after the host",
		"tcp://me@host":                       "no user name",
		"tcp://me:hunter2@host":               "no user name",
		"tcp://me:hunter2@host:x":             "no user name",
		"file://dev/usb/lp0":                  "with three",
		"file://":                             "must begin with a slash",
		"file:///tmp/":                        "is a directory",
		"file:///tmp/a\x00b":                  "NUL",
		"tcp://host name with blank":          "invalid character",
	} {
		d, err := transport.Open(address)
		assert.True(t, d == nil && strings.Contains(fmt.Sprint(err), want), address, d, err, want)
		assert.True(t, !strings.Contains(fmt.Sprint(err), "hunter2"), "a password is shown")
	}
}

func TestCanonicalAddressIsTheSameForEachSpelling(t *testing.T) {
	for a, b := range map[string]string{
		"tcp://h":                       "TCP://H:9100",
		"file:///dev/usb/lp0":           "file:///dev//usb/lp0",
		"tcp://[::1]":                   "tcp://[::1]:9100",
		"usb://04B8:0E28":               "usb://04b8:0e28/",
		"serial:///dev/ttyS0?baud=9600": "serial:///dev/ttyS0?baud=19200",
		"file:///dev/ttyS0":             "serial:///dev/ttyS0?baud=9600",
	} {
		assert.Equal(t, transport.CanonicalAddress(a), transport.CanonicalAddress(b))
	}
	for a, b := range map[string]string{
		"tcp://h:1": "tcp://h:2", "usb://": "usb://04b8:0e28", "file:///tmp/a": "file:///tmp/b",
	} {
		assert.True(t, transport.CanonicalAddress(a) != transport.CanonicalAddress(b), a, b)
	}
}

func TestTCPMeetsTheSuite(t *testing.T) {
	suite{
		Answers: true,
		Working: func(t *testing.T) farEnd {
			p := newPaper()
			clients := make(chan *net.TCPConn, 10)
			d := listen(t, func(c *net.TCPConn) {
				clients <- c
				_, _ = io.Copy(p, c)
				_ = c.Close()
			})
			return farEnd{Dialer: d, Received: p.atLeast, Answer: func(b []byte) {
				_, err := (<-clients).Write(b)
				assert.Equal(t, err, nil)
			}}
		},
		Stuck: func(t *testing.T) transport.Dialer { return listen(t, hold(t)) },
		Breaking: func(t *testing.T) transport.Dialer {
			return listen(t, func(c *net.TCPConn) {
				_, _ = io.CopyN(io.Discard, c, 1000)
				_ = c.Close()
			})
		},
		Absent: absent,
	}.run(t)
}

func TestFinishOverTCP(t *testing.T) {
	const size = 2000
	for _, tt := range []struct {
		name  string
		serve func(t *testing.T) func(c *net.TCPConn)
		want  error // nil: everything was taken
	}{
		{"APrinterThatReadsAllAndClosesHasTakenAll", func(*testing.T) func(*net.TCPConn) {
			return func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c); _ = c.Close() }
		}, nil},
		{"APrinterThatNeverClosesDoesNotBlockFinish", func(t *testing.T) func(*net.TCPConn) {
			return func(c *net.TCPConn) {
				t.Cleanup(func() { _ = c.Close() })
				_, _ = io.Copy(io.Discard, c)
			}
		}, nil},
		{"APrinterThatNeverStopsSendingDoesNotBlockFinish", func(*testing.T) func(*net.TCPConn) {
			return func(c *net.TCPConn) {
				go func() {
					for {
						if _, err := c.Write([]byte{0x12, 0x13}); err != nil {
							return
						}
					}
				}()
				_, _ = io.Copy(io.Discard, c)
			}
		}, nil},
		{"APrinterThatResetsAfterTheLastByteIsInDoubt", func(*testing.T) func(*net.TCPConn) {
			return func(c *net.TCPConn) { _, _ = io.CopyN(io.Discard, c, size); reset(c) }
		}, syscall.ECONNRESET},
		{"APrinterThatClosesWithBytesUnreadIsInDoubt", func(*testing.T) func(*net.TCPConn) {
			return func(c *net.TCPConn) { _, _ = io.CopyN(io.Discard, c, size-1); _ = c.Close() }
		}, syscall.ECONNRESET},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(tt.name, "Never") {
				slow.Test(t) // half a second until Finish gives up
			}
			c := dialed(t, listen(t, tt.serve(t)))
			write(t, c, strings.Repeat("x", size))
			err := c.Finish(t.Context())
			assert.True(t, errors.Is(err, tt.want), err, tt.want)
		})
	}
}

func TestCloseResetsAnUnfinishedTicketOnly(t *testing.T) {
	for text, want := range map[string]error{"half a ticket": syscall.ECONNRESET, "": nil} {
		taken, seen := make(chan struct{}), make(chan error, 1)
		c := dialed(t, listen(t, func(c *net.TCPConn) {
			_, _ = io.ReadFull(c, make([]byte, len(text)))
			close(taken)
			_, err := io.Copy(io.Discard, c)
			seen <- err
			_ = c.Close()
		}))
		write(t, c, text)
		<-taken
		_ = c.Close()
		err := <-seen
		assert.True(t, errors.Is(err, want), text, err, want)
	}
}

func TestTheErrorOfAFailedConnectionSaysWhatToCheck(t *testing.T) {
	_, refused := absent(t).Dial(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, late := open(t, "tcp://192.0.2.1").Dial(ctx)
	for _, c := range []struct {
		err, is    error
		text, hint string
	}{
		{refused, syscall.ECONNREFUSED, ": connection refused", "is the printer on and is "},
		{late, context.DeadlineExceeded, "connect tcp 192.0.2.1:9100: no answer in ", "is the printer on, the address"},
	} {
		hint := transport.Hint(fmt.Errorf("print: %w", c.err))
		assert.True(t, errors.Is(c.err, c.is) && strings.HasPrefix(hint, c.hint), c.err, hint)
		assert.Contains(t, c.err.Error(), c.text)
	}
}

func open(t *testing.T, address string) transport.Dialer {
	t.Helper()
	d, err := transport.Open(address)
	assert.NoError(t, err)
	return d
}

// dialed is a connection, closed when the test ends.
func dialed(t *testing.T, d transport.Dialer) transport.Conn {
	t.Helper()
	c, err := d.Dial(t.Context())
	assert.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// listen serves one client after the other until the test ends. It returns the Dialer to connect with.
func listen(t *testing.T, serve func(c *net.TCPConn)) transport.Dialer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c.(*net.TCPConn))
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return open(t, "tcp://"+l.Addr().String())
}

// hold keeps a connection open, doing nothing, until the test ends.
func hold(t *testing.T) func(c *net.TCPConn) {
	return func(c *net.TCPConn) {
		_ = c.SetReadBuffer(4096)
		t.Cleanup(func() { _ = c.Close() })
	}
}

// absent is the address of a port that is taken and on which no program listens.
func absent(t *testing.T) transport.Dialer {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	assert.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	a, err := unix.Getsockname(fd)
	assert.NoError(t, err)
	return open(t, fmt.Sprintf("tcp://127.0.0.1:%d", a.(*unix.SockaddrInet4).Port))
}

// reset resets the connection.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// A paper collects the bytes that a printer received.
type paper struct {
	mu   sync.Mutex
	more sync.Cond
	b    []byte
}

func newPaper() *paper {
	p := &paper{}
	p.more.L = &p.mu
	return p
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.b = append(p.b, b...)
	p.more.Broadcast()
	return len(b), nil
}

func (p *paper) atLeast(n int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.b) < n {
		p.more.Wait()
	}
	return append([]byte(nil), p.b...)
}

var write = transport.Write
