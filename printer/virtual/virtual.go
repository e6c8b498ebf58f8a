// Package virtual simulates an ESC/POS kitchen printer: it reads the bytes of a real one, shows each ticket as
// text and as a picture, and fails in the ways real printers fail, on request.
//
// Tests and the demo use it on a TCP listener or on a pipe in memory. It is never part of the daemon. Its
// decoder shares no code with the encoder in printer/escpos, so that a mistake there is not decoded by the
// same mistake here. It also checks the sender: a command that the daemon must not send, a control character
// in text, or a byte without a character in its code page is recorded as a problem.
//
// Received bytes wait in a receive buffer for the print engine, which stops while the paper is out or the
// cover open ([Printer.Set]) and then continues. Which questions it answers is set by [Options].Can: DLE EOT is
// answered on receipt, everything else when the engine reaches it.
package virtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ticketrail/printer/layout"
)

// The files by their part of the printer: serve.go, client.go and pipe.go are the network board; engine.go
// is the receive buffer and the print engine; decoder.go, commands.go, image.go, letters.go,
// and ticket_end.go are the interpreter of commands; answers.go and condition.go are the
// status; faults.go and power.go are the failures that a test causes; paint.go shows the paper.
//
// Locks are taken in the order outMu, Printer.mu, client.mu. The decoder runs without any of them,
// because it calls OnTicket, and because a ticket of images takes long enough to keep a DLE EOT
// waiting that a real printer answers at once.

// Options describe the printer. The zero value has paper of unlimited width, Western characters, and answers
// nothing.
type Options struct {
	Name string // in errors and on the drawn ticket

	// Columns is where a line wraps. Wrapping is recorded as a problem, because composed lines fit. 0 is
	// unlimited.
	Columns int
	// Kanji: the printer has a Chinese ROM (GB18030), which FS & switches on. Until FS ., it takes two accented
	// letters for one Chinese character.
	Kanji bool
	// CodePages maps the number of ESC t to a page ("CP437", "WPC1252" …); nil is Epson's table.
	CodePages map[byte]string

	// Can is which questions it answers; 0 is none. Clone is how it answers them wrongly.
	Can   Capability
	Clone Clone
	// Condition is its condition at the start.
	Condition Condition

	// ReceiveBuffer is how many bytes wait while it prints or is stopped. LinesPerSecond is how fast it
	// prints; 0 is faster than any real printer, and an infinite number is at once. With neither set it reads on
	// only after it has printed, and has a large buffer while it is stopped.
	ReceiveBuffer  int
	LinesPerSecond float64

	// Clients is how many connections it accepts; 0 is any number. One is served, the others wait. Further clients
	// are refused; on a listener they are not accepted.
	Clients int

	// Dots is the width of the paper; wider images are problems. 0 is unlimited.
	Dots int
	// NoCutter: the paper is torn by hand; a cut is a problem.
	NoCutter bool
	// Drawer: a buzzer is connected to the cash drawer connector, and ESC p sounds it. Without Drawer ESC p
	// is a problem, because it would open a cash drawer.
	Drawer bool
	// Remembers: settings and an incomplete command stay when the client changes, as in most printers, and the answer
	// to a question of an earlier client goes to the next one. Without it each client finds a reset printer, except
	// that a command with data (an image) always waits for the rest of its data.
	Remembers bool

	// OnTicket is called with each ticket when it is complete, one at a time and before [Printer.Wait] counts
	// it. It must not wait for the printer.
	OnTicket func(Ticket)
	// Keep is how many of the last tickets [Printer.Tickets] returns; 0 is all.
	Keep int

	identity identity // nil: an Epson TM-T88V
}

// A Printer is one printer. Its methods are safe for concurrent use. In a testing/synctest bubble it must be
// made inside the bubble.
type Printer struct {
	o Options

	outMu sync.Mutex // keeps the calls of OnTicket in the order of the tickets

	mu             sync.Mutex    // guards the fields below
	changed        chan struct{} // closed and replaced by notify
	faults         faults
	listeners      []*listener
	engine                   // prints the served client's bytes
	connected      []*client // clients that are served or wait
	waitingClients []*client // those that wait, in order of arrival
	served         *client   // one at a time, like real printers
	off, unplugged bool
	cond           Condition
	jamAtCut       bool
	tickets        []Ticket
	ticketCount    int // all tickets, also those that are not kept
	clientCount    int
	bytesRead      int64
	problems       []string
}

// New returns a printer that is switched on and has no faults.
func New(o Options) *Printer {
	o.Name = cmp.Or(o.Name, "virtual printer")
	if o.identity == nil {
		o.identity = tmT88V
	}
	printer := &Printer{o: o, changed: make(chan struct{}), cond: o.Condition}
	printer.faults = noFaults()
	printer.linesLeft = never
	printer.decoder = newDecoder(printer)
	return printer
}

// A Ticket is the paper up to a cut or the end of a connection. Tickets are values: a test may keep
// and compare them while the printer goes on printing.
type Ticket struct {
	// Text is the ticket without styles. Each line is terminated; blank lines at the end are omitted.
	Text  string
	Lines []layout.Line // the same lines with their styles
	Raw   []byte        // every byte since the last ticket
	End   End
	At    time.Time
	// Problems are the sender's mistakes in this ticket.
	Problems []string

	Images []Image
	QRs    []QR
	Buzzes []Buzz

	rows          []row // positions of Lines and of the blank lines behind them
	columns, dots int   // of the printer
}

// End is the cause of a ticket's end.
type End int

const (
	Cut    End = iota // the cutter
	Closed            // the client closed the connection in an orderly way; nothing was cut
	Broken            // the connection broke; the ticket may be incomplete
)

func (e End) String() string {
	switch e {
	case Cut:
		return "cut"
	case Closed:
		return "closed"
	default:
		return "broken"
	}
}

// maxProblems limits the memory that a misbehaving sender can use. Fuzz tests send megabytes of
// nonsense.
const maxProblems = 1000

// emit delivers a finished ticket. OnTicket returns before any waiter sees it. So a test that has
// waited for n tickets finds all n in the list of its OnTicket.
func (p *Printer) emit(t Ticket) {
	p.outMu.Lock()
	defer p.outMu.Unlock()
	if p.o.OnTicket != nil {
		p.o.OnTicket(t)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tickets = append(p.tickets, t)
	if p.o.Keep > 0 && len(p.tickets) > p.o.Keep {
		p.tickets = slices.Delete(p.tickets, 0, len(p.tickets)-p.o.Keep)
	}
	p.ticketCount++
	p.notify()
}

// notify wakes all waiters, which check their condition again; p.mu is held. A channel and not a
// sync.Cond, because waiters also wait for a context, and because a wait on a channel is durably
// blocking in a testing/synctest bubble.
func (p *Printer) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// locked calls of while p.mu is held.
func locked[T any](p *Printer, of func() T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return of()
}

// Tickets returns the tickets so far, oldest first.
func (p *Printer) Tickets() []Ticket {
	return locked(p, func() []Ticket { return slices.Clone(p.tickets) })
}

// Unfinished is the text on the paper behind the last ticket.
func (p *Printer) Unfinished() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.await(context.Background(), nil, func() bool { return !p.stepping })
	return textOf(p.decoder.t.Lines)
}

// TicketCount is how many tickets were printed so far.
func (p *Printer) TicketCount() int { return locked(p, func() int { return p.ticketCount }) }

// ClientCount is how many connections were accepted so far.
func (p *Printer) ClientCount() int { return locked(p, func() int { return p.clientCount }) }

// BytesRead is how many bytes were received so far.
func (p *Printer) BytesRead() int64 { return locked(p, func() int64 { return p.bytesRead }) }

// Conditions returns the current conditions.
func (p *Printer) Conditions() Condition { return locked(p, func() Condition { return p.cond }) }

// Problems are the senders' mistakes so far, at most the first 1,000; none for a correct sender.
func (p *Printer) Problems() []string {
	return locked(p, func() []string { return slices.Clone(p.problems) })
}

// Wait returns nil once n tickets were printed in all, or an error when ctx ends first.
func (p *Printer) Wait(ctx context.Context, n int) error {
	return p.until(ctx, fmt.Sprintf("wait for %d tickets", n), func() bool { return p.ticketCount >= n })
}

// WaitIdle returns nil once no client is connected and everything that was received is on paper.
func (p *Printer) WaitIdle(ctx context.Context) error {
	return p.until(ctx, "wait for the end of its work", func() bool {
		return len(p.connected)+len(p.queue) == 0 && !p.working()
	})
}

// until is await for tests: its error says how far the printer came, which a failed test
// needs to show.
func (p *Printer) until(ctx context.Context, what string, ok func() bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.await(ctx, nil, ok); err != nil {
		return fmt.Errorf("%s: %s: have %d tickets, %d clients, %d bytes: %w",
			p.o.Name, what, p.ticketCount, p.clientCount, p.bytesRead, err)
	}
	return nil
}

var errGone = errors.New("the client has left")

// await returns nil once ok is true, or an error when ctx ends or gone is closed first. p.mu is held, and
// released while it waits.
func (p *Printer) await(ctx context.Context, gone <-chan struct{}, ok func() bool) error {
	for !ok() {
		changed := p.changed
		p.mu.Unlock()
		err := waitChange(ctx, gone, changed)
		p.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// waitChange waits until something changes, the client has left, or ctx ends.
func waitChange(ctx context.Context, gone, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-gone:
		return errGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
