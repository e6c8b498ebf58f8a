package printer_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
)

func TestAPrinterThatAnswersNoHelloGetsALimitedNumberOfNULs(t *testing.T) {
	hangs := false
	withScript(t, answering(func(c net.Conn, all string) {
		if id := idReply(all); id != nil && !hangs {
			_, _ = c.Write(id)
		}
	}), func(r *harness) {
		r.wantAlone("A1", "confirmed")
		hangs = true
		s := r.dev.Dialer.(*scriptedPrinter)
		before := strings.Count(s.all(), "\x00")
		r.want("A2", "not ready").within(r, 20*time.Second, 25*time.Second)
		n := strings.Count(s.all(), "\x00") - before
		assert.True(t, n >= 600<<10 && n <= 641<<10, n)
	})
}

func TestAnAnswerBefore20SecondsArePastIsWaitedFor(t *testing.T) {
	for first, late := range map[bool]time.Duration{true: 6 * time.Second, false: 18 * time.Second} {
		at := time.Time{}
		withScript(t, answering(func(c net.Conn, all string) {
			if id := idReply(all); id != nil {
				later(max(0, time.Until(at)), func() { _, _ = c.Write(id) })
			}
		}), func(r *harness) {
			if !first {
				r.wantAlone("A1", "confirmed")
			}
			at = time.Now().Add(late)
			r.want("A2", "confirmed")
		})
	}
}

func TestAHelloThatWasAskedTwiceLeavesNoCountBehind(t *testing.T) {
	// A kept connection: the printer lost one question, for example to the bytes of another program at that moment.
	lose, asked := 0, 0
	withScript(t, answering(func(c net.Conn, all string) {
		for n := strings.Count(all, theGSr); asked < n; asked++ {
			if lose > 0 {
				lose--
			} else {
				_, _ = c.Write([]byte{0})
			}
		}
	}), func(r *harness) {
		r.want("A1", "processed")
		lose = 1
		r.want("A2", "processed").within(r, 0, 3*time.Second)
		assert.Equal(t, r.dev.Dialer.(*scriptedPrinter).clients(), 1)
	})
}

func TestTheTicketBeginsOnlyWhenNoMoreAnswersToGSrCome(t *testing.T) {
	// The first answers are to questions of an earlier connection. As long as answers come, none is the ticket's.
	old, count := 0, countGSr()
	withScript(t, answering(func(c net.Conn, all string) {
		switch n := count(c, all); {
		case n == 0 || old > 0 && behind(all): // no answer for the ticket
		case old > 0:
			for i := range n + old {
				later(time.Duration(i)*400*time.Millisecond, func() { _, _ = c.Write([]byte{0}) })
			}
		default:
			_, _ = c.Write(make([]byte, n))
		}
	}), func(r *harness) {
		r.wantAlone("A1", "processed")
		old = 4
		r.want("A2", "doubt")
	})
}

func TestOneAnswerToGSrOnANewConnectionIsNoHello(t *testing.T) {
	// It is to the question of an earlier connection, with four seconds of lines to print between that and ours.
	old, count := false, countGSr()
	var printed time.Time
	withScript(t, answering(func(c net.Conn, all string) {
		n := count(c, all)
		switch {
		case n == 0 || old && behind(all): // it hangs behind the ticket
		case old:
			if printed.IsZero() {
				printed = time.Now().Add(4 * time.Second)
				_, _ = c.Write([]byte{0})
			}
			later(time.Until(printed), func() { _, _ = c.Write(make([]byte, n)) })
		default:
			_, _ = c.Write(make([]byte, n))
		}
	}), func(r *harness) {
		r.wantAlone("A1", "processed")
		old = true
		r.want("A2", "doubt")
	})
}

func TestAPrinterThatAnswersGSrTwiceProvesNothingWithIt(t *testing.T) {
	// The one behind the ticket may be a late second one to the question before it.
	asked := countGSr()
	withScript(t, answering(func(c net.Conn, all string) {
		n := asked(c, all)
		if !behind(all) {
			n *= 2
		}
		_, _ = c.Write(make([]byte, n))
	}), func(r *harness) {
		r.want("A1", "sent")
		r.want("A2", "sent")
	})
}

func TestALateAnswerForTheFirstCopyIsNoneForTheSecond(t *testing.T) {
	// The first copy's id came in the end, and then the other one, which was asked later.
	synctest.Test(t, func(t *testing.T) {
		copies, first := 0, []byte(nil)
		r := newHarness(t, nil, answering(func(c net.Conn, all string) {
			id, isBehind := idReply(all), behind(all)
			switch {
			case id == nil:
			case !isBehind:
				_, _ = c.Write(id)
			case copies == 1 && overdue(all):
				_, _ = c.Write(first)
				later(2*time.Second, func() { _, _ = c.Write(id) })
			case !overdue(all):
				copies++ // no answer
				first = id
			}
		}), func(_ *printer.DeviceOptions, o *printer.Options) { o.Copies = 2 })
		r.want("A1", "doubt")
		assert.Equal(t, copies, 2)
	})
}

func TestAHelloThatIsNotTakenInTimeIsAskedAgain(t *testing.T) {
	// The printer takes nothing for three seconds: the rest of the question follows ahead of the next one.
	var lost atomic.Int64
	withScript(t, answering(func(c net.Conn, all string) {
		switch id := idReply(all); {
		case lost.Load() > 0 && strings.HasSuffix(all, strings.Repeat("\x00", 64)):
			lost.Add(-1)
			time.Sleep(3 * time.Second)
		case id != nil && lost.Load() == 0:
			_, _ = c.Write(id)
		}
	}), func(r *harness) {
		r.wantAlone("A1", "confirmed")
		lost.Store(1)
		r.want("A2", "confirmed")
	})
}

func TestASlowAnswerIsNotTakenForTheOneToTheNextQuestion(t *testing.T) {
	withScript(t, slowStatus(25*time.Second, func(c net.Conn, n byte) {
		b := byte(0x12)
		if n == 1 {
			b = 0x16 // the drawer; for n = 2 it is the cover
		}
		later(4500*time.Millisecond, func() { _, _ = c.Write([]byte{b}) })
	}), func(r *harness) {
		for s := range 24 {
			later(time.Duration(s)*time.Second, func() {
				assert.True(t, r.d.Status().State != printer.CoverOpen, "the drawer was taken for the cover")
			})
		}
		r.want("A1", "confirmed")
	})
}

func TestAfterALostAnswerThePrinterIsAskedAgain(t *testing.T) {
	asked := 0
	withScript(t, slowStatus(3*time.Minute, func(c net.Conn, n byte) {
		b := byte(0x12)
		if n == 2 {
			b = 0x16 // the cover is open, until a person comes
		}
		if asked++; asked > 1 {
			_, _ = c.Write([]byte{b})
		}
	}), func(r *harness) {
		r.want("A1", "confirmed")
	})
}

func TestAnAnswerNoPaperIsWaitedOut(t *testing.T) {
	// Some boards answer GS ( H so when they are out of paper. This one answers DLE EOT 1 only, which does not say it.
	for statuses, want := range map[string]string{"\x01": "confirmed", "\x01\x02\x03\x04": "doubt"} {
		s := &scriptedPrinter{}
		s.answer = func(_ *scriptedPrinter, c net.Conn, all string) {
			id := idReply(all)
			switch {
			case id == nil:
				if i := len(all) - 1; i >= 2 && all[i-2:i] == "\x10\x04" && strings.Contains(statuses, all[i:]) {
					_, _ = c.Write([]byte{0x12})
				}
			case !behind(all):
				_, _ = c.Write(id)
			case !overdue(all):
				_, _ = c.Write([]byte("73\x00"))
				later(3*time.Minute, func() { _, _ = c.Write(id) })
			}
		}
		withScript(t, s, func(r *harness) {
			r.want("A1", want).within(r, 0, 4*time.Minute)
		})
	}
}

func TestTheNewestReportOnACoverCounts(t *testing.T) {
	const open, closed = "\x38\x00\x00\x0f", "\x10\x00\x00\x0f"
	for name, status := range map[string]func(c net.Conn, n byte, k int){
		"pushed open, asked closed": func(c net.Conn, _ byte, k int) {
			if k == 1 {
				_, _ = c.Write([]byte(open))
			}
			_, _ = c.Write([]byte{0x12})
		},
		"asked open, pushed closed": func(c net.Conn, n byte, k int) {
			switch {
			case k > 4:
			case n == 2:
				_, _ = c.Write([]byte{0x16})
			case n == 4:
				_, _ = c.Write([]byte("\x12" + closed))
			default:
				_, _ = c.Write([]byte{0x12})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := 0
			withScript(t, slowStatus(0, func(c net.Conn, n byte) { k++; status(c, n, k) }), func(r *harness) {
				r.want("A1", "doubt").within(r, 0, 2*time.Minute)
			})
		})
	}
}

func TestTheQuestionBehindATicketHasTwoSecondsOfItsOwn(t *testing.T) {
	// The printer takes the ticket in the last half second, and then pauses.
	for pause, want := range map[time.Duration]string{time.Second: "confirmed", 4 * time.Second: "doubt"} {
		synctest.Test(t, func(t *testing.T) {
			var slow atomic.Int64
			r := newHarness(t, nil, answering(func(c net.Conn, all string) {
				answersIDs(c, all)
				switch {
				case slow.Load() == 1 && idReply(all) != nil:
					slow.Store(2)
					time.Sleep(29500 * time.Millisecond)
				case slow.Load() == 2 && behind(all):
					slow.Store(0)
					time.Sleep(pause)
				}
			}), func(_ *printer.DeviceOptions, o *printer.Options) { o.PerKiB = time.Microsecond })
			r.wantAlone("A1", "confirmed")
			slow.Store(1)
			r.want("A2", want)
			time.Sleep(pause)
		})
	}
}

func TestOneAnswerIsEnoughToKnowThatAPrinterIsThere(t *testing.T) {
	var only atomic.Bool
	withScript(t, &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
		if !only.Load() || last(all, "\x10\x04\x01") {
			answerStatus(c, all)
		}
		answersIDs(c, all)
	}}, func(r *harness) {
		r.wantAlone("A1", "confirmed")
		only.Store(true)
		r.want("A2", "confirmed").within(r, 0, 3*time.Second)
	})
}

func TestAPrinterThatFallsSilentBehindATicketIsBusy(t *testing.T) {
	withScript(t, slowStatus(0, func(net.Conn, byte) {}), func(r *harness) {
		assert.Contains(t, r.want("A1", "doubt").err.Error(), "it stopped answering")
		r.wantState(printer.Busy)
	})
}

// slowStatus is a printer whose DLE EOT answers come from status while a ticket prints; print is how long that takes.
func slowStatus(print time.Duration, status func(c net.Conn, n byte)) *scriptedPrinter {
	return &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
		id := idReply(all)
		switch {
		case behind(all) && strings.Contains(all[max(0, len(all)-3):], "\x10\x04"):
			status(c, all[len(all)-1])
		case answerStatus(c, all):
		case id != nil && behind(all) && print > 0:
			later(print, func() { _, _ = c.Write(id) })
		case id != nil && !behind(all):
			_, _ = c.Write(id)
		}
	}}
}
