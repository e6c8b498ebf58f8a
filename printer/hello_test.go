package printer_test

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/printertest"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

// everything is a printer that answers every question.
func everything() printertest.Model {
	return printertest.Model{
		IDFence: true, StatusFence: true, RealTime: []byte{1, 2, 3, 4}, ASB: true, Raster: true,
	}
}

// A lineDialer leads to a printer behind a line with a buffer at our end, as a kernel or a print server has.
type lineDialer struct{ *printertest.Printer }

func (d lineDialer) Dial(context.Context) (transport.Conn, error) {
	ours, theirs := net.Pipe()
	go d.ServeConn(theirs)
	c := &lineConn{Conn: ours, more: make(chan struct{}, 1)}
	go c.send()
	return c, nil
}

// till is another program that sends s and leaves when the printer has it.
func (d lineDialer) till(s string) {
	c, _ := d.Dial(context.Background())
	c.Write([]byte(s))
	c.Finish(context.Background())
	c.Close()
}

type lineConn struct {
	net.Conn
	more chan struct{} // something was written

	mu     sync.Mutex
	buf    []byte
	taken  int
	closed bool
}

const lineBuffer = 128 << 10

// Acknowledged is the number of bytes that left the buffer.
func (c *lineConn) Acknowledged() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken, nil
}

func (c *lineConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	n := min(len(b), lineBuffer-len(c.buf))
	c.buf = append(c.buf, b[:n]...)
	c.mu.Unlock()
	c.wake()
	if n < len(b) {
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

func (c *lineConn) wake() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// send sends what was written until the connection is closed.
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
		c.mu.Lock()
		c.buf, c.taken = c.buf[n:], c.taken+n
		c.closed = c.closed || err != nil
		c.mu.Unlock()
	}
}

func (c *lineConn) SetWriteDeadline(time.Time) error { return nil }

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

// withLine runs f with a printer behind a line.
func withLine(t *testing.T, m printertest.Model, f func(r *harness, p lineDialer)) {
	synctest.Test(t, func(t *testing.T) {
		p := lineDialer{printertest.New(m)}
		defer p.Close()
		r := newHarness(t, nil, p, nil)
		f(r, p)
		hangUp(r.d)
		p.Wait()
	})
}

func (d lineDialer) text() string {
	var b strings.Builder
	for _, s := range d.Strips() {
		b.WriteString(s.Text() + "-----\n")
	}
	return b.String()
}

// onPaper reports whether a piece of paper holds a whole ticket for the item.
func (d lineDialer) onPaper(item string) bool {
	for _, s := range d.Strips() {
		x := s.Text()
		if strings.Contains(x, "#42") && strings.Contains(x, item+"\n") && strings.Contains(x, "| job ") {
			return true
		}
	}
	return false
}

func TestAnAnswerToAnotherProgramsGSrProvesNothing(t *testing.T) {
	m := everything()
	m.IDFence, m.LinesPerSecond = false, 4
	withLine(t, m, func(r *harness, p lineDialer) {
		r.want("A1", "processed")
		hangUp(r.d)
		// It leaves before it is answered; the answer comes to us.
		p.till(strings.Repeat("x\n", 2) + "\x1dr\x01" + strings.Repeat("x\n", 12))
		r.want("A2", "processed")
		if !p.onPaper("A2") {
			t.Errorf("A2 was said to be processed when the paper was\n%s", p.text())
		}
	})
}

func TestAnAnswerThatAnEarlierConnectionLeftProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := false // of paper, as soon as the ticket is printed
		asked := map[net.Conn]int{}
		r := newScriptedHarness(t, &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			if answerStatus(c, all) {
				return
			}
			n := strings.Count(all, "\x1dr\x01") - asked[c]
			asked[c] += n
			switch {
			case n > 1:
				for i := range n + 1 { // the first is an old one
					later(time.Duration(i)*100*time.Millisecond, func() { _, _ = c.Write([]byte{0}) })
				}
			case n == 1 && out:
				later(time.Second, func() { _, _ = c.Write([]byte{0x0c}) })
			case n == 1:
				_, _ = c.Write([]byte{0})
			}
		}})
		defer r.d.Retire()
		r.want("A1", "processed")
		time.Sleep(time.Minute) // another connection
		out = true
		r.want("A2", "doubt")
	})
}

func TestAnAnswerFromBeforeTheNULsProvesNothing(t *testing.T) {
	m := everything()
	m.IDFence, m.LinesPerSecond, m.BytesPerSecond = false, 4, 1000
	withLine(t, m, func(r *harness, p lineDialer) {
		r.want("A1", "processed")
		r.d.Retire()
		p.till(strings.Repeat("x\n", 14)) // about as long as it takes to send the first two series of NULs
		for r.print("A2").kind() == "not ready" {
			time.Sleep(5 * time.Second)
		}
		if !p.onPaper("A2") {
			t.Errorf("A2 was said to be processed when the paper was\n%s", p.text())
		}
	})
}

func TestAPrinterThatFallsSilentDuringItsFirstProbeIsNotTakenForOneThatCannotAnswer(t *testing.T) {
	m := everything()
	m.BytesPerSecond = 1000
	withLine(t, m, func(r *harness, p lineDialer) {
		p.till("\x1dv0\x00\x30\x00\x00\x02") // an image of 24 KiB that does not come
		o := r.print("A1")
		for o.kind() == "clean" || o.kind() == "not ready" {
			time.Sleep(5 * time.Second)
			o = r.print("A1")
		}
		if o.kind() != "confirmed" || !p.onPaper("A1") {
			t.Errorf("%s: %v, on paper\n%s", o.kind(), o.err, p.text())
		}
	})
}

func TestBehindAPrintServerThatClosesEarlyTicketsEndAsSentWhole(t *testing.T) {
	for copies := 1; copies <= 2; copies++ {
		m := everything()
		m.LinesPerSecond = 20 // as its profile has it
		synctest.Test(t, func(t *testing.T) {
			p := lineDialer{printertest.New(m)}
			defer p.Close()
			r := newHarness(t, nil, p, func(_ *printer.DeviceOptions, o *printer.Options) { o.Copies = copies })
			r.want("A0", "confirmed")
			time.Sleep(time.Minute)
			p.CloseAfterIdle(300 * time.Millisecond)
			r.want("A1", "doubt")
			time.Sleep(time.Minute)
			r.want("A1", map[int]string{1: "sent", 2: "doubt"}[copies]) // the second copy was not sent
			time.Sleep(time.Minute)
			before := len(p.Strips())
			for _, name := range []string{"A2", "A3"} {
				if o := r.want(name, "sent"); o.took > 30*time.Second {
					t.Errorf("after %s", o.took)
				}
			}
			time.Sleep(time.Minute)
			if n := len(p.Strips()) - before; n != 2*copies || !p.onPaper("A3") {
				t.Errorf("%d copies: on paper\n%s", copies, p.text())
			}
			p.CloseAfterIdle(0)
			r.want("A4", "confirmed") // an answer that comes in time counts
			time.Sleep(time.Minute)
			p.CloseAfterIdle(300 * time.Millisecond)
			r.want("A5", "sent")
			hangUp(r.d)
			p.Wait()
		})
	}
}

func TestWhatATillStillPrintsDoesNotCostThePrinterItsID(t *testing.T) {
	m := everything()
	m.LinesPerSecond, m.Ahead = 4, 6
	withLine(t, m, func(r *harness, p lineDialer) {
		r.want("A1", "confirmed")
		for range 3 {
			hangUp(r.d)
			p.till(strings.Repeat("x\n", 12))
			r.want("A2", "confirmed")
		}
	})
}

func TestALongTicketIsConfirmedAlthoughItIsAllInThePrintBuffer(t *testing.T) {
	m := everything()
	m.LinesPerSecond, m.Ahead, m.Buffer = 20, 1000, 64<<10
	withLine(t, m, func(r *harness, p lineDialer) {
		if o := r.printWith(r.t.Context(), r.p, orderOfLines(300), nil); o.kind() != "confirmed" {
			t.Errorf("%s: %v", o.kind(), o.err)
		}
	})
}

func TestTwoPowerCutsInARowDoNotEndAllProof(t *testing.T) {
	m := everything()
	m.LinesPerSecond = 4
	withLine(t, m, func(r *harness, p lineDialer) {
		for range 2 {
			later(time.Second, p.PowerCycle)
			r.print("A1")
			time.Sleep(time.Minute)
		}
		r.want("A2", "confirmed")
	})
}

func TestOverTCPAPrinterThatATillKeepsFromItsFirstProbeIsProbedLater(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := printertest.New(everything())
	defer p.Close()
	go p.Serve(l)
	d, err := transport.Open("tcp://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r := newHarness(t, nil, d, nil)
	defer r.d.Retire()
	p.DropEarly(20*time.Millisecond, printertest.Reset)
	for range 4 {
		r.want("A1", "clean")
	}
	p.DropEarly(0, printertest.Stay)
	r.want("A1", "confirmed")
}

func TestWhatAnotherProgramLeftIsCleared(t *testing.T) {
	for name, left := range map[string]string{
		"the largest image":         "\x1dv0\x00\x48\x00\x68\x10", // 300 KiB
		"the printer is deselected": "\x1b=\x02",
	} {
		withLine(t, everything(), func(r *harness, p lineDialer) {
			r.want("A1", "confirmed")
			hangUp(r.d)
			p.till(left)
			if r.want("A2", "confirmed"); !p.onPaper("A2") {
				t.Errorf("%s: on paper\n%s", name, p.text())
			}
		})
	}
}

func TestAPrinterIsHungSinceItStoppedAndNotSinceItWasAskedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := &replaceableDialer{to: virtual.New(answersAll())}
		r := newHarness(t, nil, wire, nil)
		defer r.d.Retire()
		r.want("A1", "confirmed")
		hangUp(r.d)
		wire.replace(virtual.New(virtual.Options{Can: realTimeOnly, Kanji: true}))
		later(10*time.Second, func() {
			if s := r.d.Status(); s.State != printer.Clearing {
				t.Errorf("it is %s, want clearing", s.State)
			}
		})
		r.want("A2", "not ready")
		since := r.wantState(printer.Hung).Since
		r.want("A2", "not ready")
		if again := r.wantState(printer.Hung).Since; !again.Equal(since) {
			t.Errorf("hung since %s, then since %s", since, again)
		}
	})
}

func TestAProbeClearsNothing(t *testing.T) {
	withHarness(t, virtual.Options{Can: realTimeOnly, Kanji: true}, nil, func(r *harness) {
		later(5*time.Second, func() { r.wantState(printer.Unknown) })
		r.want("A1", "sent")
	})
}

func TestACoverThatIsOpenedDuringTheHelloIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second, open := false, false
		r := newScriptedHarness(t, &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			switch id := idReply(all); {
			case open && last(all, "\x10\x04\x02"):
				_, _ = c.Write([]byte{0x16})
			case answerStatus(c, all):
			case id != nil && second:
				open = true
			case id != nil:
				_, _ = c.Write(id)
			}
		}})
		defer r.d.Retire()
		r.want("A1", "confirmed")
		hangUp(r.d)
		second = true
		r.want("A2", "not ready")
		r.wantState(printer.CoverOpen)
	})
}

func TestAnIDThatDiffersInOneLetterProvesNothing(t *testing.T) {
	for k := range 4 {
		synctest.Test(t, func(t *testing.T) {
			r := newScriptedHarness(t, &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
				if id := idReply(all); !answerStatus(c, all) && id != nil {
					id[2+k] = 'z' // no id of ours has it
					_, _ = c.Write(id)
				}
			}})
			defer r.d.Retire()
			r.want("A1", "sent")
		})
	}
}
