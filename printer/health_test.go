package printer_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/virtual"
)

func TestAPrinterIsReadyOnlyWhenItsProbeHasEnded(t *testing.T) {
	push := false
	withScript(t, answering(func(c net.Conn, all string) {
		switch {
		case last(all, "\x1da\x0e"):
			_, _ = c.Write([]byte("\x10\x00\x00\x0f"))
			push = true
		case push:
			push = false
			later(time.Second, func() { _, _ = c.Write([]byte("\x10\x00\x00\x0f")) })
		}
	}), func(r *harness) {
		later(3*time.Second, func() { r.wantState(printer.Unknown) })
		r.want("A1", "sent").within(r, 3*time.Second, time.Hour)
	})
}

func TestAPersonsProbeComesBeforeWhatIsStored(t *testing.T) {
	withHarness(t, answersAll(), nil, func(r *harness) {
		r.want("A1", "confirmed")
		hangUp(r.d)
		o := r.dev
		o.Dialer = virtual.New(virtual.Options{Can: statusOnly, Kanji: true})
		d := printer.NewDevice(o)
		defer d.Retire()
		if s, err := d.Probe(r.t.Context()); err != nil || s.BestProof != "processed" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestTheWaitForASilentPrinterEndsWithItsTicket(t *testing.T) {
	s := &scriptedPrinter{}
	withScript(t, s, func(r *harness) {
		r.wantFrom(r.p, orderOfLines(60), "sent")
		before := s.clients()
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		o := r.printWith(ctx, r.p, orderOf("A2"), nil)
		if o.kind() != "clean" || !strings.Contains(o.err.Error(), "has printed") || s.clients() != before {
			t.Errorf("%s: %v, %d connections", o.kind(), o.err, s.clients()-before)
		}
	})
}

func TestAPollKeepsNoConnectionAndResetsNothing(t *testing.T) {
	s := answering(answersIDs)
	polled(t, s, func(r *harness) {
		time.Sleep(10*time.Minute + 30*time.Second)
		n := s.clients()
		wantTrue(t, !r.d.Connected() && n >= 10, n)
		wantEqual(t, strings.Count(s.all(), "\x1b@"), 1)
	})
}

func TestAPollLeavesAnIdleConnectionAlone(t *testing.T) {
	s := answering(answersIDs)
	polled(t, s, func(r *harness) {
		time.Sleep(time.Second)
		r.want("A1", "confirmed")
		synctest.Wait()
		before := len(s.all())
		time.Sleep(10 * time.Minute)
		n := len(s.all())
		wantTrue(t, n == before && r.d.Connected(), n-before)
	})
}

// A waitingContext calls f when a ticket is about to wait for the printer's lock.
type waitingContext struct {
	context.Context
	once sync.Once
	f    func()
}

func (c *waitingContext) Done() <-chan struct{} {
	c.once.Do(c.f)
	return c.Context.Done()
}

func TestNoPollStartsOnceATicketWaits(t *testing.T) {
	wire := &tap{Dialer: hanging{}}
	polled(t, wire, func(r *harness) {
		time.Sleep(30 * time.Second) // the first poll has failed
		ctx, cancel := context.WithTimeout(r.t.Context(), 11*time.Minute)
		defer cancel()
		var polls int32
		_ = r.printWith(&waitingContext{Context: ctx, f: func() {
			before := wire.dialled.Load()
			time.Sleep(10 * time.Minute)
			polls = wire.dialled.Load() - before
		}}, r.p, orderOf("A1"), nil)
		wantEqual(t, polls, 0)
		before := wire.dialled.Load()
		time.Sleep(10 * time.Minute)
		n := wire.dialled.Load() - before
		wantTrue(t, n >= 9, n)
	})
}
