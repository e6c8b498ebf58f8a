package printertest

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// over runs do with a printer behind a real socket.
func over(t *testing.T, m Model, do func(p *Printer, dial func() net.Conn)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := New(m)
	defer p.Close()
	go p.Serve(l)
	do(p, func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(30 * time.Second))
		return c
	})
}

func TestOverRealSockets(t *testing.T) {
	over(t, all, func(p *Printer, dial func() net.Conn) {
		c := dial()
		io.WriteString(c, "a\n"+id("p001"))
		got := make([]byte, 7)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != answerTo("p001") {
			t.Errorf("answer % X, %v", got, err)
		}
		// What a client sent before it left is printed, and the answers are given that it can still get.
		io.WriteString(c, "b\n\x10\x04\x01")
		c.(*net.TCPConn).CloseWrite()
		if got, err := io.ReadAll(c); err != nil || string(got) != "\x12" {
			t.Errorf("answer % X, %v", got, err)
		}
		next := dial()
		io.WriteString(next, id("p002"))
		if _, err := io.ReadFull(next, got); err != nil || texts(p) != "a\nb\n" {
			t.Errorf("%v, paper %q", err, texts(p))
		}
	})
}

func TestConnectionsAreResetOrClosed(t *testing.T) {
	for _, f := range []struct {
		name  string
		cause func(p *Printer)
		want  error // nil: an orderly end
	}{
		{"power cycle", func(p *Printer) { p.AfterBytes(5, p.PowerCycle) }, syscall.ECONNRESET},
		{"answers cut off", func(p *Printer) { p.CutOffAnswers(-1) }, syscall.ECONNRESET},
		{"stolen", func(p *Printer) { p.AfterBytes(5, func() { p.Steal(nil, 0) }) }, syscall.ECONNRESET},
		{"idle", func(p *Printer) { p.NoFence(true); p.CloseAfterIdle(time.Second) }, nil},
		{"dropped early", func(p *Printer) { p.DropEarly(20*time.Millisecond, Reset) }, syscall.ECONNRESET},
		{"dropped early with what it sent", func(p *Printer) { p.DropEarly(50*time.Millisecond, Swallow) }, nil},
	} {
		t.Run(f.name, func(t *testing.T) {
			over(t, all, func(p *Printer, dial func() net.Conn) {
				f.cause(p)
				c := dial()
				_, err := io.WriteString(c, "a\n"+id("p001"))
				if err == nil {
					_, err = io.ReadAll(c)
				}
				// A reset that comes before the bytes shows itself as a broken pipe.
				if !errors.Is(err, f.want) && !(f.want != nil && errors.Is(err, syscall.EPIPE)) {
					t.Errorf("ended with %v, want %v", err, f.want)
				}
			})
		})
	}
}
