package printer_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/escpos"
	"ticketrail/printer/virtual"
	"ticketrail/queue/queuetest"
)

func TestADamagedOrFailingStoreDelaysNoTicket(t *testing.T) {
	for name, damage := range map[string]func(s *queuetest.Store){
		"CannotRead":  func(s *queuetest.Store) { s.InjectRead(true) },
		"CannotWrite": func(s *queuetest.Store) { s.Inject(queuetest.Failed) },
		"NoJSON":      func(s *queuetest.Store) { s.Set("grill", "{") },
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, answersAll(), nil, func(r *harness) {
				damage(r.mem)
				r.want("A1", "confirmed")
				r.want("A2", "confirmed")
				wantTrue(t, !strings.Contains(name, "Cannot") || r.logged("level=WARN") != 0, "no warning was logged")
			})
		})
	}
}

func TestTheStatusSaysSinceWhenAndWhatToDo(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.want("A1", "confirmed")
		r.v.Set(virtual.PaperOut, true)
		for range 5 {
			r.want("A2", "not ready")
			time.Sleep(10 * time.Second)
		}
		s := r.wantState(printer.PaperOut)
		wantTrue(t, strings.Contains(s.Advice, "paper") && !s.Fine() && time.Since(s.Since) >= 40*time.Second, s)
		r.v.Set(virtual.PaperOut, false)
		r.want("A2", "confirmed")
		r.v.Set(virtual.PaperLow, true)
		r.want("A3", "confirmed")
		s = r.wantState(printer.Ready)
		wantTrue(t, s.Fine() && strings.Contains(s.Advice, "roll") && s.Conditions.Has(escpos.PaperLow), s)
	})
}

func TestWatchPollsAnIdlePrinterAndNeverDelaysATicket(t *testing.T) {
	poll := func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 5 * time.Minute }
	withHarness(t, answersAll(), poll, func(r *harness) {
		go r.d.Watch(r.t.Context())
		time.Sleep(10 * time.Second) // probed before the first ticket
		s := r.wantState(printer.Ready)
		wantTrue(t, s.BestProof == "confirmed" && !r.d.Connected(), s)
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
		wantTrue(t, r.v.TicketCount() == 0, "a poll printed")
		// A poll that hangs is cancelled by a ticket.
		r.v.Stall()
		time.Sleep(4*time.Minute + 51*time.Second)
		r.v.Repair()
		r.want("A1", "confirmed").within(r, 0, time.Second)
	})
}

func TestASilentPrinterIsProbedAgainSoonAndThenMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mute, good := virtual.New(virtual.Options{Kanji: true}), virtual.New(answersAll())
		wire := leadsTo(mute)
		poll := func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 30 * time.Second }
		r := newHarness(t, good, wire, poll)
		go r.d.Watch(r.t.Context())
		r.want("A1", "sent")
		time.Sleep(10 * time.Hour)
		// A ticket, and probes after about 1, 2, 4, … and then every 64 minutes.
		n := mute.ClientCount()
		wantTrue(t, n >= 13 && n <= 17, n)
		wire.set(good)
		time.Sleep(70 * time.Minute)
		r.want("A2", "confirmed")
		r.d.Retire()
	})
}

func TestAfterAProbeThatBreaksOffTheNextOneComesLater(t *testing.T) {
	// One that breaks off takes about as long as one that finds nothing.
	withHarness(t, virtual.Options{Can: virtual.RealTime, Kanji: true}, nil, func(r *harness) {
		r.want("A1", "sent")
		time.Sleep(61 * time.Second)
		r.v.Stall()
		r.want("A2", "not ready")
		r.v.Repair()
		for sleep, probes := range []int{1, 2} {
			time.Sleep(time.Duration(100-70*sleep) * time.Second)
			r.want("A2", "sent")
			wantEqual(t, r.mem.Writes(), probes)
		}
	})
}

func TestAPrinterThatClosesForAQuestionPrintsWithout(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.v.CloseAfter(4, -1)
		for range 3 {
			r.want("A1", "clean")
		}
		for _, name := range []string{"A1", "A2"} {
			r.v.CloseAfter(4, 1) // the connection of the question
			r.want(name, "sent")
		}
		r.wantPaper("A1 A2")
		r.wantState(printer.Silent)
	})
}
