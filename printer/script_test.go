package printer_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/transport"
)

// A tap makes connections on which a test acts between two writes, whatever the printer has read so far. It reports
// how the Device ends them, and whether the printer has closed.
type tap struct {
	transport.Dialer
	before func(b []byte) (int, error)            // an error is returned by the write, of which so much is taken then
	after  func(c transport.Conn, written string) // of one write
	half   func()                                 // when our side of the connection was ended; nil: that cannot be

	ends   time.Duration // after which each connection ends by itself; 0: never
	serial bool

	finish, closed    guarded[error] // the error of an orderly end, and that the printer closed, as far as TCP knows
	dialled, finished atomic.Int32   // connections, and those that were ended in an orderly way
}

// pulledAt is a cable that is pulled before text is written.
func pulledAt(text string) func([]byte) (int, error) {
	return func(b []byte) (int, error) {
		if bytes.Contains(b, []byte(text)) {
			return 0, errors.New("the cable was pulled")
		}
		return 0, nil
	}
}

// script is the scripted printer at its end.
func (w *tap) script() *scriptedPrinter { return w.Dialer.(*scriptedPrinter) }

func (w *tap) Dial(ctx context.Context) (transport.Conn, error) {
	w.dialled.Add(1)
	c, err := w.Dialer.Dial(ctx)
	if w.ends > 0 {
		later(w.ends, func() { _ = c.Close() })
	}
	return &tapConn{Conn: c, w: w}, err
}

type tapConn struct {
	transport.Conn
	w     *tap
	ended bool
}

func (c *tapConn) Write(b []byte) (int, error) {
	if c.ended {
		return 0, net.ErrClosed
	}
	if c.w.before != nil {
		if n, err := c.w.before(b); err != nil {
			return n, err
		}
	}
	n, err := c.Conn.Write(b)
	if err == nil && c.w.after != nil {
		c.w.after(c.Conn, string(b))
	}
	return n, err
}

func (c *tapConn) Finish(ctx context.Context) error {
	c.w.finished.Add(1)
	if err := c.w.finish.get(); err != nil {
		return err
	}
	return c.Conn.Finish(ctx)
}

func (c *tapConn) CloseWrite() error {
	if c.w.half == nil {
		return errors.ErrUnsupported
	}
	c.ended = true
	go c.w.half()
	return nil
}

func (c *tapConn) PeerClosed() error { return c.w.closed.get() }
func (c *tapConn) Serial() bool      { return c.w.serial }

// answersIDs answers each GS ( H.
func answersIDs(c net.Conn, all string) {
	if id := idReply(all); id != nil {
		_, _ = c.Write(id)
	}
}

const (
	theID  = "\x1d(H\x06\x0000" // GS ( H, function 48; the id follows
	theGSr = "\x1dr\x01"
	theCut = "\x1dV"
)

// behind reports whether all of the newest ticket on the connection has arrived.
func behind(all string) bool {
	return strings.LastIndex(all, "job 1") > strings.LastIndex(all, "\x1b@")
}

// overdue reports whether the GS ( H at the end of all is not the first one behind its ticket.
func overdue(all string) bool { return strings.Count(all[strings.LastIndex(all, "\x1b@"):], theID) > 1 }

// countGSr returns a function that counts the new GS r of a connection.
func countGSr() func(c net.Conn, all string) int {
	asked := map[net.Conn]int{}
	return func(c net.Conn, all string) int {
		n := strings.Count(all, theGSr) - asked[c]
		asked[c] += n
		return n
	}
}

// answering is a printer that answers DLE EOT with no trouble and gives everything else to f.
func answering(f func(c net.Conn, all string)) *scriptedPrinter {
	return &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
		if !answerStatus(c, all) {
			f(c, all)
		}
	}}
}

// A scriptedPrinter sends exactly the bytes of a test, also those that the simulated printer never sends.
type scriptedPrinter struct {
	// answer is called after each read. all is everything received on this connection so far.
	answer func(s *scriptedPrinter, c net.Conn, all string)

	mu    sync.Mutex
	heard []string // of each connection
}

func (s *scriptedPrinter) Dial(context.Context) (transport.Conn, error) {
	ours, theirs := net.Pipe()
	s.mu.Lock()
	at := len(s.heard)
	s.heard = append(s.heard, "")
	s.mu.Unlock()
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := theirs.Read(buf)
			s.mu.Lock()
			s.heard[at] += string(buf[:n])
			all := s.heard[at]
			s.mu.Unlock()
			if err != nil {
				return
			}
			if s.answer != nil {
				s.answer(s, theirs, all)
			}
		}
	}()
	return &scriptedConn{Conn: ours}, nil
}

func (s *scriptedPrinter) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.heard, "")
}

func (s *scriptedPrinter) clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.heard)
}

// A scriptedConn polices how it is ended: two readers would share the printer's last bytes.
type scriptedConn struct {
	net.Conn
	reading  atomic.Bool
	deadline atomic.Bool
}

func (c *scriptedConn) Read(b []byte) (int, error) {
	c.reading.Store(true)
	defer c.reading.Store(false)
	return c.Conn.Read(b)
}

func (c *scriptedConn) SetReadDeadline(d time.Time) error {
	c.deadline.Store(!d.IsZero())
	return c.Conn.SetReadDeadline(d)
}

func (c *scriptedConn) Finish(context.Context) error {
	switch {
	case c.reading.Load():
		panic("it is finished while it is read")
	case c.deadline.Load():
		panic("the time for reading its end is over before that begins")
	}
	return nil
}

// last reports whether all ends with a question.
func last(all, question string) bool { return strings.HasSuffix(all, question) }

// answerStatus answers a DLE EOT at the end of all with "no trouble", and reports whether there was one.
func answerStatus(c net.Conn, all string) bool {
	for n := range 4 {
		if last(all, "\x10\x04"+string(rune(n+1))) {
			_, _ = c.Write([]byte{0x12})
			return true
		}
	}
	return false
}

// idReply is the answer to the GS ( H at the end of all, or nil.
func idReply(all string) []byte {
	i := strings.LastIndex(all, "\x1d(H\x06\x0000")
	if i < 0 || len(all) != i+11 {
		return nil
	}
	return []byte("7\"" + all[i+7:] + "\x00")
}

// withScript runs f in a bubble with a scripted printer.
func withScript(t *testing.T, s transport.Dialer, f func(r *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newHarness(t, nil, s, nil)) })
}

// cutter is a printer whose connection ends instead of the answer behind ticket number n, if cut says so.
func cutter(cut func(n int) bool) *scriptedPrinter {
	n := 0
	return answering(func(c net.Conn, all string) {
		if idReply(all) != nil && behind(all) {
			if n++; cut(n) {
				_ = c.Close()
			}
		}
		answersIDs(c, all)
	})
}
