package virtual_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/printer/virtual"
)

func TestASlowPrinterReadsUntilItsBufferIsFull(t *testing.T) {
	o := virtual.Options{Can: virtual.Everything, ReceiveBuffer: 10, LinesPerSecond: 1}
	bubble(t, "", o, func(t *testing.T, p *virtual.Printer) {
		c := connect(t, p)
		start := time.Now()
		c.send("1\n2\n3\n") // fits: nothing is waited for
		c.send("\x10\x04\x01")
		if time.Since(start) != 0 {
			t.Errorf("taking it took %s", time.Since(start))
		}
		if got := c.receive(); got != "\x12" {
			t.Errorf("while it prints it said % X", got)
		}
		c.send("4567890123\n\x1dV\x00")
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("a full buffer took %s to take more, want 3 s", d)
		}
		if err := p.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 4*time.Second {
			t.Errorf("the ticket took %s, want 4 s", d)
		}
	})
}

func TestAFullBufferStillAnswersRealTimeCommands(t *testing.T) {
	o := virtual.Options{Can: virtual.Everything, ReceiveBuffer: 4, Condition: virtual.PaperOut}
	stuck := func(t *testing.T, c conversation, s string) {
		t.Helper()
		_ = c.c.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := io.WriteString(c.c, s); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a full printer read on: %v", err)
		}
		_ = c.c.SetWriteDeadline(time.Time{})
	}
	bubble(t, "OnANetwork", o, func(t *testing.T, p *virtual.Printer) {
		c := connect(t, p)
		c.send("1\n2\n")
		c.ask("\x10\x04\x04", "\x72")
		c.ask("\x10\x04\x01", "\x1a")
		stuck(t, c, "34") // the first byte might have been a question
		stuck(t, c, "\x10\x04\x01")
		p.Refill()
		synctest.Wait()
		c.ask("\n\x10\x04\x01", "\x12")
		c.send("\x1dV\x00")
		if err := p.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if got := p.Tickets(); got[0].Text != "1\n2\n3\n" {
			t.Errorf("on paper %q", got[0].Text)
		}
	})
}

func TestAPrinterWithoutPowerAnswersNothingThenResets(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.Everything}, func(t *testing.T, p *virtual.Printer) {
		c := connect(t, p)
		c.send("1\n")
		p.PowerOff()
		_ = c.c.SetWriteDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(c.c, "2\n"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write: %v, want nothing for a minute", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := p.Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial: %v, want nothing for a minute", err)
		}
		p.PowerOn()
		if _, err := c.c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v, want a reset", err)
		}
		connect(t, p).ask("\x10\x04\x01", "\x12")
	})
}

func TestAConnectionContinuesAfterTheCableIsPluggedIn(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.Everything}, func(t *testing.T, p *virtual.Printer) {
		c := connect(t, p)
		c.send("1\n")
		p.Unplug(true)
		wrote := make(chan error, 1)
		go func() {
			_, err := io.WriteString(c.c, "2\n\x1dr\x01")
			wrote <- err
		}()
		if got := c.receive(); got != "" {
			t.Errorf("without a cable it said % X", got)
		}
		p.Unplug(false)
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		if got := c.receive(); got != "\x00" {
			t.Errorf("with the cable back it said % X", got)
		}
	})
}

func TestResetResetsEveryClient(t *testing.T) {
	bubble(t, "", virtual.Options{}, func(t *testing.T, p *virtual.Printer) {
		one, two := connect(t, p), connect(t, p)
		one.send("1\n")
		p.Reset()
		for _, c := range []conversation{one, two} {
			if _, err := c.c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("read: %v, want a reset", err)
			}
		}
		time.Sleep(time.Second)
		if got := p.Tickets(); len(got) != 1 || got[0].End != virtual.Broken {
			t.Errorf("got %+v", got)
		}
	})
}

func TestTheClientLimitRefusesOrHangs(t *testing.T) {
	bubble(t, "Refused", virtual.Options{Clients: 2}, func(t *testing.T, p *virtual.Printer) {
		one := connect(t, p)
		connect(t, p)
		if _, err := p.Dial(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the third: %v", err)
		}
		_ = one.c.Close()
		synctest.Wait()
		connect(t, p)
	})
	hang := virtual.Options{Clients: 1, Hang: true, Can: virtual.RealTime}
	bubble(t, "Hangs", hang, func(t *testing.T, p *virtual.Printer) {
		one := connect(t, p)
		time.AfterFunc(time.Minute, func() { _ = one.c.Close() })
		start := time.Now()
		connect(t, p).ask("\x10\x04\x01", "\x12")
		if d := time.Since(start).Truncate(time.Minute); d != time.Minute {
			t.Errorf("the second waited %s", d)
		}
	})
}

func TestNoGoroutineIsLeftWhenClientsLeave(t *testing.T) {
	// The bubble panics if a goroutine is left.
	for _, o := range []virtual.Options{
		{}, {LinesPerSecond: 0.001}, {ReceiveBuffer: 100}, {Condition: virtual.PaperOut},
		{Clone: virtual.Clone{Late: time.Hour}},
	} {
		o.Can = virtual.Everything
		if o.LinesPerSecond == 0 { // the paper stands still when the bubble ends
			o.LinesPerSecond = math.Inf(1)
		}
		bubble(t, fmt.Sprintf("%+v", o), o, func(t *testing.T, p *virtual.Printer) {
			c := connect(t, p)
			c.send("1\n2\n\x1dr\x01\x10\x04\x01")
			_ = c.c.Close()
		})
	}
}

func TestTheLastCommandInAFullBufferIsAnswered(t *testing.T) {
	o := virtual.Options{Can: virtual.Everything, ReceiveBuffer: 5, LinesPerSecond: 1}
	bubble(t, "", o, func(t *testing.T, p *virtual.Printer) {
		c := connect(t, p)
		c.send("1\n2\n3\n4\n5\n6\n7\n\x1dr\x01")
		time.Sleep(10 * time.Second)
		if got := c.receive(); got != "\x00" {
			t.Errorf("it said % X", got)
		}
	})
}
