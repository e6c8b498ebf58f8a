package virtual

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net"
	"time"
)

// A fault is an error of a network or a firmware; a condition (condition.go) is a state that a person
// has to clear. Faults are set between two reads of a connection: admit looks at them before each
// read and limits the read, so that a connection breaks exactly after the wanted byte.

// faults are the simulated faults that are active.
type faults struct {
	refuse  bool
	stallAt int // bytes of a connection after which it reads no more
	breakAt int // bytes of a connection after which it breaks
	breaks  int // how many more connections break; negative: all
	orderly bool
	perLine time.Duration
	idle    time.Duration // how long a connection without a byte stays
	lose    int           // how many of the next bytes disappear
	resets  time.Duration // how long ESC @ takes, after which the receive buffer is empty; 0: it does not clear it
	frozen  bool
	holds   bool // answers leave with the next bytes
	place   place
	lines   int // until onLine is called
	onLine  func()
}

// A place in the received bytes, see [Printer.After].
type place struct {
	text []byte // nil: it was received
	more int    // bytes behind text
	seen []byte
	do   func()
}

// never is further than any test goes.
const never = math.MaxInt

func noFaults() faults { return faults{stallAt: never, breakAt: never} }

func (p *Printer) setFaults(f func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.faults)
	p.notify()
}

// Repair ends every fault except [Printer.Refuse]. Conditions ([Printer.Set]) and the power are no
// faults. Refuse stays, because ending it can fail: the address may be in use.
func (p *Printer) Repair() {
	p.setFaults(func(f *faults) {
		refuse := f.refuse
		*f = noFaults()
		f.refuse = refuse
	})
}

// Refuse closes the listeners: when it returns, new connections are refused. With false it opens them
// again at the same address; its error says why that failed. A client that is served is not affected.
//
// Only a closed socket makes the kernel refuse: to accept and close would be a printer that drops its clients, which is
// another fault. A listener that is not TCP cannot be opened again and stays open; its clients are accepted and reset.
func (p *Printer) Refuse(on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults.refuse = on
	defer p.notify()

	var errs []error
	for _, s := range p.listeners {
		switch {
		case !s.tcp || on == (s.l == nil):
		case on:
			_ = s.l.Close()
			s.l = nil
		default:
			reopened, err := net.Listen(s.addr.Network(), s.addr.String())
			errs = append(errs, err)
			s.l = reopened
		}
	}
	return errors.Join(errs...)
}

// Stall makes the printer read no more bytes, though it still accepts clients.
func (p *Printer) Stall() { p.StallAfter(0) }

// StallAfter makes it read no more after n bytes of a connection. [Printer.Repair] lets it continue.
func (p *Printer) StallAfter(n int) { p.setFaults(func(f *faults) { f.stallAt = n }) }

// ResetAfter resets connections after n of their bytes: the next times connections, or all if times is
// negative. The bytes before that are printed.
func (p *Printer) ResetAfter(n, times int) {
	p.setFaults(func(f *faults) { f.breakAt, f.breaks, f.orderly = n, times, false })
}

// CloseAfter is [Printer.ResetAfter] with an orderly close. Over TCP, unread bytes still turn it into a reset.
func (p *Printer) CloseAfter(n, times int) {
	p.setFaults(func(f *faults) { f.breakAt, f.breaks, f.orderly = n, times, true })
}

// Delay is how long each line takes to print, during which nothing is read. A test in a bubble must wait until
// everything is printed.
func (p *Printer) Delay(perLine time.Duration) { p.setFaults(func(f *faults) { f.perLine = perLine }) }

// CloseAfterIdle closes each connection d after its last byte, as print servers do, whether or not answers are
// due. 0 ends it.
func (p *Printer) CloseAfterIdle(d time.Duration) { p.setFaults(func(f *faults) { f.idle = d }) }

// ClearAtReset makes each ESC @ take d, and then clear the receive buffer.
func (p *Printer) ClearAtReset(d time.Duration) { p.setFaults(func(f *faults) { f.resets = d }) }

// ClearBuffer makes the printer lose its receive buffer and keep its connections: it restarts its engine, or a till
// that is connected to another of its interfaces sends DLE ENQ 2.
func (p *Printer) ClearBuffer() {
	p.mu.Lock()
	p.clearBuffer()
	p.mu.Unlock()
	p.step()
}

// AnswerWithNextBytes makes each answer wait until more is received.
func (p *Printer) AnswerWithNextBytes(on bool) { p.setFaults(func(f *faults) { f.holds = on }) }

// Lose makes the next n bytes disappear between the network and the printer.
func (p *Printer) Lose(n int) { p.setFaults(func(f *faults) { f.lose = n }) }

// Freeze makes the printer accept clients, read nothing, print nothing and answer nothing until it is switched off
// and on.
func (p *Printer) Freeze() { p.setFaults(func(f *faults) { f.frozen = true }) }

// After calls do when more bytes were received behind text, before the next one is read.
func (p *Printer) After(text string, more int, do func()) {
	p.setFaults(func(f *faults) { f.place = place{text: []byte(text), more: more, do: do} })
}

// AfterLines calls do when n more lines are on paper, before the next one is.
func (p *Printer) AfterLines(n int, do func()) {
	p.setFaults(func(f *faults) { f.lines, f.onLine = n, do })
}

// Interrupt prints b as if another program had sent it between two bytes of the client that is served.
func (p *Printer) Interrupt(b string) {
	p.mu.Lock()
	served := p.served
	p.mu.Unlock()
	if served != nil {
		p.enqueue(segment{c: served, data: []byte(b)})
	}
}

// arrive returns the rest of b that Lose leaves.
func (p *Printer) arrive(b []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	lost := min(len(b), p.faults.lose)
	p.faults.lose -= lost
	return b[lost:]
}

// reach calls the function of After if b ends at its place.
func (p *Printer) reach(b []byte) {
	p.mu.Lock()
	at, do := &p.faults.place, (func())(nil)

	if at.do != nil {
		at.seen = append(at.seen, b...)
		if at.text != nil && bytes.HasSuffix(at.seen, at.text) {
			at.text, at.seen = nil, nil
		}
		if at.text == nil && len(at.seen) >= at.more {
			do, at.do = at.do, nil
		}
	}
	p.mu.Unlock()

	if do != nil {
		do()
	}
}

// An allowance says how many bytes of a connection may be read next.
type allowance struct {
	room      int // bytes until something happens; 0: the connection breaks now
	orderly   bool
	probeOnly bool // the buffer is full: the one byte is read only because it may belong to a DLE EOT
}

// admit waits until the connection may be read and returns how far. taken is how many of its bytes were read.
func (p *Printer) admit(ctx context.Context, c *client, taken int) (allowance, error) {
	for {
		p.mu.Lock()
		active, changed, room := p.faults, p.changed, p.bufferSpace()
		dead, reset, idle := p.off || p.unplugged || p.faults.frozen, c.resetAsked || c.stale, c.idle
		p.mu.Unlock()

		breakAt := never
		if active.breaks != 0 {
			breakAt = active.breakAt
		}
		if active.place.do != nil {
			room = min(room, 1)
		}

		full := false
		switch {
		case dead:
		case reset:
			return allowance{}, nil
		case idle:
			return allowance{orderly: true}, nil
		// A board that speaks TCP answers DLE EOT although the buffer is full; a sender finds out
		// in this way that the paper is out.
		case room == 0 && c.mayReadMore(p):
			return allowance{room: 1, probeOnly: true}, nil
		case room == 0:
			full = true
		case taken >= breakAt:
			p.setFaults(func(f *faults) {
				if f.breaks > 0 {
					f.breaks--
				}
			})
			return allowance{orderly: active.orderly}, nil
		case taken < active.stallAt:
			return allowance{room: min(min(breakAt, active.stallAt)-taken, room)}, nil
		}

		err := waitChange(ctx, c.gone(), changed)
		if err == errGone && full {
			// The client has left. Reading on tells whether it had sent more.
			if p.attached() {
				err = p.drained(ctx)
			}
			if err == nil || err == errGone {
				return allowance{room: 1}, nil
			}
		}

		if err != nil {
			return allowance{}, err
		}
	}
}
