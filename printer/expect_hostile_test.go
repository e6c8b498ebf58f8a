package printer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

// A look that failed before the ticket came is no news: a till may be done by then.
func TestAPrinterThatIsFreeWhenTheTicketComesGetsIt(t *testing.T) {
	o := talkative()
	o.Clients = 1
	expecting(t, o, "confirmed", nil, func(r *rig, _ *tap) {
		till, err := r.v.Dial(r.t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.expected() // refused
		_ = till.Finish(r.t.Context())
		_ = till.Close()
		synctest.Wait()
		r.want("A2", "confirmed")
		r.wantPaper("A1 A2")
	})
	expecting(t, talkative(), "confirmed", nil, func(r *rig, _ *tap) {
		r.v.Set(virtual.CoverOpen, true)
		r.expected()
		r.v.Set(virtual.CoverOpen, false)
		r.want("A2", "confirmed")
		r.wantPaper("A1 A2")
	})
}

// A kernel takes what is written to a printer that is gone, and learns of it late.
type kernel struct {
	transport.Dialer
	gone atomic.Bool
}

func (k *kernel) Dial(ctx context.Context) (transport.Conn, error) {
	c, err := k.Dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &sending{c, k}, nil
}

type sending struct {
	transport.Conn
	k *kernel
}

func (c *sending) Write(b []byte) (int, error) {
	if c.k.gone.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *sending) Finish(ctx context.Context) error {
	if c.k.gone.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return c.Conn.Finish(ctx)
}

// long is a printer that is kept for long after a ticket.
func long(d *printer.DeviceOptions) { d.Linger = 30 * time.Second }

func TestATillNeedNotWaitForATicketThatDoesNotCome(t *testing.T) {
	for what, o := range map[string]virtual.Options{
		"ready": {Can: virtual.Everything}, "open": {Can: virtual.Everything}, "mute": {},
	} {
		proof := "confirmed"
		if o.Can == 0 {
			proof = "sent"
		}
		o.Kanji, o.Clients = true, 1
		expecting(t, o, proof, long, func(r *rig, _ *tap) {
			r.v.Set(virtual.CoverOpen, what == "open")
			r.expected()
			if !r.d.Status().Connected {
				t.Errorf("%s: nothing was connected", what)
			}
			time.Sleep(2 * time.Second)
			till, err := r.v.Dial(r.t.Context())
			if err != nil {
				t.Fatalf("%s: the till does not get the printer: %v", what, err)
			}
			_ = till.Finish(r.t.Context())
			_ = till.Close()
		})
	}
}

// Nobody can ask a printer that answers nothing whether it is still there, so what it was connected
// for must come soon, however many orders come to nothing.
func TestATicketIsNotSentToAPrinterThatWasThereLongAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := virtual.New(virtual.Options{Kanji: true, Clients: 1})
		k := &kernel{Dialer: v}
		r := newRig(t, v, k, func(d *printer.DeviceOptions, _ *printer.Options) { long(d) })
		defer r.d.Release()
		r.want("A1", "sent")
		time.Sleep(time.Minute)
		r.expected()
		v.PowerOff()
		k.gone.Store(true)
		for range 10 {
			time.Sleep(300 * time.Millisecond)
			r.expected()
		}
		r.want("A2", "clean") // no doubt: it is not there
	})
}

// Nobody reads what comes back from a printer that was connected as one that says nothing.
func TestAPrinterIsNotAskedWhereNobodyListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mute, good := virtual.New(virtual.Options{Kanji: true}), virtual.New(talkative())
		wire := &swapped{to: mute}
		r := newRig(t, good, wire, func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 5 * time.Minute })
		defer r.d.Release()
		ctx, cancel := context.WithCancel(t.Context())
		go r.d.Watch(ctx)
		time.Sleep(30 * time.Minute)
		r.want("A1", "sent")
		time.Sleep(35*time.Minute - 300*time.Millisecond)
		r.expected()
		wire.swap(good)
		time.Sleep(500 * time.Millisecond) // a poll comes by, and it is an hour since it was asked
		r.print("A2")
		time.Sleep(30 * time.Minute)
		r.want("A3", "confirmed")
		cancel()
		synctest.Wait()
	})
}

func TestAPrinterThatLeavesAQuestionUnansweredIsNotAskedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terse := false
		s := &scripted{answer: func(_ *scripted, c net.Conn, all string) {
			switch {
			case terse && last(all, "\x10\x04\x01"):
				_, _ = c.Write([]byte{0x12})
			case !terse && healthy(c, all):
			case echo(all) != nil:
				_, _ = c.Write(echo(all))
			}
		}}
		r := scriptedRig(t, s)
		defer r.d.Release()
		r.want("A1", "confirmed")
		time.Sleep(time.Minute)
		terse = true
		asked := strings.Count(s.all(), "\x10\x04\x01")
		r.d.Expect()
		r.want("A2", "confirmed")
		if n := strings.Count(s.all(), "\x10\x04\x01") - asked; n != 1 {
			t.Errorf("it was asked %d times how it is", n)
		}
	})
}

// A reload replaces the device while a till has the printer, an order is looking at it and its
// ticket waits for that.
func TestADeviceThatIsReplacedWhileATicketIsExpectedLetsGoAfterIt(t *testing.T) {
	o := talkative()
	o.Clients, o.Hang = 1, true
	shared := func(d *printer.DeviceOptions) { d.Turn = printer.NewTurn() }
	expecting(t, o, "confirmed", shared, func(r *rig, _ *tap) {
		till, err := r.v.Dial(r.t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.expected() // hangs in the dial
		waiting := make(chan outcome)
		go func() { waiting <- r.print("A2") }()
		synctest.Wait()
		r.d.Release()
		_ = till.Finish(r.t.Context())
		_ = till.Close()
		if o := <-waiting; o.kind() != "confirmed" {
			t.Errorf("A2: %s: %v", o.kind(), o.err)
		}
		next := printer.NewDevice(r.dev)
		defer next.Release()
		p := printer.NewPaper(printer.Options{Name: "grill", Profile: mustProfile(t), Device: next})
		if o := r.printWith(r.t.Context(), p, dish("A3"), nil); o.kind() != "confirmed" {
			t.Errorf("A3: %s: %v", o.kind(), o.err)
		}
		r.wantPaper("A1 A2 A3")
	})
}

func TestAFloodOfOrdersWaitsForOneConnection(t *testing.T) {
	expecting(t, talkative(), "confirmed", nil, func(r *rig, wire *tap) {
		r.v.PowerOff() // a dial hangs
		before := runtime.NumGoroutine()
		for range 1000 {
			r.d.Expect()
		}
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > 5 {
			t.Errorf("%d goroutines", n)
		}
		if dials, _ := wire.since(); dials != 1 {
			t.Errorf("%d connections", dials)
		}
		r.want("A2", "clean")
		r.v.PowerOn()
		r.want("A2", "confirmed")
		r.wantPaper("A1 A2")
	})
}

// Orders come all the time: some are what the next ticket is of, some come to nothing, some meet
// a printer that is in the middle of something.
func TestAnEveningOfExpectationsKeepsThePromises(t *testing.T) {
	abilities := []virtual.Ability{
		virtual.Everything, statusOnly, virtual.RealTime | virtual.ProcessID, virtual.RealTime | virtual.StatusQuery, 0,
	}
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 11))
		o := virtual.Options{
			Can: abilities[rng.IntN(len(abilities))], Kanji: true, Clients: rng.IntN(3), Hang: rng.IntN(2) == 0,
			LinesPerSecond: float64(rng.IntN(3) * 4), ReceiveBuffer: rng.IntN(3) * 200, Remembers: rng.IntN(2) == 0,
		}
		linger := time.Duration(1+rng.IntN(2)*29) * time.Second
		synctest.Test(t, func(t *testing.T) {
			v := virtual.New(o)
			r := newRig(t, v, v, func(d *printer.DeviceOptions, _ *printer.Options) { d.Linger, d.PollEvery = linger, time.Minute })
			e := &evening{rig: r, rng: rng, held: map[string]bool{}, sent: map[string]bool{}}
			ctx, cancel := context.WithCancel(t.Context())
			go r.d.Watch(ctx)
			go func(orders *rand.Rand) {
				for ctx.Err() == nil {
					time.Sleep(time.Duration(orders.IntN(2000)) * time.Millisecond)
					r.d.Expect()
					if orders.IntN(50) == 0 {
						r.d.Release()
					}
				}
			}(rand.New(rand.NewPCG(seed, 12)))
			for i := range 12 {
				if rng.IntN(2) == 0 {
					e.accident()
				}
				r.d.Expect()
				time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond)
				e.serve(fmt.Sprintf("T%d", i))
				time.Sleep(time.Duration(rng.IntN(3)) * time.Second)
			}
			cancel()
			time.Sleep(time.Hour) // what it has, it prints
			v.Refill()
			v.Set(virtual.CutterJam, false)
			e.d.Release()
			e.check(fmt.Sprintf("seed %d, %+v", seed, o))
		})
	}
}
