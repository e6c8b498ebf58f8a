package printer_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/transport"
)

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

// A scriptedConn polices how it is ended: two readers would share what the printer sends last.
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

func newScriptedHarness(t *testing.T, s *scriptedPrinter) *harness {
	return newHarness(t, nil, s, nil)
}

func TestAnUnknownIDIsReportedAsAnotherProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			if !answerStatus(c, all) {
				if id := idReply(all); id != nil {
					_, _ = c.Write([]byte("7\"P001\x007\"P002\x00"))
					_, _ = c.Write(id)
					_, _ = c.Write(id) // a second time is not another program
				}
			}
		}}
		r := newScriptedHarness(t, s)
		r.want("A1", "confirmed") // probe, hello and ticket: three fences, two unknown ids each
		synctest.Wait()
		if st := r.d.Status(); st.Foreign != 6 || r.log.count("another program") != 1 {
			t.Errorf("%d unknown ids, %d warnings", st.Foreign, r.log.count("another program"))
		}
		time.Sleep(time.Minute) // another connection
		r.want("A2", "confirmed")
		synctest.Wait()
		if st := r.d.Status(); st.Foreign != 10 || r.log.count("another program") != 2 {
			t.Errorf("%d unknown ids, %d warnings", st.Foreign, r.log.count("another program"))
		}
	})
}

func TestTheIDOfAnEarlierTicketProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers [][]byte
		s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			if answerStatus(c, all) {
				return
			}
			if id := idReply(all); id != nil {
				answers = append(answers, id)
				_, _ = c.Write(answers[min(len(answers)-1, 1)]) // probe, hello, and then the hello's again
			}
		}}
		r := newScriptedHarness(t, s)
		r.want("A1", "doubt")
		if r.d.Status().Foreign != 0 {
			t.Error("our own old id was taken for another program's")
		}
	})
}

func TestALateAnswerIsNotTakenForTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedPrinter{}
		slow := false
		s.answer = func(_ *scriptedPrinter, c net.Conn, all string) {
			if id := idReply(all); id != nil {
				_, _ = c.Write(id)
				return
			}
			for n := range byte(4) {
				if !last(all, "\x10\x04"+string(rune(n+1))) {
					continue
				}
				b, d := byte(0x12), time.Duration(0)
				if n == 0 {
					b = 0x16 // the drawer is open: in another answer that bit is the cover
				}
				if slow {
					d = 3 * time.Second
				}
				later(d, func() { _, _ = c.Write([]byte{b}) })
			}
		}
		r := newScriptedHarness(t, s)
		r.want("A1", "confirmed")
		time.Sleep(time.Minute)
		slow = true
		r.want("A2", "confirmed")
		r.wantState(printer.Ready)
		if got := r.d.Status().Conditions; got != 0 {
			t.Errorf("it reports %s", got)
		}
	})
}

func TestAnAnswerWithPaperOutIsNoProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paper := byte(0)
		s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			if !answerStatus(c, all) && strings.Contains(all[max(0, len(all)-14):], "\x1dr\x01") {
				_, _ = c.Write([]byte{paper})
			}
		}}
		r := newScriptedHarness(t, s)
		r.want("A1", "processed")
		synctest.Wait()
		paper = 0x0c
		if o := r.want("A2", "doubt"); !strings.Contains(o.err.Error(), "out of paper") {
			t.Error(o.err)
		}
		r.wantState(printer.PaperOut)
		synctest.Wait()
		paper = 0x03 // low is not out
		r.want("A3", "processed")
	})
}

func TestAPrinterThatDropsEachProbeGetsItsTicketsUnprobed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedPrinter{}
		s.answer = func(_ *scriptedPrinter, c net.Conn, all string) {
			if !answerStatus(c, all) && strings.Contains(all, "\x1d(H") {
				_ = c.Close()
			}
		}
		r := newScriptedHarness(t, s)
		for range 3 {
			r.want("A1", "clean")
		}
		r.want("A1", "sent")
	})
}

func TestEachFenceHasAnIDOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			if !answerStatus(c, all) {
				if id := idReply(all); id != nil {
					_, _ = c.Write(id)
				}
			}
		}}
		r := newScriptedHarness(t, s)
		for range 20 {
			r.want("A1", "confirmed")
		}
		seen := map[string]bool{}
		all := s.all()
		for {
			i := strings.Index(all, "\x1d(H\x06\x0000")
			if i < 0 {
				break
			}
			id := all[i+7 : i+11]
			all = all[i+11:]
			if seen[id] || strings.ContainsFunc(id, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
				t.Errorf("id %q", id)
			}
			seen[id] = true
		}
		if len(seen) != 41 || s.clients() != 1 {
			t.Errorf("%d ids on %d connections", len(seen), s.clients())
		}
	})
}
