package printer_test

import (
	"context"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

// A line leads to a printer in memory, through a buffer at our end, as a kernel or a print server has.
type line struct {
	*virtual.Printer
	network *virtual.Network
	rate    int // bytes per second; 0: at once
}

func newLine(t *testing.T, o virtual.Options) line {
	network := virtual.NewNetwork()
	return line{Printer: serve(t, virtual.New(o), network), network: network}
}

func (l line) Dial(ctx context.Context) (transport.Conn, error) {
	near, err := l.network.Dial(ctx, "", "")
	if err != nil {
		return nil, err
	}
	c := &lineConn{Conn: near, rate: l.rate, more: make(chan struct{}, 1)}
	go c.send()
	return c, nil
}

type lineConn struct {
	net.Conn
	rate int
	more chan struct{} // something was written

	mu       sync.Mutex
	buf      []byte
	closed   bool
	deadline time.Time // of writes
}

// lineBuffer is how many bytes wait at our end.
const lineBuffer = 128 << 10

// Write waits for room until its deadline.
func (c *lineConn) Write(b []byte) (n int, err error) {
	for {
		c.mu.Lock()
		late, closed := !c.deadline.IsZero() && !time.Now().Before(c.deadline), c.closed
		if !late && !closed {
			room := min(len(b)-n, lineBuffer-len(c.buf))
			c.buf = append(c.buf, b[n:n+room]...)
			n += room
		}
		c.mu.Unlock()
		switch {
		case closed:
			return n, syscall.ECONNRESET
		case late:
			return n, os.ErrDeadlineExceeded
		}
		c.wake()
		if n == len(b) {
			return n, nil
		}
		time.Sleep(time.Millisecond)
	}
}

func (c *lineConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == io.EOF {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
	}
	return n, err
}

// PeerClosed is an error once the printer has closed.
func (c *lineConn) PeerClosed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return io.EOF
	}
	return nil
}

func (c *lineConn) wake() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// send sends the written bytes until the connection is closed.
func (c *lineConn) send() {
	for {
		c.mu.Lock()
		b, closed := c.buf[:min(len(c.buf), 16)], c.closed
		c.mu.Unlock()
		if closed {
			return
		}
		if len(b) == 0 {
			<-c.more
			continue
		}
		n, err := c.Conn.Write(b)
		if c.rate > 0 {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(c.rate))
		}
		c.mu.Lock()
		c.buf = c.buf[n:]
		c.closed = c.closed || err != nil
		c.mu.Unlock()
	}
}

func (c *lineConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

func (c *lineConn) Finish(context.Context) error {
	for {
		c.mu.Lock()
		n, closed := len(c.buf), c.closed
		c.mu.Unlock()
		switch {
		case n == 0:
			return nil
		case closed:
			return net.ErrClosed
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (c *lineConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.wake()
	return c.Conn.Close()
}

// kitchenPrinter is a printer that answers every question and has a buffer of 4 KiB.
func kitchenPrinter(linesPerSecond float64) virtual.Options {
	return virtual.Options{
		Can: virtual.Everything, Kanji: true, Remembers: true, ReceiveBuffer: 4096, LinesPerSecond: linesPerSecond,
	}
}

// till is another program that sends s and leaves when the printer has it.
func (l line) till(s string) {
	c, _ := l.Dial(context.Background())
	_, _ = c.Write([]byte(s))
	_ = c.Finish(context.Background())
	_ = c.Close()
}

// withLine runs f with a printer behind a line.
func withLine(t *testing.T, o virtual.Options, rate int, f func(r *harness, p line)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newLine(t, o)
		p.rate = rate
		r := newHarness(t, nil, p, nil)
		f(r, p)
		hangUp(r.d)
		_ = p.WaitIdle(t.Context())
	})
}

// pieces are the texts on the paper, whether or not they are cut.
func (l line) pieces() (all []string) {
	last := l.Unfinished() // first: it may be cut between the two, and is then among the tickets
	for _, x := range l.Tickets() {
		all = append(all, x.Text)
	}
	return append(all, last)
}

// onPaper reports whether a piece of paper holds a whole ticket for the item.
func (l line) onPaper(item string) bool {
	return slices.ContainsFunc(l.pieces(), func(s string) bool {
		return strings.Contains(s, "#42") && strings.Contains(s, item+"\n") && strings.Contains(s, "| job ")
	})
}
