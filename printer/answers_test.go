package printer_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
)

const (
	theID  = "\x1d(H\x06\x0000" // GS ( H, function 48; the id follows
	theGSr = "\x1dr\x01"
	theCut = "\x1dV"
)

// behind reports whether all of the newest ticket on the connection has arrived.
func behind(all string) bool {
	return strings.LastIndex(all, "job 1") > strings.LastIndex(all, "\x1b@")
}

// overdue reports whether the GS ( H at the end of all was asked together with GS r, for the second time.
func overdue(all string) bool { return strings.HasSuffix(all[:len(all)-len(theID)-4], theGSr) }

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

func TestAPrinterThatAnswersNoHelloGetsALimitedNumberOfNULs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := false
		r := newScriptedHarness(t, answering(func(c net.Conn, all string) {
			if id := idReply(all); id != nil && !hangs {
				_, _ = c.Write(id)
			}
		}))
		r.want("A1", "confirmed")
		hangUp(r.d)
		hangs = true
		s := r.dev.Dialer.(*scriptedPrinter)
		before := strings.Count(s.all(), "\x00")
		if o := r.want("A2", "not ready"); o.took < 20*time.Second || o.took > 25*time.Second {
			t.Errorf("after %s", o.took)
		}
		const steps = 64 + 4<<10 + 96<<10 + 512<<10
		if n := strings.Count(s.all(), "\x00") - before; n < steps || n > steps+100 {
			t.Errorf("%d NULs, want %d and those of commands", n, steps)
		}
	})
}

func TestAnAnswerBefore20SecondsArePastIsWaitedFor(t *testing.T) {
	for first, late := range map[bool]time.Duration{true: 6 * time.Second, false: 18 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			at := time.Time{}
			r := newScriptedHarness(t, answering(func(c net.Conn, all string) {
				if id := idReply(all); id != nil {
					later(max(0, time.Until(at)), func() { _, _ = c.Write(id) })
				}
			}))
			if !first {
				r.want("A1", "confirmed")
				hangUp(r.d)
			}
			at = time.Now().Add(late)
			r.want("A2", "confirmed")
		})
	}
}

func TestAHelloThatWasAskedTwiceLeavesNoCountBehind(t *testing.T) {
	// A kept connection: the printer lost one question, for example to what another program sent at that moment.
	synctest.Test(t, func(t *testing.T) {
		lose, asked := 0, 0
		r := newScriptedHarness(t, answering(func(c net.Conn, all string) {
			for n := strings.Count(all, theGSr); asked < n; asked++ {
				if lose > 0 {
					lose--
				} else {
					_, _ = c.Write([]byte{0})
				}
			}
		}))
		r.want("A1", "processed")
		lose = 1
		if o := r.want("A2", "processed"); o.took > 3*time.Second {
			t.Errorf("after %s: it was asked behind the ticket twice", o.took)
		}
		if n := r.dev.Dialer.(*scriptedPrinter).clients(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestTheTicketBeginsOnlyWhenNoMoreAnswersToGSrCome(t *testing.T) {
	// The first answers are to questions of an earlier connection. As long as answers come, none is the ticket's.
	synctest.Test(t, func(t *testing.T) {
		old, count := 0, countGSr()
		r := newScriptedHarness(t, answering(func(c net.Conn, all string) {
			switch n := count(c, all); {
			case n == 0 || old > 0 && behind(all): // no answer for the ticket
			case old > 0:
				for i := range n + old {
					later(time.Duration(i)*400*time.Millisecond, func() { _, _ = c.Write([]byte{0}) })
				}
			default:
				_, _ = c.Write(make([]byte, n))
			}
		}))
		r.want("A1", "processed")
		hangUp(r.d)
		old = 4
		r.want("A2", "doubt")
	})
}

func TestNULsThatASlowLineDoesNotTakeAreDropped(t *testing.T) {
	// A printer behind a slow line is inside a small image: the largest step does not fit into its time, and must not
	// stand in front of the next question.
	synctest.Test(t, func(t *testing.T) {
		var image atomic.Int64
		r := newScriptedHarness(t, answering(func(c net.Conn, all string) {
			if image.Load() > 0 {
				time.Sleep(time.Second) // for 4 KiB
			}
			if id := idReply(all); id != nil && len(all) > int(image.Load()) {
				_, _ = c.Write(id)
			}
		}))
		r.want("A1", "confirmed")
		hangUp(r.d)
		image.Store(8 << 10)
		r.want("A2", "confirmed")
		time.Sleep(time.Minute)
	})
}

func TestALateAnswerForTheFirstCopyIsNoneForTheSecond(t *testing.T) {
	// The first copy's id came in the end, and then the answer to the GS r that was asked meanwhile.
	synctest.Test(t, func(t *testing.T) {
		copies := 0
		r := newHarness(t, nil, answering(func(c net.Conn, all string) {
			id, isBehind := idReply(all), behind(all)
			switch {
			case id == nil:
			case !isBehind:
				_, _ = c.Write(id)
			case copies == 1 && overdue(all):
				_, _ = c.Write(id)
				later(2*time.Second, func() { _, _ = c.Write([]byte{0}) })
			case !overdue(all):
				copies++ // no answer
			}
		}), func(_ *printer.DeviceOptions, o *printer.Options) { o.Copies = 2 })
		r.want("A1", "doubt")
		if copies != 2 {
			t.Errorf("%d copies", copies)
		}
	})
}

func TestAHelloThatIsNotTakenInTimeIsAskedAgain(t *testing.T) {
	// The printer takes nothing for three seconds: the rest of the question follows ahead of the next one.
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Int64
		r := newScriptedHarness(t, answering(func(c net.Conn, all string) {
			switch id := idReply(all); {
			case lost.Load() > 0 && strings.HasSuffix(all, strings.Repeat("\x00", 64)):
				lost.Add(-1)
				time.Sleep(3 * time.Second)
			case id != nil && lost.Load() == 0:
				_, _ = c.Write(id)
			}
		}))
		r.want("A1", "confirmed")
		hangUp(r.d)
		lost.Store(1)
		r.want("A2", "confirmed")
	})
}
