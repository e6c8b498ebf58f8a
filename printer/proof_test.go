package printer_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
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
		wantEqual(t, r.v.ClientCount(), 0)
		r.want("A1", "sent")
		for _, raw := range r.v.Tickets() {
			s := string(raw.Raw)
			if strings.Contains(s, "\x10\x04") || strings.Contains(s, "\x1dr") || strings.Contains(s, "\x1d(H") {
				t.Error("a question was sent")
			}
		}
		r.wantState(printer.Unknown)
	})
}

func TestAConfiguredConfirmIsTheOnlyFenceThatIsAskedFor(t *testing.T) {
	for confirm, want := range map[profile.Confirm]string{
		profile.ByStatus: "processed", profile.ByProcessID: "confirmed",
	} {
		change := func(d *printer.DeviceOptions, _ *printer.Options) { d.Confirm = confirm }
		withHarness(t, virtual.Options{Can: virtual.Everything, Kanji: true}, change, func(r *harness) {
			r.want("A1", want)
			hangUp(r.d)
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
							if o.began > 0 || !strings.Contains(o.err.Error(), "grill is ") || o.took > time.Second {
								t.Errorf("begun %d times, %v, after %s", o.began, o.err, o.took)
							}
							time.Sleep(5 * time.Second)
						}
						r.wantState(state)
						wantEqual(t, r.v.TicketCount(), before, "something came out")
						r.v.Set(stop, false)
						o := r.print("A1")
						wantTrue(t, o.err == nil, round, o.err)
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
			if o.took < 3*time.Minute || o.took > 5*time.Minute || !strings.Contains(o.err.Error(), "out of paper") {
				t.Errorf("after %s: %v", o.took, o.err)
			}
			r.wantState(printer.PaperOut)
			// Half of the ticket is still in the printer's buffer.
			r.want("A2", "not ready")
			r.v.Refill()
			r.want("A3", "confirmed")
			got := r.paper()
			wantTrue(t, strings.HasSuffix(got, "A3"), got)
		})
	}
}
