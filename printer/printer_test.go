package printer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/escpos"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

func order(lines int) ticket.Delivery {
	t := ticket.Ticket{
		Request: "0b6f5c1e-1111-4222-8333-444455556666", Number: "42", Table: "7", Server: "Zoë",
		Received: time.Date(2025, 3, 7, 18, 30, 0, 0, time.UTC),
	}
	for i := range lines {
		t.Lines = append(t.Lines, ticket.Line{Quantity: "2", Name: fmt.Sprintf("Crème brûlée %d", i)})
	}
	return ticket.Delivery{Job: 1, Station: "grill", Attempt: 1, Ticket: t}
}

func paper(t *testing.T, d transport.Dialer, change func(*printer.Options)) *printer.Paper {
	t.Helper()
	model, ok := profile.Lookup("generic-80mm")
	if !ok {
		t.Fatal("no such profile")
	}
	// These tests are about the connection, so no questions are sent.
	device := printer.NewDevice(printer.DeviceOptions{Name: "grill", Dialer: d, Confirm: profile.NoConfirm})
	o := printer.Options{Name: "grill", Device: device, Profile: model}
	if change != nil {
		change(&o)
	}
	return printer.NewPaper(o)
}

// padding is the number of bytes before the first ticket after a start.
func padding() int {
	model, _ := profile.Lookup("generic-80mm")
	return len(escpos.Resync(model))
}

// size is the number of bytes sent for a delivery, padding included.
func size(t *testing.T, d ticket.Delivery) int {
	t.Helper()
	v := virtual.New(virtual.Options{})
	if _, err := paper(t, v, nil).Print(t.Context(), d, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return int(v.BytesRead())
}

// An attempt is the result of one Print.
type attempt struct {
	begun bool
	proof ticket.Proof
	err   error
	took  time.Duration
}

// try prints d once and records what happened.
func try(
	t *testing.T, ctx context.Context, p *printer.Paper, v *virtual.Printer, d ticket.Delivery, beginErr error,
) attempt {
	t.Helper()
	var a attempt
	before := v.BytesRead()
	start := time.Now()
	a.proof, a.err = p.Print(ctx, d, func(context.Context) error {
		if a.begun {
			t.Error("begun twice")
		}
		a.begun = true
		if v.BytesRead() != before {
			t.Error("bytes went out before begin")
		}
		return beginErr
	})
	a.took = time.Since(start)
	if (a.proof == ticket.Sent) != (a.err == nil) {
		t.Errorf("proof %q with error %v", a.proof, a.err)
	}
	return a
}

var errBegin = errors.New("disk full")

// A fault is a failure of the printer and the outcome that it must have.
type fault struct {
	name     string
	breaks   func(v *virtual.Printer, size int)
	beginErr error
	begun    bool
	want     error // nil: sent
	taken    func(size int) int64
	ends     []virtual.End // of the tickets on the paper
}

func none(int) int64      { return 0 }
func all(n int) int64     { return int64(n) }
func some(int) int64      { return int64(padding()) + 300 }
func allButOne(n int) int { return n - 1 }

func faults() []fault {
	cut, part := []virtual.End{virtual.Cut}, []virtual.End{virtual.Broken}
	return []fault{
		{"APrinterThatWorksTakesTheTicket", func(*virtual.Printer, int) {}, nil, true, nil, all, cut},
		{
			"APrinterThatIsOffIsACleanFailure", func(v *virtual.Printer, _ int) { _ = v.Refuse(true) }, nil, false,
			syscall.ECONNREFUSED, none, nil,
		},
		{"WithoutBeginNothingIsSent", func(*virtual.Printer, int) {}, errBegin, true, errBegin, none, nil},
		{
			"AResetMidTicketIsInDoubt", func(v *virtual.Printer, _ int) { v.ResetAfter(padding()+300, -1) }, nil,
			true, syscall.ECONNRESET, some, part,
		},
		{
			"AResetBeforeTheLastByteIsInDoubt", func(v *virtual.Printer, n int) { v.ResetAfter(allButOne(n), -1) },
			nil, true, syscall.ECONNRESET, func(n int) int64 { return int64(n - 1) }, part,
		},
		{
			"AResetAfterTheLastByteIsInDoubt", func(v *virtual.Printer, n int) { v.ResetAfter(n, -1) }, nil, true,
			syscall.ECONNRESET, all, cut,
		},
		{
			"APrinterThatNeverClosesHasTakenTheTicket", func(v *virtual.Printer, _ int) { v.KeepOpen(true) }, nil,
			true, nil, all, cut,
		},
	}
}

func (f fault) check(t *testing.T, v *virtual.Printer, a attempt, n int) {
	t.Helper()
	if a.begun != f.begun {
		t.Errorf("begun %v, want %v", a.begun, f.begun)
	}
	if !errors.Is(a.err, f.want) || (a.err == nil) != (f.want == nil) {
		t.Errorf("error %v, want %v", a.err, f.want)
	}
	if ticket.IsPermanent(a.err) || ticket.IsNotReady(a.err) {
		t.Errorf("%v is marked as an outcome it is not", a.err)
	}
	if got, want := v.BytesRead(), f.taken(n); got != want {
		t.Errorf("%d of %d bytes on the printer, want %d", got, n, want)
	}
	var ends []virtual.End
	for _, x := range v.Tickets() {
		ends = append(ends, x.End)
	}
	if fmt.Sprint(ends) != fmt.Sprint(f.ends) {
		t.Errorf("on paper %v, want %v", ends, f.ends)
	}
	if p := v.Problems(); p != nil {
		t.Errorf("the printer recorded a problem: %q", p)
	}
}

func TestOutcomeAfterEachFault(t *testing.T) {
	inMemory := []fault{
		{
			"AResetBeforeTheFirstByteIsInDoubt", func(v *virtual.Printer, _ int) { v.ResetAfter(0, -1) }, nil, true,
			syscall.ECONNRESET, none, nil,
		},
		{
			"APrinterThatClosesEarlyIsInDoubt", func(v *virtual.Printer, _ int) { v.CloseAfter(padding()+300, -1) },
			nil, true, syscall.EPIPE, some, part(),
		},
		{
			"APrinterThatStallsIsInDoubt", func(v *virtual.Printer, _ int) { v.StallAfter(padding() + 300) }, nil,
			true, os.ErrDeadlineExceeded, some, part(),
		},
		{
			"APrinterThatTakesNothingIsInDoubt", func(v *virtual.Printer, _ int) { v.Stall() }, nil, true,
			os.ErrDeadlineExceeded, none, nil,
		},
		{
			"ASlowPrinterIsWaitedFor", func(v *virtual.Printer, _ int) { v.Delay(time.Second) }, nil, true, nil, all,
			[]virtual.End{virtual.Cut},
		},
	}
	for _, f := range append(faults(), inMemory...) {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := order(40)
				n := size(t, d)
				v := virtual.New(virtual.Options{Columns: 48, Kanji: true})
				f.breaks(v, n)
				a := try(t, t.Context(), paper(t, v, nil), v, d, f.beginErr)
				time.Sleep(10 * time.Minute) // the slow printer continues
				synctest.Wait()
				f.check(t, v, a, n)
			})
		})
	}
}

func part() []virtual.End { return []virtual.End{virtual.Broken} }

// A hangingDialer is a printer that serves another client.
type hangingDialer struct{}

func (hangingDialer) Dial(ctx context.Context) (transport.Conn, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("connect: %w", ctx.Err())
}

func TestADialThatHangsIsACleanFailureAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := virtual.New(virtual.Options{})
		a := try(t, t.Context(), paper(t, hangingDialer{}, nil), v, order(1), nil)
		if a.begun || !errors.Is(a.err, context.DeadlineExceeded) || a.took != 10*time.Second {
			t.Errorf("begun %v, %v, after %s", a.begun, a.err, a.took)
		}
	})
}

func TestOneTicketIsPrintedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := virtual.New(virtual.Options{})
		v.StallAfter(padding() + 300)
		p := paper(t, v, nil)
		begin := func(context.Context) error { return nil }
		done := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := p.Print(t.Context(), order(40), begin)
				done <- err
			}()
		}
		synctest.Wait()
		if v.ClientCount() != 1 {
			t.Errorf("%d connections at once", v.ClientCount())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Print(ctx, order(1), begin); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting for the printer is not interrupted: %v", err)
		}
		v.Repair()
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if err := v.Wait(t.Context(), 3); err != nil {
			t.Error(err)
		}
	})
}
