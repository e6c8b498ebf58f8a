package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/escpos"
	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// A faultyPrinter is a printer on a real socket that has a fault between its first ticket and the
// next two.
type faultyPrinter struct {
	t    *testing.T
	p    *virtual.Printer
	addr string
	mute bool // it answers nothing
	// othersDone is closed when the station without a fault has printed all of its tickets.
	othersDone <-chan struct{}
}

// midTicketBytes is within a ticket, including the queries before it.
const midTicketBytes = 250

// middle is midTicketBytes of the next ticket. A printer that answers nothing gets padding before it.
func (w *faultyPrinter) middle() int {
	if w.mute {
		model, _ := profile.Lookup("generic-80mm") // the default
		return midTicketBytes + len(escpos.Resync(model))
	}
	return midTicketBytes
}

// A printerFault is one of the faults that cmd/internal/app tests with virtual time. cause returns what
// happens afterwards. want is the wanted paper, by printer ability; "" is all others, "-" leaves one
// out and "//" separates results that are equally good.
type printerFault struct {
	cause func(w *faultyPrinter) (then func())
	want  map[string]string
}

func printerFaults() map[string]printerFault {
	const once, twice = "A1 A2 A3", "A1 A2~ A2! A3"
	stuck := func(c virtual.Condition) func(w *faultyPrinter) func() {
		return func(w *faultyPrinter) func() {
			w.p.Set(c, true)
			return func() { <-w.othersDone; w.p.Set(c, false) }
		}
	}
	return map[string]printerFault{
		"refused": {func(w *faultyPrinter) func() {
			w.check(w.p.Refuse(true))
			return func() { <-w.othersDone; w.check(w.p.Refuse(false)) }
		}, map[string]string{"": once}},
		// Whether a mute one has reset before the first byte goes out is a matter of luck.
		"reset-at-once": {func(w *faultyPrinter) func() {
			w.p.ResetAfter(0, -1)
			return func() { <-w.othersDone; w.p.Repair() }
		}, map[string]string{"": once, "mute": "-"}},
		"reset": {func(w *faultyPrinter) func() { w.p.ResetAfter(w.middle(), 1); return nil },
			map[string]string{"": twice}},
		"closed": {func(w *faultyPrinter) func() { w.p.CloseAfter(w.middle(), 1); return nil },
			map[string]string{"": twice}},
		"stall": {func(w *faultyPrinter) func() {
			taken := w.p.BytesRead()
			w.p.StallAfter(w.middle())
			return func() { w.waitTaken(taken + int64(w.middle())); <-w.othersDone; w.p.Repair() }
		}, map[string]string{"": once}},
		"power": {func(w *faultyPrinter) func() {
			taken := w.p.BytesRead()
			w.p.StallAfter(w.middle())
			return func() { w.waitTaken(taken + int64(w.middle())); w.p.PowerOff(); w.p.Repair(); w.p.PowerOn() }
			// How many lines were on paper by then is a matter of luck.
		}, map[string]string{"": twice + " // A1 ?~ A2! A3 // A1 A2! A3"}},
		"paper": {stuck(virtual.PaperOut), map[string]string{"": once}},
		"cover": {stuck(virtual.CoverOpen), map[string]string{"": once}},
		"roll": {func(w *faultyPrinter) func() {
			w.p.PaperFor(6)
			return func() { <-w.othersDone; w.p.Refill() }
		}, map[string]string{"": once}},
		"jam": {func(w *faultyPrinter) func() {
			w.p.JamAtCut()
			return func() { <-w.othersDone; time.Sleep(time.Second); w.p.Set(virtual.CutterJam, false) }
		}, map[string]string{"": once}},
		"till": {func(w *faultyPrinter) func() {
			c, err := net.Dial("tcp", w.addr)
			w.check(err)
			return func() { <-w.othersDone; w.check(c.Close()) }
		}, map[string]string{"": once}},
	}
}

func (w *faultyPrinter) check(err error) {
	if err != nil {
		w.t.Error(err)
	}
}

func (w *faultyPrinter) waitTaken(n int64) {
	ctx, cancel := context.WithTimeout(w.t.Context(), testTimeout)
	defer cancel()
	w.check(w.p.WaitBytes(ctx, n))
}

// printerAbilities are what printers can report. Printers that report only their status are left out:
// to detect that takes long.
var printerAbilities = map[string]struct {
	can  virtual.Capability
	best ticket.State
}{
	"ids":    {virtual.Everything, ticket.Confirmed},
	"status": {virtual.RealTime | virtual.ASB | virtual.StatusQuery, ticket.Processed},
	"mute":   {0, ticket.Sent},
}

// TestOverRealSocketsEachFaultEndsAsItShould has one daemon with a station for each fault on each
// kind of printer, all at once, and one station without a fault.
func TestOverRealSocketsEachFaultEndsAsItShould(t *testing.T) {
	stations := []string{"bar.mute"}
	for fault, f := range printerFaults() {
		for talent := range printerAbilities {
			if f.want[talent] != "-" {
				stations = append(stations, fault+"."+talent)
			}
		}
	}
	slices.Sort(stations[1:])
	// Connections are not kept open, so that a fault meets a new one.
	k := newDaemonWith(t, "", ", linger: 0s, poll_every: 0s", func(station string) virtual.Options {
		_, talent, _ := strings.Cut(station, ".")
		return virtual.Options{Can: printerAbilities[talent].can, Kanji: true}
	}, stations...)
	k.start()
	k.accept("A1", stations)
	k.waitUntilIdle()

	othersDone := make(chan struct{})
	var then sync.WaitGroup
	for _, s := range stations[1:] {
		fault, ability, _ := strings.Cut(s, ".")
		w := &faultyPrinter{t, k.printers[s], k.addrs[s], ability == "mute", othersDone}
		if f := printerFaults()[fault].cause(w); f != nil {
			then.Go(f)
		}
	}
	k.accept("A2", stations)
	k.accept("A3", stations)
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := k.printers[stations[0]].Wait(ctx, 3); err != nil {
		t.Errorf("bar has no fault: %v", err)
	}
	close(othersDone)
	then.Wait()
	k.waitUntilIdle()
	for _, s := range stations {
		k.checkStation(s)
	}
}

// accept posts an order for every station.
func (k *daemonProcess) accept(number string, stations []string) {
	k.t.Helper()
	if a := k.deliver(k.newOrder(number, stations...)); a.status != 200 || a.err != nil {
		k.t.Fatalf("order %s got %+v", number, a)
	}
}

// waitUntilIdle waits until no ticket waits.
func (k *daemonProcess) waitUntilIdle() {
	k.t.Helper()
	k.waitForNoJobs([]string{"pending", "printing"}, func([]admin.Job) {})
}

var faultOrderNumber = regexp.MustCompile(`#(A[0-9])`)

// checkStation checks what a station printed and the states of its jobs.
func (k *daemonProcess) checkStation(station string) {
	k.t.Helper()
	fault, talent, _ := strings.Cut(station, ".")
	f := printerFaults()[fault]
	want := cmp.Or(f.want[talent], f.want[""], "A1 A2 A3")
	best := printerAbilities[talent].best
	wrong := func() error {
		if got := k.paperOf(station); !slices.Contains(strings.Split(want, " // "), got) {
			return fmt.Errorf("%s printed %q, want %q", station, got, want)
		}
		return nil
	}
	err := wrong()
	if !k.t.Failed() { // a ticket that is sent may still be on its way
		err = eventually(wrong)
	}
	if err != nil {
		k.t.Error(err)
	}
	if bad := k.printers[station].Problems(); len(bad) > 0 {
		k.t.Errorf("%s got invalid bytes: %v", station, bad)
	}
	for _, j := range k.jobs(admin.Filter{Station: station}) {
		if j.State != best {
			k.t.Errorf("%s: job %d is %s (%s), want %s", station, j.ID, j.State, j.Reason, best)
		}
	}
}

// paperOf is what a station printed: numbers, ! for a banner, ~ for a ticket that was not cut.
func (k *daemonProcess) paperOf(station string) string {
	var words []string
	for _, x := range k.printers[station].Tickets() {
		w := "?"
		if m := faultOrderNumber.FindStringSubmatch(x.Text); m != nil {
			w = m[1]
		}
		if strings.Contains(x.Text, "POSSIBLE DUPLICATE") {
			w += "!"
		}
		if x.End != virtual.Cut {
			w += "~"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}
