package printer_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

// A tap counts what is asked of the printer behind it.
type tap struct {
	to           transport.Dialer
	mu           sync.Mutex
	dials, asked int
}

func (d *tap) Dial(ctx context.Context) (transport.Conn, error) {
	d.mu.Lock()
	d.dials++
	d.mu.Unlock()
	c, err := d.to.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &tapped{c, d}, nil
}

type tapped struct {
	transport.Conn
	d *tap
}

func (c *tapped) Write(b []byte) (int, error) {
	c.d.mu.Lock()
	c.d.asked += bytes.Count(b, []byte{0x10, 0x04})
	c.d.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *tapped) HungUp() error {
	if h, ok := c.Conn.(interface{ HungUp() error }); ok {
		return h.HungUp()
	}
	return nil
}

// since returns how often it was dialled and asked since the last call.
func (d *tap) since() (dials, asked int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dials, asked = d.dials, d.asked
	d.dials, d.asked = 0, 0
	return dials, asked
}

// expecting runs f with a printer that has printed a first ticket and was left alone since.
func expecting(t *testing.T, o virtual.Options, proof string, change func(*printer.DeviceOptions), f func(r *rig, wire *tap)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := virtual.New(o)
		wire := &tap{to: v}
		r := newRig(t, v, wire, func(d *printer.DeviceOptions, _ *printer.Options) {
			if change != nil {
				change(d)
			}
		})
		defer r.d.Release()
		r.want("A1", proof)
		time.Sleep(time.Minute)
		wire.since()
		f(r, wire)
		for _, s := range v.Problems() {
			t.Errorf("the printer objects: %s", s)
		}
	})
}

// expected is Expect, until the printer has said all it has to say.
func (r *rig) expected() {
	r.d.Expect()
	synctest.Wait()
}

func TestATicketThatWasExpectedGoesOutAtOnce(t *testing.T) {
	for can, proof := range map[virtual.Ability]string{virtual.Everything: "confirmed", statusOnly: "processed", 0: "sent"} {
		expecting(t, virtual.Options{Can: can, Kanji: true}, proof, nil, func(r *rig, wire *tap) {
			r.expected()
			dials, asked := wire.since()
			if dials != 1 || (asked == 0) != (can == 0) {
				t.Errorf("%s: expected with %d connections and %d questions", proof, dials, asked)
			}
			r.want("A2", proof)
			if dials, asked := wire.since(); dials+asked != 0 {
				t.Errorf("%s: printed with another %d connections and %d questions", proof, dials, asked)
			}
			r.wantPaper("A1 A2")
		})
	}
}

func TestATicketThatComesWhileItIsExpectedWaitsForTheSameConnection(t *testing.T) {
	o := talkative()
	o.Clients = 1
	expecting(t, o, "confirmed", nil, func(r *rig, wire *tap) {
		r.d.Expect()
		r.want("A2", "confirmed")
		if dials, _ := wire.since(); dials != 1 {
			t.Errorf("%d connections", dials)
		}
		r.wantPaper("A1 A2")
	})
}

func TestAConnectionForATicketThatNeverComesIsGivenUp(t *testing.T) {
	for _, can := range []virtual.Ability{virtual.Everything, 0} {
		proof := map[virtual.Ability]string{virtual.Everything: "confirmed", 0: "sent"}[can]
		expecting(t, virtual.Options{Can: can, Kanji: true, Clients: 1}, proof, nil, func(r *rig, _ *tap) {
			r.expected()
			if !r.d.Status().Connected {
				t.Error("nothing was connected")
			}
			time.Sleep(2 * time.Second)
			till, err := r.v.Dial(r.t.Context())
			if err != nil {
				t.Fatalf("the till does not get the printer: %v", err)
			}
			_ = till.Finish(r.t.Context())
			_ = till.Close()
		})
	}
}

func TestATicketThatWaitsForWhatIsExpectedSharesItsFailure(t *testing.T) {
	for kind, trouble := range map[string]func(r *rig) (over func()){
		"clean":     func(r *rig) func() { r.v.PowerOff(); return r.v.PowerOn }, // the dial hangs
		"not ready": func(r *rig) func() { r.v.Stall(); return r.v.Repair },     // it says nothing
	} {
		expecting(t, talkative(), "confirmed", nil, func(r *rig, wire *tap) {
			over := trouble(r)
			r.expected()
			if o := r.want("A2", kind); o.began != 0 {
				t.Errorf("%s: begun", kind)
			}
			if dials, asked := wire.since(); dials != 1 || asked > 1 {
				t.Errorf("%s: %d connections, %d questions", kind, dials, asked)
			}
			if r.d.Status().Fine() {
				t.Errorf("%s: the printer is said to be well", kind)
			}
			over()
			r.want("A2", "confirmed") // it asks now
			r.wantPaper("A1 A2")
		})
	}
}

func TestWhatWasExpectedIsSoonForgotten(t *testing.T) {
	expecting(t, talkative(), "confirmed", nil, func(r *rig, wire *tap) {
		r.expected()
		wire.since()
		time.Sleep(100 * time.Millisecond)
		r.want("A2", "confirmed")
		if dials, asked := wire.since(); dials != 0 || asked == 0 {
			t.Errorf("%d connections, %d questions: want it asked anew on the connection that is kept", dials, asked)
		}
	})
}

func TestAPrinterThatChangesBetweenExpectationAndTicketIsAskedAgain(t *testing.T) {
	for name, change := range map[string]func(v *virtual.Printer){
		"PowerCycle": func(v *virtual.Printer) { v.PowerCycle() },
		"Reset":      func(v *virtual.Printer) { v.Reset() },
	} {
		t.Run(name, func(t *testing.T) {
			expecting(t, talkative(), "confirmed", nil, func(r *rig, _ *tap) {
				r.expected()
				change(r.v)
				synctest.Wait()
				r.want("A2", "confirmed")
				r.wantPaper("A1 A2")
			})
		})
	}
	t.Run("Cover", func(t *testing.T) {
		expecting(t, talkative(), "confirmed", nil, func(r *rig, wire *tap) {
			r.want("A2", "confirmed") // from now on it tells us when something changes
			r.expected()
			r.v.Set(virtual.CoverOpen, true)
			synctest.Wait()
			wire.since()
			if o := r.want("A3", "not ready"); o.began != 0 {
				t.Error("begun with an open cover")
			}
			if _, asked := wire.since(); asked == 0 {
				t.Error("it was not asked again")
			}
			r.v.Set(virtual.CoverOpen, false)
			r.want("A3", "confirmed")
			r.wantPaper("A1 A2 A3")
		})
	})
}

func TestOnlyAPrinterThatIsKnownAndWellIsExpectedToPrint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // nobody knows it yet
		v := virtual.New(talkative())
		wire := &tap{to: v}
		r := newRig(t, v, wire, nil)
		defer r.d.Release()
		r.expected()
		if dials, _ := wire.since(); dials != 0 {
			t.Error("a printer was connected before its first ticket")
		}
	})
	expecting(t, talkative(), "confirmed", nil, func(r *rig, wire *tap) { // the line's own pauses count
		_ = r.v.Refuse(true)
		r.want("A2", "clean")
		wire.since()
		r.expected()
		if dials, _ := wire.since(); dials != 0 {
			t.Error("a printer that is down was dialled")
		}
	})
	expecting(t, talkative(), "confirmed", func(d *printer.DeviceOptions) { d.Linger = -1 }, func(r *rig, wire *tap) {
		r.expected()
		if dials, _ := wire.since(); dials != 0 {
			t.Error("a connection was made that must not be kept")
		}
	})
	expecting(t, talkative(), "confirmed", nil, func(r *rig, wire *tap) { // many orders, one look
		for range 50 {
			r.expected()
		}
		if dials, asked := wire.since(); dials != 1 || asked > 4 {
			t.Errorf("%d connections, %d questions", dials, asked)
		}
	})
}

func TestAReleaseEndsWhatIsExpected(t *testing.T) {
	o := talkative()
	o.Clients, o.Hang = 1, true
	expecting(t, o, "confirmed", nil, func(r *rig, wire *tap) {
		till, err := r.v.Dial(r.t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.d.Expect() // hangs in the dial
		synctest.Wait()
		began := time.Now()
		r.d.Release()
		synctest.Wait()
		_ = till.Finish(r.t.Context())
		_ = till.Close()
		r.want("A2", "confirmed") // and is no news for the next ticket
		if waited := time.Since(began); waited >= time.Second {
			t.Errorf("the release waited for %s", waited)
		}
		r.wantPaper("A1 A2")
	})
}
