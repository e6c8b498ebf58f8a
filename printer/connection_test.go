package printer_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

func TestACutOfWhichTheArrivalIsNotKnownIsSentAgain(t *testing.T) {
	f := &tap{Dialer: answering(answersIDs)}
	withScript(t, f, func(r *harness) {
		for i, want := range []int{1, 2, 4} { // with the connections of the ticket before
			f.finish.set(map[bool]error{true: io.ErrUnexpectedEOF}[i == 1])
			r.want("A1", "confirmed")
			synctest.Wait()
			assert.Equal(t, strings.Count(f.script().all(), theCut), want, i+1)
			hangUp(r.d)
		}
	})
}

func TestATicketIsUntouchedIfTheConnectionEndedBeforeItsFirstByte(t *testing.T) {
	f := &tap{Dialer: answering(answersIDs)}
	withScript(t, f, func(r *harness) {
		_, err := r.p.Print(r.t.Context(), orderOf("A1"), func(context.Context) error {
			f.closed.set(errors.New("the printer closed it"))
			return nil
		})
		assert.True(t, ticket.IsUntouched(err) && !strings.Contains(f.script().all(), "job 1"), err, f.script().all())
		r.wantState(printer.Unreachable)
	})
}

func TestEachCopysCutIsCountedByItself(t *testing.T) {
	// The first copy was cut; the cut of the second one, which is in doubt, was never sent.
	synctest.Test(t, func(t *testing.T) {
		cuts := cutter(func(n int) bool { return n == 4 })
		r := newHarness(t, nil, cuts, func(_ *printer.DeviceOptions, o *printer.Options) { o.Copies = 2 })
		r.want("A1", "confirmed")
		r.want("A2", "doubt")
		before := strings.Count(cuts.all(), theCut)
		assert.Equal(t, r.print("A3").err, nil)
		synctest.Wait()
		assert.Equal(t, strings.Count(cuts.all(), theCut)-before, 3)
	})
}

func TestAPrinterThatWaitsForAPersonKeepsTheConnection(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.v.Set(virtual.PaperOut, true)
		r.want("A1", "not ready")
		r.want("A1", "not ready")
		assert.Equal(t, r.v.ClientCount(), 1)
	})
}

func TestAConnectionOnWhichAnAnswerIsMissingIsNotReused(t *testing.T) {
	// An answer to DLE EOT was lost while the ticket printed.
	lost := false
	s := &scriptedPrinter{}
	s.answer = func(_ *scriptedPrinter, c net.Conn, all string) {
		id := idReply(all)
		switch {
		case behind(all) && id != nil && !lost:
			later(2500*time.Millisecond, func() { _, _ = c.Write(id) })
		case behind(all) && !lost && last(all, "\x10\x04\x01"):
			lost = true
		case answerStatus(c, all):
		case id != nil:
			_, _ = c.Write(id)
		}
	}
	withScript(t, s, func(r *harness) {
		r.want("A1", "confirmed")
		o := r.want("A2", "confirmed")
		assert.True(t, o.took <= time.Second && s.clients() == 2, o.took, s.clients())
	})
}

func TestAPollShowsAHungPrinterAsHungAndSendsAWorkingOneNoHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		s := answering(func(c net.Conn, all string) {
			if !hangs.Load() {
				answersIDs(c, all)
			}
		})
		r := newHarness(t, nil, s, func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 5 * time.Minute })
		go r.d.Watch(r.t.Context())
		time.Sleep(time.Minute)
		asked := strings.Count(s.all(), theID)
		time.Sleep(30 * time.Minute)
		assert.Equal(t, strings.Count(s.all(), theID), asked, "a poll says hello")
		hangs.Store(true)
		r.want("A1", "not ready")
		time.Sleep(10 * time.Minute)
		r.wantState(printer.Hung)
		hangs.Store(false)
		time.Sleep(10 * time.Minute)
		r.wantState(printer.Ready)
	})
}

func TestAPrinterWithoutAStatusIsReadyOnlyWhenItHasAnsweredAHello(t *testing.T) {
	// It answers GS r, that its paper is low, and no DLE EOT, so a poll that sends no hello hears nothing.
	synctest.Test(t, func(t *testing.T) {
		var silent atomic.Bool
		asked := countGSr()
		s := &scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			for range asked(c, all) {
				if !silent.Load() {
					_, _ = c.Write([]byte{0x03})
				}
			}
		}}
		r := newHarness(t, nil, s, func(d *printer.DeviceOptions, _ *printer.Options) {
			d.Confirm, d.PollEvery = profile.ByStatus, time.Minute
		})
		go r.d.Watch(r.t.Context())
		r.wantAlone("A1", "processed")
		before := strings.Count(s.all(), theGSr)
		time.Sleep(10 * time.Minute)
		assert.Equal(t, strings.Count(s.all(), theGSr), before, "a poll says hello to a printer that is ready")
		reported := strings.Join(r.wantState(printer.Ready).Conditions, ", ")
		assert.Equal(t, reported, "paper_low", "a poll forgets the report")

		silent.Store(true)
		r.want("A2", "not ready")
		since := r.wantState(printer.Busy).Since
		time.Sleep(70 * time.Second)
		again := r.wantState(printer.Busy).Since
		assert.True(t, again.Equal(since), "a poll without an answer ends the state", since, again)

		time.Sleep(time.Minute)
		r.want("A2", "not ready")
		r.wantState(printer.Hung)
		silent.Store(false)
		time.Sleep(2 * time.Minute)
		r.wantState(printer.Ready)

		silent.Store(true)
		r.want("A3", "not ready")
		r.wantState(printer.Busy)
		silent.Store(false)
		time.Sleep(2 * time.Minute)
		r.wantState(printer.Ready)
	})
}

func TestAPrinterIsReachableAgainWithoutTheOldError(t *testing.T) {
	withHarness(t, answersAll(), neverAsked, func(r *harness) {
		_ = r.v.Refuse(true)
		r.want("A1", "clean")
		assert.True(t, r.wantState(printer.Unreachable).Err != "", "no reason")
		_ = r.v.Refuse(false)
		r.want("A1", "sent")
		assert.Equal(t, r.wantState(printer.Unknown).Err, "")
	})
}

func TestADialEndsWithItsTicketOrAfterTenSeconds(t *testing.T) {
	withScript(t, hanging{}, func(r *harness) {
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		o := r.printWith(ctx, r.p, orderOf("A1"), nil)
		assert.Equal(t, o.kind(), "clean", o.err)
		r.wantState(printer.Unknown)
		o = r.want("A1", "clean")
		assert.True(t, errors.Is(o.err, context.DeadlineExceeded) && o.took == 10*time.Second, o.err, o.took)
	})
}

func TestALingerOfZeroKeepsNoConnection(t *testing.T) {
	none := func(d *printer.DeviceOptions, _ *printer.Options) { d.Linger = 0 }
	withHarness(t, answersAll(), none, func(r *harness) {
		for i := range 3 {
			r.want("A1", "confirmed")
			n := r.v.ClientCount()
			assert.True(t, !r.d.Connected() && n == i+1, n, i+1)
		}
	})
}

func TestNoTicketIsBegunOnASilentPrinterThatDropsItsClientsAfter50Milliseconds(t *testing.T) {
	for name, ends := range map[string]time.Duration{
		"the reader sees it": 50 * time.Millisecond, "only the connection knows": 0,
	} {
		f := &tap{Dialer: &scriptedPrinter{}, ends: ends}
		withScript(t, f, func(r *harness) {
			for range 4 { // more than maxDroppedProbes
				if ends == 0 {
					f.closed.set(nil)
					later(50*time.Millisecond, func() { f.closed.set(errors.New("the printer closed it")) })
				}
				o := r.want("A1", "clean")
				assert.True(t, o.began == 0, name, o.err)
			}
		})
	}
}

func TestARetirementEndsAPollAndDoesNotAffectTheNextTicket(t *testing.T) {
	poll := func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 5 * time.Minute }
	withHarness(t, answersAll(), poll, func(r *harness) {
		go r.d.Watch(r.t.Context())
		time.Sleep(time.Minute)
		r.v.Stall()
		time.Sleep(4*time.Minute + time.Second) // a poll is running
		r.d.Retire()
		synctest.Wait()
		assert.True(t, !r.d.Connected(), "the poll still waits") // after a reload it would, for an answer
		r.v.Repair()
		time.Sleep(time.Minute)
		r.want("A1", "confirmed")
	})
}

func TestAPanicLetsThePrinterGo(t *testing.T) {
	o := answersAll()
	o.Clients = 1
	withHarness(t, o, nil, func(r *harness) {
		func() {
			defer func() {
				assert.True(t, recover() != nil, "the panic was swallowed")
			}()
			_, _ = r.p.Print(r.t.Context(), orderOf("A1"), func(context.Context) error { panic("a mistake") })
		}()
		time.Sleep(time.Second)
		r.want("A2", "confirmed")
	})
}

func TestWaitForPersonLimitsAWholeTicketNotEachChunk(t *testing.T) {
	// This printer reports that it is out of paper, and still takes a part of the ticket every few minutes.
	out, taken := false, 0
	s := &scriptedPrinter{}
	s.answer = func(_ *scriptedPrinter, c net.Conn, all string) {
		switch {
		case out && strings.HasSuffix(all, "\x10\x04\x04"):
			_, _ = c.Write([]byte{0x72})
		case answerStatus(c, all):
		case idReply(all) != nil:
			_, _ = c.Write(idReply(all))
		case len(all) > 12000 && taken < len(all)/1024:
			if taken++; !out {
				out = true
				_, _ = c.Write([]byte{0x18, 0, 0x0c, 0x0f})
			}
			time.Sleep(9 * time.Minute)
		}
	}
	withScript(t, s, func(r *harness) {
		r.want("A1", "confirmed")
		o := r.printWith(r.t.Context(), r.p, orderOfLines(2000), nil)
		assert.True(t, o.kind() == "doubt" && o.took <= 40*time.Minute, o.kind(), o.took, o.err)
		time.Sleep(time.Hour)
	})
}

func TestAfterAReloadTheNewDeviceWaitsUntilTheOldOneHasPrinted(t *testing.T) {
	o := answersAll()
	o.Clients, o.LinesPerSecond = 1, 2
	withHarness(t, o, func(d *printer.DeviceOptions, _ *printer.Options) {
		d.Lock, d.PollEvery = printer.NewLock(), time.Minute
	}, func(r *harness) {
		done := make(chan outcome)
		go func() { done <- r.print("A1") }()
		time.Sleep(time.Second)
		next := printer.NewDevice(r.dev)
		defer next.Retire()
		go next.Watch(r.t.Context())
		r.d.Retire()
		synctest.Wait()
		assert.Equal(t, next.Status().State, printer.Unknown)

		first := <-done
		assert.Equal(t, first.kind(), "confirmed", first.err)
		synctest.Wait() // until the printer, which serves one client, has seen the end of the first
		p := printer.NewPaper(printer.Options{Name: "grill", Profile: eightyMillimetres, Device: next})
		r.wantFrom(p, orderOf("A2"), "confirmed")
	})
}

// hanging is a dialer that waits until its context ends.
type hanging struct{}

func (hanging) Dial(ctx context.Context) (transport.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
