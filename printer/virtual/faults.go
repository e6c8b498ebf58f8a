package virtual

import (
	"context"
	"math"
	"time"
)

// faults are what is wrong with the printer right now.
type faults struct {
	refuse   bool
	stallAt  int // bytes of a connection after which it takes no more
	breakAt  int // bytes of a connection after which it breaks
	breaks   int // how many more connections break; below zero: all
	orderly  bool
	keepOpen bool
	perLine  time.Duration
	late     time.Duration // for which a client that has left holds its seat
}

const never = math.MaxInt

func noFaults() faults { return faults{stallAt: never, breakAt: never} }

func (p *Printer) setFaults(f func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.faults)
	p.notify()
}

// Repair undoes every fault but [Printer.Refuse]. What people have to see to (see
// [Printer.Set]) and the power are no faults.
func (p *Printer) Repair() {
	p.setFaults(func(f *faults) {
		refuse := f.refuse
		*f = noFaults()
		f.refuse = refuse
	})
}

// Refuse switches the printer off for new clients: when it returns, connections are
// refused; after Refuse(false) they are accepted again, at the same address. A client
// being served is left in peace. The error says that the address could not be had back.
//
// A listener that is not TCP stays open; its clients are accepted and dropped.
func (p *Printer) Refuse(on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults.refuse = on
	defer p.notify()
	return p.updateListeners()
}

// Stall makes the printer take no more bytes, though it still accepts a client.
func (p *Printer) Stall() { p.StallAfter(0) }

// StallAfter makes it take no more once n bytes of a connection have been taken.
// [Printer.Repair] lets it go on where it stopped.
func (p *Printer) StallAfter(n int) { p.setFaults(func(f *faults) { f.stallAt = n }) }

// ResetAfter resets connections once n of their bytes have been taken: the next one if
// times is 1, and so on; all of them if times is negative. What was taken is on paper.
func (p *Printer) ResetAfter(n, times int) {
	p.setFaults(func(f *faults) { f.breakAt, f.breaks, f.orderly = n, times, false })
}

// CloseAfter is [Printer.ResetAfter] with a printer that closes instead, as if it had
// heard enough. Over TCP what it left unread still turns that into a reset.
func (p *Printer) CloseAfter(n, times int) {
	p.setFaults(func(f *faults) { f.breakAt, f.breaks, f.orderly = n, times, true })
}

// KeepOpen makes it one of those that never close their side of a connection.
func (p *Printer) KeepOpen(on bool) { p.setFaults(func(f *faults) { f.keepOpen = on }) }

// Delay is how long each line takes to print. While it prints, it reads nothing. A test
// in a bubble has to wait until it has printed what it took.
func (p *Printer) Delay(perLine time.Duration) { p.setFaults(func(f *faults) { f.perLine = perLine }) }

// CloseLate makes it one of those that notice late that a client has left: the next one
// waits for so long.
func (p *Printer) CloseLate(d time.Duration) { p.setFaults(func(f *faults) { f.late = d }) }

// verdict says what may happen to a connection of which taken bytes have been taken.
type allowance struct {
	room      int // bytes that may be taken before something happens; 0: breaks now
	orderly   bool
	probeOnly bool // the one byte is only looked at: is it a question?
}

// admit waits until the connection may go on, and says how far. taken is how many of its
// bytes have been read.
func (p *Printer) admit(ctx context.Context, c *client, taken int) (allowance, error) {
	for {
		p.mu.Lock()
		f, changed, room := p.faults, p.changed, p.bufferSpace()
		dead, reset := p.off || p.unplugged, c.resetAsked || c.stale
		p.mu.Unlock()
		breakAt := never
		if f.breaks != 0 {
			breakAt = f.breakAt
		}
		full := false
		switch {
		case dead:
		case reset:
			return allowance{}, nil
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
			return allowance{orderly: f.orderly}, nil
		case taken < f.stallAt:
			return allowance{room: min(min(breakAt, f.stallAt)-taken, room)}, nil
		}
		err := waitChange(ctx, c, changed)
		if err == errGone && full {
			// What it sent has been read; reading on tells whether that was all.
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

// pause waits until something changes, or nobody is interested any more.
func waitChange(ctx context.Context, c link, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-c.gone():
		return errGone
	case <-ctx.Done():
		return ctx.Err()
	}
}
