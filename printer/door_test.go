package printer_test

import (
	"cmp"
	"io"
	"net"
	"strings"
	"time"
)

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
			wantTrue(k.t, !strings.Contains(string(b[:n]), "\x1b@"), b[:n])
			_, _ = io.WriteString(c, cmp.Or(text, string(b[:n])))
		})(k)
	}
}

func closeOrderly(_ net.Conn, d time.Duration) { time.Sleep(d) }

func swallow(c net.Conn, d time.Duration) {
	_ = c.SetReadDeadline(time.Now().Add(d))
	_, _ = io.Copy(io.Discard, c)
}
