package printer_test

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
)

// A kitchen is a printer and the way to it.
type kitchen struct {
	*virtual.Printer
	t       *testing.T
	door    *door
	dialer  transport.Dialer
	picture int  // bytes that a ticket has for its picture
	later   bool // the mishap waits for a place in the ticket
	begun   sync.Once
	mend    func(*kitchen)
	mended  chan time.Time

	spoil guarded[func(right []byte) []byte]
}

// begin starts the time after which the mishap is mended, and says whether this is the first call.
func (k *kitchen) begin() (first bool) {
	k.begun.Do(func() {
		first = true
		time.AfterFunc(2*time.Second, func() {
			if k.mend != nil {
				k.mend(k)
			}
			k.mended <- time.Now()
		})
	})
	return first
}

// happen makes the mishap happen, unless its end was begun without it: nothing would mend it.
func (k *kitchen) happen(do func(*kitchen)) {
	if k.begin() {
		do(k)
	}
}

// idle waits until everything is on paper.
func (k *kitchen) idle() {
	ctx, cancel := context.WithTimeout(k.t.Context(), 10*time.Minute)
	defer cancel()
	assert.NoError(k.t, k.WaitIdle(ctx))
}

// dial connects another program, which tries again while a printer that serves one client refuses it.
func (k *kitchen) dial() transport.Conn {
	for {
		c, err := k.dialer.Dial(k.t.Context())
		if err == nil || k.t.Context().Err() != nil {
			return c
		}
	}
}

// till is another program that sends b and stays connected for d.
func (k *kitchen) till(b string, d time.Duration) {
	c := k.dial()
	_, _ = io.WriteString(c, b)
	time.AfterFunc(d, func() { _ = c.Close() })
}

// answer is the printer's answer instead of the right one.
func (k *kitchen) answer(right []byte) []byte {
	if f := k.spoil.get(); f != nil {
		return f(right)
	}
	return right
}

func spoil(f func([]byte) []byte) func(*kitchen) { return func(k *kitchen) { k.spoil.set(f) } }

// onlyRealTime keeps the answers to DLE EOT, of which bits 1 and 4 are set.
func onlyRealTime(right []byte) []byte {
	if len(right) == 1 && right[0]&0x12 == 0x12 {
		return right
	}
	return nil
}

// noTrouble is "no trouble" to each DLE EOT.
func noTrouble(right []byte) []byte {
	if onlyRealTime(right) != nil {
		return []byte{0x12}
	}
	return right
}

func twice(right []byte) []byte { return slices.Repeat(right, 2) }

// ahead puts foreign bytes ahead of each answer.
func ahead(foreign string) func([]byte) []byte {
	return func(right []byte) []byte { return append([]byte(foreign), right...) }
}

// cutOff resets the connection instead of the answer behind the next tickets; -1: behind all.
func (k *kitchen) cutOff(tickets int) {
	var behind atomic.Bool
	var arm func()
	arm = func() {
		k.After("| job ", 0, func() {
			behind.Store(true)
			if tickets--; tickets != 0 {
				arm()
			}
		})
	}
	arm()
	spoil(func(right []byte) []byte {
		if onlyRealTime(right) != nil || !behind.CompareAndSwap(true, false) {
			return right
		}
		time.AfterFunc(10*time.Millisecond, k.Reset) // when all that was sent is acknowledged
		return nil
	})(k)
}

// breaksAtLine switches the printer off and on each time it has printed n lines; -1: for good.
func breaksAtLine(n, times int) func(*kitchen) {
	return func(k *kitchen) {
		left := times
		var arm func()
		arm = func() {
			k.AfterLines(n, func() {
				k.PowerCycle()
				if left--; left != 0 {
					arm()
				}
			})
		}
		arm()
	}
}

// behindIt makes do happen when the printer is asked how it is behind the second ticket: the fence has arrived by
// then, and little is printed.
func behindIt(do func(*kitchen)) func(*kitchen) {
	return func(k *kitchen) {
		k.later = true
		k.Delay(300 * time.Millisecond)
		k.After("| job 2 ", 0, func() {
			k.After("\x10\x04", 0, func() { k.Delay(0); k.happen(do) })
		})
	}
}

// clearAll ends a condition, and the printer loses its buffer.
func clearAll(c virtual.Condition) func(*kitchen) {
	return func(k *kitchen) { k.ClearBuffer(); k.Set(c, false) }
}

func slowly(o *virtual.Options)   { o.LinesPerSecond = 20 }
func crawling(o *virtual.Options) { o.LinesPerSecond = 10 }

// roomy is a printer that has received all of a ticket before it has printed much of it.
func roomy(o *virtual.Options) { o.LinesPerSecond, o.ReceiveBuffer = 10, 64<<10 }

// at makes do happen at a place in the second ticket, after when n lines of it are on paper.
func at(p place, do func(*kitchen)) func(*kitchen) {
	return func(k *kitchen) {
		k.later = true
		happen := func() { k.happen(do) }
		k.After("Fish 02", 0, func() {
			if p == head {
				happen()
				return
			}
			k.After("\x1dv0", intoPicture, happen)
		})
	}
}

// A place in a ticket: in its second line, or in the first piece of the picture that is its third.
type place int

const (
	head place = iota
	drawingIt
)

const intoPicture = 100 // bytes

func after(n int, do func(*kitchen)) func(*kitchen) {
	return func(k *kitchen) {
		k.later = true
		k.AfterLines(n, func() { k.happen(do) })
	}
}

func set(c virtual.Condition) func(*kitchen)   { return func(k *kitchen) { k.Set(c, true) } }
func clear(c virtual.Condition) func(*kitchen) { return func(k *kitchen) { k.Set(c, false) } }

func unplug(on bool) func(*kitchen) { return func(k *kitchen) { k.Unplug(on) } }

// answering120ms drips its first bytes to new clients, and pushing puts an automatic status into each answer of several
// bytes.
func answering120ms(k *kitchen) {
	k.door.wrapWith(func(c net.Conn, b []byte) (n int, err error) {
		for ; n < len(b) && err == nil; n++ {
			time.Sleep(120 * time.Millisecond)
			_, err = c.Write(b[n : n+1])
		}
		return n, err
	})
}

func pushing(k *kitchen) {
	k.door.wrapWith(func(c net.Conn, b []byte) (int, error) {
		if half := len(b) / 2; half > 0 {
			_, err := c.Write([]byte(string(b[:half]) + "\x10\x00\x00\x0f" + string(b[half:])))
			return len(b), err
		}
		return c.Write(b)
	})
}

// slowLine puts a serial line of 38,400 baud between new clients and the printer.
func slowLine(k *kitchen) { k.door.wrap.set(func(c net.Conn) net.Conn { return slowConn{c} }) }

type slowConn struct{ net.Conn }

func (c slowConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), 64)])
	time.Sleep(time.Duration(n) * time.Second / 3840)
	return n, err
}

// losePicture loses the bytes from here to the end of the picture, as many as a ticket has for it.
func (k *kitchen) losePicture() { k.Lose(k.picture - intoPicture) }

func lose(n int) func(*kitchen) { return func(k *kitchen) { k.Lose(n) } }

// left runs another program that sends b and leaves, until the printer has taken that.
func left(b string) func(*kitchen) {
	return func(k *kitchen) {
		c := k.dial()
		_, _ = io.WriteString(c, b)
		_ = c.Finish(k.t.Context())
		_ = c.Close()
		k.idle()
	}
}

// rest resets new clients for 10 s, as if one had left now, and again when one leaves.
func (k *kitchen) rest() {
	early(0, reset)(k)
	time.AfterFunc(10*time.Second, func() { stay(k) })
	k.door.wrap.set(func(c net.Conn) net.Conn { return leavingConn{c, k.rest} })
}

// A leavingConn calls left when it is closed.
type leavingConn struct {
	net.Conn
	left func()
}

func (c leavingConn) Close() error { c.left(); return c.Conn.Close() }

// resetPlugged ends the silence of an unplugged printer, which has printed its buffer, with a reset.
func resetPlugged(k *kitchen) { k.Reset(); k.Unplug(false) }

// forget resets new clients after 0.4 s without a byte.
func (k *kitchen) forget() {
	k.door.wrap.set(func(c net.Conn) net.Conn {
		return idleConn{c, time.AfterFunc(400*time.Millisecond, func() { reset(c, 0); _ = c.Close() })}
	})
}

// An idleConn postpones its timer with each byte.
type idleConn struct {
	net.Conn
	timer *time.Timer
}

func (c idleConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.timer.Reset(400 * time.Millisecond)
	return n, err
}

func (c idleConn) Write(b []byte) (int, error) {
	c.timer.Reset(400 * time.Millisecond)
	return c.Conn.Write(b)
}

func (c idleConn) Close() error { c.timer.Stop(); return c.Conn.Close() }

// steal lets another program have the port between two bytes: the client is not read for d, or is reset.
func steal(b string, d time.Duration) func(*kitchen) {
	return func(k *kitchen) {
		k.Interrupt(b)
		if d == 0 {
			k.Reset()
			return
		}
		k.Stall()
		time.AfterFunc(d, func() { k.Repair() })
	}
}

func picture(width, rows, sent int) string {
	head := []byte{0x1D, 'v', '0', 0, byte(width), 0, byte(rows), byte(rows >> 8)}
	return string(head) + strings.Repeat("\xff", sent)
}
