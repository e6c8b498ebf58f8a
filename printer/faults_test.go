package printer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ticketrail/printer/virtual"
)

func TestNoTicketByteIsSentIfBeginFails(t *testing.T) {
	for _, can := range []virtual.Capability{virtual.Everything, realTimeOnly, 0} {
		withHarness(t, virtual.Options{Can: can, Kanji: true}, nil, func(r *harness) {
			for range 3 {
				o := r.printWith(r.t.Context(), r.p, orderOf("A1"), errDisk)
				if !errors.Is(o.err, errDisk) || o.began != 1 {
					t.Errorf("begun %d times, %v", o.began, o.err)
				}
			}
			r.wantPaper("")
			if n := r.v.ClientCount(); can == virtual.Everything && n != 1 {
				t.Errorf("%d connections", n)
			}
			o := r.print("A2")
			if o.err != nil {
				t.Error(o.err)
			}
			r.wantPaper("A2")
		})
	}
}

func TestACancelledContextEndsEachStepAtOnce(t *testing.T) {
	stop := errors.New("the daemon stops")
	for _, tt := range []struct {
		name   string
		o      virtual.Options
		breaks func(r *harness)
		want   string
	}{
		{"WhileDialling", virtual.Options{Can: virtual.Everything}, func(r *harness) { r.v.PowerOff() }, "clean"},
		{"WhileAskingHowItIs", virtual.Options{Can: virtual.Everything}, func(r *harness) { r.v.Stall() }, "clean"},
		{"WhileWriting", virtual.Options{Can: virtual.Everything}, func(r *harness) { r.v.StallAfter(60) }, "doubt"},
		{
			"WhileWaitingForTheAnswer", virtual.Options{Can: virtual.Everything, LinesPerSecond: 1},
			func(*harness) {}, "doubt",
		},
		{"WhileWaitingForAPerson", virtual.Options{Can: virtual.Everything, LinesPerSecond: 10}, func(r *harness) {
			later(500*time.Millisecond, func() { r.v.Set(virtual.PaperOut, true) })
		}, "doubt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Kanji = true
			withHarness(t, tt.o, nil, func(r *harness) {
				r.want("A1", "confirmed")
				time.Sleep(time.Minute)
				tt.breaks(r)
				ctx, cancel := context.WithCancelCause(r.t.Context())
				later(2*time.Second, func() { cancel(stop) })
				o := r.printWith(ctx, r.p, orderOf("A2"), nil)
				if o.kind() != tt.want || !errors.Is(o.err, stop) || o.took != 2*time.Second {
					t.Errorf("%s after %s: %v", o.kind(), o.took, o.err)
				}
				r.v.PowerOn()
				r.v.Repair()
				r.v.Refill()
				time.Sleep(time.Minute)
				r.want("A3", "confirmed")
			})
		})
	}
}

func TestACancelledContextEndsAProbeAtOnce(t *testing.T) {
	stop := errors.New("the daemon stops")
	for after := range 20 {
		withHarness(t, virtual.Options{Can: realTimeOnly, Kanji: true}, nil, func(r *harness) {
			ctx, cancel := context.WithCancelCause(r.t.Context())
			d := time.Duration(after)*300*time.Millisecond + time.Millisecond
			later(d, func() { cancel(stop) })
			o := r.printWith(ctx, r.p, orderOf("A1"), nil)
			if o.err != nil && (o.kind() != "clean" || !errors.Is(o.err, stop) || o.took != d) {
				t.Errorf("%s after %s, want %s: %v", o.kind(), o.took, d, o.err)
			}
			cancel(nil)
			r.want("A2", "sent")
		})
	}
}
