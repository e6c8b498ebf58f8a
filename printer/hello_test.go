package printer_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/virtual"
)

func TestAnAnswerFromBeforeTheNULsProvesNothing(t *testing.T) {
	o := kitchenPrinter(4)
	o.Can &^= virtual.ProcessID
	withLine(t, o, 1000, func(r *harness, p line) {
		r.want("A1", "processed")
		r.d.Retire()
		p.till(strings.Repeat("x\n", 14)) // about as long as it takes to send the first two series of NULs
		for r.print("A2").kind() == "not ready" {
			time.Sleep(5 * time.Second)
		}
		if !p.onPaper("A2") {
			t.Errorf("A2 was said to be processed when the paper was\n%s", strings.Join(p.pieces(), "-----\n"))
		}
	})
}

func TestBehindAPrintServerThatClosesEarlyTicketsEndAsSentWhole(t *testing.T) {
	for copies := 1; copies <= 2; copies++ {
		synctest.Test(t, func(t *testing.T) {
			p := newLine(t, kitchenPrinter(20)) // as its profile has it
			r := newHarness(t, nil, p, func(_ *printer.DeviceOptions, o *printer.Options) { o.Copies = copies })
			r.want("A0", "confirmed")
			time.Sleep(time.Minute)
			p.CloseAfterIdle(300 * time.Millisecond)
			r.want("A1", "doubt")
			time.Sleep(time.Minute)
			r.want("A1", map[int]string{1: "sent", 2: "doubt"}[copies]) // the second copy was not sent
			time.Sleep(time.Minute)
			before := len(p.Tickets())
			for _, name := range []string{"A2", "A3"} {
				if o := r.want(name, "sent"); o.took > 30*time.Second {
					t.Errorf("after %s", o.took)
				}
			}
			time.Sleep(time.Minute)
			if n := len(p.Tickets()) - before; n != 2*copies || !p.onPaper("A3") {
				t.Errorf("%d copies: on paper\n%s", copies, strings.Join(p.pieces(), "-----\n"))
			}
			p.CloseAfterIdle(0)
			r.want("A4", "confirmed") // an answer that comes in time counts
			time.Sleep(time.Minute)
			p.CloseAfterIdle(300 * time.Millisecond)
			r.want("A5", "sent")
			hangUp(r.d)
			_ = p.WaitIdle(t.Context())
		})
	}
}

func TestWhatATillStillPrintsDoesNotCostThePrinterItsID(t *testing.T) {
	withLine(t, kitchenPrinter(4), 0, func(r *harness, p line) {
		r.want("A1", "confirmed")
		for range 3 {
			hangUp(r.d)
			p.till(strings.Repeat("x\n", 12))
			r.want("A2", "confirmed")
		}
	})
}

func TestALongTicketIsConfirmedAlthoughItIsAllInThePrintBuffer(t *testing.T) {
	o := kitchenPrinter(20)
	o.ReceiveBuffer = 64 << 10
	withLine(t, o, 0, func(r *harness, p line) {
		if o := r.printWith(r.t.Context(), r.p, orderOfLines(300), nil); o.kind() != "confirmed" {
			t.Errorf("%s: %v", o.kind(), o.err)
		}
	})
}

func TestTwoPowerCutsInARowDoNotEndAllProof(t *testing.T) {
	withLine(t, kitchenPrinter(4), 0, func(r *harness, p line) {
		for range 2 {
			later(time.Second, p.PowerCycle)
			r.print("A1")
			time.Sleep(time.Minute)
		}
		r.want("A2", "confirmed")
	})
}

func TestAPrinterIsHungSinceItStoppedAndNotSinceItWasAskedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := &replaceableDialer{to: virtual.New(answersAll())}
		r := newHarness(t, nil, wire, nil)
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
			r.want("A1", "sent")
		})
	}
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

// pieces are the texts of what is on paper by now, whether or not it is cut.
func (l line) pieces() (all []string) {
	last := l.Unfinished() // first: it may be cut meanwhile, and is then among the tickets
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
