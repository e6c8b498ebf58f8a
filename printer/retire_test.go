package printer_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
)

func TestARetirementEndsAPollAndDoesNotAffectTheNextTicket(t *testing.T) {
	poll := func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 5 * time.Minute }
	withHarness(t, answersAll(), poll, func(r *harness) {
		ctx, cancel := context.WithCancel(r.t.Context())
		go r.d.Watch(ctx)
		time.Sleep(time.Minute)
		r.v.Stall()
		time.Sleep(4*time.Minute + time.Second) // a poll is running
		r.d.Retire()
		synctest.Wait()
		if r.d.Status().Connected {
			t.Error("the poll still waits") // after a reload it would, for an answer
		}
		r.v.Repair()
		time.Sleep(time.Minute)
		r.want("A1", "confirmed")
		cancel()
		synctest.Wait()
	})
}

func TestAPanicLetsThePrinterGo(t *testing.T) {
	o := answersAll()
	o.Clients = 1
	withHarness(t, o, nil, func(r *harness) {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _ = r.p.Print(r.t.Context(), orderOf("A1"), func(context.Context) error { panic("a mistake") })
		}()
		time.Sleep(time.Second)
		r.want("A2", "confirmed")
	})
}

func TestWaitForPersonLimitsAWholeTicketNotEachChunk(t *testing.T) {
	// This printer reports that it is out of paper, and still takes a part of the ticket every few minutes.
	synctest.Test(t, func(t *testing.T) {
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
		r := newScriptedHarness(t, s)
		r.want("A1", "confirmed")
		if o := r.printWith(t.Context(), r.p, orderOfLines(2000), nil); o.kind() != "doubt" || o.took > 40*time.Minute {
			t.Errorf("%s after %s: %v", o.kind(), o.took, o.err)
		}
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
		ctx, cancel := context.WithCancel(r.t.Context())
		go next.Watch(ctx)
		r.d.Retire()
		if o := <-done; o.kind() != "confirmed" {
			t.Errorf("%s: %v", o.kind(), o.err)
		}
		p := printer.NewPaper(printer.Options{Name: "grill", Profile: mustProfile(t), Device: next})
		if o := r.printWith(r.t.Context(), p, orderOf("A2"), nil); o.kind() != "confirmed" {
			t.Errorf("%s: %v", o.kind(), o.err)
		}
		cancel()
		synctest.Wait()
		if n := r.log.count("unreachable"); n > 0 {
			t.Errorf("%d times it was said to be unreachable, while it printed", n)
		}
	})
}
