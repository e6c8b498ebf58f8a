package printer_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"ticketrail/deploy/slow"
	"ticketrail/printer"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// Compile-time check: Paper is a station of the dispatcher.
var _ interface {
	Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error)
} = (*printer.Paper)(nil)

func TestOverTCPOutcomeAfterEachFault(t *testing.T) {
	slow.Test(t)
	d := order(40)
	n := 0
	{
		v := virtual.New(virtual.Options{})
		if a := try(t, t.Context(), paper(t, onTCP(t, v), nil), v, d, nil); a.err != nil {
			t.Fatal(a.err)
		}
		if err := v.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		n = int(v.BytesRead())
	}
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			v := virtual.New(virtual.Options{Columns: 48, Kanji: true})
			dialer := onTCP(t, v)
			f.breaks(v, n)
			a := try(t, t.Context(), paper(t, dialer, nil), v, d, f.beginErr)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := v.Wait(ctx, len(f.ends)); err != nil {
				t.Error(err)
			}
			if errors.Is(a.err, syscall.EPIPE) { // which of the two is a matter of timing
				f.want = syscall.EPIPE
			}
			f.check(t, v, a, n)
		})
	}
}

func TestOverTCPAStalledPrinterLeavesTheTicketInDoubt(t *testing.T) {
	slow.Test(t)
	for name, breaks := range map[string]func(*virtual.Printer){
		"AtTheStart": func(v *virtual.Printer) { v.Stall() },
		"MidTicket":  func(v *virtual.Printer) { v.StallAfter(padding() + 2000) },
	} {
		t.Run(name, func(t *testing.T) {
			v := virtual.New(virtual.Options{})
			dialer := onTCP(t, v)
			breaks(v)
			p := paper(t, dialer, func(o *printer.Options) {
				o.Timeout, o.TimeoutPerKiB = 700*time.Millisecond, time.Microsecond
			})
			// The kernel takes everything at once, the printer does not.
			a := try(t, t.Context(), p, v, order(1000), nil)
			if !a.begun || a.err == nil || a.took > time.Minute {
				t.Errorf("begun %v, %v, after %s", a.begun, a.err, a.took)
			}
			if !strings.Contains(a.err.Error(), "out of paper") {
				t.Errorf("%q does not say what to look at", a.err)
			}
			if v.TicketCount() != 0 {
				t.Errorf("%d tickets on paper", v.TicketCount())
			}
		})
	}
}

func TestOverTCPPrintEndsAtOnceWhenItsContextIsCancelled(t *testing.T) {
	slow.Test(t)
	v := virtual.New(virtual.Options{})
	dialer := onTCP(t, v)
	v.StallAfter(padding() + 2000)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = v.WaitBytes(ctx, int64(padding())+2000)
		cancel()
	}()
	a := try(t, ctx, paper(t, dialer, nil), v, order(1000), nil)
	if !errors.Is(a.err, context.Canceled) || a.took > time.Minute {
		t.Errorf("%v after %s", a.err, a.took)
	}
}

func TestOverTCPAnAbandonedTicketIsNotDeliveredLater(t *testing.T) {
	slow.Test(t)
	v := virtual.New(virtual.Options{})
	dialer := onTCP(t, v)
	v.StallAfter(padding() + 2000)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = v.WaitBytes(ctx, int64(padding())+2000)
		cancel()
	}()
	p := paper(t, dialer, nil)
	if a := try(t, ctx, p, v, order(1000), nil); a.err == nil {
		t.Fatal("not interrupted")
	}
	v.Repair()
	if err := v.Wait(t.Context(), 1); err != nil { // what the printer had in its buffer
		t.Fatal(err)
	}
	again := order(1)
	again.Doubt = true
	if a := try(t, t.Context(), p, v, again, nil); a.err != nil {
		t.Fatal(a.err)
	}
	if err := v.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	got := v.Tickets()
	if got[0].End != virtual.Broken || got[1].End != virtual.Cut ||
		!strings.Contains(got[1].Text, "POSSIBLE DUPLICATE") {
		t.Errorf("on paper: %s and %s:\n%s", got[0].End, got[1].End, got[1].Text)
	}
}

func TestOverTCPAnIdleConnectionThatWasResetIsNotReused(t *testing.T) {
	slow.Test(t)
	r := harnessOverTCP(t, virtual.Options{Can: virtual.Everything})
	for range 5 {
		r.want("A1", "confirmed")
		r.v.Reset()
	}
	hangUp(r.d)
	n := 0
	for _, x := range r.v.Tickets() {
		if x.Text != "" { // a cut of which it is not known that it came to the printer is repeated
			n++
		}
	}
	if n != 5 {
		t.Errorf("%d tickets", n)
	}
}

func TestOverTCPACancelledContextEndsTheWaitForTheAnswerAtOnce(t *testing.T) {
	slow.Test(t)
	r := harnessOverTCP(t, virtual.Options{Can: virtual.Everything})
	r.want("A1", "confirmed")
	r.v.Delay(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	taken := r.v.BytesRead()
	go func() {
		_ = r.v.WaitBytes(ctx, taken+100) // the questions have 58
		cancel()
	}()
	o := r.printWith(ctx, r.p, orderOf("A2"), nil)
	if o.kind() != "doubt" || !errors.Is(o.err, context.Canceled) || ticket.IsUntouched(o.err) ||
		o.took > time.Minute {
		t.Errorf("%s after %s: %v", o.kind(), o.took, o.err)
	}
}

func TestPaddingThatThePrinterNeverReceivedIsSentAgain(t *testing.T) {
	// The printer waits for the rest of an image. When the connection breaks, the padding for it is still in a
	// buffer on the way, so the printer continues to wait and needs the padding again.
	slow.Test(t)
	t.Parallel() // it mostly waits: a printer that may be silent is waited for at first
	v := virtual.New(virtual.Options{Kanji: true})
	w := &recordingDialer{onTCP(t, v), make(chan string, 1000)}
	r := newHarness(t, v, w, nil)
	t.Cleanup(r.d.Retire)
	sendHalfAnImage(t, v)
	v.StallAfter(150)
	ended := make(chan outcome, 1)
	go func() { ended <- r.print("A1") }()
	for !strings.Contains(<-w.bytes, "A1") {
	}
	v.Reset()
	if o := <-ended; o.kind() != "doubt" {
		t.Fatalf("%s, %v", o.kind(), o.err)
	}
	v.Repair()
	again := orderOf("A1")
	again.Doubt = true
	if o := r.printWith(t.Context(), r.p, again, nil); o.kind() != "sent" {
		t.Errorf("%s, %v", o.kind(), o.err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := v.Wait(ctx, 1); err != nil {
		t.Error(err)
	}
	for _, s := range v.Problems() {
		if strings.Contains(s, "swallowed") {
			t.Errorf("the printer recorded a problem: %s", s)
		}
	}
}

// harnessOverTCP is a harness on a real socket.
func harnessOverTCP(t *testing.T, o virtual.Options) *harness {
	t.Helper()
	o.Kanji = true
	v := virtual.New(o)
	d := onTCP(t, v)
	r := newHarness(t, v, d, func(d *printer.DeviceOptions, _ *printer.Options) { d.Linger = 100 * time.Millisecond })
	t.Cleanup(func() {
		r.d.Retire()
		for _, s := range v.Problems() {
			t.Errorf("the printer recorded a problem: %s", s)
		}
	})
	return r
}

// onTCP serves v, which must not have a fault yet, on a socket with a small receive buffer, as printers have.
func onTCP(t *testing.T, v *virtual.Printer) transport.Dialer {
	t.Helper()
	small := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if cerr := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		}); cerr != nil {
			return cerr
		}
		return err
	}}
	l, err := small.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, v, l)
	d, err := transport.Open("tcp://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := v.WaitClients(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return d
}

// A recordingDialer reports the bytes that were written.
type recordingDialer struct {
	transport.Dialer
	bytes chan string
}

func (w *recordingDialer) Dial(ctx context.Context) (transport.Conn, error) {
	c, err := w.Dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return recordingConn{c, w.bytes}, nil
}

type recordingConn struct {
	transport.Conn
	bytes chan string
}

func (c recordingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.bytes <- string(b[:n])
	return n, err
}
