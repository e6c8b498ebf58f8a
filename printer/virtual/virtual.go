// Package virtual is a kitchen printer without paper: it takes what a real one takes,
// shows each ticket as text, and breaks down in the ways real ones do, when asked to.
//
// Tests and the demo put it where a printer would stand, on a TCP listener or on a pipe in
// memory. It is never part of the daemon. It reads the bytes with a decoder of its own, so
// that a mistake in the encoder does not cancel out, and it polices the daemon: a command the
// daemon has no business sending, a control character in text or a letter its code page
// does not have is on record as a problem.
//
// Behind the reader is a receive buffer, and behind that the print engine, which stops when
// the paper is out or the cover open ([Printer.Set]) and then goes on where it stopped.
// What it is asked it answers as far as [Options.Can] goes: DLE EOT at reception, everything
// else in its turn. What comes out is text, and a picture of the paper ([Ticket.PNG]).
package virtual

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ticketrail/printer/profile"
)

// Options say what kind of printer it is. The zero value is a wide printer that never
// wraps, with Western letters.
type Options struct {
	Name string // in errors and on the drawn ticket

	// Columns is where a line wraps, which is recorded as a problem: composed lines fit.
	// 0 is paper without an edge.
	Columns int
	// Kanji is a printer with a Chinese ROM: after a start it takes accented letters for
	// halves of Chinese ones, until FS . tells it not to.
	Kanji bool
	// CodePages maps the number of ESC t to a page ("CP437", "WPC1252" …); nil is Epson's table.
	CodePages map[byte]string

	// Can is what it can tell; 0 is nothing. Clone says how it answers.
	Can   Capability
	Clone Clone
	// Condition is how it is at first.
	Condition Condition

	// ReceiveBuffer is how many bytes wait while it prints or is stopped. LinesPerSecond is
	// how fast it prints, while it takes more. Without both it prints what it took before it
	// takes more, unless it is stopped, and is as fast as the computer; its buffer is large.
	ReceiveBuffer  int
	LinesPerSecond float64

	// Clients is how many may be connected; one is served, the others wait. One too many
	// is refused, or left hanging if Hang is set. 0 is any number.
	Clients int
	Hang    bool

	// Dots is how wide the paper is, for images that are too wide. 0 is without an edge.
	Dots int
	// TwoByte is the ROM with letters of two bytes that FS & switches on. With Kanji and no
	// TwoByte it is GB18030.
	TwoByte profile.TwoByte
	// NoCutter is paper that is torn by hand; a cut is an offence.
	NoCutter bool
	// Drawer is a bell on the connector of the cash drawer: ESC p rings. Without it that is an
	// offence, for it opens a drawer.
	Drawer bool
	// Remembers is a printer that is in the middle of whatever it was in the middle of when
	// the next client comes, as most are. Without it the next client finds it as if it had
	// been reset, unless the last one broke off inside a command with data: that goes on
	// swallowing, always.
	Remembers bool

	// OnTicket is called with each ticket as it comes out, one at a time and before
	// [Printer.Wait] sees it. It must not wait for the printer.
	OnTicket func(Ticket)
	// Keep is how many tickets are remembered, the last ones; 0 is all of them.
	Keep int

	identity identity // nil: an Epson TM-T88V
}

// A Printer is one printer. Everything may be called at any time from any goroutine.
// In a testing/synctest bubble it must be made inside the bubble.
type Printer struct {
	o Options

	outMu sync.Mutex // keeps OnTicket and the order of tickets in step

	mu              sync.Mutex // guards what follows
	changed         chan struct{}
	faults          faults
	listeners       []*listener
	engine                    // takes what the seated client sends
	connected       []*client // those of them that are served or wait
	waitingClients  []*client // those that wait, first come first
	served          *client   // who is served: real printers serve one at a time
	off, unplugged  bool
	cond            Condition
	jamAtCut        bool
	fences          []fence
	tickets         []Ticket
	ticketCount     int // tickets so far, remembered or not
	clientCount     int
	bytesRead       int64
	problems        []string
	problemsDropped int // problems beyond those kept
}

// New returns a printer that is switched on and works.
func New(o Options) *Printer {
	if o.Name == "" {
		o.Name = "virtual printer"
	}
	if o.identity == nil {
		o.identity = tmT88V
	}
	p := &Printer{o: o, changed: make(chan struct{}), cond: o.Condition}
	p.faults = noFaults()
	p.linesLeft = never
	p.decoder = newDecoder(p)
	return p
}

// A Ticket is what was torn off.
type Ticket struct {
	// Text is what a cook reads, without styles, each line ended, blank ones at the end left out.
	Text  string
	Lines []Line // the same lines with their styles
	// Feed is how many blank lines lie between the text and the end.
	Feed int
	Raw  []byte // every byte since the last ticket
	End  End
	At   time.Time
	// Problems are what the sender did wrong in this ticket.
	Problems []string

	Images []Image
	QRs    []QR
	Buzzes []Buzz

	rows          []row // how Lines, and those of Feed, lie
	columns, dots int   // of the printer
}

// A Line is one printed line.
type Line []Span

// A Span is text in one style.
type Span struct {
	Text string
	Style
}

// Style is how a span came out.
type Style struct {
	Bold, Underline, Invert, Red bool
	Width, Height                int // times the normal size
}

// End says what ended a ticket.
type End int

const (
	Cut    End = iota // the cutter
	Closed            // the client said it was done; nothing was cut
	Broken            // the connection broke: only part of a ticket, perhaps
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

// keptProblems bounds the memory a hostile sender can take.
const maxProblems = 1000

// emit brings a ticket out. Nobody waits for it before OnTicket has returned.
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

func (p *Printer) record(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(problem)
}

// note is record with p.mu held.
func (p *Printer) note(problem string) {
	if len(p.problems) < maxProblems {
		p.problems = append(p.problems, problem)
	} else {
		p.problemsDropped++
	}
}

// wake lets everybody look again; p.mu is held.
func (p *Printer) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Tickets returns what came out so far, oldest first.
func (p *Printer) Tickets() []Ticket {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.tickets)
}

// Out is how many tickets came out so far.
func (p *Printer) TicketCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ticketCount
}

// Clients is how many connections were made so far.
func (p *Printer) ClientCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clientCount
}

// Taken is how many bytes were read off the wire so far.
func (p *Printer) BytesRead() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytesRead
}

// Problems is what senders did wrong so far. It is empty for a sender that keeps to
// the rules.
func (p *Printer) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := slices.Clone(p.problems)
	if p.problemsDropped > 0 {
		out = append(out, fmt.Sprintf("and %d more", p.problemsDropped))
	}
	return out
}

// Wait returns nil once n tickets have come out in all, and an error when ctx ends first.
func (p *Printer) Wait(ctx context.Context, n int) error {
	return p.until(ctx, fmt.Sprintf("wait for %d tickets", n), func() bool { return p.ticketCount >= n })
}

// WaitClients returns nil once n connections have been made in all.
func (p *Printer) WaitClients(ctx context.Context, n int) error {
	return p.until(ctx, fmt.Sprintf("wait for %d clients", n), func() bool { return p.clientCount >= n })
}

// WaitTaken returns nil once n bytes have been read in all.
func (p *Printer) WaitBytes(ctx context.Context, n int64) error {
	return p.until(ctx, fmt.Sprintf("wait for %d bytes", n), func() bool { return p.bytesRead >= n })
}

func (p *Printer) until(ctx context.Context, what string, ok func() bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.await(ctx, nil, ok); err != nil {
		return fmt.Errorf("%s: %s: have %d tickets, %d clients, %d bytes: %w", p.o.Name, what, p.ticketCount, p.clientCount, p.bytesRead, err)
	}
	return nil
}

var errGone = errors.New("client is gone")

// await returns nil once ok says so, and an error when ctx ends or gone is closed first. p.mu is
// held, and given up while nothing changes.
func (p *Printer) await(ctx context.Context, gone <-chan struct{}, ok func() bool) error {
	for !ok() {
		changed := p.changed
		p.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-gone:
			err = errGone
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		p.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}
