package printer_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

const (
	statusOnly   = virtual.RealTime | virtual.StatusQuery | virtual.ASB
	realTimeOnly = virtual.RealTime
)

// proofs is the outcome of a ticket by the printer's answers.
var proofs = map[virtual.Capability]string{virtual.Everything: "confirmed", statusOnly: "processed", 0: "sent"}

func TestConfirmNoneSendsNoQuestion(t *testing.T) {
	o := virtual.Options{Can: virtual.Everything, Kanji: true}
	withHarness(t, o, func(d *printer.DeviceOptions, _ *printer.Options) {
		d.Confirm, d.PollEvery = profile.NoConfirm, time.Minute
	}, func(r *harness) {
		go r.d.Watch(r.t.Context())
		time.Sleep(time.Hour)
		_, err := r.d.Probe(r.t.Context()) // nor may a person ask
		assert.Contains(t, fmt.Sprint(err), "confirm: none")
		assert.Equal(t, r.v.ClientCount(), 0)
		r.want("A1", "sent")
		s := string(r.v.Tickets()[0].Raw)
		asked := strings.Contains(s, "\x10\x04") || strings.Contains(s, "\x1dr") || strings.Contains(s, "\x1d(H")
		assert.True(t, !asked, s)
		r.wantState(printer.Unknown)
	})
}

func TestAConfiguredConfirmIsTheOnlyFenceThatIsAskedFor(t *testing.T) {
	for confirm, want := range map[profile.Confirm]string{
		profile.ByStatus: "processed", profile.ByProcessID: "confirmed",
	} {
		change := func(d *printer.DeviceOptions, _ *printer.Options) { d.Confirm = confirm }
		withHarness(t, virtual.Options{Can: virtual.Everything, Kanji: true}, change, func(r *harness) {
			r.wantAlone("A1", want)
			// Another configuration is another question: a finding with the old one does not count.
			auto := r.dev
			auto.Confirm = profile.Auto
			d := printer.NewDevice(auto)
			defer d.Retire()
			p := printer.NewPaper(printer.Options{Name: "grill", Profile: eightyMillimetres, Device: d})
			r.wantFrom(p, orderOf("A2"), "confirmed")
		})
		// The printer decides, not the configuration.
		withHarness(t, virtual.Options{Kanji: true}, change, func(r *harness) {
			r.want("A1", "sent")
			r.want("A2", "sent")
		})
	}
}

// stops lists the conditions that stop a printer, with the state that is reported.
func stops() map[virtual.Condition]string {
	return map[virtual.Condition]string{
		virtual.PaperOut: printer.PaperOut, virtual.CoverOpen: printer.CoverOpen,
		virtual.CutterJam: printer.CutterError, virtual.Overheated: printer.Overheated,
		virtual.Offline: printer.Offline, virtual.Unrecoverable: printer.Unrecoverable,
	}
}

func TestAPrinterThatIsNotReadyLeavesTheTicketUnbegun(t *testing.T) {
	for stop, state := range stops() {
		for _, can := range []virtual.Capability{
			virtual.Everything, statusOnly, realTimeOnly, virtual.RealTime | virtual.ProcessID,
		} {
			t.Run(stop.String(), func(t *testing.T) {
				withHarness(t, virtual.Options{Can: can, Kanji: true}, nil, func(r *harness) {
					// The first round is before the printer was probed.
					for round := range 2 {
						synctest.Wait() // until the ticket before is cut
						r.v.Set(stop, true)
						before := r.v.TicketCount()
						for range 3 {
							o := r.want("A1", "not ready")
							o.within(r, 0, time.Second)
							assert.Equal(t, o.began, 0)
							assert.Contains(t, o.err.Error(), "grill is ")
							time.Sleep(5 * time.Second)
						}
						r.wantState(state)
						assert.Equal(t, r.v.TicketCount(), before, "something came out")
						r.v.Set(stop, false)
						assert.Equal(t, r.print("A1").err, nil, round)
						r.wantState(printer.Ready)
					}
					r.wantPaper("A1 A1")
				})
			})
		}
	}
}

func TestWaitForPersonEndsTheWait(t *testing.T) {
	for _, buffer := range []int{64, 4096} {
		o := virtual.Options{Can: virtual.Everything, Kanji: true, LinesPerSecond: 5, ReceiveBuffer: buffer}
		withHarness(t, o, func(d *printer.DeviceOptions, _ *printer.Options) {
			d.WaitForPerson = 3 * time.Minute
		}, func(r *harness) {
			r.want("A1", "confirmed")
			later(time.Second, func() { r.v.Set(virtual.PaperOut, true) })
			o := r.want("A2", "doubt")
			o.within(r, 3*time.Minute, 5*time.Minute)
			assert.Contains(t, o.err.Error(), "out of paper")
			r.wantState(printer.PaperOut)
			// Half of the ticket is still in the printer's buffer.
			r.want("A2", "not ready")
			r.v.Refill()
			r.want("A3", "confirmed")
			got := r.paper()
			assert.True(t, strings.HasSuffix(got, "A3"), got)
		})
	}
}

func TestATicketIsUntouchedUntilItsFirstByteWasTaken(t *testing.T) {
	for can := range proofs {
		for taken := range 2 {
			withHarness(t, virtual.Options{Can: can, Kanji: true}, nil, func(r *harness) {
				assert.NoError(t, r.print("A1").err)
				time.Sleep(time.Minute) // another connection
				before, ahead := int(r.v.BytesRead()), 0
				if can == 0 {
					ahead = padding() - 16 // those ahead of its question count
				}
				_, err := r.p.Print(r.t.Context(), orderOf("A2"), func(context.Context) error {
					synctest.Wait()
					if taken+ahead == 0 {
						r.v.Reset()
					} else {
						r.v.ResetAfter(int(r.v.BytesRead())-before+ahead+taken, 1)
					}
					return nil
				})
				assert.True(t, err != nil && ticket.IsUntouched(err) == (taken == 0), taken, err)
			})
		}
	}
}

func TestAStateThatEndedWithTheAnswerIsAskedAgain(t *testing.T) {
	withHarness(t, virtual.Options{Can: virtual.RealTime | virtual.ProcessID, Kanji: true}, nil, func(r *harness) {
		r.want("A1", "confirmed")
		r.v.PaperFor(3)
		later(30*time.Second+500*time.Millisecond, r.v.Refill)
		r.want("A2", "confirmed")
		r.wantState(printer.Ready)
	})
}

func TestATicketBehindWhichThePrinterStoppedIsInDoubt(t *testing.T) {
	// A printer without a fence is asked once behind the ticket: the bytes in its buffer are lost when it stops.
	for name, c := range map[string]struct {
		answer byte // to DLE EOT; 0: none
		after  time.Duration
		want   string
	}{
		"it works": {0x12, 0, "sent"}, "it prints for long": {0x12, 20 * time.Second, "sent"},
		"it hangs": {0, 0, "doubt"}, "it must be switched off and on": {0x32, 0, "doubt"},
	} {
		s := &scriptedPrinter{answer: func(_ *scriptedPrinter, conn net.Conn, all string) {
			switch behind := strings.Contains(all, "job 1"); {
			case !behind:
				answerStatus(conn, all)
			case c.answer > 0 && strings.Contains(all[len(all)-3:], "\x10\x04"):
				later(c.after, func() { _, _ = conn.Write([]byte{c.answer}) })
			}
		}}
		withScript(t, s, func(r *harness) {
			r.want(name, c.want)
		})
	}
}

func TestAPrinterThatLosesItsIDTwiceInARowHasNone(t *testing.T) {
	ids, asked := true, countGSr()
	withScript(t, answering(func(c net.Conn, all string) {
		_, _ = c.Write(make([]byte, asked(c, all)))
		if id := idReply(all); id != nil && ids { // in this order: the test sets ids while a cut is read
			_, _ = c.Write(id)
		}
	}), func(r *harness) {
		for i, c := range []struct {
			ids             bool
			proof, can, key string
		}{
			{true, "confirmed", "confirmed", "process_id"},
			{false, "processed", "confirmed", "process_id"}, // once may be chance
			{true, "confirmed", "confirmed", "process_id"},
			{false, "processed", "confirmed", "process_id"},
			{false, "processed", "processed", "status"},
			{true, "processed", "processed", "status"},
		} {
			ids = c.ids
			// The ticket does not wait for the id once more.
			r.want("A1", c.proof).within(r, 0, 8*time.Second)
			b, _, _ := r.mem.Get("grill")
			got := r.d.Status().BestProof
			assert.True(t, got == c.can && strings.Contains(string(b), `"fence":"`+c.key+`"`), i, got, b, c.can, c.key)
		}
	})
}

func TestNoTicketByteIsSentIfBeginFails(t *testing.T) {
	for _, can := range []virtual.Capability{virtual.Everything, realTimeOnly, 0} {
		withHarness(t, virtual.Options{Can: can, Kanji: true}, nil, func(r *harness) {
			for range 3 {
				o := r.printWith(r.t.Context(), r.p, orderOf("A1"), errDisk)
				assert.True(t, errors.Is(o.err, errDisk) && o.began == 1, o.began, o.err)
			}
			r.wantPaper("")
			n := r.v.ClientCount()
			assert.True(t, can != virtual.Everything || n == 1, n)
			assert.Equal(t, r.print("A2").err, nil)
			r.wantPaper("A2")
		})
	}
}

func TestATicketThatCannotBeComposedFailsPermanentlyAndIsNotBegun(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.p.Confuse()
		for range 2 {
			o := r.want("A1", "permanent")
			assert.True(t, o.began == 0 && strings.HasPrefix(o.err.Error(), "compose ticket: "), o.began, o.err)
		}
		n := r.v.ClientCount()
		assert.True(t, n == 1 && r.d.Connected(), n)
	})
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
				o.within(r, 2*time.Second, 2*time.Second)
				assert.Equal(t, o.kind(), tt.want, o.err)
				assert.True(t, errors.Is(o.err, stop), o.err)
				r.v.PowerOn()
				r.v.Repair()
				r.v.Refill()
				time.Sleep(time.Minute)
				r.want("A3", "confirmed")
			})
		})
	}
}

func TestAPrinterThatHangsDuringItsFirstProbeGetsNoTicket(t *testing.T) {
	// At the first contact nothing is known of the printer. Its answers before it began to hang show that it
	// can answer: a ticket may not be sent as to a printer that never does.
	for can, want := range proofs {
		if can&virtual.RealTime == 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			v := virtual.New(virtual.Options{Can: can, Kanji: true})
			r := newHarness(t, v, v, nil)
			r.leaveBehind("\x1b@\x1dv0\x00\x48\x00\x18\x00half of an image")
			time.AfterFunc(300*time.Millisecond, v.Stall) // DLE EOT was answered, nothing else yet
			for range 3 {
				r.want("A1", "not ready")
				time.Sleep(time.Minute)
			}
			v.Repair()
			r.want("A1", want)
			assert.Equal(t, r.paper(), "A1")
		})
	}
}
