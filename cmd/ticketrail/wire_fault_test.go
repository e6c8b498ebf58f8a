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
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// A wreck is a printer on a real socket that has an accident between its first ticket and
// the next two.
type wreck struct {
	t    *testing.T
	p    *virtual.Printer
	addr string
	// until ends when the station with which nothing is wrong has printed all of its tickets.
	until <-chan struct{}
}

// halfWay is within a ticket, questions before it included.
const halfWay = 250

// wireFaults are a few of the accidents that the table beside the wiring tries in a bubble. strike
// returns what happens afterwards. want is the strip of paper, by talents; "" is all others,
// "-" leaves one out and "//" parts what is as good.
type wireFault struct {
	strike func(w *wreck) (then func())
	want   map[string]string
}

func wireFaults() map[string]wireFault {
	const once, twice = "A1 A2 A3", "A1 A2~ A2! A3"
	stuck := func(c virtual.Condition) func(w *wreck) func() {
		return func(w *wreck) func() {
			w.p.Set(c, true)
			return func() { <-w.until; w.p.Set(c, false) }
		}
	}
	return map[string]wireFault{
		"refused": {func(w *wreck) func() {
			w.check(w.p.Refuse(true))
			return func() { <-w.until; w.check(w.p.Refuse(false)) }
		}, map[string]string{"": once}},
		// Whether a mute one has reset before the first byte goes out is a matter of luck.
		"reset-at-once": {func(w *wreck) func() {
			w.p.ResetAfter(0, -1)
			return func() { <-w.until; w.p.Repair() }
		}, map[string]string{"": once, "mute": "-"}},
		"reset":  {func(w *wreck) func() { w.p.ResetAfter(halfWay, 1); return nil }, map[string]string{"": twice}},
		"closed": {func(w *wreck) func() { w.p.CloseAfter(halfWay, 1); return nil }, map[string]string{"": twice}},
		"stall": {func(w *wreck) func() {
			taken := w.p.BytesRead()
			w.p.StallAfter(halfWay)
			return func() { w.taken(taken + halfWay); <-w.until; w.p.Repair() }
		}, map[string]string{"": once}},
		"power": {func(w *wreck) func() {
			taken := w.p.BytesRead()
			w.p.StallAfter(halfWay)
			return func() { w.taken(taken + halfWay); w.p.PowerOff(); w.p.Repair(); w.p.PowerOn() }
			// How many lines were on paper by then is a matter of luck.
		}, map[string]string{"": twice + " // A1 ?~ A2! A3 // A1 A2! A3"}},
		"paper": {stuck(virtual.PaperOut), map[string]string{"": once}},
		"cover": {stuck(virtual.CoverOpen), map[string]string{"": once}},
		"roll": {func(w *wreck) func() {
			w.p.PaperFor(6)
			return func() { <-w.until; w.p.Refill() }
		}, map[string]string{"": once}},
		"jam": {func(w *wreck) func() {
			w.p.JamAtCut()
			return func() { <-w.until; time.Sleep(time.Second); w.p.Set(virtual.CutterJam, false) }
		}, map[string]string{"": once}},
		"till": {func(w *wreck) func() {
			c, err := net.Dial("tcp", w.addr)
			w.check(err)
			return func() { <-w.until; w.check(c.Close()) }
		}, map[string]string{"": once}},
	}
}

func (w *wreck) check(err error) {
	if err != nil {
		w.t.Error(err)
	}
}

func (w *wreck) taken(n int64) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	w.check(w.p.WaitBytes(ctx, n))
}

// wireTalents are what printers can tell. They leave out those that only say how they are: to be sure of that takes a while.
var wireTalents = map[string]struct {
	can  virtual.Capability
	best ticket.State
}{
	"ids":    {virtual.Everything, ticket.Confirmed},
	"status": {virtual.RealTime | virtual.ASB | virtual.StatusQuery, ticket.Processed},
	"mute":   {0, ticket.Sent},
}

// TestOverRealSocketsEachFaultEndsAsItShould has one daemon with a station for each accident on each
// kind of printer, all at once, and one station with which nothing is wrong.
func TestOverRealSocketsEachFaultEndsAsItShould(t *testing.T) {
	stations := []string{"bar.mute"}
	for fault, f := range wireFaults() {
		for talent := range wireTalents {
			if f.want[talent] != "-" {
				stations = append(stations, fault+"."+talent)
			}
		}
	}
	slices.Sort(stations[1:])
	// Their connections are not kept, so that an accident finds a new one.
	k := kitchenOf(t, "", ", linger: 0s, poll_every: 0s", func(station string) virtual.Options {
		_, talent, _ := strings.Cut(station, ".")
		return virtual.Options{Can: wireTalents[talent].can, Kanji: true}
	}, stations...)
	k.start()
	k.accept("A1", stations)
	k.idle()

	until := make(chan struct{})
	var then sync.WaitGroup
	for _, s := range stations[1:] {
		fault, _, _ := strings.Cut(s, ".")
		w := &wreck{t, k.printers[s], k.addrs[s], until}
		if f := wireFaults()[fault].strike(w); f != nil {
			then.Go(f)
		}
	}
	k.accept("A2", stations)
	k.accept("A3", stations)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := k.printers[stations[0]].Wait(ctx, 3); err != nil {
		t.Errorf("nothing is wrong with bar: %v", err)
	}
	close(until)
	then.Wait()
	k.idle()
	for _, s := range stations {
		k.wantStrip(s)
	}
}

// accept posts an order for every station.
func (k *kitchen) accept(number string, stations []string) {
	k.t.Helper()
	if a := k.post(k.newOrder(number, stations...), 0); a.status != 200 || a.err != nil {
		k.t.Fatalf("order %s got %+v", number, a)
	}
}

// idle waits until nothing waits.
func (k *kitchen) idle() { k.t.Helper(); k.none("pending,printing", func([]admin.Job) {}) }

var wireNumber = regexp.MustCompile(`#(A[0-9])`)

// wantStrip checks what came out of a station and what the books say of it.
func (k *kitchen) wantStrip(station string) {
	k.t.Helper()
	fault, talent, _ := strings.Cut(station, ".")
	f := wireFaults()[fault]
	want := cmp.Or(f.want[talent], f.want[""], "A1 A2 A3")
	best := wireTalents[talent].best
	wrong := func() error {
		if got := k.strip(station); !slices.Contains(strings.Split(want, " // "), got) {
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
		k.t.Errorf("%s got what no printer should: %v", station, bad)
	}
	for _, j := range k.jobs("--station", station) {
		if j.State != best {
			k.t.Errorf("%s: job %d is %s (%s), want %s", station, j.ID, j.State, j.Reason, best)
		}
	}
}

// strip is what came out of a station: numbers, ! for a banner, ~ for torn off.
func (k *kitchen) strip(station string) string {
	var words []string
	for _, x := range k.printers[station].Tickets() {
		if x.Text == "" {
			continue // a cut that found nothing to cut
		}
		w := "?"
		if m := wireNumber.FindStringSubmatch(x.Text); m != nil {
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
