package printer_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// failing makes connections whose orderly end fails, or that were closed by the printer, as far as TCP knows.
type failing struct {
	*scriptedPrinter
	finish, closed *errorSwitch
}

// An errorSwitch is an error that a test sets while the printer runs.
type errorSwitch struct {
	mu  sync.Mutex
	err error
}

func (e *errorSwitch) set(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
}

func (e *errorSwitch) get() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

func (f failing) Dial(ctx context.Context) (transport.Conn, error) {
	c, err := f.scriptedPrinter.Dial(ctx)
	return failingConn{c, f}, err
}

type failingConn struct {
	transport.Conn
	f failing
}

func (c failingConn) Finish(context.Context) error { return c.f.finish.get() }
func (c failingConn) PeerClosed() error            { return c.f.closed.get() }

func answersIDs(c net.Conn, all string) {
	if id := idReply(all); id != nil {
		_, _ = c.Write(id)
	}
}

func TestACutOfWhichTheArrivalIsNotKnownIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var finish, closed errorSwitch
		f := failing{answering(answersIDs), &finish, &closed}
		r := newHarness(t, nil, f, nil)
		for i, want := range []int{1, 2, 4} { // with those of the ticket before
			finish.set(map[bool]error{true: io.ErrUnexpectedEOF}[i == 1])
			r.want("A1", "confirmed")
			synctest.Wait()
			if n := strings.Count(f.all(), theCut); n != want {
				t.Errorf("%d cuts after %d tickets, want %d", n, i+1, want)
			}
			hangUp(r.d)
		}
	})
}

func TestATicketIsUntouchedIfTheConnectionEndedBeforeItsFirstByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var finish, closed errorSwitch
		f := failing{answering(answersIDs), &finish, &closed}
		r := newHarness(t, nil, f, nil)
		_, err := r.p.Print(t.Context(), orderOf("A1"), func(context.Context) error {
			closed.set(errors.New("the printer closed it"))
			return nil
		})
		if !ticket.IsUntouched(err) || strings.Contains(f.all(), "job 1") {
			t.Errorf("%v, it was sent %q", err, f.all())
		}
		r.wantState(printer.Unreachable)
	})
}

func TestEachCopysCutIsCountedByItself(t *testing.T) {
	// The first copy was cut; the cut of the second one, which ended as sent, was never sent.
	synctest.Test(t, func(t *testing.T) {
		cuts := cutter(func(n int) bool { return n == 4 || n == 6 })
		a := &acknowledging{scriptedPrinter: cuts, missing: 11}
		r := newHarness(t, nil, a, func(_ *printer.DeviceOptions, o *printer.Options) { o.Copies = 2 })
		r.want("A1", "confirmed")
		r.want("A2", "doubt")
		r.want("A2", "sent")
		before := strings.Count(a.all(), theCut)
		if o := r.print("A3"); o.err != nil {
			t.Error(o.err)
		}
		if n := strings.Count(a.all(), theCut) - before; n != 3 {
			t.Errorf("%d cuts with the last ticket, want that of the one before and two of its own", n)
		}
	})
}

func TestAPrinterThatWaitsForAPersonKeepsTheConnection(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.v.Set(virtual.PaperOut, true)
		r.want("A1", "not ready")
		r.want("A1", "not ready")
		if n := r.v.ClientCount(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestAConnectionOnWhichAnAnswerIsMissingIsNotReused(t *testing.T) {
	// An answer to DLE EOT was lost while the ticket printed.
	synctest.Test(t, func(t *testing.T) {
		lost := false
		s := &scriptedPrinter{}
		s.answer = func(_ *scriptedPrinter, c net.Conn, all string) {
			id := idReply(all)
			switch {
			case behind(all) && id != nil && !lost:
				later(2500*time.Millisecond, func() { _, _ = c.Write(id) })
			case behind(all) && !lost && last(all, "\x10\x04\x01"):
				lost = true
			case answerStatus(c, all):
			case id != nil:
				_, _ = c.Write(id)
			}
		}
		r := newScriptedHarness(t, s)
		r.want("A1", "confirmed")
		if o := r.want("A2", "confirmed"); o.took > time.Second || s.clients() != 2 {
			t.Errorf("after %s, %d connections", o.took, s.clients())
		}
	})
}

func TestAPollShowsAHungPrinterAsHungAndSendsAWorkingOneNoHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		s := answering(func(c net.Conn, all string) {
			if !hangs.Load() {
				answersIDs(c, all)
			}
		})
		r := newHarness(t, nil, s, func(d *printer.DeviceOptions, _ *printer.Options) { d.PollEvery = 5 * time.Minute })
		ctx, cancel := context.WithCancel(t.Context())
		go r.d.Watch(ctx)
		time.Sleep(time.Minute)
		asked := strings.Count(s.all(), theID)
		time.Sleep(30 * time.Minute)
		if n := strings.Count(s.all(), theID); n != asked {
			t.Errorf("%d hellos of polls", n-asked)
		}
		hangs.Store(true)
		r.want("A1", "not ready")
		time.Sleep(10 * time.Minute)
		r.wantState(printer.Hung)
		hangs.Store(false)
		time.Sleep(10 * time.Minute)
		r.wantState(printer.Ready)
		cancel()
		synctest.Wait()
	})
}

func TestAPrinterIsReachableAgainWithoutTheOldError(t *testing.T) {
	for confirm, want := range map[profile.Confirm][2]string{
		profile.Auto: {"confirmed", printer.Ready}, profile.NoConfirm: {"sent", printer.Unknown},
	} {
		change := func(d *printer.DeviceOptions, _ *printer.Options) { d.Confirm = confirm }
		withHarness(t, answersAll(), change, func(r *harness) {
			_ = r.v.Refuse(true)
			r.want("A1", "clean")
			if s := r.wantState(printer.Unreachable); s.Err == "" {
				t.Error("no reason")
			}
			_ = r.v.Refuse(false)
			r.want("A1", want[0])
			if s := r.wantState(want[1]); s.Err != "" {
				t.Error(s.Err)
			}
		})
	}
}

// hanging is a dialer that waits until its context ends.
type hanging struct{}

func (hanging) Dial(ctx context.Context) (transport.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestADialEndsWithItsTicketOrAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHarness(t, nil, hanging{}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if o := r.printWith(ctx, r.p, orderOf("A1"), nil); o.kind() != "clean" {
			t.Errorf("%s, %v", o.kind(), o.err)
		}
		r.wantState(printer.Unknown)
		if o := r.want("A1", "clean"); !errors.Is(o.err, context.DeadlineExceeded) || o.took != 10*time.Second {
			t.Errorf("%v, after %s", o.err, o.took)
		}
	})
}

func TestANegativeLingerKeepsNoConnection(t *testing.T) {
	none := func(d *printer.DeviceOptions, _ *printer.Options) { d.Linger = -1 }
	withHarness(t, answersAll(), none, func(r *harness) {
		for i := range 3 {
			r.want("A1", "confirmed")
			if n := r.v.ClientCount(); r.d.Status().Connected || n != i+1 {
				t.Errorf("%d connections for %d tickets", n, i+1)
			}
		}
	})
}

// endingDialer leads to a silent printer whose connections end by themselves.
type endingDialer struct{ failing }

func (d endingDialer) Dial(ctx context.Context) (transport.Conn, error) {
	c, err := d.failing.Dial(ctx)
	later(50*time.Millisecond, func() { _ = c.Close() })
	return c, err
}

func TestNoTicketIsBegunOnASilentPrinterThatDropsItsClientsAfter50Milliseconds(t *testing.T) {
	for name, ends := range map[string]bool{"the reader sees it": true, "only the connection knows": false} {
		synctest.Test(t, func(t *testing.T) {
			var finish, closed errorSwitch
			f := failing{&scriptedPrinter{}, &finish, &closed}
			var d transport.Dialer = f
			if ends {
				d = endingDialer{f}
			}
			r := newHarness(t, nil, d, nil)
			for range 4 { // more than maxDroppedProbes
				if !ends {
					closed.set(nil)
					later(50*time.Millisecond, func() { closed.set(errors.New("the printer closed it")) })
				}
				if o := r.want("A1", "clean"); o.began > 0 {
					t.Errorf("%s: the ticket was begun: %v", name, o.err)
				}
			}
		})
	}
}
