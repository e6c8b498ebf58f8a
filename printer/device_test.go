package printer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
)

func talkative() virtual.Options { return virtual.Options{Can: virtual.Everything, Kanji: true} }

func TestTheNextTicketTakesTheConnectionOver(t *testing.T) {
	inRig(t, talkative(), nil, func(r *rig) {
		for range 3 {
			r.want("A1", "confirmed")
			time.Sleep(900 * time.Millisecond)
		}
		if n := r.v.Clients(); n != 1 || !r.d.Status().Connected {
			t.Errorf("%d connections", n)
		}
		time.Sleep(2 * time.Second)
		if r.d.Status().Connected {
			t.Error("it is still connected")
		}
		r.want("A2", "confirmed")
		if n := r.v.Clients(); n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestATillGetsThePrinterBetweenTickets(t *testing.T) {
	o := talkative()
	o.Clients = 1
	inRig(t, o, nil, func(r *rig) {
		r.want("A1", "confirmed")
		time.Sleep(2 * time.Second)
		till, err := r.v.Dial(r.t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// A printer that is busy is not dead: it refuses.
		if o := r.want("A2", "clean"); !errors.Is(o.err, syscall.ECONNREFUSED) {
			t.Error(o.err)
		}
		r.wantState(printer.Unreachable)
		if err := till.Finish(r.t.Context()); err != nil {
			t.Error(err)
		}
		_ = till.Close()
		time.Sleep(time.Second)
		r.want("A2", "confirmed")
	})
}

func TestAPrinterThatServesAnotherClientIsBusyNotDead(t *testing.T) {
	inRig(t, talkative(), nil, func(r *rig) {
		r.want("A1", "confirmed")
		time.Sleep(2 * time.Second)
		till, err := r.v.Dial(r.t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if o := r.want("A2", "not ready"); !strings.Contains(o.err.Error(), "busy") {
				t.Error(o.err)
			}
			r.wantState(printer.Busy)
			time.Sleep(5 * time.Second)
		}
		_ = till.Finish(r.t.Context())
		_ = till.Close()
		time.Sleep(time.Second)
		r.want("A2", "confirmed")
		r.wantState(printer.Ready)
		r.wantPaper("A1 A2")
	})
}

func TestASwappedPrinterIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, mute := virtual.New(talkative()), virtual.New(virtual.Options{Kanji: true})
		wire := &swapped{to: good}
		r := newRig(t, mute, wire, nil)
		defer r.d.Release()
		r.want("A1", "confirmed")
		time.Sleep(time.Minute)
		wire.swap(mute)
		for range 60 { // as long as a till may hold it, and longer
			r.want("A2", "not ready")
			r.wantState(printer.Busy)
			time.Sleep(5*time.Second + 200*time.Millisecond)
		}
		r.want("A2", "sent")
		r.wantState(printer.Silent)
		r.wantPaper("A2")
	})
}

func TestAPrinterThatHungForLongIsBelievedAgainWhenItAnswers(t *testing.T) {
	inRig(t, talkative(), nil, func(r *rig) {
		r.want("A1", "confirmed")
		time.Sleep(time.Minute)
		till, err := r.v.Dial(r.t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for r.d.Status().State != printer.Silent {
			if o := r.print("A2"); o.err == nil || o.inDoubt {
				t.Fatalf("%s: %v", o.kind(), o.err)
			}
			time.Sleep(10 * time.Second)
		}
		_ = till.Finish(r.t.Context())
		_ = till.Close()
		time.Sleep(time.Minute)
		r.want("A2", "confirmed")
		r.wantPaper("A1 A2")
	})
}

func TestALingeringConnectionThatEndedIsNotUsed(t *testing.T) {
	for name, ends := range map[string]func(v *virtual.Printer){
		"Reset":      func(v *virtual.Printer) { v.Reset() },
		"PowerCycle": func(v *virtual.Printer) { v.PowerCycle() },
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, talkative(), nil, func(r *rig) {
				r.want("A1", "confirmed")
				ends(r.v)
				r.want("A2", "confirmed")
				r.wantPaper("A1 A2")
			})
		})
	}
}

func TestReleaseGivesTheConnectionUp(t *testing.T) {
	inRig(t, talkative(), nil, func(r *rig) {
		r.want("A1", "confirmed")
		r.d.Release()
		if r.d.Status().Connected {
			t.Error("still connected")
		}
		r.d.Release()
		// In the middle of a ticket: after it.
		r.v.Delay(100 * time.Millisecond)
		later(time.Second, r.d.Release)
		r.want("A2", "confirmed")
		if r.d.Status().Connected {
			t.Error("still connected")
		}
		r.want("A3", "confirmed")
		if !r.d.Status().Connected {
			t.Error("the device does not linger any more")
		}
	})
}

func TestTwoStationsAtOnePrinterTakeTurns(t *testing.T) {
	o := talkative()
	o.Clients, o.LinesPerSecond, o.ReceiveBuffer = 1, 5, 256
	inRig(t, o, nil, func(r *rig) {
		model, _ := profile.Lookup("epson-tm-t88")
		model.Kanji = true
		second := printer.NewPaper(printer.Options{Name: "bar", Profile: model, Device: r.d})
		done := make(chan outcome)
		for i := range 6 {
			p := r.p
			if i%2 == 1 {
				p = second
			}
			go func() { done <- r.printWith(r.t.Context(), p, dish(fmt.Sprintf("A%d", i)), nil) }()
		}
		for range 6 {
			if o := <-done; o.kind() != "confirmed" {
				t.Errorf("%s: %v", o.kind(), o.err)
			}
		}
		if r.v.Clients() != 1 {
			t.Errorf("%d connections", r.v.Clients())
		}
		if got := strings.Fields(r.paper()); len(got) != 6 {
			t.Errorf("on paper %q", got)
		}
	})
}

func TestEachCopyIsMarkedAndAllMustCome(t *testing.T) {
	for can, want := range map[virtual.Ability]string{virtual.Everything: "confirmed", statusOnly: "processed", 0: "sent"} {
		inRig(t, virtual.Options{Can: can, Kanji: true}, func(_ *printer.DeviceOptions, o *printer.Options) { o.Copies = 2 }, func(r *rig) {
			r.want("A1", want)
			r.wantPaper("A1 A1")
			for i, x := range r.v.Tickets() {
				if mark := fmt.Sprintf("COPY %d/2", i+1); !strings.Contains(x.Text, mark) {
					t.Errorf("no %s on\n%s", mark, x.Text)
				}
			}
		})
	}
	// The second one does not come: the ticket is in doubt, however well known the first is.
	inRig(t, virtual.Options{Can: virtual.Everything, Kanji: true, LinesPerSecond: 5}, func(_ *printer.DeviceOptions, o *printer.Options) { o.Copies = 2 }, func(r *rig) {
		r.want("A1", "confirmed")
		n := r.v.Out()
		later(100*time.Millisecond, func() {
			_ = r.v.Wait(r.t.Context(), n+1)
			r.v.Reset()
		})
		r.want("A2", "doubt")
	})
}

func TestTheBuzzerRingsOnceAndDifferentlyForAVoid(t *testing.T) {
	inRig(t, talkative(), func(_ *printer.DeviceOptions, o *printer.Options) {
		o.Profile.Buzzer, o.Copies, o.Buzz, o.BuzzVoid = profile.EscB, 2, 2, 3
	}, func(r *rig) {
		r.want("A1", "confirmed")
		void := dish("A2")
		void.Ticket.Void, void.Ticket.Lines[0].Void = true, true
		if o := r.printWith(r.t.Context(), r.p, void, nil); o.err != nil {
			t.Error(o.err)
		}
		synctest.Wait()
		var rings []string
		for _, x := range r.v.Tickets() {
			if i := strings.Index(string(x.Raw), "\x1bB"); i >= 0 {
				rings = append(rings, fmt.Sprintf("% x", x.Raw[i+2:i+4]))
			}
		}
		if len(rings) != 2 || rings[0] == rings[1] || rings[0][:2] != "02" || rings[1][:2] != "03" {
			t.Errorf("it rang %q", rings)
		}
	})
}

func TestATemplateThatFailsPrints(t *testing.T) {
	// It works on the sample it is tried on when it is read, and not on an order without notes.
	bad, err := layout.ParseTemplate(`{{define "header"}}{{index .Notes 0}}{{end}}`)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	inRig(t, talkative(), func(_ *printer.DeviceOptions, o *printer.Options) {
		o.Layout.Template, o.Layout.OnTemplateError = bad, func(error) { failed++ }
	}, func(r *rig) {
		r.want("A1", "confirmed")
		r.wantPaper("A1")
	})
	if failed == 0 {
		t.Error("nobody heard of it")
	}
}

func TestAJammedCutterKeepsTheNextTicketAndNotThisOne(t *testing.T) {
	inRig(t, talkative(), nil, func(r *rig) {
		r.want("A1", "confirmed")
		r.v.JamAtCut()
		o := r.want("A2", "confirmed")
		if o.took > 10*time.Second {
			t.Errorf("a cut was waited for %s", o.took)
		}
		r.wantState(printer.CutterError)
		r.want("A3", "not ready")
		r.v.Set(virtual.CutterJam, false)
		r.want("A3", "confirmed")
		r.wantPaper("A1 A2 A3")
	})
}

func TestACutThatDidNotGoOutIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := virtual.New(virtual.Options{Can: virtual.Everything, Kanji: true})
		ctx, cancel := context.WithCancel(t.Context())
		r := newRig(t, v, interrupting{v, cancel}, nil)
		defer r.d.Release()
		// The stop comes after the proof and before the cut: the ticket is out.
		if o := r.printWith(ctx, r.p, dish("A1"), nil); o.kind() != "confirmed" {
			t.Errorf("%s: %v", o.kind(), o.err)
		}
		if r.v.Out() != 0 {
			t.Fatal("it was cut")
		}
		r.want("A2", "confirmed")
		r.wantPaper("A1 A2")
	})
}

func TestAfterABrokenTicketThePrinterIsResynchronised(t *testing.T) {
	nuls := func(v *virtual.Printer) int {
		synctest.Wait()
		x := v.Tickets()
		raw := x[len(x)-1].Raw
		return strings.Count(string(raw), "\x00\x00")
	}
	inRig(t, virtual.Options{Can: virtual.RealTime | virtual.ProcessID, Kanji: true}, nil, func(r *rig) {
		r.want("A1", "confirmed")
		if n := nuls(r.v); n < padding()/4 {
			t.Errorf("%d pairs of padding before the first ticket: who knows what came before", n)
		}
		time.Sleep(time.Minute)
		r.v.ResetAfter(150, 1)
		r.want("A2", "doubt")
		r.want("A3", "confirmed")
		if n := nuls(r.v); n < 20 {
			t.Errorf("%d pairs of padding", n)
		}
		r.want("A4", "confirmed")
		if nuls(r.v) > 0 {
			t.Error("padding again")
		}
	})
}
