package printer_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/virtual"
)

// A printer that gave no answer, or no fence, is asked again. These tests are about what that may not cost.

func TestASilentPrinterThatDropsItsClientsIsDialledTwiceForATicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedPrinter{}
		wire := &replaceableDialer{to: s}
		r := newHarness(t, nil, wire, nil)
		r.want("A1", "sent")
		wire.replace(&tap{Dialer: s, ends: 50 * time.Millisecond})
		before := s.clients()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if o := r.printWith(ctx, r.p, orderOf("A2"), nil); o.kind() != "clean" || s.clients() != before+2 {
			t.Errorf("%s: %v, %d connections", o.kind(), o.err, s.clients()-before)
		}
	})
}

func TestASilentPrinterThatAnswersSlowlyByNowIsConfirmed(t *testing.T) {
	// The first question of a ticket to a silent printer is answered after 80 ms.
	synctest.Test(t, func(t *testing.T) {
		wire := &replaceableDialer{to: &scriptedPrinter{}}
		r := newHarness(t, nil, wire, nil)
		r.want("A1", "sent")
		wire.replace(&scriptedPrinter{answer: func(_ *scriptedPrinter, c net.Conn, all string) {
			if last(all, "\x10\x04\x01") {
				time.Sleep(80 * time.Millisecond)
			}
			if !answerStatus(c, all) {
				answersIDs(c, all)
			}
		}})
		r.want("A2", "confirmed")
	})
}

func TestAPrinterThatClosesForTheFenceOfALaterProbePrintsTheTicketWithoutOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drop := false
		r := newScriptedHarness(t, answering(func(c net.Conn, all string) {
			if drop && idReply(all) != nil {
				_ = c.Close()
			}
		}))
		r.want("A1", "sent")
		time.Sleep(time.Minute)
		drop = true
		r.want("A2", "sent")
	})
}

func TestAPrinterWithoutAFenceIsPolledForItsStatus(t *testing.T) {
	poll := func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 5 * time.Minute }
	withHarness(t, virtual.Options{Can: virtual.RealTime, Kanji: true}, poll, func(r *harness) {
		ctx, cancel := context.WithCancel(r.t.Context())
		go r.d.Watch(ctx)
		time.Sleep(4*time.Hour + time.Minute) // a minute after a poll; by now it is probed once an hour
		for range 6 {
			r.v.Set(virtual.CoverOpen, true)
			time.Sleep(5 * time.Minute)
			r.wantState(printer.CoverOpen)
			r.v.Set(virtual.CoverOpen, false)
			time.Sleep(5 * time.Minute)
			r.wantState(printer.Ready)
		}
		cancel()
		synctest.Wait()
	})
}

func TestAPrinterThatAcceptsAndAnswersNothingYetIsNotSilent(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.want("A1", "confirmed")
		hangUp(r.d)
		_ = r.v.Refuse(true)
		r.want("A2", "clean")
		_ = r.v.Refuse(false)
		r.v.Stall()
		later(time.Second, func() { r.wantState(printer.Unreachable) })
		r.want("A2", "not ready")
		r.wantState(printer.Busy)
	})
}

func TestOnlyThePollThatProbesResetsThePrinter(t *testing.T) {
	s := answering(answersIDs)
	polled(t, s, func(r *harness) {
		time.Sleep(10*time.Minute + 30*time.Second)
		if n := strings.Count(s.all(), "\x1b@"); n != 1 || s.clients() < 10 {
			t.Errorf("%d resets on %d connections", n, s.clients())
		}
	})
}
