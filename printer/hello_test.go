package printer_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
	"ticketrail/printer/escpos"
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
		assert.True(t, p.onPaper("A2"), strings.Join(p.pieces(), "-----\n"))
	})
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
		r.wantFrom(r.p, orderOfLines(300), "confirmed")
	})
}

func TestAPrinterIsHungSinceItStoppedAndNotSinceItWasAskedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := leadsTo(virtual.New(answersAll()))
		r := newHarness(t, nil, wire, nil)
		r.wantAlone("A1", "confirmed")
		wire.set(virtual.New(virtual.Options{Can: realTimeOnly, Kanji: true}))
		later(10*time.Second, func() {
			assert.Equal(t, r.d.Status().State, printer.Clearing)
		})
		r.want("A2", "not ready")
		since := r.wantState(printer.Hung).Since
		r.want("A2", "not ready")
		again := r.wantState(printer.Hung).Since
		assert.True(t, again.Equal(since), since, again)
	})
}

func TestAProbeClearsNothing(t *testing.T) {
	withHarness(t, virtual.Options{Can: realTimeOnly, Kanji: true}, nil, func(r *harness) {
		later(5*time.Second, func() { r.wantState(printer.Unknown) })
		r.want("A1", "sent")
	})
}

func TestACoverThatIsOpenedDuringTheHelloIsReported(t *testing.T) {
	second, open := false, false
	withScript(t, &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
		switch id := idReply(all); {
		case open && last(all, "\x10\x04\x02"):
			_, _ = c.Write([]byte{0x16})
		case answerStatus(c, all):
		case id != nil && second:
			open = true
		case id != nil:
			_, _ = c.Write(id)
		}
	}}, func(r *harness) {
		r.wantAlone("A1", "confirmed")
		second = true
		r.want("A2", "not ready")
		r.wantState(printer.CoverOpen)
	})
}

func TestACommandThatBrokeOffInItsHeaderSwallowsNoTicket(t *testing.T) {
	// After a command that broke off in its header, our questions must not be taken for the rest of the header:
	// read as the size of an image, they announce a quarter of a megabyte, and later tickets disappear in it.
	for _, head := range []string{
		"\x1dv", "\x1dv0", "\x1dv0\x00", "\x1dv0\x00\x30", "\x1dv0\x00\x30\x00",
		"\x1d(", "\x1d(L", "\x1d(k\x03", "\x1d8L", "\x1d8L\x10\x00", "\x1b*", "\x1b!", "\x1b",
		"\x1dv0\x00\x48\x00\x18\x00half of an image",
	} {
		for _, can := range []virtual.Capability{virtual.Everything, statusOnly, realTimeOnly} {
			withHarness(t, virtual.Options{Can: can, Kanji: true, Remembers: true}, nil, func(r *harness) {
				r.leaveBehind(head)
				d := orderOf("A1")
				d.Doubt = true // the broken ticket was this one, before a restart
				assert.Equal(t, r.printWith(r.t.Context(), r.p, d, nil).err, nil, head)
				assert.Equal(t, r.print("A2").err, nil, head)
				r.wantPaper("A1! A2")
			})
		}
	}
}

func TestASilentPrinterThatDropsItsClientsIsDialledTwiceForATicket(t *testing.T) {
	s := &scriptedPrinter{}
	wire := leadsTo(s)
	withScript(t, wire, func(r *harness) {
		r.want("A1", "sent")
		wire.set(&tap{Dialer: s, ends: 50 * time.Millisecond})
		before := s.clients()
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
		defer cancel()
		o := r.printWith(ctx, r.p, orderOf("A2"), nil)
		assert.True(t, o.kind() == "clean" && s.clients() == before+2, o.kind(), o.err, s.clients()-before)
	})
}

func TestAPrinterThatClosesForTheFenceOfALaterProbePrintsTheTicketWithoutOne(t *testing.T) {
	drop := false
	withScript(t, answering(func(c net.Conn, all string) {
		if drop && idReply(all) != nil {
			_ = c.Close()
		}
	}), func(r *harness) {
		r.want("A1", "sent")
		time.Sleep(time.Minute)
		drop = true
		r.want("A2", "sent")
	})
}

func TestAPrinterWithoutAFenceIsPolledForItsStatus(t *testing.T) {
	poll := func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 5 * time.Minute }
	withHarness(t, virtual.Options{Can: virtual.RealTime, Kanji: true}, poll, func(r *harness) {
		go r.d.Watch(r.t.Context())
		time.Sleep(4*time.Hour + time.Minute) // a minute after a poll; by now it is probed once an hour
		for range 6 {
			r.v.Set(virtual.CoverOpen, true)
			time.Sleep(5 * time.Minute)
			r.wantState(printer.CoverOpen)
			r.v.Set(virtual.CoverOpen, false)
			time.Sleep(5 * time.Minute)
			r.wantState(printer.Ready)
		}
	})
}

func TestAPrinterThatAcceptsAndAnswersNothingYetIsNotSilent(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.wantAlone("A1", "confirmed")
		_ = r.v.Refuse(true)
		r.want("A2", "clean")
		_ = r.v.Refuse(false)
		r.v.Stall()
		later(time.Second, func() { r.wantState(printer.Unreachable) })
		r.want("A2", "not ready")
		r.wantState(printer.Busy)
	})
}

func TestAQuestionThatASilentPrinterTakesLateIsNoPartOfTheTicket(t *testing.T) {
	// The question that it is asked before the ticket is read only with the ticket, and is no part of it.
	before := len(escpos.RealTime(1)) + padding() // the NULs ahead of the question count
	for takes, want := range map[int]string{0: "clean", before: "clean", before + 1: "doubt", 1 << 20: "sent"} {
		full, left := 0, 1<<20
		w := &tap{Dialer: &scriptedPrinter{}, before: func(b []byte) (int, error) {
			if full > 0 {
				full--
				return 0, os.ErrDeadlineExceeded
			}
			if left -= len(b); left < 0 {
				return len(b) + left, errors.New("reset")
			}
			return 0, nil
		}}
		withScript(t, w, func(r *harness) {
			r.want("A1", "sent")
			full, left = 2, takes // the NULs, and the question
			r.want("A2", want)
		})
	}
}

func TestAPrinterIsReadyOnlyWhenItsProbeHasEnded(t *testing.T) {
	push := false
	withScript(t, answering(func(c net.Conn, all string) {
		switch {
		case last(all, "\x1da\x0e"):
			_, _ = c.Write([]byte("\x10\x00\x00\x0f"))
			push = true
		case push:
			push = false
			later(time.Second, func() { _, _ = c.Write([]byte("\x10\x00\x00\x0f")) })
		}
	}), func(r *harness) {
		later(3*time.Second, func() { r.wantState(printer.Unknown) })
		r.want("A1", "sent").within(r, 3*time.Second, time.Hour)
	})
}

func TestAPersonsProbeComesBeforeWhatIsStored(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.wantAlone("A1", "confirmed")
		o := r.dev
		o.Dialer = virtual.New(virtual.Options{Can: statusOnly, Kanji: true})
		d := printer.NewDevice(o)
		defer d.Retire()
		s, err := d.Probe(r.t.Context())
		assert.Equal(t, s.BestProof, "processed", err)
	})
}

func TestTheWaitForASilentPrinterEndsWithItsTicket(t *testing.T) {
	s := &scriptedPrinter{}
	withScript(t, s, func(r *harness) {
		r.wantFrom(r.p, orderOfLines(60), "sent")
		before := s.clients()
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		o := r.printWith(ctx, r.p, orderOf("A2"), nil)
		assert.Equal(t, o.kind(), "clean", o.err)
		assert.Contains(t, o.err.Error(), "has printed")
		assert.Equal(t, s.clients(), before)
	})
}

func TestAPollKeepsNoConnectionAndResetsNothing(t *testing.T) {
	s := answering(answersIDs)
	polled(t, s, func(r *harness) {
		time.Sleep(10*time.Minute + 30*time.Second)
		n := s.clients()
		assert.True(t, !r.d.Connected() && n >= 10, n)
		assert.Equal(t, strings.Count(s.all(), "\x1b@"), 1)
	})
}

func TestAPollLeavesAnIdleConnectionAlone(t *testing.T) {
	s := answering(answersIDs)
	polled(t, s, func(r *harness) {
		time.Sleep(time.Second)
		r.want("A1", "confirmed")
		synctest.Wait()
		before := len(s.all())
		time.Sleep(10 * time.Minute)
		n := len(s.all())
		assert.True(t, n == before && r.d.Connected(), n-before)
	})
}

// A waitingContext calls f when a ticket is about to wait for the printer's lock.
type waitingContext struct {
	context.Context
	once sync.Once
	f    func()
}

func (c *waitingContext) Done() <-chan struct{} {
	c.once.Do(c.f)
	return c.Context.Done()
}

func TestNoPollStartsOnceATicketWaits(t *testing.T) {
	wire := &tap{Dialer: hanging{}}
	polled(t, wire, func(r *harness) {
		time.Sleep(30 * time.Second) // the first poll has failed
		ctx, cancel := context.WithTimeout(r.t.Context(), 11*time.Minute)
		defer cancel()
		var polls int32
		_ = r.printWith(&waitingContext{Context: ctx, f: func() {
			before := wire.dialled.Load()
			time.Sleep(10 * time.Minute)
			polls = wire.dialled.Load() - before
		}}, r.p, orderOf("A1"), nil)
		assert.Equal(t, polls, 0)
		before := wire.dialled.Load()
		time.Sleep(10 * time.Minute)
		n := wire.dialled.Load() - before
		assert.True(t, n >= 9, n)
	})
}
