package printer_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/escpos"
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
		// A printer that is busy is not dead: it refuses, and says so.
		if o := r.want("A2", "clean"); !strings.Contains(o.err.Error(), "till") {
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
		for range 5 {
			r.want("A2", "not ready")
		}
		r.want("A2", "sent")
		r.wantState(printer.Silent)
		r.wantPaper("A2")
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
		if second.Device() != r.d {
			t.Fatal("another device")
		}
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
	bad, err := layout.ParseTemplate(`{{define "header"}}{{index .Nothing 3}}{{end}}`)
	if err != nil {
		t.Skip(err)
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
		if nuls(r.v) > 0 {
			t.Error("padding for nothing")
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
	// After a start nobody knows what the ticket in doubt left behind.
	inRig(t, talkative(), nil, func(r *rig) {
		model, _ := profile.Lookup("generic-80mm")
		d := dish("A1")
		d.Doubt = true
		if o := r.printWith(r.t.Context(), r.p, d, nil); o.kind() != "confirmed" {
			t.Error(o.err)
		}
		if n := nuls(r.v); n < len(escpos.Resync(model))/4 {
			t.Errorf("%d pairs of padding", n)
		}
		if o := r.printWith(r.t.Context(), r.p, d, nil); o.kind() != "confirmed" {
			t.Error(o.err)
		}
		if nuls(r.v) > 0 {
			t.Error("padding again")
		}
	})
}

func TestWhatAPrinterCanIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := virtual.New(talkative())
		r := newRig(t, v, v, nil)
		r.want("A1", "confirmed")
		r.d.Release()
		probed := v.Taken()
		// A restart: it is asked how it is, and no more.
		d := printer.NewDevice(r.dev)
		defer d.Release()
		p := printer.NewPaper(printer.Options{Name: "grill", Profile: mustProfile(t), Device: d})
		if o := r.printWith(t.Context(), p, dish("A1"), nil); o.kind() != "confirmed" {
			t.Error(o.err)
		}
		if n := v.Taken() - probed; n >= probed {
			t.Errorf("%d bytes before, %d after: it was probed again", probed, n)
		}
		if d.Status().Probed.IsZero() || d.Status().Ability != "confirmed" || r.mem.writes != 1 {
			t.Errorf("%+v, %d writes", d.Status(), r.mem.writes)
		}
	})
}

func mustProfile(t *testing.T) profile.Profile {
	t.Helper()
	p, ok := profile.Lookup("generic-80mm")
	if !ok {
		t.Fatal("no such profile")
	}
	return p
}

func TestAMemoryThatFailsOrLiesKeepsNoTicketBack(t *testing.T) {
	for name, damage := range map[string]func(s *shelf){
		"CannotRead":  func(s *shelf) { s.get = errDisk },
		"CannotWrite": func(s *shelf) { s.put = errDisk },
		"NoJSON":      func(s *shelf) { s.m["grill"] = []byte("{") },
		"Nonsense":    func(s *shelf) { s.m["grill"] = []byte(`{"fence":"telepathy","real_time":[9]}`) },
		"NoQuestions": func(s *shelf) { s.m["grill"] = []byte(`{"fence":"","real_time":[]}`) },
		"TooMany":     func(s *shelf) { s.m["grill"] = []byte(`{"fence":"process_id","real_time":[1,2,2,3,4]}`) },
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, talkative(), nil, func(r *rig) {
				damage(r.mem)
				r.want("A1", "confirmed")
				r.want("A2", "confirmed")
				if strings.Contains(name, "Cannot") && r.log.count("level=WARN") == 0 {
					t.Error("nobody was told")
				}
			})
		})
	}
}

func TestALogLineForEachChangeAndNoMore(t *testing.T) {
	inRig(t, talkative(), nil, func(r *rig) {
		r.want("A1", "confirmed")
		r.v.Set(virtual.PaperOut, true)
		for range 5 {
			r.want("A2", "not ready")
			time.Sleep(10 * time.Second)
		}
		s := r.wantState(printer.PaperOut)
		if !strings.Contains(s.Advice, "paper") || s.Fine() || len(s.Reported) != 2 || time.Since(s.Since) < 40*time.Second || time.Since(s.Reported[0].Since) < 40*time.Second {
			t.Errorf("%+v", s)
		}
		r.v.Set(virtual.PaperOut, false)
		r.want("A2", "confirmed")
		r.v.Set(virtual.PaperLow, true)
		r.want("A3", "confirmed")
		if s := r.wantState(printer.Ready); !s.Fine() || !strings.Contains(s.Advice, "roll") || !s.Conditions.Has(escpos.PaperLow) {
			t.Errorf("%+v", s)
		}
		r.want("A4", "confirmed")
		for line, n := range map[string]int{"out of paper": 1, "printer is ready": 2, "paper is low": 1, "level=WARN": 2} {
			if got := r.log.count(line); got != n {
				t.Errorf("%q is %d times in the log, want %d", line, got, n)
			}
		}
	})
}

func TestWatchAsksAnIdlePrinterAndNeverDelaysATicket(t *testing.T) {
	poll := func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 5 * time.Minute }
	inRig(t, talkative(), poll, func(r *rig) {
		ctx, cancel := context.WithCancel(r.t.Context())
		defer cancel()
		go r.d.Watch(ctx)
		time.Sleep(10 * time.Second) // found out before the first ticket
		if s := r.wantState(printer.Ready); s.Ability != "confirmed" || s.Connected {
			t.Errorf("%+v", s)
		}
		r.v.Set(virtual.CoverOpen, true)
		time.Sleep(5 * time.Minute)
		r.wantState(printer.CoverOpen)
		r.v.Set(virtual.CoverOpen, false)
		time.Sleep(5 * time.Minute)
		r.wantState(printer.Ready)
		_ = r.v.Refuse(true)
		time.Sleep(5 * time.Minute)
		r.wantState(printer.Unreachable)
		_ = r.v.Refuse(false)
		time.Sleep(5 * time.Minute)
		r.wantState(printer.Ready)
		if r.v.Out() > 0 {
			t.Error("a poll printed")
		}
		// A poll that hangs gives way to a ticket.
		r.v.Stall()
		time.Sleep(4*time.Minute + 51*time.Second)
		r.v.Repair()
		if o := r.want("A1", "confirmed"); o.took > time.Second {
			t.Errorf("the ticket waited %s", o.took)
		}
		cancel()
		synctest.Wait()
	})
}

func TestASilentPrinterIsAskedAgainAfterAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mute, good := virtual.New(virtual.Options{Kanji: true}), virtual.New(talkative())
		wire := &swapped{to: mute}
		r := newRig(t, good, wire, func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 5 * time.Minute })
		ctx, cancel := context.WithCancel(t.Context())
		go r.d.Watch(ctx)
		time.Sleep(time.Minute)
		r.want("A1", "sent")
		wire.swap(good)
		time.Sleep(30 * time.Minute)
		r.want("A2", "sent")
		if n := mute.Clients(); n != 2 {
			t.Errorf("%d connections to a printer that never answers, want a probe and a ticket", n)
		}
		time.Sleep(40 * time.Minute)
		r.want("A3", "confirmed")
		r.d.Release()
		cancel()
		synctest.Wait()
	})
}

func TestWatchWithoutAPollOnlyWaits(t *testing.T) {
	inRig(t, talkative(), nil, func(r *rig) {
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Hour)
		defer cancel()
		r.d.Watch(ctx)
		if r.v.Clients() > 0 {
			t.Error("it was polled")
		}
	})
}

func TestStatesAndTheirAdviceAreForPeople(t *testing.T) {
	if len(printer.States()) != 13 {
		t.Errorf("%q", printer.States())
	}
	d := printer.NewDevice(printer.DeviceOptions{Name: "x", Dialer: virtual.New(virtual.Options{}), Logger: slog.New(slog.DiscardHandler)})
	if s := d.Status(); s.State != printer.Unknown || !s.Fine() || s.Advice != "" || s.Ability != "" {
		t.Errorf("%+v", s)
	}
}

func TestAPrinterMayBeMissingInNoOptions(t *testing.T) {
	for name, f := range map[string]func(){
		"NoName":   func() { printer.NewDevice(printer.DeviceOptions{Dialer: virtual.New(virtual.Options{})}) },
		"NoDialer": func() { printer.NewDevice(printer.DeviceOptions{Name: "x"}) },
		"NoDevice": func() { printer.NewPaper(printer.Options{Name: "x", Profile: mustProfile(t)}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			f()
		}()
	}
}
