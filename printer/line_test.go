package printer_test

import (
	"cmp"
	"context"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
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
	gone := make(chan struct{})
	c := &lineConn{Conn: near, rate: l.rate, out: make(chan byte, lineBuffer), gone: gone,
		end: sync.OnceFunc(func() { close(gone) })}
	go c.send()
	return c, nil
}

type lineConn struct {
	net.Conn
	rate     int
	out      chan byte    // written
	left     atomic.Int64 // bytes that were written and not sent
	gone     <-chan struct{}
	end      func() // closes gone
	deadline guarded[time.Time]
}

// lineBuffer is how many bytes wait at our end.
const lineBuffer = 128 << 10

// Write waits for room until its deadline.
func (c *lineConn) Write(b []byte) (n int, err error) {
	for n < len(b) {
		if c.PeerClosed() != nil {
			return n, syscall.ECONNRESET
		}
		if at := c.deadline.get(); !at.IsZero() && !time.Now().Before(at) {
			return n, os.ErrDeadlineExceeded
		}
		select {
		case c.out <- b[n]:
			n++
			c.left.Add(1)
		default:
			time.Sleep(time.Millisecond)
		}
	}
	return n, nil
}

func (c *lineConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == io.EOF {
		c.end()
	}
	return n, err
}

// PeerClosed is an error once the printer has closed.
func (c *lineConn) PeerClosed() error {
	select {
	case <-c.gone:
		return io.EOF
	default:
		return nil
	}
}

// send sends the written bytes until the connection is closed.
func (c *lineConn) send() {
	for {
		var b []byte
		select {
		case first := <-c.out:
			b = append(b, first)
		case <-c.gone:
			return
		}
		for len(b) < 16 && len(c.out) > 0 {
			b = append(b, <-c.out)
		}
		n, err := c.Conn.Write(b)
		if c.rate > 0 {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(c.rate))
		}
		if c.left.Add(-int64(n)); err != nil {
			c.end()
		}
	}
}

func (c *lineConn) SetWriteDeadline(t time.Time) error { c.deadline.set(t); return nil }

func (c *lineConn) Finish(context.Context) error {
	for c.left.Load() > 0 {
		if c.PeerClosed() != nil {
			return net.ErrClosed
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

func (c *lineConn) Close() error {
	c.end()
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

// A door ends clients before the printer sees them.
type door struct {
	net.Listener
	early guarded[func(c net.Conn)]          // nil: they come in
	wrap  guarded[func(c net.Conn) net.Conn] // of those; nil: as they are
}

// A doorConn is a client that hears the answers as write writes them.
type doorConn struct {
	net.Conn
	write func(c net.Conn, b []byte) (int, error)
}

func (c doorConn) Write(b []byte) (int, error) { return c.write(c.Conn, b) }

// wrapWith lets new clients hear the answers as write writes them.
func (d *door) wrapWith(write func(c net.Conn, b []byte) (int, error)) {
	d.wrap.set(func(c net.Conn) net.Conn { return doorConn{c, write} })
}

func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		early, wrap := d.early.get(), d.wrap.get()
		switch {
		case err == nil && early != nil:
			go early(c)
			continue
		case err == nil && wrap != nil:
			c = wrap(c)
		}
		return c, err
	}
}

// early ends each new client after ms.
func early(ms time.Duration, how func(c net.Conn, d time.Duration)) func(*kitchen) {
	return func(k *kitchen) { k.door.early.set(func(c net.Conn) { how(c, ms*time.Millisecond); _ = c.Close() }) }
}

func stay(k *kitchen) { k.door.early.set(nil) }

// reset, closeOrderly and swallow are how a door ends a client: nothing is read, or everything and thrown away.
func reset(c net.Conn, d time.Duration) {
	time.Sleep(d)
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
}

// says is another program, which answers the first bytes with a text, or with themselves, and hangs up.
func says(text string) func(*kitchen) {
	return func(k *kitchen) {
		early(0, func(c net.Conn, _ time.Duration) {
			b := make([]byte, 256)
			n, _ := io.ReadAtLeast(c, b, 19)
			assert.True(k.t, !strings.Contains(string(b[:n]), "\x1b@"), b[:n])
			_, _ = io.WriteString(c, cmp.Or(text, string(b[:n])))
		})(k)
	}
}

func closeOrderly(_ net.Conn, d time.Duration) { time.Sleep(d) }

func swallow(c net.Conn, d time.Duration) {
	_ = c.SetReadDeadline(time.Now().Add(d))
	_, _ = io.Copy(io.Discard, c)
}
