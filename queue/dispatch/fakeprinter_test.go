package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

// A fault is what goes wrong with one attempt.
type fault string

const (
	fine              fault = "fine"
	off               fault = "off"                // refuses the connection
	noPaper           fault = "no paper"           // says so before the ticket
	cut               fault = "cut"                // breaks off after the first byte
	noPaperMidway     fault = "no paper midway"    // runs out in the ticket
	unprintable       fault = "unprintable"        // cannot be printed, seen before the first byte
	unprintableMidway fault = "unprintable midway" // cannot be printed, seen after it
	panics            fault = "panics"
	panicsMidway      fault = "panics midway"
	noProof           fault = "no proof"
	unknownProof      fault = "unknown proof" // a mistake in the station
	dropped           fault = "dropped"       // accepted and hung up on after begin, before the first byte
	refuses           fault = "refuses"       // answers that it will never take this ticket
	refusesAll        fault = "refuses all"   // answers that it takes nothing until a person has repaired it
	beginsTwice       fault = "begins twice"  // a mistake in the station
	neverBegins       fault = "never begins"  // the same: prints without asking
	beginsLate        fault = "begins late"   // the same: fails, then begins in another goroutine
)

var errOff = errors.New("connection refused")

// fakePrinter is a station that fails the test if two prints run at once.
type fakePrinter struct {
	t              *testing.T
	dial           time.Duration // before begin
	takes          time.Duration // after begin
	ignoresContext bool          // does not look at its context

	lock    chan struct{}         // not nil: several lines use it, one after the other
	onPrint func(ticket.Delivery) // sees what comes out

	mu     sync.Mutex
	faults []fault // of the next attempts
	always fault   // of those after; empty is fine
	busy   bool
	tries  []time.Time // when Print was called
	output []string    // what came out, also of broken attempts: "7", "7 DUPLICATE", "slip 7 8"
}

func (p *fakePrinter) Print(
	ctx context.Context, d ticket.Delivery, begin func(context.Context) error,
) (ticket.Proof, error) {
	if p.lock != nil { // not a mutex: a bubble's clock would stand still
		p.lock <- struct{}{}
		defer func() { <-p.lock }()
	}
	p.mu.Lock()
	if p.busy {
		p.t.Errorf("two prints at once")
	}
	p.busy = true
	p.tries = append(p.tries, time.Now())
	f := p.always
	if len(p.faults) > 0 {
		f, p.faults = p.faults[0], p.faults[1:]
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.busy = false
		p.mu.Unlock()
	}()
	if err := p.wait(ctx, p.dial); err != nil {
		return "", fmt.Errorf("dial: %w", err)
	}
	switch f {
	case off:
		return "", fmt.Errorf("dial: %w", errOff)
	case noPaper:
		return "", fmt.Errorf("status: %w", ticket.NotReady(errors.New("no paper")))
	case unprintable:
		return "", ticket.Permanent(errors.New("no such thing"))
	case panics:
		panic("nil pointer")
	}
	switch f {
	case neverBegins:
		p.out(d)
		return ticket.Sent, nil
	case beginsLate:
		time.AfterFunc(time.Second, func() {
			if begin(context.Background()) == nil {
				p.t.Error("a begin after the attempt was let through")
			}
		})
		return "", errOff
	}
	if err := begin(ctx); err != nil {
		return "", err
	}
	switch f {
	case dropped:
		return "", ticket.Untouched(errors.New("write: connection reset"))
	case refuses:
		return "", ticket.Untouched(ticket.Permanent(errors.New("422 no table")))
	case refusesAll:
		return "", ticket.Untouched(ticket.NotReady(errors.New("401 bad token")))
	case beginsTwice:
		if begin(ctx) == nil {
			p.t.Error("a second begin was let through")
		}
	}
	p.out(d)
	if err := p.wait(ctx, p.takes); err != nil {
		return "", fmt.Errorf("write: %w", err)
	}
	switch f {
	case cut:
		return "", errors.New("write: connection reset")
	case noPaperMidway:
		return "", ticket.NotReady(errors.New("no paper"))
	case unprintableMidway:
		return "", ticket.Permanent(errors.New("no such thing"))
	case panicsMidway:
		panic("nil pointer")
	case noProof:
		return "", nil
	case unknownProof:
		return "delivered", nil
	}
	return ticket.Sent, nil
}

func (p *fakePrinter) wait(ctx context.Context, d time.Duration) error {
	if p.ignoresContext {
		time.Sleep(d)
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *fakePrinter) out(d ticket.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := d.Ticket.Request
	if d.Ticket.Kind == ticket.Slip {
		s = "slip"
		for _, l := range d.Ticket.Lines {
			s += " " + l.Name
		}
	}
	if d.For != "" && d.Down != "" {
		s += " FOR " + d.For + " (" + d.Down + " down)"
	}
	if len(d.RefusedBy) > 0 {
		s += " REFUSED BY " + strings.Join(d.RefusedBy, ", ")
	}
	if d.Doubt {
		s += " DUPLICATE"
	}
	p.output = append(p.output, s)
	if p.onPrint != nil {
		p.onPrint(d)
	}
}

// now sets what is wrong with all attempts from now on.
func (p *fakePrinter) setFault(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.always, p.faults = f, nil
}

// printed returns what came out so far.
func (p *fakePrinter) printed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.output...)
}

func (p *fakePrinter) attempts() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time{}, p.tries...)
}
