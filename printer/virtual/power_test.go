package virtual_test

import (
	"context"
	"errors"
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
		assert.Equal(t, time.Since(start), 0)
		assert.Equal(t, c.receive(), "\x12", "while it prints")
		c.send("4567890123\n\x1dV\x00")
		assert.Equal(t, time.Since(start), 3*time.Second, "a full buffer takes more")
		assert.NoError(t, p.Wait(t.Context(), 1))
		assert.Equal(t, time.Since(start), 4*time.Second, "it has printed")
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
		assert.Equal(t, p.Tickets()[0].Text, "1\n2\n3\n")
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
		_, err := p.Dial(ctx)
		assert.True(t, errors.Is(err, context.DeadlineExceeded), err)
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
		assert.Equal(t, c.receive(), "", "without a cable")
		p.Unplug(false)
		c.ask("\x1dr\x01", "\x00")
	})
}

func TestASecondClientIsRefusedUntilTheFirstLeaves(t *testing.T) {
	o := virtual.Options{Clients: 1, Can: virtual.RealTime}
	bubble(t, "", o, func(t *testing.T, p *virtual.Printer) {
		one := connect(t, p)
		_, err := p.Dial(t.Context())
		assert.True(t, errors.Is(err, syscall.ECONNREFUSED), err)
		_ = one.c.Close()
		synctest.Wait()
		connect(t, p).ask("\x10\x04\x01", "\x12")
	})
}

// stuck wants that s is not read for a minute.
func (c conversation) stuck(s string) {
	c.t.Helper()
	_ = c.c.SetWriteDeadline(time.Now().Add(time.Minute))
	_, err := io.WriteString(c.c, s)
	assert.True(c.t, errors.Is(err, os.ErrDeadlineExceeded), err)
	_ = c.c.SetWriteDeadline(time.Time{})
}

// wasReset wants that the printer has reset the connection.
func (c conversation) wasReset() {
	c.t.Helper()
	_ = c.c.SetReadDeadline(time.Time{})
	_, err := c.c.Read(make([]byte, 1))
	assert.True(c.t, errors.Is(err, syscall.ECONNRESET), err)
}
