package printer_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// harnessOverTCP is a harness on a real socket.
func harnessOverTCP(t *testing.T, o virtual.Options) *harness {
	t.Helper()
	o.Kanji = true
	v := virtual.New(o)
	d := onTCP(t, v)
	r := newHarness(t, v, d, func(d *printer.DeviceOptions, _ *printer.Options) { d.Linger = 100 * time.Millisecond })
	t.Cleanup(func() {
		r.d.Retire()
		for _, s := range v.Problems() {
			t.Errorf("the printer recorded a problem: %s", s)
		}
	})
	return r
}

func TestOverTCPTheProofIsWhatThePrinterAnswered(t *testing.T) {
	for can, want := range proofs {
		r := harnessOverTCP(t, virtual.Options{Can: can})
		for i := range 5 {
			r.want("A1", want)
			if i == 2 {
				time.Sleep(200 * time.Millisecond) // the connection is closed or reused: both must work
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := r.v.Wait(ctx, 5); err != nil {
			t.Error(err)
		}
		cancel()
	}
}

func TestOverTCPAnIdleConnectionThatWasResetIsNotReused(t *testing.T) {
	r := harnessOverTCP(t, virtual.Options{Can: virtual.Everything})
	for range 10 {
		r.want("A1", "confirmed")
		r.v.Reset()
	}
	hangUp(r.d)
	n := 0
	for _, x := range r.v.Tickets() {
		if x.Text != "" { // a cut of which it is not known that it came to the printer is repeated
			n++
		}
	}
	if n != 10 {
		t.Errorf("%d tickets", n)
	}
}

func TestOverTCPAResetMidTicketIsInDoubt(t *testing.T) {
	for _, can := range []virtual.Capability{virtual.Everything, statusOnly, 0} {
		r := harnessOverTCP(t, virtual.Options{Can: can})
		if o := r.print("A1"); o.err != nil {
			t.Fatal(o.err)
		}
		hangUp(r.d)
		after := 200
		if can == 0 {
			after = padding() + 20
		}
		r.v.ResetAfter(after, 1)
		o := r.want("A2", "doubt")
		// The last is that of the orderly end, if the reset came after the last byte.
		if !errors.Is(o.err, syscall.ECONNRESET) && !errors.Is(o.err, syscall.EPIPE) &&
			!errors.Is(o.err, syscall.ENOTCONN) {
			t.Error(o.err)
		}
		again := orderOf("A2")
		again.Doubt = true
		if o := r.printWith(t.Context(), r.p, again, nil); o.err != nil {
			t.Error(o.err)
		}
	}
}

func TestOverTCPAPrinterOutOfPaperIsWaitedFor(t *testing.T) {
	r := harnessOverTCP(t, virtual.Options{Can: virtual.Everything})
	r.want("A1", "confirmed")
	r.v.Set(virtual.PaperOut, true)
	r.want("A2", "not ready")
	r.v.Set(virtual.PaperOut, false)
	r.v.PaperFor(3)
	go func() {
		time.Sleep(300 * time.Millisecond) // the duration does not matter
		r.v.Refill()
	}()
	r.want("A2", "confirmed")
	hangUp(r.d)
	if n := r.v.TicketCount(); n != 2 {
		t.Errorf("%d tickets", n)
	}
}

func TestOverTCPACancelledContextEndsTheWaitForTheAnswerAtOnce(t *testing.T) {
	r := harnessOverTCP(t, virtual.Options{Can: virtual.Everything})
	r.want("A1", "confirmed")
	r.v.Delay(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	taken := r.v.BytesRead()
	go func() {
		_ = r.v.WaitBytes(ctx, taken+100) // the questions have 58
		cancel()
	}()
	o := r.printWith(ctx, r.p, orderOf("A2"), nil)
	if o.kind() != "doubt" || !errors.Is(o.err, context.Canceled) || ticket.IsUntouched(o.err) ||
		o.took > time.Minute {
		t.Errorf("%s after %s: %v", o.kind(), o.took, o.err)
	}
}
