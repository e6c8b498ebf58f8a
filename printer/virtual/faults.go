package virtual

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
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
}

const never = math.MaxInt

func working() faults { return faults{stallAt: never, breakAt: never} }

func (p *Printer) set(f func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.faults)
	p.wake()
}

// Repair undoes every fault but [Printer.Refuse].
func (p *Printer) Repair() {
	p.set(func(f *faults) {
		refuse := f.refuse
		*f = working()
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
	if p.faults.refuse == on {
		return nil
	}
	p.faults.refuse = on
	defer p.wake()
	var errs []error
	for _, s := range p.slots {
		if !s.tcp {
			continue
		}
		if on {
			_ = s.l.Close()
			s.l = nil
			continue
		}
		l, err := net.Listen(s.addr.Network(), s.addr.String())
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: listen again: %w", p.o.Name, err))
			continue
		}
		s.l = l
	}
	return errors.Join(errs...)
}

// Stall makes the printer take no more bytes, though it still accepts a client.
func (p *Printer) Stall() { p.StallAfter(0) }

// StallAfter makes it take no more once n bytes of a connection have been taken.
// [Printer.Repair] lets it go on where it stopped.
func (p *Printer) StallAfter(n int) { p.set(func(f *faults) { f.stallAt = n }) }

// ResetAfter resets connections once n of their bytes have been taken: the next one if
// times is 1, and so on; all of them if times is negative. What was taken is on paper.
func (p *Printer) ResetAfter(n, times int) {
	p.set(func(f *faults) { f.breakAt, f.breaks, f.orderly = n, times, false })
}

// CloseAfter is [Printer.ResetAfter] with a printer that closes instead, as if it had
// heard enough. Over TCP what it left unread still turns that into a reset.
func (p *Printer) CloseAfter(n, times int) {
	p.set(func(f *faults) { f.breakAt, f.breaks, f.orderly = n, times, true })
}

// KeepOpen makes it one of those that never close their side of a connection.
func (p *Printer) KeepOpen(on bool) { p.set(func(f *faults) { f.keepOpen = on }) }

// Delay is how long each line takes to print. While it prints, it reads nothing. A test
// in a bubble has to wait until it has printed what it took.
func (p *Printer) Delay(perLine time.Duration) { p.set(func(f *faults) { f.perLine = perLine }) }

// verdict says what may happen to a connection of which taken bytes have been taken.
type verdict struct {
	room    int // bytes that may be taken before something happens; 0: breaks now
	orderly bool
}

// admit waits out a stall and says how far the connection may go on.
func (p *Printer) admit(ctx context.Context, c link, taken int) (verdict, error) {
	for {
		p.mu.Lock()
		f, changed := p.faults, p.changed
		p.mu.Unlock()
		breakAt := never
		if f.breaks != 0 {
			breakAt = f.breakAt
		}
		switch {
		case taken >= breakAt:
			p.set(func(f *faults) {
				if f.breaks > 0 {
					f.breaks--
				}
			})
			return verdict{0, f.orderly}, nil
		case taken < f.stallAt:
			return verdict{min(breakAt, f.stallAt) - taken, f.orderly}, nil
		}
		if err := pause(ctx, c, changed); err != nil {
			return verdict{}, err
		}
	}
}

// pause waits until something changes, or nobody is interested any more.
func pause(ctx context.Context, c link, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-c.gone():
		return errGone
	case <-ctx.Done():
		return ctx.Err()
	}
}
