package virtual_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
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
		assert.NoError(t, p.Wait(t.Context(), 1))
		if d := time.Since(start); d != 4*time.Second {
			t.Errorf("the ticket took %s, want 4 s", d)
		}
	})
}

func TestAFullBufferStillAnswersRealTimeCommands(t *testing.T) {
	o := virtual.Options{Can: virtual.Everything, ReceiveBuffer: 4, Condition: virtual.PaperOut}
	bubble(t, "", o, func(t *testing.T, p *virtual.Printer) {
		c := connect(t, p)
		c.send("1\n2\n")
		c.ask("\x10\x04\x04", "\x72")
		c.ask("\x10\x04\x01", "\x1a")
		c.stuck("34") // the first byte might have been a question
		c.stuck("\x10\x04\x01")
		p.Refill()
		synctest.Wait()
		c.ask("\n\x10\x04\x01", "\x12")
		c.send("\x1dV\x00")
		assert.NoError(t, p.Wait(t.Context(), 1))
		if got := p.Tickets(); got[0].Text != "1\n2\n3\n" {
			t.Errorf("on paper %q", got[0].Text)
		}
	})
}

func TestAPrinterWithoutPowerAnswersNothingThenResets(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.Everything}, func(t *testing.T, p *virtual.Printer) {
		one, two := connect(t, p), connect(t, p)
		one.send("1\n")
		p.PowerOff()
		one.stuck("2\n")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := p.Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial: %v, want nothing for a minute", err)
		}
		p.PowerOn()
		one.wasReset()
		two.wasReset()

		again := connect(t, p)
		again.ask("\x10\x04\x01", "\x12")
		p.Reset()
		again.wasReset()
	})
}

func TestAConnectionContinuesAfterTheCableIsPluggedIn(t *testing.T) {
	bubble(t, "", virtual.Options{Can: virtual.Everything}, func(t *testing.T, p *virtual.Printer) {
		c := connect(t, p)
		p.Unplug(true)
		c.stuck("\x1dr\x01")
		if got := c.receive(); got != "" {
			t.Errorf("without a cable it said % X", got)
		}
		p.Unplug(false)
		c.ask("\x1dr\x01", "\x00")
	})
}

func TestTheClientLimitRefusesOrHangs(t *testing.T) {
	for _, hang := range []bool{false, true} {
		o := virtual.Options{Clients: 1, Hang: hang, Can: virtual.RealTime}
		bubble(t, fmt.Sprint(hang), o, func(t *testing.T, p *virtual.Printer) {
			one := connect(t, p)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			want := map[bool]error{false: syscall.ECONNREFUSED, true: context.DeadlineExceeded}[hang]
			if _, err := p.Dial(ctx); !errors.Is(err, want) {
				t.Errorf("the second: %v, want %v", err, want)
			}
			_ = one.c.Close()
			synctest.Wait()
			connect(t, p).ask("\x10\x04\x01", "\x12")
		})
	}
}

// stuck wants that s is not read for a minute.
func (c conversation) stuck(s string) {
	c.t.Helper()
	_ = c.c.SetWriteDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c.c, s); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Errorf("write: %v, want nothing for a minute", err)
	}
	_ = c.c.SetWriteDeadline(time.Time{})
}

// wasReset wants that the printer has reset the connection.
func (c conversation) wasReset() {
	c.t.Helper()
	_ = c.c.SetReadDeadline(time.Time{})
	if _, err := c.c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		c.t.Errorf("read: %v, want a reset", err)
	}
}
