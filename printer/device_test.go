package printer_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

func TestAPrinterThatServesAnotherClientAtFirstContactIsNotTakenForSilent(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		till, err := r.v.Dial(r.t.Context())
		assert.NoError(t, err)
		// A logo that breaks off 300 bytes before its end.
		_, err = till.Write([]byte("\x1dv0\x00\x0a\x00\x28\x00" + strings.Repeat("\x00", 100)))
		assert.NoError(t, err)
		time.AfterFunc(20*time.Second, func() { _ = till.Close() })
		r.want("A1", "confirmed")
		r.wantPaper("A1")
	})
}

func TestAPrinterThatFallsSilentGetsNothingUntilAPersonProbesIt(t *testing.T) {
	// Silence never shows that a printer cannot answer: this one may hang, and a ticket that is sent into it is lost
	// when it is switched off and on.
	for good, c := range map[virtual.Capability]struct {
		then  virtual.Capability
		busy  bool // at first
		state string
	}{
		virtual.Everything: {0, true, printer.Silent},
		// It reports no trouble and answers no fence: another printer, or one whose interpreter hangs.
		virtual.RealTime | virtual.ProcessID: {realTimeOnly, false, printer.Ready},
		statusOnly:                           {realTimeOnly, false, printer.Ready},
	} {
		synctest.Test(t, func(t *testing.T) {
			before := virtual.New(virtual.Options{Can: good, Kanji: true})
			after := virtual.New(virtual.Options{Can: c.then, Kanji: true})
			wire := leadsTo(before)
			r := newHarness(t, after, wire, nil)
			assert.NoError(t, r.print("A1").err)
			time.Sleep(time.Minute)
			wire.set(after)
			if o := r.want("A2", "not ready"); c.busy {
				r.wantState(printer.Busy)
			} else {
				o.within(r, 0, 40*time.Second)
				assert.Contains(t, r.d.Status().Advice, "probe")
			}
			for range 20 {
				time.Sleep(5 * time.Minute)
				r.want("A2", "not ready")
				r.wantState(printer.Hung)
			}
			r.wantPaper("")
			s, err := r.d.Probe(t.Context())
			assert.Equal(t, s.BestProof, "sent", err)
			assert.True(t, c.then != 0 || len(r.mem.Keys()) == 0, "silence is stored")
			r.want("A2", "sent")
			r.wantState(c.state)
			r.wantPaper("A2")
		})
	}
}

func TestAnIdleConnectionThatEndedIsNotReused(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.want("A1", "confirmed")
		r.v.Reset()
		r.want("A2", "confirmed")
		r.wantPaper("A1 A2")
	})
}

func TestARetiredDeviceKeepsNoConnection(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.want("A1", "confirmed")
		r.d.Retire()
		assert.True(t, !r.d.Connected(), "still connected")
		r.want("A2", "confirmed")
		assert.True(t, !r.d.Connected(), "still connected")
	})
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.v.Delay(300 * time.Millisecond)
		later(time.Second, r.d.Retire)
		r.want("A1", "confirmed")
		assert.True(t, !r.d.Connected(), "still connected, although it was retired during the ticket")
	})
}

func TestTwoStationsOfOnePrinterPrintOneAtATime(t *testing.T) {
	o := answersAll()
	o.LinesPerSecond, o.ReceiveBuffer = 5, 256
	withHarness(t, o, nil, func(r *harness) {
		second := printer.NewPaper(printer.Options{Name: "bar", Profile: eightyMillimetres, Device: r.d})
		var begun atomic.Int32
		begin := func(context.Context) error {
			assert.True(t, begun.Add(1) <= 1, "two tickets are begun")
			time.Sleep(time.Minute) // the other station has every chance to print
			begun.Add(-1)
			return nil
		}
		var printing sync.WaitGroup
		for i := range 6 {
			p := []*printer.Paper{r.p, second}[i%2]
			printing.Go(func() {
				proof, err := p.Print(r.t.Context(), orderOf(fmt.Sprintf("A%d", i)), begin)
				assert.Equal(t, proof, ticket.Confirmed, err)
			})
		}
		printing.Wait()
		assert.Equal(t, len(strings.Fields(r.paper())), 6, r.paper())
	})
}

func TestEachCopyIsMarkedAndAllMustPrint(t *testing.T) {
	twoCopies := func(_ *printer.DeviceOptions, o *printer.Options) { o.Copies = 2 }
	for can, want := range proofs {
		withHarness(t, virtual.Options{Can: can, Kanji: true}, twoCopies, func(r *harness) {
			r.want("A1", want)
			r.wantPaper("A1 A1")
			for i, x := range r.v.Tickets() {
				assert.Contains(t, x.Text, fmt.Sprintf("COPY %d/2", i+1))
			}
		})
	}
}

func TestAJammedCutterDelaysTheNextTicketNotThisOne(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.want("A1", "confirmed")
		r.v.JamAtCut()
		r.want("A2", "confirmed").within(r, 0, 10*time.Second)
		synctest.Wait() // it pushes its status
		r.wantState(printer.CutterError)
		r.want("A3", "not ready")
		r.v.Set(virtual.CutterJam, false)
		r.want("A3", "confirmed")
		r.wantPaper("A1 A2 A3")
	})
}
